"""Good places to start from, and how many components to end with.

A mixture of K + 1 grows out of one of K. A new component is tried where the likelihood rises fastest if a little weight
is moved there (the gradient function of Lindsay 1983), as an atom, narrow and wide; and in place of each old one as two
halves. The most promising few are climbed to the top. So every number of components up to K is fitted on the way, each
warm from the last.

How many it takes is told by the likelihood of records that were held out, by BIC or by AIC. A mixture grown from four
fifths of the records, with starts of its own, is judged by the likelihood of the others. Raw likelihood, S0's rule,
always asks for more components.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import logsumexp

from kakuran.model.mixture.climbing import log_joint, log_likelihood, log_seen, polish
from kakuran.model.mixture.observations import Components, Fit, Observations
from kakuran.model.reconstruction import HeldOutSplit, splits
from kakuran.randomness import Randomness
from kakuran.typing import Array

FIRST_STEPS = 20
"""Steps after which climbs are compared."""

_PLACES = 48
_WIDTHS = (0.1, 0.5, 1.5)
_SHARE = 0.1
_MIDDLE = (0.005, 0.995)
_IDLE = 1e-9


def grow(
    observed: Observations, most: int, *, starts: int = 3, tolerance: float = 1e-10, most_steps: int = 1000
) -> Iterator[Fit]:
    """The best fit found of 1, 2, … `most` components."""
    fit = polish(single(observed), observed, tolerance=tolerance, most_steps=most_steps)
    yield fit
    for _ in range(most - 1):
        first = min(FIRST_STEPS, most_steps)
        begun = [polish(start, observed, most_steps=first) for start in larger(fit.components, observed)]
        begun.sort(key=lambda one: -one.objective)
        climbs = [
            polish(one.components, observed, tolerance=tolerance, most_steps=most_steps) for one in begun[:starts]
        ]
        higher = max(climbs, key=lambda one: one.objective)
        if higher.objective < fit.objective:
            higher = replace(fit, components=_with_idle_component(fit.components, observed))
        fit = higher
        yield fit


def single(observed: Observations) -> Components:
    """One component with the mean of the records, and half their deviation: part of it is noise."""
    means, sigmas = [], []
    for column, channel in enumerate(observed.channels):
        limits, values = channel.limits, observed.gather(channel.centres, column)
        mean = np.average(values, weights=observed.counts)
        deviation = np.sqrt(np.average((values - mean) ** 2, weights=observed.counts))
        means.append(np.clip(mean, limits.low, limits.high))
        sigmas.append(np.clip(deviation / 2, limits.least_sigma, limits.most_sigma))
    return Components(np.ones(1), np.array([means]), np.array([sigmas]))


def spread_out(observed: Observations, count: int) -> Components:
    """Equal components at even quantiles of every column: where S0's own solver starts."""
    one = single(observed)
    shares = tuple((np.arange(count) + 0.5) / count)
    means = [
        np.clip(
            _quantiles(observed.gather(channel.centres, column), observed.counts, shares),
            channel.limits.low,
            channel.limits.high,
        )
        for column, channel in enumerate(observed.channels)
    ]
    return Components(np.full(count, 1 / count), np.column_stack(means), np.repeat(one.sigmas, count, axis=0))


def larger(components: Components, observed: Observations) -> list[Components]:
    """Mixtures of one more component to start from."""
    return [*_with_new_component(components, observed), *_with_halves(components, observed)]


def _with_new_component(components: Components, observed: Observations) -> Iterator[Components]:
    present = log_joint(components, observed)
    seen = log_seen(present, observed)[:, None]
    told = np.exp(logsumexp(present, axis=1, keepdims=True) - seen)
    places = _places(observed)
    units = np.array([channel.limits.unit for channel in observed.channels])
    least = np.array([channel.limits.least_sigma for channel in observed.channels])
    for width in _WIDTHS:
        sigmas = np.tile(np.maximum(width * units, least), (len(places), 1))
        trial = Components(np.ones(len(places)), places, sigmas)
        excess = np.exp(log_joint(trial, observed) - seen) - told
        slope, bend = observed.counts @ excess, observed.counts @ excess**2
        gain = np.maximum(slope, 0) ** 2 / np.maximum(bend, 1e-300)
        best = int(gain.argmax())
        yield Components(
            np.append((1 - _SHARE) * components.weights, _SHARE),
            np.vstack([components.means, places[best]]),
            np.vstack([components.sigmas, sigmas[best]]),
        )


def _with_halves(components: Components, observed: Observations) -> Iterator[Components]:
    """Each component cut in two along the column in which it is widest."""
    units = np.array([channel.limits.unit for channel in observed.channels])
    for chosen in range(len(components)):
        column = int((components.sigmas[chosen] / units).argmax())
        step = np.zeros(len(units))
        step[column] = max(components.sigmas[chosen, column], 0.1 * units[column])
        sigmas = components.sigmas[chosen].copy()
        sigmas[column] = max(sigmas[column] / 2, observed.channels[column].limits.least_sigma)
        kept = np.arange(len(components)) != chosen
        yield Components(
            np.append(components.weights[kept], np.repeat(components.weights[chosen] / 2, 2)),
            np.vstack([components.means[kept], components.means[chosen] - step, components.means[chosen] + step]),
            np.vstack([components.sigmas[kept], sigmas, sigmas]),
        )


