"""The two protocols' own parts: rounds, encrypted sums, masks."""

import itertools
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kakuran.errors import MissingExtraError, ProtocolError
from kakuran.vertical.messages import Columns, CrossMoments, EncryptionKey, Products
from kakuran.vertical.protocols import encryption
from kakuran.vertical.protocols.alternating import accelerate, alternate
from kakuran.vertical.protocols.encryption import (
    SLOTS,
    KeyOwner,
    Multiplier,
    block_sum,
    centred,
    plain_modulus,
    precision,
    zero_sum_mask,
)
from kakuran.vertical.protocols.gram import (
    Layout,
    cross_moments_as_multiplier,
    cross_moments_as_owner,
    moments_of,
    rounded,
)
from kakuran.vertical.transport import linked_pair

from .pooled import tables


def two_sides(correlation, p=20, q=20, records=500, seed=1):
    """The target, both sides' fits, and the first side's part of the exact joint fit."""
    A, B, y = tables(records, p, q, correlation, seed=seed)
    A, B, y = A - A.mean(axis=0), B - B.mean(axis=0), y - y.mean()
    (U, _), (W, _) = np.linalg.qr(A), np.linalg.qr(B)
    exact = A @ np.linalg.lstsq(np.hstack([A, B]), y, rcond=None)[0][:p]
    return y, lambda v: U @ (U.T @ v), lambda v: W @ (W.T @ (y - v)), exact


def rounds_to(solve, correlation, accuracy):
    """Questions asked by the least demanding run whose answer is that accurate."""
    y, fit, ask, exact = two_sides(correlation)
    for tolerance in np.geomspace(1e-2, 1e-13, 56):
        settled = solve(y, fit, ask, tolerance)
        if np.linalg.norm(settled.part - exact) <= accuracy * np.linalg.norm(exact):
            return settled.rounds
    raise AssertionError("never accurate enough")


@pytest.mark.parametrize(("correlation", "share"), [(0.9, 1 / 3), (0.99, 1 / 20)])
def test_acceleration_takes_a_fraction_of_the_rounds(correlation, share):
    plain, fast = (rounds_to(solve, correlation, 1e-8) for solve in (alternate, accelerate))
    assert fast <= share * plain


@pytest.mark.parametrize("solve", [alternate, accelerate])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.99])
def test_both_ways_settle_on_pooled_least_squares(solve, correlation):
    y, fit, ask, exact = two_sides(correlation, p=3, q=5)
    settled = solve(y, fit, ask)
    np.testing.assert_allclose(settled.part, exact, atol=1e-8 * np.abs(exact).max())


def test_columns_that_explain_nothing_settle_at_once():
    y, fit, ask, _ = two_sides(0.5)
    assert accelerate(0 * y, fit, lambda v: 0 * ask(v)).rounds == 1


def test_rounding_that_goes_back_and_forth_has_settled():
    y, _, ask, _ = two_sides(0.5)
    rounding = itertools.cycle([1e-16, -1e-16])
    assert alternate(y, lambda _: np.full_like(y, next(rounding)), ask).rounds == 1


def test_fits_that_never_settle_are_given_up(monkeypatch):
    monkeypatch.setattr("kakuran.vertical.protocols.alternating.MOST_ROUNDS", 50)
    y, fit, ask, _ = two_sides(0.999)
    with pytest.raises(ProtocolError, match="not settled after 50 rounds"):
        alternate(y, fit, ask)


@settings(max_examples=8, deadline=None)
@given(
    records=st.sampled_from([2, 37, 1000, SLOTS, SLOTS + 1, 20_000]),
    p=st.integers(1, 3),
    q=st.integers(1, 10),
    seed=st.integers(0, 99),
)
def test_encrypted_sums_of_products_are_exact(records, p, q, seed):
    rng = np.random.default_rng(seed)
    bits = precision(records)
    ours, theirs = (rounded(_standardised(rng.normal(size=(records, width))), bits) for width in (p, q))
    near, far = linked_pair("alice", "bob")
    found = {}
    thread = threading.Thread(target=lambda: found.update(bob=cross_moments_as_owner(far, theirs, p, bits)))
    thread.start()
    found["alice"] = cross_moments_as_multiplier(near, ours, q)
    thread.join()
    exact = (ours.astype(object).T @ theirs.astype(object)).astype(float) / 4.0**bits / records
    for moments in found.values():
        np.testing.assert_allclose(moments, exact, rtol=1e-15, atol=1e-18)


def _standardised(values):
    values = values - values.mean(axis=0)
    return values / np.sqrt((values**2).mean(axis=0))


