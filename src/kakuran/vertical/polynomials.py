"""Polynomials modulo Xⁿ + 1 and a product of primes, as arrays of residues: (…, prime, coefficient).

A polynomial is held by its coefficients or, to be multiplied, by its values at the 2n-th roots of unity; `values` and
`coefficients` turn one into the other (a number-theoretic transform). Primes have 30 bits, so that sixteen products
of residues fit into a 64-bit word and need to be reduced only once.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.randomness import Randomness

Residues: TypeAlias = NDArray[np.uint64]
Whole: TypeAlias = NDArray[np.int64]

DEGREE = 8192
PRIMES = (1073692673, 1073643521, 1073479681, 1073430529, 1073299457)
"""The largest primes below 2³⁰ modulo which Xⁿ + 1 falls into linear factors."""
SUMMED_AT_ONCE = 16
"""Products of residues that 64 bits can add up."""
_COIN_FLIPS = 21
"""Half of the coins behind a small coefficient, whose standard deviation is √(21/2) = 3.24."""
LARGEST_SMALL = _COIN_FLIPS


def primes(count: int = len(PRIMES)) -> Residues:
    """The first primes, to stand beside arrays of residues."""
    return np.array(PRIMES[:count], np.uint64)[:, None]


def residues(polynomial: Whole) -> Residues:
    """Whole coefficients (of any sign) modulo every prime."""
    return np.asarray(np.mod(polynomial[..., None, :], primes().astype(np.int64)), np.uint64)


def small(randomness: Randomness) -> Whole:
    """Secret coefficients of a centred binomial distribution, each between −21 and 21."""
    words, half = randomness.words(DEGREE), np.uint64((1 << _COIN_FLIPS) - 1)
    heads, tails = np.bitwise_count(words & half), np.bitwise_count((words >> np.uint64(_COIN_FLIPS)) & half)
    return heads.astype(np.int64) - tails.astype(np.int64)


def uniform(randomness: Randomness) -> Residues:
    """A polynomial of which every residue is uniform."""
    return np.stack([randomness.below(prime, DEGREE).astype(np.uint64) for prime in PRIMES])


def values(polynomials: Residues) -> Residues:
    """Coefficients to values (Cooley–Tukey)."""
    out, count = polynomials.copy(), polynomials.shape[-2]
    roots, modulus = _roots(count)[0], primes(count)[:, :, None]
    blocks, size = 1, DEGREE
    while size > 1:
        size //= 2
        pairs = out.reshape(*out.shape[:-1], blocks, 2, size)
        high = pairs[..., 1, :] * roots[:, blocks : 2 * blocks, None] % modulus
        low = pairs[..., 0, :].copy()
        _into(pairs[..., 0, :], low + high, modulus)
        _into(pairs[..., 1, :], low + (modulus - high), modulus)
        blocks *= 2
    return out


def coefficients(points: Residues) -> Residues:
    """Values back to coefficients (Gentleman–Sande)."""
    out, count = points.copy(), points.shape[-2]
    roots, modulus = _roots(count)[1], primes(count)[:, :, None]
    blocks, size = DEGREE, 1
    while blocks > 1:
        blocks //= 2
        pairs = out.reshape(*out.shape[:-1], blocks, 2, size)
        low, high = pairs[..., 0, :].copy(), pairs[..., 1, :].copy()
        _into(pairs[..., 0, :], low + high, modulus)
        pairs[..., 1, :] = (low + (modulus - high)) * roots[:, blocks : 2 * blocks, None] % modulus
        size *= 2
    shares = np.array([pow(DEGREE, -1, prime) for prime in PRIMES[:count]], np.uint64)[:, None]
    return np.asarray(out * shares % primes(count))


def without_last_prime(polynomials: Residues) -> Residues:
    """Coefficients divided by the last prime and rounded, modulo the others."""
    count = polynomials.shape[-2]
    last = PRIMES[count - 1]
    half, rest = np.uint64(last // 2), primes(count - 1)
    remainder = (polynomials[..., -1:, :] + half) % np.uint64(last)
    inverses = np.array([pow(last, -1, prime) for prime in PRIMES[: count - 1]], np.uint64)[:, None]
    divisible = (polynomials[..., :-1, :] + half + rest - remainder % rest) % rest
    return np.asarray(divisible * inverses % rest)


def lifted(scalar: NDArray[np.int64] | Residues) -> int:
    """The whole number below the product of the primes with these residues (Chinese remainders)."""
    count = len(scalar)
    product = math.prod(PRIMES[:count])
    weights = (product // prime for prime in PRIMES[:count])
    terms = (
        int(residue) * weight * pow(weight, -1, prime)
        for residue, weight, prime in zip(scalar, weights, PRIMES[:count], strict=True)
    )
    return sum(terms) % product


def _into(target: Residues, summed: Residues, modulus: Residues) -> None:
    """Sums of two residues, reduced: a difference that would be negative wraps to a huge number, which loses."""
    np.minimum(summed, summed - modulus, out=target)


@cache
def _roots(count: int) -> tuple[Residues, Residues]:
    """Powers of a primitive 2n-th root of unity modulo each prime, and of its inverse, in bit-reversed order."""
    bits = DEGREE.bit_length() - 1
    order = [int(f"{place:0{bits}b}"[::-1], 2) for place in range(DEGREE)]
    forward, backward = np.empty((2, count, DEGREE), np.uint64)
    for at, prime in enumerate(PRIMES[:count]):
        root = _primitive_root(prime)
        for table, base in ((forward, root), (backward, pow(root, -1, prime))):
            powers = [1] * DEGREE
            for place in range(1, DEGREE):
                powers[place] = powers[place - 1] * base % prime
            table[at] = np.array(powers, np.uint64)[order]
    return forward, backward


def _primitive_root(prime: int) -> int:
    candidates = (pow(base, (prime - 1) // (2 * DEGREE), prime) for base in range(2, prime))
    return next(root for root in candidates if pow(root, DEGREE, prime) == prime - 1)
