"""The two protocols' own parts: rounds, encrypted sums, masks."""

import itertools
import math
import threading

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import special

from kakuran.errors import ProtocolError
from kakuran.randomness import Randomness
from kakuran.vertical import polynomials
from kakuran.vertical.encryption import (
    COARSE_FLOOD,
    FLOOD,
    MODULUS,
    PLAIN_MODULUS,
    KeyOwner,
    Multiplier,
    Seed,
    SumOfProducts,
    centred,
    precision,
)
from kakuran.vertical.gram import (
    _NOISE,
    _SURPRISE,
    DECOY_SUMS,
    DECOYS,
    SlotLayout,
    _read_sums,
    _tossed_as_owner,
    check_lengths,
    cross_moments_as_multiplier,
    cross_moments_as_owner,
    draw_decoys,
    moments_of,
    rounded,
)
from kakuran.vertical.leakage import BITS_A_SUM
from kakuran.vertical.messages import Columns, CrossSums, EncryptionKey, Products
from kakuran.vertical.polynomials import DEGREE, LARGEST_SMALL, PRIMES
from kakuran.vertical.residual import _random_rotation, accelerate, alternate
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


@pytest.mark.parametrize("solve", [alternate, accelerate])
@pytest.mark.parametrize("correlation", [0.5, 0.9])
def test_both_ways_end_within_the_tolerance_of_the_target_s_length(solve, correlation):
    """With twenty columns a side neither settles at a stroke, so where they stop is the tolerance's doing."""
    y, fit, ask, exact = two_sides(correlation)
    assert np.linalg.norm(solve(y, fit, ask).part - exact) <= 1e-10 * np.linalg.norm(y)


def test_a_basis_is_turned_another_way_each_time():
    turns = [_random_rotation(6) for _ in range(2)]
    for turn in turns:
        np.testing.assert_allclose(turn.T @ turn, np.eye(6), atol=1e-12)
    # One entry of a random turn of six is above .999 with a chance below 1e-6; of the identity every one is.
    assert max(np.abs(turn).max() for turn in turns) < 0.999
    assert np.abs(turns[0] - turns[1]).max() > 1e-3


def test_columns_that_explain_nothing_settle_at_once():
    y, fit, ask, _ = two_sides(0.5)
    assert accelerate(0 * y, fit, lambda v: 0 * ask(v)).rounds == 1


def test_rounding_that_goes_back_and_forth_has_settled():
    y, _, ask, _ = two_sides(0.5)
    rounding = itertools.cycle([1e-16, -1e-16])
    assert alternate(y, lambda _: np.full_like(y, next(rounding)), ask).rounds == 1


def test_fits_that_never_settle_are_given_up(monkeypatch):
    monkeypatch.setattr("kakuran.vertical.residual.MOST_ROUNDS", 50)
    y, fit, ask, _ = two_sides(0.999)
    with pytest.raises(ProtocolError, match="not settled after 50 rounds"):
        alternate(y, fit, ask)


