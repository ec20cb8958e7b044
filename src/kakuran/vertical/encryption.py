"""Sums of products under encryption, of which neither side can make more than sums.

A column lies in the coefficients of a polynomial a and is encrypted as (c₀, c₁) with c₀ = −c₁·s + e + ⌊q/t·a⌉, where
s and e are small and secret (ring learning with errors). The other side has its own column, backwards, in a polynomial
b; then one coefficient of a·b is the sum of products, and that coefficient is all that is returned of the new c₀.

Against an owner of the key who cheats, a reply rests on nothing it has sent:
- every c₁ and the key's p₁ come from a seed that both sides tossed;
- what is returned of c₁ is hidden by u·p₁ + e₁ with a fresh secret u: one more instance of the same problem;
- what is returned of c₀ is one number a column, flooded with noise 2⁴⁰ times as large as all that depends on b.
Against a multiplier who cheats, the owner adds a column that is a secret combination of the others, and opens only sums
that combine in the same way. docs/decisions/encrypted-sums.md has the argument.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import ProtocolError
from kakuran.randomness import Randomness
from kakuran.vertical.polynomials import (
    DEGREE,
    PRIMES,
    SUMMED_AT_ONCE,
    Residues,
    Whole,
    coefficients,
    lifted,
    primes,
    residues,
    small,
    uniform,
    values,
    without_last_prime,
)
from kakuran.words import Phrase

PLAIN_MODULUS = (1 << 57) - 13
"""t, the prime modulo which sums are counted."""
MODULUS = math.prod(PRIMES)
"""q, of 150 bits: 192 bits of security at 8192 coefficients (Homomorphic Encryption Standard, 2018, table 1)."""
FLOOD = 1 << 91
"""Noise added to a returned sum is uniform on −FLOOD … FLOOD−1; q/2t, what decryption can bear, is twice as much."""
COARSE_FLOOD = MODULUS >> 8
"""Noise added to a sum with a decoy: 7 bits of it are left, enough to see how long a column is."""
_RETURNED = 3
"""Primes of a reply: 90 bits are enough to read a sum, and the rest would only be longer."""


def precision(records: int) -> int:
    """Binary digits a standardised column can be rounded to so that no sum of products passes t/2."""
    bits = PLAIN_MODULUS.bit_length() // 2
    while records * (2**bits + 1) ** 2 >= PLAIN_MODULUS // 2:  # Cauchy–Schwarz: no sum is above the sums of squares
        bits -= 1
    return bits


@dataclass(frozen=True)
class Seed:
    """Public randomness that both sides tossed together, from which every c₁ and p₁ is drawn."""

    content: bytes

    def for_key(self) -> Residues:
        """p₁, by its values."""
        return uniform(Randomness.derived(b"kakuran key\0" + self.content))

    def for_column(self, group: int, chunk: int) -> Residues:
        """c₁ of one ciphertext, by its values."""
        return uniform(Randomness.derived(b"kakuran column\0%d\0%d\0" % (group, chunk) + self.content))


class KeyOwner:
    """The side that encrypts its columns and reads the sums."""

    def __init__(self, seed: Seed) -> None:
        self._seed, self._randomness = seed, Randomness.secure()
        self._secret = small(self._randomness)
        self._secret_values = values(residues(self._secret))

    def public_key(self) -> bytes:
        """p₀, with which the other side makes its replies new."""
        return pack(self._hidden(self._seed.for_key(), residues(small(self._randomness))))

    def encrypt(self, polynomial: Whole, group: int, chunk: int) -> bytes:
        """c₀ of a polynomial with coefficients modulo t; c₁ is known to both."""
        noisy = (_scaled(polynomial) + residues(small(self._randomness))) % primes()
        return pack(self._hidden(self._seed.for_column(group, chunk), noisy))

    def _hidden(self, second: Residues, message: Residues) -> Residues:
        covered = values(message) + primes() - second * self._secret_values % primes()
        return np.asarray(covered % primes())

    def decrypt(self, body: bytes, sums: bytes, places: list[int]) -> list[int]:
        """The sums a reply holds for these coefficients, modulo t and nearest to zero."""
        second = unpack(body, (_RETURNED, DEGREE)).astype(np.int64)
        first = unpack(sums, (_RETURNED, len(places)))
        return [_read(first[:, at], second @ self._reaching(place)) for at, place in enumerate(places)]

    def _reaching(self, place: int) -> Whole:
        """The secret, turned so that its product with c₁, coefficient by coefficient, adds up to one of c₁·s."""
        return np.r_[self._secret[place::-1], -self._secret[:place:-1]]


class Multiplier:
    """The side that multiplies what it cannot read."""

    def __init__(self, seed: Seed, public_key: bytes) -> None:
        self._seed, self._randomness = seed, Randomness.secure()
        self._key = np.stack([unpack(public_key, (len(PRIMES), DEGREE)), seed.for_key()])

    def load(self, ciphertext: bytes, group: int, chunk: int) -> Residues:
        """Both halves of a ciphertext of the other side, by their values."""
        return np.stack([unpack(ciphertext, (len(PRIMES), DEGREE)), self._seed.for_column(group, chunk)])

    @staticmethod
    def prepare(polynomial: Whole) -> NDArray[np.uint32]:
        """An own polynomial, ready to multiply with."""
        return values(residues(polynomial)).astype(np.uint32)

    def seal(self, total: Residues, places: list[int], *, is_coarse: bool = False) -> tuple[bytes, bytes]:
        """The reply: c₁ made new, and of c₀ only the coefficients at these places, flooded."""
        fresh = values(residues(small(self._randomness)))
        first, second = coefficients((total + self._key * fresh % primes()) % primes())
        second = (second + residues(small(self._randomness))) % primes()
        first = (first[:, places] + self._flood(len(places), COARSE_FLOOD if is_coarse else FLOOD)) % primes()
        return pack(_shortened(second)), pack(_shortened(first))

    def _flood(self, count: int, size: int) -> Residues:
        drawn = self._randomness.words(4 * count).reshape(count, 4)  # 256 bits each: uniform to within 2⁻¹⁰⁰
        noise = [(int.from_bytes(words.tobytes(), "little") % (2 * size) - size) % MODULUS for words in drawn]
        return np.array([[each % prime for each in noise] for prime in PRIMES], np.uint64)


class SumOfProducts:
    """A sum of ciphertexts times polynomials, reduced no more often than 64 bits ask for."""

    def __init__(self) -> None:
        self._total, self._unreduced = np.zeros((2, len(PRIMES), DEGREE), np.uint64), 0

    def add(self, ciphertext: Residues, prepared: NDArray[np.uint32]) -> None:
        """One product more."""
        if self._unreduced == SUMMED_AT_ONCE - 1:
            self._total, self._unreduced = self.reduced(), 0
        self._total += ciphertext * prepared
        self._unreduced += 1

    def reduced(self) -> Residues:
        """The sum, by its values."""
        return np.asarray(self._total % primes())


def pack(polynomial: Residues) -> bytes:
    """Residues as bytes, four each."""
    return polynomial.astype("<u4").tobytes()


def unpack(content: bytes, shape: tuple[int, int]) -> Residues:
    """The inverse of `pack`; refuses what has another shape, and residues that are none."""
    if len(content) != 4 * math.prod(shape):
        raise ProtocolError(
            Phrase(
                "the peer sent a polynomial of {found:,} bytes where {due:,} are due",
                found=len(content),
                due=4 * math.prod(shape),
            )
        )
    found = np.frombuffer(content, "<u4").reshape(shape).astype(np.uint64)
    if (found >= primes(shape[0])).any():
        raise ProtocolError(Phrase("the peer sent a polynomial with coefficients beyond the modulus of our scheme"))
    return found


def combined(columns: Whole, weights: Whole) -> Whole:
    """The sums of the columns times each set of weights, modulo t.

    Columns are below 2²⁹ and weights below 2⁵⁷, so weights are taken 19 bits at a time: 64 hold no whole product.
    """
    total = np.zeros((len(columns), weights.shape[1]), np.int64)
    for shift in (38, 19, 0):
        for doublings in (6, 6, 6, 1):
            total = (total << doublings) % PLAIN_MODULUS
        total = (total + columns @ (weights >> shift & (1 << 19) - 1)) % PLAIN_MODULUS
    return total


def secret_weights(count: int, sets: int) -> Whole:
    """Weights that are uniform modulo t, one row a column."""
    randomness = Randomness.secure()
    drawn = np.empty(0, np.uint64)
    while len(drawn) < count * sets:
        words = randomness.words(count * sets) >> np.uint64(7)
        drawn = np.append(drawn, words[words < PLAIN_MODULUS])
    return drawn[: count * sets].astype(np.int64).reshape(count, sets)


def centred(value: int) -> int:
    """A number modulo t as the one nearest to zero."""
    value %= PLAIN_MODULUS
    return value - PLAIN_MODULUS if value > PLAIN_MODULUS // 2 else value


def _scaled(polynomial: Whole) -> Residues:
    """⌊q/t·a⌉ modulo every prime: q·a less its remainder by t, over t, and q·a is zero modulo the primes."""
    half = PLAIN_MODULUS // 2
    remainders = ((MODULUS % PLAIN_MODULUS * polynomial.astype(object) + half) % PLAIN_MODULUS).astype(np.int64)
    return np.asarray(residues(half - remainders) * _inverses_of_t() % primes())


@cache
def _inverses_of_t() -> Residues:
    return np.array([pow(PLAIN_MODULUS, -1, prime) for prime in PRIMES], np.uint64)[:, None]


def _shortened(polynomials: Residues) -> Residues:
    while polynomials.shape[-2] > _RETURNED:
        polynomials = without_last_prime(polynomials)
    return polynomials


def _read(first: Residues, second: NDArray[np.int64]) -> int:
    modulus = math.prod(PRIMES[:_RETURNED])
    phase = lifted((first.astype(np.int64) + second) % primes(_RETURNED)[:, 0].astype(np.int64))
    return centred((phase * PLAIN_MODULUS + modulus // 2) // modulus)
