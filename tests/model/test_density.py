"""A smooth curve with a few heaps: numbers that pile up at a bound and at a round value."""

import numpy as np
import pytest

import kakuran as kk
from kakuran.mechanism import SquareWave
from kakuran.model import density, observations, of_codes
from kakuran.model.mixture.growth import repeated_splits
from kakuran.randomness import Randomness

POINTS = 10_000
EDGES = np.linspace(0, POINTS, 51).astype(np.int64)
BOUNDS_APART = np.union1d(EDGES, [1, POINTS - 1])


@pytest.fixture(scope="module")
def gains():
    """Nine in ten at zero, some at the upper bound and at a round number, the rest along a curve."""
    dice = np.random.default_rng(0)
    spread = np.minimum(dice.exponential(1_500, 30_000), POINTS - 1)
    where = dice.choice(4, 30_000, p=[0.9, 0.02, 0.02, 0.06])
    return np.choose(where, [0, POINTS - 1, 6_100, spread]).astype(np.int32)


@pytest.fixture(scope="module")
def families(gains):
    """The same release bin by bin, and as a curve with heaps."""
    wave = SquareWave.at_swap_cost(kk.Numeric("gain", 0, POINTS - 1, step=1), 8)
    released = wave.sample(gains, Randomness.seeded(1))
    column = of_codes(released, wave, 0.0, 1.0, EDGES)
    apart, places = of_codes(released, wave, 0.0, 1.0, BOUNDS_APART, like=EDGES)
    assert np.array_equal(places, column[1])
    divided = repeated_splits(observations([column], smoothing=0.0).counts)
    starts = np.searchsorted(BOUNDS_APART, EDGES[:-1])
    return density._bin_by_bin(column[0], np.arange(50), divided), density._heaped(apart, starts, divided)


def test_held_out_records_prefer_a_curve_with_heaps_where_numbers_pile_up(families, gains):
    truth = np.histogram(gains, EDGES)[0] / len(gains)
    binwise, heaped = families
    wrong = [np.abs(family.average.mean(axis=0) - truth).sum() for family in families]
    assert heaped.evidence > binwise.evidence + 100
    assert wrong[1] < 0.7 * wrong[0]
    assert wrong[1] < 0.05


def test_shares_of_a_curve_with_heaps_add_up_and_hold_the_heaps(families):
    heaped = families[1]
    shares = heaped.average.mean(axis=0)
    assert len(heaped.names) == len(heaped.scores) == heaped.estimates.shape[1]
    assert heaped.estimates.sum(axis=2) == pytest.approx(1)
    assert shares[30] > 3 * max(shares[29], shares[31])
    assert shares[49] > 3 * shares[48]
