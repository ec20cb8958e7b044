"""The owner of the key remembers the noise of what it sent, and looks for the other's column in the noise that returns.

A product of a ciphertext with noise e and a plaintext polynomial m has noise e·m, so dividing what comes back by e
gives m and with it the other side's column, however fresh and masked the ciphertext is. Only the switch of the modulus,
which scales the noise below its own rounding, stands against it.
"""

import functools

import numpy as np
import pytest
import tenseal.sealapi as seal

from kakuran.vertical.protocols import encryption
from kakuran.vertical.protocols.encryption import SLOTS, Multiplier, pack, plain_modulus, precision, unpack

BYTES = 33
"""For a coefficient of the product of a 194-bit polynomial and one of zeros and ones."""


class Remembering:
    """The owner of a key who keeps the secret polynomial at hand."""

    def __init__(self):
        context = encryption._scheme().context
        generator, self.public = seal.KeyGenerator(context), seal.PublicKey()
        generator.create_public_key(self.public)
        secret = generator.secret_key()
        self.encryptor = seal.Encryptor(context, self.public, secret)
        self.decryptor = seal.Decryptor(context, secret)
        self.primes = [prime.value() for prime in context.key_context_data().parms().coeff_modulus()]
        self.secret = self._coefficients(secret.data())

    def _coefficients(self, transformed):
        """The secret's coefficients −1, 0, 1: its number-theoretic transform undone modulo the smallest prime."""
        prime, start = self.primes[-1], (len(self.primes) - 1) * SLOTS
        values = np.array([transformed[start + at] for at in range(SLOTS)], np.int64)[_bits_reversed()]
        inverse = pow(_smallest_root(prime), -1, prime)
        powers = np.array(list(_powers(inverse, prime, 2 * SLOTS)), np.int64)
        odd = 2 * np.arange(SLOTS) + 1
        sums = [int((values * powers[odd * at % (2 * SLOTS)] % prime).sum()) for at in range(SLOTS)]
        found = np.array([total * pow(SLOTS, -1, prime) % prime for total in sums])
        return np.where(found > prime // 2, found - prime, found)

    def noise(self, ciphertext):
        """c₀ + c₁·s less the scaled message, exactly: what scaling rounds away is noise too, and multiplied with it."""
        primes = self.primes[: ciphertext.coeff_modulus_size()]
        whole = functools.reduce(int.__mul__, primes)
        first, second = (_lifted(ciphertext, part, primes, whole) for part in (0, 1))
        message, modulus = seal.Plaintext(), plain_modulus()
        self.decryptor.decrypt(ciphertext, message)
        found = []
        for at, turned in enumerate(_times(second, self.secret)):
            known = message[at] if at < message.coeff_count() else 0
            left = ((first[at] + turned) * modulus - known * whole) % (whole * modulus)
            found.append((left - whole * modulus if left > whole * modulus // 2 else left) / modulus)
        return np.array(found)


def _lifted(ciphertext, part, primes, whole):
    """Coefficients modulo the product of the primes (Chinese remainders)."""
    weights = [whole // prime * pow(whole // prime, -1, prime) for prime in primes]
    starts = [(part * len(primes) + at) * SLOTS for at in range(len(primes))]
    return [
        sum(ciphertext[start + at] * weight for start, weight in zip(starts, weights, strict=True)) % whole
        for at in range(SLOTS)
    ]


def _times(polynomial, signs):
    """The product with a polynomial of −1, 0, 1 modulo x^SLOTS + 1, as one product of very long integers."""
    product = np.zeros(SLOTS, object)
    for sign in (1, -1):
        digits = (_long(polynomial) * _long((signs == sign).astype(int))).to_bytes(2 * SLOTS * BYTES, "little")
        terms = [int.from_bytes(digits[at * BYTES : (at + 1) * BYTES], "little") for at in range(2 * SLOTS)]
        product += sign * (np.array(terms[:SLOTS], object) - np.array(terms[SLOTS:], object))
    return product


def _long(numbers):
    return int.from_bytes(b"".join(int(number).to_bytes(BYTES, "little") for number in numbers), "little")


def _bits_reversed():
    bits = SLOTS.bit_length() - 1
    return sum(((np.arange(SLOTS) >> at) & 1) << (bits - 1 - at) for at in range(bits))


def _powers(base, prime, count):
    value = 1
    for _ in range(count):
        yield value
        value = value * base % prime


def _smallest_root(prime):
    """The smallest of the primitive roots of unity of order 2·SLOTS, which is the one SEAL takes."""
    trials = (pow(base, (prime - 1) // (2 * SLOTS), prime) for base in range(2, 1000))
    root = next(trial for trial in trials if pow(trial, SLOTS, prime) == prime - 1)
    return min(root * even % prime for even in _powers(root * root % prime, prime, SLOTS))


def quotient(noise, by):
    """Division of polynomials modulo x^SLOTS + 1."""
    twist = np.exp(1j * np.pi * np.arange(SLOTS) / SLOTS)
    return (np.fft.ifft(np.fft.fft(noise * twist) / np.fft.fft(by * twist)) / twist).real


@pytest.fixture(scope="module")
def owner():
    """The owner of the key."""
    return Remembering()


@pytest.fixture(scope="module")
def attack(owner):
    """How well what the owner reads off the noise of a reply correlates with the other's polynomial."""
    scheme, rng = encryption._scheme(), np.random.default_rng(2)
    assert set(owner.secret.tolist()) == {-1, 0, 1}
    ours, theirs = (rng.integers(-(2**20), 2**20, SLOTS) for _ in range(2))
    sent = pack(owner.encryptor.encrypt_symmetric(scheme.plaintext(theirs)))
    multiplier = Multiplier(pack(owner.public))
    plain, modulus = scheme.plaintext(ours), plain_modulus()
    wanted = [float(plain[at] if plain[at] <= modulus // 2 else plain[at] - modulus) for at in range(SLOTS)]
    remembered = owner.noise(unpack(seal.Ciphertext, sent))

    def correlation(answer):
        total = multiplier.add_product(None, multiplier.load(sent), multiplier.prepare(ours))
        read = quotient(owner.noise(answer(multiplier, total)), remembered)
        return abs(np.corrcoef(read, wanted)[0, 1])

    return correlation


def rerandomised_and_masked(multiplier, total):
    """Everything but the switch."""
    scheme, reply = encryption._scheme(), seal.Ciphertext()
    multiplier._encryptor.encrypt_zero(reply)
    scheme.evaluator.transform_from_ntt_inplace(total)
    scheme.evaluator.add_inplace(reply, total)
    scheme.evaluator.add_plain_inplace(reply, scheme.plaintext(encryption.zero_sum_mask(1, SLOTS)))
    return reply


def test_without_the_switch_the_noise_gives_alices_column_away(attack):
    assert attack(rerandomised_and_masked) > 0.999


def test_after_the_switch_the_noise_says_nothing(attack):
    """Independent polynomials correlate above 6/√8192 twice in 10⁹ runs."""
    assert attack(lambda multiplier, total: unpack(seal.Ciphertext, multiplier.seal(total, 1, SLOTS))) < 6 / SLOTS**0.5


def test_the_noise_of_a_hundred_thousand_products_is_below_68_bits_of_which_the_switch_takes_120(owner):
    scheme, rng = encryption._scheme(), np.random.default_rng(3)
    multiplier, bits, total = Multiplier(pack(owner.public)), precision(100_000), None
    for _ in range(-(-100_000 // SLOTS)):
        ours, theirs = (rng.integers(-(2**bits), 2**bits, SLOTS) for _ in range(2))
        sent = multiplier.load(pack(owner.encryptor.encrypt_symmetric(scheme.plaintext(theirs))))
        total = multiplier.add_product(total, sent, multiplier.prepare(ours))
    scheme.evaluator.transform_from_ntt_inplace(total)
    assert 2**60 < np.abs(owner.noise(total)).max() < 2**68
    assert sum(encryption._SENT_PRIMES[encryption._RETURNED_PRIMES :]) == 120