def _with_idle_component(components: Components, observed: Observations) -> Components:
    """The same mixture, and a component with next to no weight, as wide as may be so that no penalty falls on it."""
    widest = [channel.limits.most_sigma for channel in observed.channels]
    return Components(
        np.append((1 - _IDLE) * components.weights, _IDLE),
        np.vstack([components.means, components.means[int(components.weights.argmax())]]),
        np.vstack([components.sigmas, widest]),
    )


def _places(observed: Observations) -> Array:
    """Where a new component might be: evenly over one column, at some of the records over several."""
    columns = []
    rows = np.linspace(0, len(observed.counts) - 1, _PLACES).astype(int)
    for column, channel in enumerate(observed.channels):
        limits = channel.limits
        if len(observed.channels) == 1:
            low, high = np.clip(_quantiles(channel.centres, observed.counts, _MIDDLE), limits.low, limits.high)
            columns.append(np.linspace(low, high, _PLACES))
        else:
            columns.append(np.clip(observed.gather(channel.centres, column)[rows], limits.low, limits.high))
    return np.column_stack(columns)


def _quantiles(values: Array, counts: Array, shares: tuple[float, ...]) -> Array:
    order = np.argsort(values)
    below = np.cumsum(counts[order])
    return values[order][np.searchsorted(below, np.array(shares) * below[-1])]


_ROUGH = 1e-8
"""Tolerance of fits that are only judged or averaged."""
SelectionCriterion: TypeAlias = Literal["held-out", "bic", "aic"]
PARTS = 5
REPEATS = 2
PATIENCE = 2
"""Numbers of components without a better prediction after which no more are tried."""


def repeated_splits(counts: Array, *, repeats: int = REPEATS) -> list[HeldOutSplit]:
    """Kept and held-out counts; each record is held out once a repeat. The same for the same counts."""
    dice = Randomness.derived(counts.tobytes()).generator()
    found = [split for _ in range(repeats) for split in splits(counts, PARTS, dice)]
    # Of a handful of records, one part may hold all: nothing could be fitted to the rest.
    return [(kept if kept.any() else counts, held) for kept, held in found]


@dataclass(frozen=True, eq=False)
class Trials:
    """Mixtures of 1, 2, … components grown from parts of the records, and the likelihood they give to the rest.

    Attributes
    ----------
    components : Sequence[Sequence[Components]]
        One list a split, by number of components.
    by_split : Array
        Log-likelihood of what was held out, splits × numbers of components.
    """

    components: Sequence[Sequence[Components]]
    by_split: Array

    @property
    def scores(self) -> Array:
        """Log-likelihood of all that was held out, by number of components."""
        return self.by_split.sum(axis=0)

    @property
    def fewest(self) -> int:
        """The fewest components that predict within one standard error of the best (Breiman et al. 1984, §3.4.3)."""
        behind = self.by_split[:, [int(self.scores.argmax())]] - self.by_split
        error = np.sqrt(len(behind)) * behind.std(axis=0, ddof=1)
        return int(np.flatnonzero(behind.sum(axis=0) <= error)[0]) + 1


def try_out(observed: Observations, divided: Sequence[HeldOutSplit], most: int) -> Trials:
    """Grow on what was kept, judge by what was held out, until more components predict no better."""

    def judge(grown: Sequence[Components]) -> list[float]:
        pairs = zip(grown, divided, strict=True)
        return [log_likelihood(components, observed.with_counts(held)) for components, (_, held) in pairs]

    return try_out_by(judge, observed, [kept for kept, _ in divided], most)


def try_out_by(
    judge: Callable[[Sequence[Components]], Sequence[float]], observed: Observations, kept: Sequence[Array], most: int
) -> Trials:
    """Grow on what was kept in each split, and have all of them judged by others, until more predict no better."""
    growing = [grow(observed.with_counts(counts), most, starts=1, tolerance=_ROUGH) for counts in kept]
    rounds: list[list[Components]] = []
    scores: list[Sequence[float]] = []
    for fits in zip(*growing, strict=True):
        rounds.append([fit.components for fit in fits])
        scores.append(judge(rounds[-1]))
        if len(scores) - int(np.sum(scores, axis=1).argmax()) > PATIENCE:
            break
    return Trials(list(zip(*rounds, strict=True)), np.array(scores).T)


def parameters(components: Components) -> int:
    """Numbers that were fitted."""
    return components.means.size + components.sigmas.size + len(components) - 1


def bic(fit: Fit, n: float) -> float:
    """Schwarz's criterion; lower is better."""
    return -2 * fit.log_likelihood + np.log(n) * parameters(fit.components)


def aic(fit: Fit, n: float) -> float:
    """Akaike's criterion; lower is better."""
    return -2 * fit.log_likelihood + 2 * parameters(fit.components)


def choose(observed: Observations, most: int, criterion: SelectionCriterion, *, starts: int, tolerance: float) -> Fit:
    """The best fit of the best number of components."""
    if criterion == "held-out":
        wanted = try_out(observed, repeated_splits(observed.counts, repeats=1), most).fewest
        return _last(grow(observed, wanted, starts=starts, tolerance=tolerance))
    score = {"bic": bic, "aic": aic}[criterion]
    fits = grow(observed, most, starts=starts, tolerance=tolerance)
    return min(fits, key=lambda fit: score(fit, observed.n))


def _last(fits: Iterator[Fit]) -> Fit:
    *_, last = fits
    return last
