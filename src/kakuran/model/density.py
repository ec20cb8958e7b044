"""The distribution of one number over bins: from mixtures, and bin by bin, weighed by held-out likelihood.

Bin by bin is the iterative Bayesian technique. A mixture is smooth where the truth is not quite; a step or two of EM
from there towards the counts take up what it leaves unexplained, and no more of the noise than held-out
records approve. Numbers that people round, or that end at a bound, lie in heaps: a smooth curve with a few heaps on it,
the bounds among them, says so where neither of the others can.

Records are split several times; every candidate is fitted to the larger part and judged by the likelihood of the rest.
Where the data cannot tell candidates apart no luck decides: they are averaged, each family with the same say to begin
with. The estimate is also averaged over the splits, which smooths what hinges on a few records, and the spread over
the splits gives its error (the delete-a-group jackknife).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from kakuran.model.mixture.channel import GridCells
from kakuran.model.mixture.growth import PARTS, REPEATS, repeated_splits, try_out
from kakuran.model.mixture.observations import Components, Observations
from kakuran.model.operator import one_thread
from kakuran.model.reconstruction import HeldOutSplit, smoothed
from kakuran.typing import Array
from kakuran.words import Phrase

STOPS = tuple(int(2 ** (power / 2)) for power in range(2, 29))
"""Steps after which an estimate is a candidate: 2 to 16,384."""

PATIENCE = 5
"""Stops without a better prediction after which the path is given up."""


MOVES = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32)
"""Steps from a mixture towards the counts after which an estimate is a candidate."""

HEAPED = (16, 32, 64, 128, 256, 512)
"""Steps after which a curve with heaps is a candidate; it has settled by then."""

_DRAWN = (0.3, 1.0)
"""How much the cells of a curve draw each other along."""

_TAKEN = 0.3
"""Records that every heap loses at every step: a mild prior for no heap at all."""


def paths(
    matrix: Array, kept: Array, held: Array, start: Array | None = None, stops: Sequence[int] = STOPS
) -> tuple[Array, Array]:
    """All splits at once: EM from a start, which is uniform if there is none, stop by stop.

    Parameters
    ----------
    matrix : Array
        Probability of each observation (rows) given each bin (columns).
    kept, held : Array
        Counts of the observations, one row a split.
    start : Array | None
        Shares of the bins, one row a split.
    stops : Sequence[int]
        Steps after which an estimate is a candidate.

    Returns
    -------
    estimates : Array
        Shares of the bins, splits × stops × bins.
    scores : Array
        Log-likelihood of what was held out, summed over splits, one a stop.
    """
    shares = kept / kept.sum(axis=1, keepdims=True)
    estimate = np.full((len(kept), matrix.shape[1]), 1 / matrix.shape[1]) if start is None else start
    estimates, scores, done = [], [], 0
    for stop in stops:
        for _ in range(stop - done):
            estimate = estimate * ((shares / np.maximum(estimate @ matrix.T, 1e-300)) @ matrix)
        done = stop
        estimates.append(estimate)
        scores.append(float((held * np.log(np.maximum(estimate @ matrix.T, 1e-300))).sum()))
        if len(scores) - int(np.argmax(scores)) > PATIENCE:
            break
    return np.stack(estimates, axis=1), np.array(scores)


DensityMethod: TypeAlias = Literal["auto", "mixture", "ibt"]

BinPlaces: TypeAlias = NDArray[np.intp]

MOST_COMPONENTS = 6


@dataclass(frozen=True, eq=False)
class DensityFamily:
    """Candidates of one kind.

    Attributes
    ----------
    names : tuple[str, ...]
        One a candidate.
    scores : Array
        Log-likelihood of the held-out records.
    estimates : Array
        Shares of the bins, splits × candidates × bins.
    """

    names: tuple[str, ...]
    scores: Array
    estimates: Array

    @property
    def evidence(self) -> float:
        """The likelihood of the held-out records, the candidates taken as equally likely beforehand."""
        return float(logsumexp(self.scores) - np.log(len(self.scores)))

    @property
    def average(self) -> Array:
        """Shares of the bins for each split, candidates weighed by what they predicted."""
        return np.einsum("c,scb->sb", softmax(self.scores), self.estimates)

    def in_bins(self, starts: BinPlaces) -> DensityFamily:
        """The same over bins that begin at some of the cells."""
        return replace(self, estimates=np.add.reduceat(self.estimates, starts, axis=2))

    @property
    def best(self) -> str:
        """The candidate that predicted most."""
        return self.names[int(self.scores.argmax())]


@dataclass(frozen=True, eq=False)
class BinShares:
    """Shares of the bins with their standard errors, and how they came about."""

    shares: Array
    errors: Array
    reason: str


@one_thread()
def estimate_shares(observed: Observations, starts: BinPlaces, method: DensityMethod, apart: GridCells) -> BinShares:
    """Estimate the shares of bins.

    Parameters
    ----------
    observed : Observations
        Of one column.
    starts : BinPlaces
        Bin r holds the cells starts[r] … starts[r+1]−1 of the column.
    method : DensityMethod
        Which families of candidates to weigh.
    apart : GridCells
        The same column, in which each bound is a cell of its own.
    """
    divided = repeated_splits(observed.counts)
    families = list(_families(observed, starts, divided, method))
    if method == "auto":
        (cells,) = observed.channels
        assert isinstance(cells, GridCells)  # noqa: S101
        families.append(_heaped(apart, np.searchsorted(apart.edges, cells.edges[starts]), divided))
    weights = softmax([family.evidence for family in families])
    by_split = np.einsum("f,fsb->sb", weights, np.stack([family.average for family in families]))
    told = [
        Phrase("{share:.0%} {name}", share=weight, name=family.best)
        for weight, family in zip(weights, families, strict=True)
    ]
    listed = reduce(lambda one, other: Phrase("{one}, {other}", one=one, other=other), told)
    reason = Phrase("by held-out likelihood: {listed}", listed=listed)
    return BinShares(by_split.mean(axis=0), _jackknife(by_split), reason)


def _jackknife(by_split: Array) -> Array:
    """Delete-a-group standard errors, over the parts of each repeat."""
    grouped = by_split.reshape(REPEATS, PARTS, -1)
    variances = (PARTS - 1) / PARTS * ((grouped - grouped.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return np.sqrt(variances.mean(axis=0))


def _families(
    observed: Observations, starts: BinPlaces, divided: list[HeldOutSplit], method: DensityMethod
) -> Iterator[DensityFamily]:
    (cells,) = observed.channels
    assert isinstance(cells, GridCells)  # noqa: S101
    if method != "ibt":
        smooth = _mixtures(observed, cells, divided)
        yield smooth.in_bins(starts)
        if method == "auto":
            yield _moved(smooth, cells, divided).in_bins(starts)
    if method != "mixture":
        yield _bin_by_bin(cells, starts, divided)


def _mixtures(observed: Observations, cells: GridCells, divided: list[HeldOutSplit]) -> DensityFamily:
    trials = try_out(observed, divided, MOST_COMPONENTS)
    estimates = [[_shares(cells, components) for components in grown] for grown in trials.components]
    names = tuple(Phrase("mixture of {count}", count=count) for count in range(1, len(trials.scores) + 1))
    return DensityFamily(names, trials.scores / REPEATS, np.array(estimates))


def _moved(smooth: DensityFamily, cells: GridCells, divided: list[HeldOutSplit]) -> DensityFamily:
    """From mixtures towards the counts."""
    estimates, scores = paths(cells.matrix, *_stacked(divided), smooth.average, MOVES)
    names = tuple(
        Phrase("{name} moved by {steps} steps", name=smooth.best, steps=steps) for steps in MOVES[: len(scores)]
    )
    return DensityFamily(names, scores / REPEATS, estimates)


def _bin_by_bin(cells: GridCells, starts: BinPlaces, divided: list[HeldOutSplit]) -> DensityFamily:
    estimates, scores = paths(_lumped(cells, starts), *_stacked(divided))
    names = tuple(Phrase("bin by bin, {steps} steps", steps=stop) for stop in STOPS[: len(scores)])
    return DensityFamily(names, scores / REPEATS, estimates)


def _lumped(cells: GridCells, starts: BinPlaces) -> Array:
    """The matrix of bins, within which numbers are spread evenly."""
    widths = np.diff(cells.edges)
    return np.add.reduceat(cells.matrix * widths, starts, axis=1) / np.add.reduceat(widths, starts)


def _heaped(cells: GridCells, starts: BinPlaces, divided: list[HeldOutSplit]) -> DensityFamily:
    """A curve with heaps, in bins and in the narrower cells, the bounds apart in both."""
    kept, held = _stacked(divided)
    last = len(cells.edges) - 2
    every, bins = np.arange(last + 1), np.union1d(starts, [0, 1, last])
    estimates, scores = [], []
    for parts in [every] if len(bins) == len(every) else [bins, every]:
        matrix, widths = _lumped(cells, parts), np.diff(np.append(cells.edges[parts], cells.edges[-1]))
        # A bound that is narrower than what is beside it is no part of a curve.
        curve = slice(int(widths[0] < widths[1]), len(parts) - int(widths[-1] < widths[-2]))
        for drawn in _DRAWN:
            found = list(_curve_with_heaps(matrix, kept, curve, drawn))
            scores += [float((held * np.log(np.maximum(one @ matrix.T, 1e-300))).sum()) for one in found]
            estimates += [np.add.reduceat(one, np.searchsorted(parts, starts), axis=1) for one in found]
    names = tuple(Phrase("a curve with heaps, {steps} steps", steps=stop) for stop in HEAPED)
    # A heap might lie in any cell: beforehand this is one of so many ways not to be smooth.
    likely = np.array(scores) / REPEATS - np.log(len(every))
    return DensityFamily(names * (len(scores) // len(names)), likely, np.stack(estimates, axis=1))


def _curve_with_heaps(matrix: Array, kept: Array, curve: slice, drawn: float) -> Iterator[Array]:
    """EM for a sum of two tables, stop by stop: neighbours draw each other along in one, the other is sparse.

    What a few cells hold alone goes to the heaps, and what is left of them, cell by cell, pays for no heap: the curve
    takes it up. So spikes are not smoothed away, and what lies between them is.
    """
    people = kept.sum(axis=1, keepdims=True)
    heaps = np.full((len(kept), matrix.shape[1]), 1 / matrix.shape[1])
    smooth = np.zeros_like(heaps)
    smooth[:, curve] = heaps[:, curve]
    for step in range(1, HEAPED[-1] + 1):
        whole = (smooth + heaps).sum(axis=1, keepdims=True)
        factors = (kept / people / np.maximum((smooth + heaps) / whole @ matrix.T, 1e-300)) @ matrix / whole
        heaps = np.maximum(heaps * factors - _TAKEN / people, 0.0)
        smooth = smooth * factors
        smooth[:, curve] = smoothed(smooth[:, curve], np.array(drawn), curve.stop - curve.start)
        if step in HEAPED:
            both = smooth + heaps
            yield both / both.sum(axis=1, keepdims=True)


def _stacked(divided: list[HeldOutSplit]) -> tuple[Array, Array]:
    """What was kept and what was held out, one row a split."""
    kept, held = zip(*divided, strict=True)
    return np.stack(kept), np.stack(held)


def _shares(cells: GridCells, components: Components) -> Array:
    return cells.shares(components.weights, components.means[:, 0], components.sigmas[:, 0])
