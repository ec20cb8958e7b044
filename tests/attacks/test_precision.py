"""Mironov's attack: the low bits of a float noised with a float tell which float it was.

A textbook Laplace sampler takes a logarithm of one of 2⁵³ fractions and adds it to the true number. Most floats are
not such a sum. Whoever knows that the true number is 0 or 1 asks of each released float whether any fraction leads
there from 0, and whether any leads there from 1.
"""

from __future__ import annotations

import numpy as np
import pytest

import kakuran as kk
from kakuran.randomness import Randomness

DRAWS = 100_000
FRACTIONS = 2.0**53


def naive_laplace(true_number, scale, generator, draws=DRAWS):
    """x ± φ·log(u), the way textbooks and numpy do it, in floats."""
    fractions = generator.integers(1, int(FRACTIONS), draws) / FRACTIONS
    signs = generator.choice([-1.0, 1.0], draws)
    return true_number + signs * scale * np.log(fractions)


def can_come_from(released, true_number, scale):
    """Whether some fraction leads from the true number to each released float: try those around the right one."""
    sign = np.where(released < true_number, 1.0, -1.0)
    nearest = np.rint(np.exp(-np.abs(released - true_number) / scale) * FRACTIONS)
    found = released == true_number
    for offset in range(-4, 5):
        fractions = np.clip(nearest + offset, 1, FRACTIONS - 1) / FRACTIONS
        found |= true_number + sign * scale * np.log(fractions) == released
    return found


@pytest.mark.parametrize("true_number", [0.0, 1.0])
def test_the_attack_finds_what_naive_noise_gives_away_and_nothing_in_ours(true_number):
    neighbour = 1.0 - true_number
    released = naive_laplace(true_number, 1.0, np.random.default_rng(1))
    assert can_come_from(released, true_number, 1.0).all()
    betrayed = 1 - can_come_from(released, neighbour, 1.0).mean()
    assert betrayed > 0.4

    for attribute, noise in ours_at_epsilon_one():
        code = np.int32(attribute.codes_of(np.float64(true_number)))
        released = attribute.numbers_of(noise.sample(np.full(DRAWS, code), Randomness.secure()))
        possible = reachable_numbers(attribute, noise, np.int32(attribute.codes_of(np.float64(neighbour))))
        assert np.isin(released, possible).all()


def ours_at_epsilon_one():
    """Every noise between 0 and 1 on a grid of 2⁻¹⁰ at ε = 1, and on one that floats cannot hold exactly."""
    for step in (2.0**-10, 0.001):
        attribute = kk.Numeric("x", 0, 1, step=step)
        yield attribute, kk.Laplace(attribute.size, step, 1.0)
        yield attribute, kk.BoundedLaplace(attribute.size, step, 1.0)
        yield attribute, kk.BoundedGaussian(attribute.size, step, 0.5**0.5)


def reachable_numbers(attribute, noise, code):
    released = np.arange(-noise.reach, noise.size + noise.reach, dtype=np.int32)
    return attribute.numbers_of(released[np.isfinite(noise.log_likelihood(released, code))])


@pytest.mark.parametrize("scale", [0.02, 1.0, 20.0])
def test_what_is_released_depends_on_the_grid_point_alone(scale):
    """Two true numbers that round to one grid point cannot be told apart at all: same code, same law, same floats."""
    attribute = kk.Numeric("x", 0, 1, step=0.1)
    noise = kk.Laplace(attribute.size, 0.1, scale)
    twins = np.array([0.3, 0.1 * 3, 0.30000000000000004, np.nextafter(0.3, 0), 0.3 + 2.0**-30])
    codes = attribute.codes_of(twins).astype(np.int32)
    assert len(set(codes.tolist())) == 1
    released = [attribute.numbers_of(noise.sample(code[None], Randomness.seeded(1))) for code in codes]
    assert len({number.tobytes() for number in released}) == 1


def test_every_possible_output_is_possible_from_every_true_number():
    for attribute, noise in ours_at_epsilon_one():
        ends = [reachable_numbers(attribute, noise, np.int32(code)) for code in (0, 1, noise.size // 2, noise.size - 1)]
        assert len({numbers.tobytes() for numbers in ends}) == 1
        assert len(ends[0]) == noise.size + 2 * noise.reach


def test_released_numbers_are_grid_points_and_nothing_finer():
    attribute = kk.Numeric("x", 0, 1, step=0.001)
    noise = kk.Laplace(attribute.size, 0.001, 1.0)
    released = attribute.numbers_of(noise.sample(np.full(DRAWS, 500, np.int32), Randomness.secure()))
    as_written = np.array([float(f"{number:.3f}") for number in released])
    assert np.array_equal(released, as_written)
