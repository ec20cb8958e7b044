"""Do the samplers follow the distributions their mechanisms claim? Fresh secret numbers at every run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from kakuran.counts import Cells
from kakuran.mechanism import PRAM, BoundedGaussian, BoundedLaplace, Laplace, RetentionReplacement, SquareWave
from kakuran.randomness import Randomness

DRAWS = 1 << 20
MATRIX = [[0.6, 0.3, 0.1, 0.0], [0.2, 0.5, 0.2, 0.1], [0.25, 0.05, 0.6, 0.1], [0.1, 0.1, 0.1, 0.7]]

CASES = {
    "retention of a coin": RetentionReplacement(2, 0.5),
    "retention of categories": RetentionReplacement(7, 0.31),
    "retention of nothing": RetentionReplacement(5, 0.0),
    "retention of numbers": RetentionReplacement(101, 0.2, step=0.5),
    "bounded laplace": BoundedLaplace(41, 0.5, 4.0),
    "bounded laplace, weak": BoundedLaplace(11, 1.0, 0.3),
    "bounded laplace, infinite": BoundedLaplace(13, 1.0, math.inf),
    "bounded laplace, two points": BoundedLaplace(2, 1.0, 1.0),
    "laplace": Laplace(11, 1.0, 6.0),
    "laplace, weak": Laplace(5, 1.0, 0.4),
    "bounded gaussian": BoundedGaussian(41, 0.5, 7.0),
    "bounded gaussian, weak": BoundedGaussian(11, 1.0, 0.6),
    "square wave": SquareWave(41, 6, 0.4, step=0.5),
    "square wave with missing": SquareWave(13, 3, 0.45, may_be_missing=True),
    "square wave, wide": SquareWave(8, 4, 0.2),
    "square wave of single points": SquareWave(16, 0, 0.9, may_be_missing=True),
    "pram": PRAM(MATRIX),
    "invariant pram": PRAM.invariant(MATRIX, [4, 3, 2, 1]),
}


def counts_of_releases(mechanism, code, draws=DRAWS):
    released = mechanism.sample(np.full(draws, code, np.int32), Randomness.secure())
    return np.bincount(released + mechanism.reach, minlength=mechanism.size + 2 * mechanism.reach)


def claimed(mechanism, code):
    released = np.arange(-mechanism.reach, mechanism.size + mechanism.reach, dtype=np.int32)
    return np.exp(mechanism.log_likelihood(released, np.int32(code)))


def placed(mechanism, released):
    """Released codes in the cells of true ones."""
    size, has_missing = mechanism.size, getattr(mechanism, "may_be_missing", False)
    return Cells("x", np.arange(size + 1), ("",) * size, has_missing=has_missing).place(released, mechanism.reach)


@pytest.fixture(params=CASES, ids=lambda name: name.replace(", ", "-").replace(" ", "-"))
def mechanism(request):
    return CASES[request.param]


@pytest.mark.parametrize("place", ["lower bound", "middle", "upper bound"])
def test_releases_follow_the_claimed_distribution(mechanism, place, chi_square, accept):
    code = {"lower bound": 0, "middle": mechanism.size // 2, "upper bound": mechanism.size - 1}[place]
    accept(chi_square(counts_of_releases(mechanism, code), claimed(mechanism, code)))


def test_a_mixed_column_follows_the_transition(mechanism, chi_square, accept):
    codes = np.tile(np.arange(mechanism.size, dtype=np.int32), DRAWS // mechanism.size)
    released = placed(mechanism, mechanism.sample(codes, Randomness.secure()))
    expected = mechanism.transition().forward(np.bincount(codes).astype(float), 0)
    accept(chi_square(np.bincount(released, minlength=mechanism.size), expected))


def test_neighbouring_records_are_perturbed_independently(mechanism, chi_square, accept):
    codes = np.full(DRAWS, mechanism.size // 2, np.int32)
    released = placed(mechanism, mechanism.sample(codes, Randomness.secure()))
    is_low = (released < mechanism.size // 2).reshape(-1, 2)
    low = mechanism.transition().matrix[: mechanism.size // 2, mechanism.size // 2].sum()
    pairs = np.bincount(is_low[:, 0] * 2 + is_low[:, 1], minlength=4)
    accept(chi_square(pairs, np.outer([1 - low, low], [1 - low, low]).ravel()))


@pytest.mark.parametrize("code", [0, 500, 1000])
def test_laplace_on_a_fine_grid_follows_the_continuous_law(code, accept):
    """Kolmogorov–Smirnov, with each grid point standing for the step around it."""
    accept(distance_from_laplace(counts_of_releases(Laplace(1001, 0.001, 1.0), code), code, 1.0))


def test_bounded_laplace_on_a_fine_grid_follows_the_continuous_law(accept):
    size, scale, code = 2001, 0.7, 300
    counts = counts_of_releases(BoundedLaplace(size, 0.001, scale), code)
    uppers = (np.arange(size) + 0.5 - code) * 0.001
    law = stats.laplace(scale=scale)
    inside = law.cdf(uppers[-1]) - law.cdf(-(code + 0.5) * 0.001)
    accept(kolmogorov(counts, (law.cdf(uppers) - law.cdf(-(code + 0.5) * 0.001)) / inside))


def test_bounded_gaussian_on_a_fine_grid_follows_the_continuous_law(accept):
    size, scale, code = 2001, 0.7, 1900
    counts = counts_of_releases(BoundedGaussian(size, 0.001, scale), code)
    edges = (np.arange(size + 1) - 0.5 - code) * 0.001
    law = stats.norm(scale=scale)
    accept(kolmogorov(counts, (law.cdf(edges[1:]) - law.cdf(edges[0])) / (law.cdf(edges[-1]) - law.cdf(edges[0]))))


def distance_from_laplace(counts, code, scale):
    reach = (len(counts) - 1001) // 2
    uppers = (np.arange(-reach, 1001 + reach) + 0.5 - code) * 0.001
    return kolmogorov(counts, stats.laplace(scale=scale).cdf(uppers))


def kolmogorov(counts, cumulative):
    """The p-value of the largest gap; a grid can only make it larger than the continuous law's."""
    gap = np.abs(np.cumsum(counts) / counts.sum() - cumulative).max()
    return float(stats.kstwo.sf(gap, counts.sum()))


