"""What two-level records guarantee, computed from the mechanism itself instead of from ε₀ alone (maths §14, §15).

A two-level record is released as z with probability μ(z)·e^(ε₀·[z is near the true value]): part of it, μ, does not
depend on the value at all. That part is the blanket of Balle, Bell, Gascón and Nissim (2019). All that matters of it is
ε₀ and r, the blanket's mass near a value; with e = e^ε₀ the whole of it has mass G = 1 − (e − 1)r.

**The central ε** (theorem A). For tables that differ in one person's value, of N people whose rows are shuffled,

    δ(ε) ≤ E[((e − E)a − (eE − 1)b − (E − 1)o)₊] / N,   E = e^ε,   (a, b, o, …) ~ Multinomial(N; r, r, G − 2r, 1 − G).

**k with certainty** (theorem B). With probability at least 1 − N·b over the draw, nobody in the table is linked to a
row with probability above 1/k, where b = min over a of E(V − a)₊/(1/k − a), and V is how sure an attacker is who knows
which others are not part of the blanket.

Both are computed as upper bounds. Expectations of functions that are convex in a count are taken over knots: between
two knots a chord lies above the function.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import betainc

from kakuran.design.central import DELTA, MOST_HIDING, ROUNDING, at_least, check_delta
from kakuran.typing import Array

_MOST_SUMMED = 10**7
"""People who are counted for ε: an attacker who is told the rows of all others learns no less, so fewer is a bound."""
DIGITS = 1e-6
"""How far, of itself, ε or a probability may lie above the least that the bound gives: more than rounding takes."""
_KNOTS = 240
"""Of a count, at most: at 50,000 people and 100 values ε lies .0008 of itself above the exact sum."""
_MOST_NEAR = 500
"""Different numbers of near records that are looked at one by one; where there are more, several are taken together."""
_THRESHOLDS = (0.6, 0.7, 0.8, 0.84, 0.88, 0.91, 0.94, 0.96, 0.975, 0.985, 0.993, 0.998)
"""What is tried for a, in parts of 1/k: any gives a bound; the best lay at .84 to .999 wherever it was looked for."""


@dataclass(frozen=True)
class Blanket:
    """The part of a record that is drawn without looking at its value.

    Attributes
    ----------
    epsilon : float
        ε₀: what is near the true value is e^ε₀ times as likely as by the blanket alone.
    levels : float
        How many times as many outputs there are as near a value; of several column sets, that of one set with the
        same r.

    Examples
    --------
    A category of a hundred values, 50,000 people, k = 10:

    >>> from kakuran.design import Blanket
    >>> round(Blanket(4.311, levels=100).central_epsilon(50_000), 3)
    0.13
    """

    epsilon: float
    levels: float

    @classmethod
    def of(cls, epsilon: float, sets: Iterable[tuple[float, float]]) -> Blanket:
        """Of column sets, each with its probability and its own levels."""
        # The mean of the levels, weighted by how often records are near; 1/r − e^ε₀ would lose digits at a large ε₀.
        shrunk = math.exp(-epsilon)
        weights = [(share / (1 + (levels - 1) * shrunk), levels) for share, levels in sets]
        return cls(epsilon, math.fsum(math.prod(pair) for pair in weights) / math.fsum(weight for weight, _ in weights))

    @property
    def near(self) -> float:
        """r: the probability that a record is drawn from the blanket and near a given value."""
        return 1 / (math.exp(self.epsilon) + self.levels - 1)

    @property
    def mass(self) -> float:
        """G: the probability that a record is drawn from the blanket."""
        return self.levels * self.near

    def central_epsilon(self, n: int, delta: float = DELTA) -> float:
        """ε of a shuffled release of n records: an upper bound, at most ε₀."""
        check_delta(delta)
        return _least_epsilon(self, n, delta)

    def hockey_stick(self, n: int, epsilon: float) -> float:
        """The δ that goes with an ε (theorem A)."""
        if epsilon >= self.epsilon:
            return 0.0
        n = min(n, _MOST_SUMMED)
        ratio, factor = math.exp(self.epsilon), math.exp(epsilon)
        # Where two windows cannot be disjoint, what both share is near either way.
        shared = max(2 * self.near - self.mass, 0.0)
        alone = self.near - shared
        other = shared if shared else max(self.mass - 2 * self.near, 0.0)
        step = (ratio if shared else 1.0) * (factor - 1)
        firsts, seconds, weights = _pairs(n, alone)
        excess = (ratio - factor) * firsts - (ratio * factor - 1) * seconds
        is_seen = (excess > 0) & (weights > 0)
        rest = (n - firsts - seconds)[is_seen]
        chance = min(other / (1 - 2 * alone), 1.0) if alone < 0.5 else 0.0
        shown = _mean_excess(excess[is_seen], step, rest, chance)
        return float(weights[is_seen] @ shown) / n + _left_out(n, alone) + ROUNDING

    def failure(self, n: int, k: float) -> float:
        """How likely it is, at most, that anybody of n people is linked to a row above 1/k (theorem B)."""
        if k <= 1:
            return 0.0
        surest, masses = self._surety(min(n, MOST_HIDING), k)
        bounds = [float(masses @ np.maximum(surest - part / k, 0.0)) / ((1 - part) / k) for part in _THRESHOLDS]
        return min((1 + DIGITS) * n * min(bounds), 1.0)

    def _surety(self, n: int, k: float) -> tuple[Array, Array]:
        """V, as far as it exceeds all thresholds: values that are not too small, and how likely they are.

        Others of the blanket that are near count in full, those far away 1/e each. Of several numbers of near ones
        taken together the smallest is taken, and of the far ones that it leaves as many as the largest would: both
        hide less. None near is a case of its own: where nothing stands out, far ones hide each other in full.
        """
        ratio, others = math.exp(self.epsilon), n - 1
        most = math.ceil(k / _THRESHOLDS[0])
        width = max(most // _MOST_NEAR, 1)
        starts = np.append(0.0, np.arange(1, min(most, others) + 1, width, dtype=float))
        ends = np.append(starts[1:], starts[-1] + width) - 1
        weights = np.diff(_at_most(ends, others, self.near), prepend=0.0)[:, None]
        chance = min(max(self.mass - self.near, 0.0) / (1 - self.near), 1.0)
        left = np.maximum(others - ends, 0.0)[:, None]
        far, masses = _lower_tails(left, chance, ratio * most)
        near = starts[:, None]
        with np.errstate(divide="ignore"):
            own_is_far = 1 / np.where(near > 0, near + (far + 1) / ratio, far + 1)
        is_near = min(ratio * self.near, 1.0)
        surest = np.stack(np.broadcast_arrays(1 / (1 + near + far / ratio), own_is_far))
        return surest.ravel(), (np.array([is_near, 1 - is_near])[:, None, None] * weights * masses).ravel()


def _lower_tails(trials: Array, chance: float, most: float) -> tuple[Array, Array]:
    """Numbers of successes up to `most` for each number of trials, taken at their lower ends, and how likely they are.

    What is above `most` is left out: so many far records hide everybody.
    """
    spread = np.sqrt(trials * chance * (1 - chance))
    top = np.minimum(trials, most)
    low = np.clip(np.floor(trials * chance - 40 * spread - 40), 0, top)
    knots = np.floor(low + (top - low) * np.linspace(0, 1, _KNOTS))
    knots = np.concatenate([np.zeros_like(low), knots], axis=1)
    below = _at_most(np.concatenate([knots[:, 1:] - 1, top], axis=1), trials, chance)
    return knots, np.diff(below, prepend=0.0, axis=1)


@lru_cache(maxsize=256)  # the same is said of a release by its plan, its ledger, its report …
def _least_epsilon(blanket: Blanket, n: int, delta: float) -> float:
    low, high = 0.0, blanket.epsilon
    if blanket.hockey_stick(n, low) <= delta:
        return low
    while high - low > DIGITS * high:
        middle = (low + high) / 2
        low, high = (low, middle) if blanket.hockey_stick(n, middle) <= delta else (middle, high)
    return high


def _mean_excess(excess: Array, step: float, trials: Array, chance: float) -> Array:
    """E(excess − step·O)₊ of O ~ Bin(trials, chance)."""
    if step * chance == 0:
        return excess
    most = np.floor(excess / step)
    shown = excess * _at_most(most, trials, chance) - step * trials * chance * _at_most(most - 1, trials - 1, chance)
    return np.maximum(shown, 0.0)


def _at_most(successes: Array, trials: Array | int, chance: float) -> Array:
    """How likely so many or fewer are; the lower tail itself, so that what is rare keeps its digits."""
    inside = np.clip(successes, 0, np.maximum(trials - 1, 0))
    tail = betainc(np.maximum(trials - inside, 1), inside + 1, 1 - chance)
    return np.where(successes < 0, 0.0, np.where(successes >= trials, 1.0, tail))


@lru_cache(maxsize=4)
def _pairs(n: int, chance: float) -> tuple[Array, Array, Array]:
    """Knots of a and b, the numbers of rows near the one value and near the other, with weights.

    Summed over them, theorem A's expectation comes out too large rather than too small: it is convex in a, and in b for
    every a. Each row near the first value adds more than any other row can, each near the second less; so two rows that
    change together spread the sum further than two that change one for the other, and the positive part is convex.
    """
    firsts, outer = _knots(n, chance)
    inner = [_knots(n - int(first), min(chance / (1 - chance), 1.0)) for first in firsts]
    seconds = np.concatenate([knots for knots, _ in inner])
    sizes = [len(knots) for knots, _ in inner]
    weights = np.concatenate([weight * masses for weight, (_, masses) in zip(outer, inner, strict=True)])
    return np.repeat(firsts, sizes), seconds, weights


def _knots(trials: int, chance: float) -> tuple[Array, Array]:
    """Numbers of successes, and the chords' weights on them: sums of convex functions over these are not too small."""
    low, high = _ends(trials, chance)
    values = np.arange(low, high + 1, dtype=float)
    masses = _masses(values, trials, chance)
    if len(values) <= _KNOTS:
        return values, masses
    knots = values[np.unique(np.linspace(0, len(values) - 1, _KNOTS).astype(np.int64))]
    after = np.clip(np.searchsorted(knots, values, side="right"), 1, len(knots) - 1)
    upwards = masses * (values - knots[after - 1]) / (knots[after] - knots[after - 1])
    chords: Array = np.zeros(len(knots))
    np.add.at(chords, after, upwards)
    np.add.at(chords, after - 1, masses - upwards)
    return knots, chords


def _masses(values: Array, trials: int, chance: float) -> Array:
    """Probabilities of consecutive numbers of successes that add up to 1, each from the one before it."""
    if not 0 < chance < 1:
        return (values == trials * chance).astype(float)
    steps = np.log((trials - values[:-1]) / (values[:-1] + 1) * (chance / (1 - chance)))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    masses = np.exp(logs - logs.max())
    return masses / masses.sum()


def _ends(trials: int, chance: float) -> tuple[int, int]:
    """Outside, less than rounding: nine standard deviations, and more where there are few."""
    reach = 9 * math.sqrt(trials * chance * (1 - chance)) + 60
    return max(math.floor(trials * chance - reach), 0), min(math.ceil(trials * chance + reach), trials)


@lru_cache(maxsize=4)
def _left_out(n: int, chance: float) -> float:
    """The probability, under the first table, of numbers beyond the knots; of two values, at both ends."""
    low, high = _ends(n, chance)
    ends = at_least(np.array([low, high], float), n - 1, chance)
    return 2 * float(1 - ends[0] + ends[1]) if n > 1 else 0.0