@settings(max_examples=8, deadline=None)
@given(
    records=st.sampled_from([2, 37, 1000, DEGREE, DEGREE + 1, 20_000]),
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
    decoys = draw_decoys(records, bits, Randomness.secure())
    thread = threading.Thread(target=lambda: found.update(bob=cross_moments_as_owner(far, theirs, p, bits, decoys)))
    thread.start()
    found["alice"] = cross_moments_as_multiplier(near, ours, q, bits, decoys)
    thread.join()
    exact = (ours.astype(object).T @ theirs.astype(object)).astype(float) / 4.0**bits / records
    for moments, _ in found.values():
        np.testing.assert_allclose(moments, exact, rtol=1e-15, atol=1e-18)
    # With decoys, whose standard deviation is t/32 over that of a column, up to noise of 1/8.
    for (_, projections), columns in ((found["alice"], theirs), (found["bob"], ours)):
        expected = decoys.astype(object).T @ columns.astype(object) / (PLAIN_MODULUS / 32)
        np.testing.assert_allclose(projections, expected.astype(float), atol=0.126)


def _standardised(values):
    values = values - values.mean(axis=0)
    return values / np.sqrt((values**2).mean(axis=0))


def test_no_sum_can_pass_the_modulus_at_any_number_of_records():
    for records in (1, 10, 1000, 10**5, 10**7):
        largest = records * (2 ** precision(records) + 1) ** 2
        assert largest < PLAIN_MODULUS / 2
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
    decoys = draw_decoys(records, bits, Randomness.secure())
    thread = threading.Thread(target=cross_moments_as_owner, args=(far, whole, 1, bits, decoys))
    thread.start()
    assert cross_moments_as_multiplier(near, whole, 1, bits, decoys)[0][0, 0] == pytest.approx(1, abs=1e-6)
    thread.join()


def test_own_and_shared_moments_are_those_of_one_table():
    columns = rounded(_standardised(np.random.default_rng(0).normal(size=(50, 3))), 20)
    exact = (columns.astype(object).T @ columns.astype(object)).astype(float) / 4.0**20 / 50
    np.testing.assert_allclose(moments_of(columns, 20), exact, rtol=1e-14)


def test_columns_of_zeros_in_a_chunk_are_no_obstacle():
    columns = np.zeros((DEGREE + 100, 1), np.int64)
    columns[:100] = 7
    near, far = linked_pair("alice", "bob")
    theirs = np.full((DEGREE + 100, 1), 3, np.int64)
    decoys = draw_decoys(len(columns), 6, Randomness.secure())
    thread = threading.Thread(target=cross_moments_as_owner, args=(far, theirs, 1, 6, decoys))
    thread.start()
    assert cross_moments_as_multiplier(near, columns, 1, 6, decoys)[0][0, 0] == 2100 / 4**6 / (DEGREE + 100)
    thread.join()


POLYNOMIAL = 4 * len(PRIMES) * DEGREE


@pytest.mark.parametrize("content", [b"", b"nonsense" * 50, b"\0" * (POLYNOMIAL + 1), b"\xff" * POLYNOMIAL])
def test_bytes_that_are_no_polynomial_are_refused(content):
    owner, multiplier = sides()
    for refuse in (
        lambda: multiplier.load(content, 0, 0),
        lambda: Multiplier(Seed(b""), content),
        lambda: owner.decrypt(content, bytes(12), [9]),
        lambda: owner.decrypt(bytes(12 * DEGREE), content, [9]),
    ):
        with pytest.raises(ProtocolError, match="the peer sent a polynomial"):
            refuse()


def sides():
    seed = Seed(b"tossed")
    owner = KeyOwner(seed)
    return owner, Multiplier(seed, owner.public_key())


@settings(max_examples=10, deadline=None)
@given(st.integers(-(2**28), 2**28), st.integers(1, 40), st.integers(0, 2**32))
def test_one_coefficient_of_a_reply_is_the_sum_of_products_modulo_t(largest, terms, seed):
    rng = np.random.default_rng(seed)
    owner, multiplier = sides()
    total, wanted = SumOfProducts(), 0
    for chunk in range(terms):
        theirs = rng.integers(-PLAIN_MODULUS // 2, PLAIN_MODULUS // 2, DEGREE).astype(object)
        ours = rng.integers(-abs(largest) - 1, abs(largest) + 1, DEGREE)
        total.add(multiplier.load(owner.encrypt(theirs, 0, chunk), 0, chunk), multiplier.prepare(ours[::-1]))
        wanted += int((ours * theirs).sum())
    reply = multiplier.seal(total.reduced(), [DEGREE - 1])
    assert owner.decrypt(*reply, [DEGREE - 1]) == [centred(wanted)]


def test_polynomials_are_multiplied_modulo_the_primes_and_the_degree():
    rng = np.random.default_rng(1)
    one, other = np.zeros((2, DEGREE), np.int64)
    places = rng.integers(0, DEGREE, (2, 5))
    one[places[0]], other[places[1]] = rng.integers(-(2**40), 2**40, (2, 5))
    exact = [0] * DEGREE
    for i, j in itertools.product(set(places[0].tolist()), set(places[1].tolist())):
        exact[(i + j) % DEGREE] += (1 if i + j < DEGREE else -1) * int(one[i]) * int(other[j])
    product = polynomials.coefficients(
        polynomials.values(polynomials.residues(one))
        * polynomials.values(polynomials.residues(other))
        % polynomials.primes()
    )
    for at in np.flatnonzero(exact):
        assert polynomials.lifted(product[:, at]) == exact[at] % MODULUS
    assert np.count_nonzero(product.any(axis=0)) == np.count_nonzero(exact)


def test_a_prime_is_dropped_by_dividing_and_rounding():
    drawn = polynomials.uniform(Randomness.seeded(4))
    shorter = polynomials.without_last_prime(drawn)
    for at in range(20):
        exact = (polynomials.lifted(drawn[:, at]) + PRIMES[-1] // 2) // PRIMES[-1]
        assert polynomials.lifted(shorter[:, at]) == exact % math.prod(PRIMES[:-1])


def test_the_numbers_of_the_scheme_are_what_its_security_rests_on():
    """Prime factors that split the ring; 192 bits in the standard's table; room for the flood; a flood that drowns."""
    for prime in (*PRIMES, PLAIN_MODULUS):
        assert all(pow(base, prime - 1, prime) == 1 for base in (2, 3, 5, 7, 11))
    assert all(prime % (2 * DEGREE) == 1 and prime < 2**30 for prime in PRIMES)
    assert MODULUS.bit_length() <= 152
    assert np.sqrt(LARGEST_SMALL / 2) >= 3.2
    for records in (10, 1000, 10**5, 10**6):
        absolute_sum = records * (2 ** precision(records) + 1)  # Cauchy–Schwarz
        depends_on_ours = (LARGEST_SMALL + 1) * absolute_sum + 2 * DEGREE * LARGEST_SMALL**2
        assert FLOOD + depends_on_ours + 2**61 * DEGREE * LARGEST_SMALL < MODULUS / (2 * PLAIN_MODULUS)
        assert depends_on_ours / FLOOD < 2**-48


def test_decoys_let_honest_columns_pass_and_few_others():
    """How long a column looks has 16 degrees of freedom; uniform numbers fill a cube, of which a ball is let pass."""
    most = DECOYS + 2 * np.sqrt(DECOYS * _SURPRISE) + 2 * _SURPRISE
    assert special.chdtrc(DECOYS, most) < 1e-12
    assert np.sqrt(most / DECOYS) == pytest.approx(2.7, abs=0.05)
    assert COARSE_FLOOD * 2 * 2**7 <= MODULUS  # seven bits are left of a sum
    assert 7 * DECOYS <= DECOY_SUMS * BITS_A_SUM
    passes = {times: special.chdtr(DECOYS, most * (1 + _NOISE) / times**2) for times in (5, 8, 38)}
    assert passes == pytest.approx({5: 2.4e-3, 8: 4.4e-6, 38: 1.4e-16}, rel=0.05)
    radius = np.sqrt(most * (1 + _NOISE)) / 16
    assert math.pi ** (DECOYS / 2) / math.gamma(DECOYS / 2 + 1) * (radius / 2) ** DECOYS == pytest.approx(
        5.5e-9, rel=0.05
    )
    together = [(np.sqrt(DECOYS) + np.sqrt(m) + np.sqrt(2 * _SURPRISE)) / np.sqrt(DECOYS) for m in (1, 20)]
    assert together == pytest.approx([3.1, 4.0], abs=0.05)


def test_moments_of_the_others_columns_are_compared_in_every_direction():
    moments = np.array([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]])
    projections = np.random.default_rng(1).multivariate_normal(np.zeros(3), moments, DECOYS)
    check_lengths(projections, moments)
    moments[0, 1] = moments[1, 0] = -0.99  # nearly opposites, by which their sum would be short
    with pytest.raises(ProtocolError, match="of their own columns are not those"):
        check_lengths(projections, moments)


def test_small_coefficients_have_the_stated_spread():
    """The variance of 2¹⁷ draws is within 6 standard errors, √(2/2¹⁷) each."""
    drawn = np.concatenate([polynomials.small(Randomness.secure()) for _ in range(16)])
    assert abs(drawn.var() / (LARGEST_SMALL / 2) - 1) < 6 * np.sqrt(2 / len(drawn))
    assert abs(drawn.mean()) < 6 * np.sqrt(LARGEST_SMALL / 2 / len(drawn))
    assert np.abs(drawn).max() <= LARGEST_SMALL


def multiplying(link, columns, their_columns=1):
    """Our side in a thread of its own, and what becomes of it."""
    ended, decoys = [], draw_decoys(len(columns), 20, Randomness.secure())

    def run():
        try:
            ended.append(cross_moments_as_multiplier(link, columns, their_columns, 20, decoys))
        except ProtocolError as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, ended


def test_ciphertexts_out_of_order_are_refused():
    near, far = linked_pair("alice", "bob", 5.0)
    thread, ended = multiplying(near, np.ones((10, 1), np.int64))
    owner = KeyOwner(_tossed_as_owner(far))
    far.send(EncryptionKey(owner.public_key()))
    far.send(Columns(3, owner.encrypt(np.ones(DEGREE, object), 3, 0)))
    thread.join()
    assert "bob sent Columns 3 where 0 was due" in str(ended[0])


def test_products_that_no_standardised_columns_have_are_refused():
    near, far = linked_pair("alice", "bob", 5.0)
    ours = rounded(np.resize([1.0, -1.0], (10, 1)), 20)
    thread, _ = multiplying(near, 2 * ours)
    with pytest.raises(ProtocolError, match="make no sense"):
        cross_moments_as_owner(far, ours, 1, 20, draw_decoys(10, 20, Randomness.secure()))
    far.close()
    thread.join()


@pytest.mark.parametrize("sums", [np.zeros((2, 2), np.int64), np.full((1, 1), 15 << 40), np.full((1, 1), -(1 << 63))])
def test_sums_no_columns_of_the_plan_have_are_refused(sums):
    near, far = linked_pair("alice", "bob", 5.0)
    thread, ended = multiplying(near, np.ones((10, 1), np.int64))
    owner = KeyOwner(_tossed_as_owner(far))
    far.send(EncryptionKey(owner.public_key()))
    far.send(Columns(0, owner.encrypt(np.ones(DEGREE, object), 0, 0)))
    assert far.receive(Products).place == 0
    _read_sums(far, owner, np.ones((10, 16), np.int64), 1, start=1)
    far.send(CrossSums(sums))
    thread.join()
    assert "moments that no columns of the plan have" in str(ended[0])


def test_few_records_share_ciphertexts_and_many_take_several():
    assert (SlotLayout(1000).together, SlotLayout(1000).chunks, SlotLayout(1000).groups(20)) == (8, 1, 3)
    assert (SlotLayout(100_000).together, SlotLayout(100_000).chunks, SlotLayout(100_000).groups(20)) == (1, 13, 20)