class ReplacingByAnother(RetentionReplacement):
    """S4's wording instead of its formula: a replaced value is never the true one."""

    def sample(self, codes, randomness):
        is_kept = randomness.below(1000, len(codes)) < 1000 * self.retention
        others = (codes + 1 + randomness.below(self.size - 1, len(codes))) % self.size
        return np.where(is_kept, codes, others)


class ShiftedByOne(BoundedLaplace):
    """Noise with a drift of one step in twenty."""

    def sample(self, codes, randomness):
        drawn = super().sample(codes, randomness)
        return np.minimum(drawn + (randomness.below(20, len(codes)) == 0).astype(np.int32), self.size - 1)


class Clamped(BoundedLaplace):
    """What would leave the bounds is put on them instead of being drawn again."""

    def sample(self, codes, randomness):
        reach = self.size
        wide = Laplace(2 * reach + self.size, self.step, self.scale)
        return np.clip(wide.sample(codes + reach, randomness) - reach, 0, self.size - 1).astype(np.int32)


class ClampedWave(SquareWave):
    """What lies beyond the bounds is put on them."""

    def sample(self, codes, randomness):
        return np.clip(super().sample(codes, randomness), 0, self.size - 1)


WRONG = {
    "a retention too high by a hundredth": (RetentionReplacement(7, 0.32), RetentionReplacement(7, 0.31)),
    "a retention too low by a hundredth": (RetentionReplacement(7, 0.30), RetentionReplacement(7, 0.31)),
    "replacing by another value": (ReplacingByAnother(7, 0.31), RetentionReplacement(7, 0.31)),
    "a laplace scale too small by a fortieth": (BoundedLaplace(41, 0.5, 3.9), BoundedLaplace(41, 0.5, 4.0)),
    "a laplace noise with a drift": (ShiftedByOne(41, 0.5, 4.0), BoundedLaplace(41, 0.5, 4.0)),
    "a laplace noise that is clamped": (Clamped(41, 0.5, 4.0), BoundedLaplace(41, 0.5, 4.0)),
    "a gaussian scale too large by a fiftieth": (BoundedGaussian(41, 0.5, 7.14), BoundedGaussian(41, 0.5, 7.0)),
    "a square wave that is clamped": (ClampedWave(41, 6, 0.4), SquareWave(41, 6, 0.4)),
    "a square wave kept too often by a hundredth": (SquareWave(41, 6, 0.41), SquareWave(41, 6, 0.4)),
    "a pram matrix off by a hundredth": (PRAM([[0.61, 0.39], [0.3, 0.7]]), PRAM([[0.6, 0.4], [0.3, 0.7]])),
}


@pytest.mark.parametrize("name", WRONG, ids=lambda name: name.replace(" ", "-"))
def test_a_wrong_mechanism_is_found_out(name, chi_square, alpha):
    drawn_from, said_to_be = WRONG[name]
    assert chi_square(counts_of_releases(drawn_from, 0), claimed(said_to_be, 0)) < alpha


def test_a_wrong_scale_is_found_out_on_a_fine_grid(alpha):
    counts = counts_of_releases(Laplace(1001, 0.001, 0.98), 500, 2 * DRAWS)
    assert distance_from_laplace(counts, 500, 1.0) < alpha
