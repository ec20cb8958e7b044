"""What several releases of the same people say of one person together: central privacy, composed.

Each release is (ε, δ)-differentially private for many ε at once, and the pair of distributions behind it (`central`)
says for which. Three bounds on what all say together, of which the smallest holds:

- basic: ε and δ add up;
- advanced: ε̃ = Σ ε (e^ε − 1)/(e^ε + 1) + √(2 ln(1/δ̃) Σ ε²) (Kairouz, Oh and Viswanath, ICML 2015, theorem 3.5);
- the distribution of the privacy loss ln P/Q, of which the sum over all releases is taken. A shuffled release is made
  from one draw of its pair, whatever the table, so that releases are made from independent draws of theirs. A later one
  may be about something that an earlier one showed; how much it spends must not follow from it.

Domains that were found privately are added to what releases spend, as the number of values found says how well records
hide each other, and with certainty or a central ε also how much noise they get.

Losses lie on a grid and are rounded up; what is too rare to keep is counted as if it gave everything away, and so is
what rounding may take. All three are bounds, no estimates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.design.blanket import DIGITS, Blanket
from kakuran.design.central import (
    MOST_HIDING,
    MOST_LOCAL,
    ROUNDING,
    answers,
    at_least,
    central_epsilon,
    check_delta,
    closed_in,
    hockey_stick,
    likely_successes,
)
from kakuran.typing import Array

Accounting: TypeAlias = Literal["basic", "advanced", "privacy loss"]

_POINTS = 1 << 14
"""Points of the grid on which losses lie, at most."""
_ALIKE = 0.002
"""By how much values of C may differ that are taken for the smallest of them."""
_HEADS = 2048
_CURVE = 160
"""Points of a curve δ(ε) above 0: twice as many lower ε of ten releases by .0004 of itself (1,000 and 5,000 people)."""
_RARE = 1e-15
"""What may be left out at either end of a distribution, each time two are added."""
_NEVER = 1e-19
_FINEST = 2.0**-40
_STEPS = 60


@dataclass(frozen=True)
class CentralPart:
    """What one release spends: of n shuffled records each ε₀-locally private, or, in a known order, of one.

    Attributes
    ----------
    n : int
        How many records hide one; 1 where the order is known.
    local : float
        ε₀.
    levels : float | None
        Of records whose likelihoods have two levels, how many times as many outputs there are as near a value; None
        where no more than ε₀ is known of them.
    delta_alone : float
        δ of what is (ε₀, δ)-private, such as domains that were found privately: how often ε₀ need not hold.
    """

    n: int
    local: float
    levels: float | None = None
    delta_alone: float = 0.0

    @property
    def _blanket(self) -> Blanket | None:
        is_known = self.levels is not None and self.n > 1 and self.local <= MOST_LOCAL
        return Blanket(self.local, self.levels) if is_known and self.levels is not None else None

    def epsilon(self, delta: float) -> float:
        """ε of this release alone; of two bounds the smaller."""
        if self.delta_alone:
            return self.local if self.delta_alone <= delta else math.inf
        of_any = central_epsilon(self.n, self.local, delta)
        return of_any if self._blanket is None else min(of_any, self._blanket.central_epsilon(self.n, delta))

    def delta(self, epsilon: float) -> float:
        """The δ that goes with an ε of this release alone."""
        of_any = hockey_stick(self.n, self.local, epsilon)
        return of_any if self._blanket is None else min(of_any, self._blanket.hockey_stick(self.n, epsilon))

    def keeps(self, epsilon: float, delta: float) -> bool:
        """Whether this release alone has no larger ε; a little less, as ε is not computed to its last digit."""
        return self.delta(epsilon * (1 - 2 * DIGITS)) <= delta

    def losses(self) -> Losses:
        """How its privacy loss is distributed."""
        if self._blanket is None:
            return _losses(min(self.n, MOST_HIDING), self.local)
        return _blanket_losses(self.n, self._blanket)


@dataclass(frozen=True)
class Losses:
    """A distribution of the privacy loss, on the multiples of a step that is a power of two.

    Attributes
    ----------
    step : float
        How far the points of the grid lie apart.
    first : int
        The place of the first of them.
    masses : Array
        How likely each is.
    certain : float
        How likely it is, at most, that everything is given away.
    """

    step: float
    first: int
    masses: Array
    certain: float

    @cached_property
    def values(self) -> Array:
        """The losses."""
        return self.step * (self.first + np.arange(len(self.masses), dtype=float))

    def delta(self, epsilon: float) -> float:
        """The δ that goes with an ε."""
        return float(self.masses @ np.maximum(-np.expm1(epsilon - self.values), 0.0)) + self.certain

    def epsilon(self, delta: float) -> float:
        """The ε that goes with a δ; infinite where there is none."""
        if self.certain > delta:
            return math.inf
        low, high = 0.0, max(float(self.values[-1]), 0.0)
        if self.delta(low) <= delta:
            return low
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high

    def coarsened(self, step: float) -> Losses:
        """On a coarser grid, losses rounded up."""
        times = round(step / self.step)
        places = -(-(self.first + np.arange(len(self.masses))) // times)
        return replace(self, step=step, first=int(places[0]), masses=_summed_by(places - places[0], self.masses))

    def trimmed(self) -> Losses:
        """Without the rare ends: the lower goes to the lowest point that stays, the upper is counted as certain."""
        below, above = np.cumsum(self.masses), np.cumsum(self.masses[::-1])[::-1]
        start, stop = int(np.searchsorted(below, _RARE)), len(self.masses) - int(np.searchsorted(above[::-1], _RARE))
        stop = max(stop, 1)  # where everything is given away, a place is left for nothing
        start = min(start, stop - 1)
        masses = self.masses[start:stop].copy()
        masses[0] += self.masses[:start].sum()
        kept = replace(
            self, first=self.first + start, masses=masses, certain=self.certain + float(self.masses[stop:].sum())
        )
        return kept if len(masses) <= _POINTS else kept.coarsened(2 * self.step).trimmed()

    def plus(self, other: Losses) -> Losses:
        """The sum of two independent losses."""
        from scipy import fft  # which nobody needs who has no ledger

        step = max(self.step, other.step)
        one, two = self.coarsened(step), other.coarsened(step)
        size = len(one.masses) + len(two.masses) - 1
        length = fft.next_fast_len(size, real=True)
        summed = fft.irfft(fft.rfft(one.masses, length) * fft.rfft(two.masses, length), length)[:size]
        # Percival (2003): an error of a point is below 10 log₂(length) roundings of the product of both norms.
        largest = 20 * math.log2(2 * length) * np.finfo(float).eps
        wrong = size * largest * float(np.linalg.norm(one.masses) * np.linalg.norm(two.masses))
        certain = one.certain + two.certain + wrong
        return Losses(step, one.first + two.first, np.maximum(summed, 0.0), certain).trimmed()


def _summed_by(places: NDArray[np.int64], masses: Array) -> Array:
    return np.bincount(places, masses).astype(float)


@lru_cache(maxsize=256)
def _losses(n: int, local: float) -> Losses:
    if n == 1 or local > MOST_LOCAL:
        return _local_losses(local)
    blanket, heads, masses, certain = _outcomes(n - 1, local)
    truth, lie = answers(local)
    share, rest = heads / (blanket + 1), (blanket + 1 - heads) / (blanket + 1)
    losses = np.log(truth * share + lie * rest) - np.log(lie * share + truth * rest)
    return _on_grid(np.minimum(losses, local), masses, certain)


@lru_cache(maxsize=256)
def _blanket_losses(n: int, blanket: Blanket) -> Losses:
    """Of the curve δ(ε): between its points a chord in e^ε lies above it, and is the curve of losses at the points."""
    top = closed_in(0.0, blanket.epsilon, lambda epsilon: blanket.hockey_stick(n, epsilon) <= 2 * ROUNDING)[1]
    step = 2.0 ** math.ceil(math.log2(top / _CURVE))
    above = step * np.arange(math.ceil(top / step) + 1)
    deltas = np.array([blanket.hockey_stick(n, float(epsilon)) for epsilon in above])
    # Neighbouring tables may change places, so that the curve below 0 follows from that above.
    below = 1 - np.exp(-above[:0:-1]) * (1 - deltas[:0:-1])
    losses = np.concatenate([-above[:0:-1], above])
    curve = np.concatenate([[1.0], below, deltas])
    factors = np.concatenate([[0.0], np.exp(losses)])
    slopes = np.append(np.diff(curve) / np.diff(factors), 0.0)
    masses = np.maximum(np.diff(slopes), 0.0) * np.exp(losses)
    return Losses(step, 1 - len(above), masses, float(deltas[-1])).trimmed()


def _local_losses(local: float) -> Losses:
    """Of randomised response, behind which every ε₀-private record can hide."""
    if math.isinf(local):
        return Losses(1.0, 0, np.zeros(1), 1.0)
    truth, lie = answers(local)
    return _on_grid(np.array([-local, local]), np.array([lie, truth]), 0.0)


def _on_grid(losses: Array, masses: Array, certain: float) -> Losses:
    seen = losses[masses > _NEVER]
    low, high = float(seen.min()), float(seen.max())
    step = 2.0 ** math.ceil(math.log2(max(high - low, _FINEST) / _POINTS))
    is_seen = losses <= high
    places = np.ceil(np.maximum(losses[is_seen], low) / step).astype(np.int64)
    first = int(places.min())
    certain += float(masses[~is_seen].sum()) + ROUNDING
    return Losses(step, first, _summed_by(places - first, masses[is_seen]), certain).trimmed()


def _outcomes(others: int, local: float) -> tuple[Array, Array, Array, float]:
    """Values of C and of the first number, how likely they are in the first table, and what is left out.

    Where there are many, several values of C are taken for their smallest, which hides least: a larger one is got from
    it by more coins. Several values of the first number are taken for their largest, which has the largest loss.
    """
    blanket, weights = likely_successes(others, math.exp(-local))
    left_out = max(1 - float(weights.sum()), 0.0)
    width = max(int(_ALIKE * blanket[0]), 1)
    starts = np.arange(0, len(blanket), width)
    blanket, weights = blanket[starts, None], np.maximum(np.add.reduceat(weights, starts), 0.0)[:, None]
    reach = 4.5 * np.sqrt(blanket) + 40
    low, high = np.maximum(np.floor(blanket / 2 - reach), 0.0), np.minimum(np.ceil(blanket / 2 + reach), blanket) + 1
    apart = np.maximum(np.ceil((high - low) / _HEADS), 1.0)
    last = np.minimum(low + apart * np.arange(int(((high - low) / apart).max()) + 2), high)
    truth, lie = answers(local)
    beyond = truth * at_least(last, blanket, 0.5) + lie * at_least(last + 1, blanket, 0.5)
    until = np.concatenate([1 - beyond[:, :1], beyond[:, :-1] - beyond[:, 1:]], axis=1)
    left_out += float((weights * beyond[:, -1:]).sum())
    masses = weights * np.maximum(until, 0.0)
    return np.broadcast_to(blanket, masses.shape).ravel(), last.ravel(), masses.ravel(), left_out


def composed_epsilon(parts: Sequence[CentralPart], delta: float) -> tuple[float, Accounting]:
    """ε of all releases together, and by which of three bounds it is the smallest.

    Parameters
    ----------
    parts : sequence of CentralPart
        What each release spends.
    delta : float
        δ of all together.

    Examples
    --------
    Ten releases of 50,000 people at k = 10, each with ε = 0.295:

    >>> from kakuran.design import CentralPart, composed_epsilon
    >>> epsilon, accounting = composed_epsilon(10 * [CentralPart(50_000, 4.3113)], delta=1e-6)
    >>> round(epsilon, 2), accounting
    (1.01, 'privacy loss')
    """
    check_delta(delta)
    domains, parts, left = without_domains(parts, delta)
    if domains:
        rest, accounting = composed_epsilon(parts, left) if parts and left > 0 else (0.0, "basic")
        return domains + rest, accounting
    if len(parts) < 2:
        return math.fsum(part.epsilon(delta) for part in parts), "basic"
    ways: dict[Accounting, Callable[[], float]] = {
        "basic": lambda: _basic(parts, delta),
        "advanced": lambda: _advanced(parts, delta),
        "privacy loss": lambda: summed_losses(tuple(parts)).epsilon(delta),
    }
    found = {name: bound() for name, bound in ways.items()}
    best = min(found, key=lambda name: found[name])
    return found[best], best


def without_domains(parts: Sequence[CentralPart], delta: float) -> tuple[float, list[CentralPart], float]:
    """ε of all domains that were found privately, the other parts, and the δ that is left for these.

    How well a release hides people may follow from the domains that were found, and the law of losses of a release that
    follows from another one is not composed with that of the other: ε and δ of domains are added.
    """
    others = [part for part in parts if not part.delta_alone]
    left = delta - math.fsum(part.delta_alone for part in parts)
    if left < 0 or (left == 0 and others):
        return math.inf, others, left
    return math.fsum(part.local for part in parts if part.delta_alone), others, left


@lru_cache(maxsize=1024)
def summed_losses(parts: tuple[CentralPart, ...]) -> Losses:
    """How the privacy loss of all releases together is distributed."""
    if len(parts) == 1:
        return parts[0].losses()
    half = 1 << ((len(parts) - 1).bit_length() - 1)  # so that what was summed for fewer releases is found again
    return summed_losses(parts[:half]).plus(summed_losses(parts[half:]))


def _basic(parts: Sequence[CentralPart], delta: float) -> float:
    return sum(_at(part, delta / len(parts)) for part in parts)


def _advanced(parts: Sequence[CentralPart], delta: float) -> float:
    each = np.array([_at(part, delta / 2 / len(parts)) for part in parts])
    if math.isinf(each.max()):
        return math.inf
    drift = float(np.sum(each * np.tanh(each / 2)))
    return drift + math.sqrt(2 * math.log(2 / delta) * float(np.sum(each**2)))


@lru_cache(maxsize=1024)
def _at(part: CentralPart, delta: float) -> float:
    return min(part.losses().epsilon(delta), part.local)