def test_no_sum_can_pass_the_modulus_at_any_number_of_records():
    for records in (1, 10, 1000, 10**5, 10**7):
        largest = records * (2 ** precision(records) + 1) ** 2
        assert largest < plain_modulus() / 2
    assert precision(1000) == 23
    assert precision(10**5) == 19


def test_extreme_columns_do_not_wrap_around():
    """One record with all the variance makes the largest product there can be."""
    records = 1000
    column = np.zeros((records, 1))
    column[0] = 1
    bits = precision(records)
    whole = rounded(_standardised(column), bits)
    near, far = linked_pair("alice", "bob")
    thread = threading.Thread(target=cross_moments_as_owner, args=(far, whole, 1, bits))
    thread.start()
    assert cross_moments_as_multiplier(near, whole, 1)[0, 0] == pytest.approx(1, abs=1e-6)
    thread.join()


def test_own_and_shared_moments_are_those_of_one_table():
    columns = rounded(_standardised(np.random.default_rng(0).normal(size=(50, 3))), 20)
    exact = (columns.astype(object).T @ columns.astype(object)).astype(float) / 4.0**20 / 50
    np.testing.assert_allclose(moments_of(columns, 20), exact, rtol=1e-14)


def test_masks_add_up_to_zero_in_every_block():
    mask = zero_sum_mask(8, 1000)
    assert mask.max() < plain_modulus()
    for block in range(8):
        assert centred(block_sum(mask[block * 1000 : (block + 1) * 1000])) == 0
    assert block_sum(mask) % plain_modulus() != 0
    assert (zero_sum_mask(1, SLOTS) != zero_sum_mask(1, SLOTS)).any()


def test_columns_of_zeros_in_a_chunk_are_no_obstacle():
    columns = np.zeros((SLOTS + 100, 1), np.int64)
    columns[:100] = 7
    near, far = linked_pair("alice", "bob")
    theirs = np.full((SLOTS + 100, 1), 3, np.int64)
    thread = threading.Thread(target=cross_moments_as_owner, args=(far, theirs, 1, 6))
    thread.start()
    assert cross_moments_as_multiplier(near, columns, 1)[0, 0] == 2100 / 4**6 / (SLOTS + 100)
    thread.join()


@pytest.mark.parametrize("content", [b"", b"nonsense" * 50])
def test_bytes_that_are_no_ciphertext_are_refused(content):
    owner = KeyOwner()
    multiplier = Multiplier(owner.public_key())
    for refuse in (multiplier.load, owner.decrypt, Multiplier):
        with pytest.raises(ProtocolError, match="not a ciphertext or key"):
            refuse(content)


def test_a_reply_cannot_be_sent_back_as_a_column():
    owner = KeyOwner()
    multiplier = Multiplier(owner.public_key())
    with pytest.raises(ProtocolError, match="another shape"):
        multiplier.load(multiplier.seal(None, 1, 10))


def test_ciphertexts_out_of_order_are_refused():
    near, far = linked_pair("alice", "bob", 1.0)
    owner = KeyOwner()
    far.send(EncryptionKey(owner.public_key()))
    far.send(Columns(3, owner.encrypt(np.ones(SLOTS, np.int64))))
    with pytest.raises(ProtocolError, match="bob sent Columns 3 where 0 was due"):
        cross_moments_as_multiplier(near, np.ones((10, 1), np.int64), 1)


def test_moments_of_another_shape_are_refused():
    near, far = linked_pair("alice", "bob", 5.0)
    owner = KeyOwner()
    far.send(EncryptionKey(owner.public_key()))
    far.send(Columns(0, owner.encrypt(np.ones(SLOTS, np.int64))))
    far.send(CrossMoments("", "", np.zeros((2, 2))))
    with pytest.raises(ProtocolError, match="another shape than the plan"):
        cross_moments_as_multiplier(near, np.ones((10, 1), np.int64), 1)
    assert far.receive(Products).place == 0


def test_without_the_extra_gram_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tenseal", None)
    monkeypatch.setitem(sys.modules, "tenseal.sealapi", None)
    encryption._scheme.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'kakuran\[vertical\]'"):
        plain_modulus()
    encryption._scheme.cache_clear()


def test_few_records_share_ciphertexts_and_many_take_several():
    assert (Layout(1000).together, Layout(1000).chunks, Layout(1000).groups(20)) == (8, 1, 3)
    assert (Layout(100_000).together, Layout(100_000).chunks, Layout(100_000).groups(20)) == (1, 13, 20)
