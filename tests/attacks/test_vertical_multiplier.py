"""A company that multiplies and cheats: it returns what it likes, and the owner of the key would tell what it reads.

Whoever is told the decryption of chosen replies is told the key: each number holds eleven coefficients of the secret,
so some 750 numbers hold all 8192. The column of secret weights is what stands against it.
"""

import threading
from fractions import Fraction

import numpy as np
import pytest

from kakuran.errors import ProtocolError
from kakuran.randomness import Randomness
from kakuran.vertical.encryption import PLAIN_MODULUS, KeyOwner, Multiplier, Seed, SumOfProducts, pack
from kakuran.vertical.gram import (
    DECOYS,
    SlotLayout,
    _prepared,
    _reply,
    _tossed_as_multiplier,
    cross_moments_as_owner,
    draw_decoys,
)
from kakuran.vertical.messages import Columns, CrossSums, EncryptionKey, Products
from kakuran.vertical.polynomials import DEGREE, PRIMES, primes
from kakuran.vertical.transport import linked_pair

RETURNED = 3
MODULUS = PRIMES[0] * PRIMES[1] * PRIMES[2]
DIGITS = 11
RECORDS, OWNERS, OURS = 500, 3, 2
OUR_COLUMN = np.random.default_rng(4).integers(-(2**20), 2**20, RECORDS)


def scaled(number):
    """What a sum of this number is encrypted as, modulo the primes of a reply."""
    return round(Fraction(MODULUS * number, PLAIN_MODULUS))


def asking_for_the_secret(place, start):
    """A reply whose sum is eleven coefficients of the owner's secret, five binary digits each."""
    body = [0] * DEGREE
    for digit in range(DIGITS):
        body[place - start - digit] = scaled(1 << (5 * digit))
    residues = np.array([[number % prime for number in body] for prime in PRIMES[:RETURNED]], np.uint64)
    return pack(residues), bytes(4 * RETURNED)


def digits_of(number):
    """Digits between −16 and 15 from the last to the first."""
    found = []
    for _ in range(DIGITS):
        digit = (number + 16) % 32 - 16
        found.append(digit)
        number = (number - digit) // 32
    return found


def test_an_owner_who_tells_what_it_reads_would_tell_its_secret():
    owner = KeyOwner(Seed(b"tossed"))
    told = owner.decrypt(*asking_for_the_secret(DEGREE - 1, 100), [DEGREE - 1])[0]
    assert digits_of(told) == owner._secret[100 : 100 + DIGITS].tolist()


def run_against(reply):
    """What the owner of the key ends with, and what it told, when `reply` makes the products."""
    columns = np.random.default_rng(3).integers(-(2**20), 2**20, (RECORDS, OWNERS))
    layout, decoys = SlotLayout(RECORDS), draw_decoys(RECORDS, 23, Randomness.secure())
    far, near = linked_pair("owner", "cheat", 10.0)
    ended = []

    def owner():
        try:
            ended.append(cross_moments_as_owner(far, columns, OURS, 23, decoys))
        except ProtocolError as error:
            ended.append(error)
            far.close()

    thread = threading.Thread(target=owner)
    thread.start()
    multiplier = Multiplier(_tossed_as_multiplier(near), near.receive(EncryptionKey).key)
    groups = [multiplier.load(near.receive(Columns).ciphertext, group, 0) for group in range(layout.groups(OWNERS + 1))]
    assert len(groups) == 1
    places = layout.places(OWNERS + 1, 0)
    for place in range(OURS):
        near.send(Products(place, *reply(multiplier, groups[0], places, layout)))
    try:
        _reply(near, multiplier, _prepared(np.column_stack([OUR_COLUMN] * OURS)), RECORDS, DECOYS, 1, is_coarse=True)
        told = near.receive(CrossSums).sums
        near.close()
    except ProtocolError:
        told = None
    thread.join()
    return columns, ended[0], told


def test_a_column_multiplied_honestly_is_told():
    def honest(multiplier, ciphertext, places, layout):
        total = SumOfProducts()
        total.add(ciphertext, multiplier.prepare(layout.backwards(OUR_COLUMN, 0)))
        return multiplier.seal(total.reduced(), places)

    columns, _, told = run_against(honest)
    assert told[0].tolist() == (OUR_COLUMN @ columns).tolist()


def secret_instead(multiplier, ciphertext, places, layout):
    return asking_for_the_secret(places[0], 0)[0], pack(np.zeros((RETURNED, len(places)), np.uint64))


def another_column_for_each(multiplier, ciphertext, places, layout):
    """The honest product for the first of the owner's columns, and the products of another column for the rest."""
    replies = []
    for seed in (4, 5):
        ours, total = np.random.default_rng(seed).integers(-(2**20), 2**20, RECORDS), SumOfProducts()
        total.add(ciphertext, multiplier.prepare(layout.backwards(ours, 0)))
        replies.append(multiplier.seal(total.reduced(), places))
    (body, first), (_, second) = replies
    mixed = np.frombuffer(first, "<u4").reshape(RETURNED, -1).copy()
    mixed[:, 1:] = np.frombuffer(second, "<u4").reshape(RETURNED, -1)[:, 1:]
    return body, mixed.tobytes()


def nothing_of_the_owners(multiplier, ciphertext, places, layout):
    """A number of the multiplier's own, added to the honest product."""
    ours, total = np.ones(RECORDS, np.int64), SumOfProducts()
    total.add(ciphertext, multiplier.prepare(layout.backwards(ours, 0)))
    body, sums = multiplier.seal(total.reduced(), places)
    shifted = np.frombuffer(sums, "<u4").reshape(RETURNED, -1).astype(np.uint64)
    shifted[:, 0] += np.array([scaled(1000) % prime for prime in PRIMES[:RETURNED]], np.uint64)
    return body, pack(shifted % primes(RETURNED))


@pytest.mark.parametrize("reply", [secret_instead, another_column_for_each, nothing_of_the_owners])
def test_a_multiplier_who_returns_anything_but_products_with_one_column_is_told_nothing(reply):
    _, ended, told = run_against(reply)
    assert told is None
    assert "are not those of one table; it was told nothing" in str(ended)
