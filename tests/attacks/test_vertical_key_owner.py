"""A company that owns the key and cheats, to read more of the other's columns than sums.

Two such attacks read every value of the other's table, unseen, while both halves of keys and ciphertexts were the
owner's to choose: a key of two constants, which made no reply new, and noise put into c₀, which came back multiplied.
Each attack below also runs against the protocol with one protection taken out, where it works.
"""

import threading

import numpy as np
import pytest

from kakuran.errors import ProtocolError
from kakuran.vertical import encryption
from kakuran.vertical.encryption import (
    MODULUS,
    PLAIN_MODULUS,
    KeyOwner,
    Multiplier,
    Seed,
    SumOfProducts,
    pack,
    unpack,
)
from kakuran.vertical.gram import _commitment, _tossed_as_owner, cross_moments_as_multiplier
from kakuran.vertical.messages import Columns, Commitment, EncryptionKey, Products, TossShare
from kakuran.vertical.polynomials import DEGREE, PRIMES, coefficients, lifted, primes, residues, values
from kakuran.vertical.transport import linked_pair

LAST = DEGREE - 1
RETURNED = len(PRIMES)
"""Replies here keep all primes: no protection rests on their being shortened."""


@pytest.fixture(autouse=True)
def unshortened(monkeypatch):
    monkeypatch.setattr(encryption, "_RETURNED", RETURNED)


@pytest.fixture(scope="module")
def column():
    """The column the owner of the key is after, and its polynomial."""
    values = np.random.default_rng(2).integers(-(2**20), 2**20, DEGREE)
    return values, values[::-1].copy()


def constant(number):
    """A polynomial that is one number, by its values."""
    polynomial = np.zeros((len(PRIMES), DEGREE), np.uint64)
    polynomial[:, 0] = [number % prime for prime in PRIMES]
    return values(polynomial)


def reply_to(key, ciphertext, polynomial, seed):
    """What a multiplier returns for one ciphertext, whose first half and key the owner made up."""
    multiplier, total = Multiplier(seed, pack(key)), SumOfProducts()
    total.add(multiplier.load(pack(ciphertext), 0, 0), multiplier.prepare(polynomial))
    body, sums = multiplier.seal(total.reduced(), [LAST])
    return unpack(body, (RETURNED, DEGREE)), unpack(sums, (RETURNED, 1))


def whole(polynomial):
    """Coefficients nearest to zero."""
    found = np.array([lifted(polynomial[:, at]) for at in range(polynomial.shape[1])], object)
    return np.where(found > MODULUS // 2, found - MODULUS, found)


def correlation(one, other):
    return abs(np.corrcoef(np.asarray(one, float), np.asarray(other, float))[0, 1])


BY_CHANCE = 6 / DEGREE**0.5
"""Independent columns correlate above this twice in 10⁹ runs."""


class Untossed(Seed):
    """A seed as the owner of the key would like it: constants, whose multiples can be read."""

    def for_key(self):
        return constant(1 << 20)

    def for_column(self, group, chunk):
        return constant(1 << 60)


@pytest.mark.parametrize("seed", [Untossed(b""), Seed(b"tossed")])
def test_a_constant_key_reads_the_column_only_where_it_is_not_tossed(seed, column):
    body, _ = reply_to(constant(1 << 20), constant(1), column[1], seed)
    read = whole(body) / 2**60
    if isinstance(seed, Untossed):
        assert np.abs(read.astype(float) - column[1]).max() < 1
    else:
        assert correlation(read, column[1]) < BY_CHANCE


def test_dividing_what_returns_by_what_was_sent_gives_the_column_only_where_the_reply_is_not_made_new(column):
    seed, polynomial = Seed(b"tossed"), column[1]
    sent = seed.for_column(0, 0)
    inverse = np.stack([[pow(int(v), -1, p) for v in row] for row, p in zip(sent, PRIMES, strict=True)]).astype(
        np.uint64
    )
    as_it_was = values(residues(polynomial)) * sent % primes()
    assert (whole(coefficients(as_it_was * inverse % primes())) == polynomial).all()
    body, _ = reply_to(constant(0), constant(0), polynomial, seed)
    divided = coefficients(values(body) * inverse % primes())
    for residue in divided:
        assert correlation(residue, polynomial) < BY_CHANCE


def test_the_half_that_hides_the_sums_is_uniform_whatever_the_owner_sends(column):
    """χ² over 16 classes with 15 degrees of freedom passes 90 once in 10¹² runs."""
    for key, ciphertext in ((constant(0), constant(0)), (constant(1 << 20), constant(MODULUS // PLAIN_MODULUS))):
        body, _ = reply_to(key, ciphertext, column[1], Seed(b"tossed"))
        for residue, prime in zip(body, PRIMES, strict=True):
            classes = np.bincount((residue * np.uint64(16) // np.uint64(prime)).astype(int), minlength=16)
            assert ((classes - DEGREE / 16) ** 2 / (DEGREE / 16)).sum() < 90


def noise_read(polynomial, flood, monkeypatch, repeats=40):
    """What an owner with the secret s = 1, who put 2⁶⁰ into c₀, reads of one record from the noise of replies."""
    monkeypatch.setattr(encryption, "FLOOD", flood)
    seed = Seed(b"tossed")
    key = (2 * primes() - seed.for_key() - constant(1)) % primes()
    ciphertext = (primes() - seed.for_column(0, 0) + constant(1 << 60)) % primes()
    found = []
    for _ in range(repeats):
        body, sums = reply_to(key, ciphertext, polynomial, seed)
        phase = whole(((sums[:, 0] + body[:, LAST]) % primes()[:, 0])[:, None])[0]
        found.append(phase / 2**60)
    return np.array(found, float)


def test_noise_put_into_a_ciphertext_comes_back_with_a_record_only_where_nothing_floods_it(column, monkeypatch):
    """With the flood, means over 40 replies lie within 6 standard errors of zero."""
    values, polynomial = column
    wanted = values[0]
    assert np.abs(noise_read(polynomial, 1, monkeypatch) - wanted).max() < 1
    flooded = noise_read(polynomial, 1 << 91, monkeypatch)
    spread = 2.0**91 / 2**60 / 3**0.5
    assert abs(flooded.mean()) < 6 * spread / 40**0.5
    assert flooded.std() > spread / 2


def test_a_reply_holds_one_number_of_the_first_half_for_each_column_and_no_more(column):
    owner = KeyOwner(Seed(b"tossed"))
    multiplier, total = Multiplier(Seed(b"tossed"), owner.public_key()), SumOfProducts()
    total.add(multiplier.load(owner.encrypt(column[0].astype(object), 0, 0), 0, 0), multiplier.prepare(column[1]))
    body, sums = multiplier.seal(total.reduced(), [5, LAST])
    assert len(body) == 4 * RETURNED * DEGREE
    assert len(sums) == 4 * RETURNED * 2


def test_an_owner_who_sees_the_other_share_first_cannot_choose_the_toss():
    near, far = linked_pair("victim", "owner", 5.0)
    ended = []

    def victim():
        try:
            cross_moments_as_multiplier(near, np.ones((10, 1), np.int64), 1, 20, np.ones((10, 1), np.int64))
        except ProtocolError as error:
            ended.append(str(error))

    thread = threading.Thread(target=victim)
    thread.start()
    far.send(Commitment(_commitment(bytes(32))))
    share = far.receive(TossShare).share
    far.send(TossShare(bytes(byte ^ 1 for byte in share)))
    thread.join()
    assert ended == ["owner tossed another number than the one it was bound to"]


def stolen_in_a_run(columns):
    """A whole exchange with an owner who sends a constant key and ciphertexts of its own making."""
    near, far = linked_pair("victim", "owner", 20.0)
    got = {}

    def owner():
        _tossed_as_owner(far)
        far.send(EncryptionKey(pack(constant(1 << 20))))
        for group in range(3):  # a column, the check and a decoy
            far.send(Columns(group, pack(constant(1 << 30))))
            got[group] = [far.receive(Products) for _ in range(columns.shape[1])]
        far.close()

    thread = threading.Thread(target=owner)
    thread.start()
    with pytest.raises(ProtocolError):
        cross_moments_as_multiplier(near, columns, 1, 20, np.ones((DEGREE, 1), np.int64))
    thread.join()
    return got


def test_a_run_with_an_owner_who_cheats_gives_it_nothing_that_correlates_with_a_column():
    columns = np.random.default_rng(5).integers(-(2**20), 2**20, (DEGREE, 2))
    for replies in stolen_in_a_run(columns).values():
        for reply, column in zip(replies, columns.T, strict=True):
            read = whole(unpack(reply.body, (RETURNED, DEGREE)))
            for candidate in (read, read[::-1]):
                assert correlation(candidate, column) < BY_CHANCE


def spread_of_noise(size, flood, monkeypatch, repeats=30):
    """How far replies to an owner who follows the protocol lie from the sum, for a column of this size."""
    monkeypatch.setattr(encryption, "FLOOD", flood)
    seed = Seed(b"tossed")
    owner = KeyOwner(seed)
    multiplier, noises = Multiplier(seed, owner.public_key()), []
    for chunk in range(repeats):
        total, ciphertext = SumOfProducts(), owner.encrypt(np.zeros(DEGREE, object), 0, chunk)
        total.add(multiplier.load(ciphertext, 0, chunk), multiplier.prepare(np.full(DEGREE, size, np.int64)))
        body, sums = multiplier.seal(total.reduced(), [LAST])
        turned = unpack(body, (RETURNED, DEGREE)).astype(np.int64) @ owner._reaching(LAST)
        phase = unpack(sums, (RETURNED, 1))[:, 0].astype(np.int64) + turned
        noises.append(float(whole((phase % primes(RETURNED)[:, 0].astype(np.int64))[:, None].astype(np.uint64))[0]))
    return np.std(noises)


def test_the_noise_of_replies_depends_on_the_column_only_where_nothing_floods_it(monkeypatch):
    """An owner who remembers the noise e it sent looks for e·b. Spreads of 30 draws are within a factor of 2."""
    assert spread_of_noise(2**20, 1, monkeypatch) > 1000 * spread_of_noise(1, 1, monkeypatch)
    ratio = spread_of_noise(2**20, 1 << 91, monkeypatch) / spread_of_noise(1, 1 << 91, monkeypatch)
    assert 0.5 < ratio < 2


def test_one_number_tells_57_answers_of_a_yes_no_column_to_an_owner_who_makes_up_its_weights():
    """Not prevented, and said so: one linear function of 58 bits is what any exact sum would tell of such a column."""
    answers = np.random.default_rng(6).integers(0, 2, DEGREE)
    low, high = -(2**20), 2**20
    weights = np.zeros(DEGREE, object)
    weights[:57] = [1 << (71 + place) for place in range(57)]  # twice the flood, over high − low, and powers of two
    ciphertext = values(np.stack([(weights % prime).astype(np.uint64) for prime in PRIMES]))
    _, sums = reply_to(constant(0), ciphertext, np.where(answers, high, low)[::-1].copy(), Seed(b"tossed"))
    told = lifted(sums[:, 0]) - low * int(weights.sum())
    steps = (told % MODULUS + (1 << 91)) % MODULUS // ((high - low) << 71)
    assert [steps >> place & 1 for place in range(57)] == answers[:57].tolist()
