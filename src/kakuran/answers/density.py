"""The distribution of a number: estimated true shares over bins beside the uncorrected ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from kakuran.answers.answer import Answer
from kakuran.answers.groups import WeightClass
from kakuran.answers.reader import Reader, TableQuestion, ask, check_interval, check_told, tell_by_tell
from kakuran.charts import density_chart
from kakuran.counts import Bins, Tally, every_code
from kakuran.defaults import DEFAULT_LEVEL
from kakuran.design import Plan
from kakuran.errors import ArgumentError, DataError, SchemaError, counted
from kakuran.mechanism import Mechanism
from kakuran.model import (
    LARGEST_AXIS,
    BinShares,
    DensityMethod,
    Options,
    estimate_shares,
    interval,
    observations,
    of_codes,
    reconstruct,
)
from kakuran.schema import Numeric
from kakuran.typing import Array, Codes, Progress
from kakuran.words import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT_BINS = 100
_MOST_CELLS = 512
_CELLS_A_UNIT = 64


@dataclass(frozen=True, eq=False)
class Density(Answer):
    """Shares of a number's bins; `Release.density` makes one.

    Attributes
    ----------
    name : str
        The column.
    edges : array
        Of the bins; one more than there are bins.
    shares : array
        Estimated share of the true records in each bin.
    low, high : array
        Bounds of its interval: how much chance in sampling and noise moves the estimate, and what the counts
        allow whatever the bin's neighbours are like, from which a bin narrower than the noise can show is estimated.
        Of more than 128 bins chance alone is told, and a spike may lie outside.
    naive : array
        Share of the perturbed records in each bin, uncorrected.
    method : str
        The estimator asked for.
    reason : str
        What it did, in words.
    missing : float
        Estimated share of the true records without a number; the shares of the bins are of the others.
    column : Numeric | None
        What the column may hold, where its numbers are dates: edges are days since 1970-01-01.
    level : float
        How often an interval holds the truth.

    Examples
    --------
    >>> import warnings, kakuran as kk
    >>> from kakuran.samples import census
    >>> ages = census(5000).select(["age"])
    >>> plan = kk.calibrate(kk.Schema([kk.Numeric("age", 15, 94, step=1)]), n=5000, k=2)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     release = kk.perturb(ages, plan, seed=0)
    >>> density = release.density("age", bins=8, method="ibt")
    >>> bool((abs(density.shares - density.naive) > 0.01).any()), round(float(density.shares.sum()), 6)
    (True, 1.0)
    """

    name: str
    edges: Array
    shares: Array
    low: Array
    high: Array
    naive: Array
    method: DensityMethod
    reason: str
    missing: float = 0.0
    column: Numeric | None = None
    level: float = DEFAULT_LEVEL

    @property
    def densities(self) -> Array:
        """Shares by the width of their bins."""
        return self.shares / np.diff(self.edges)

    def cdf(self, numbers: ArrayLike) -> Array:
        """The share of true records up to each number, even within bins."""
        return np.interp(np.asarray(numbers, dtype=float), self.edges, self._below)

    def quantile(self, shares: ArrayLike) -> Array:
        """The number below which each share of the true records lies."""
        wanted = np.asarray(shares, dtype=float)
        if not ((wanted >= 0) & (wanted <= 1)).all():
            raise ArgumentError(
                "shares", Phrase("must lie between 0 and 1"), Phrase("Ask for shares, not percents."), example=shares
            )
        below = self._below
        # The bin in which a share is reached; one that nobody is in never is.
        reached = np.maximum(np.searchsorted(below, wanted), np.flatnonzero(self.shares)[0] + 1)
        within = (wanted - below[reached - 1]) / (below[reached] - below[reached - 1])
        return self.edges[reached - 1] + within * np.diff(self.edges)[reached - 1]

    @property
    def _below(self) -> Array:
        below = np.concatenate([[0.0], np.cumsum(self.shares)])
        return below / below[-1]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs."""
        return {
            "column": self.name,
            "method": self.method,
            "reason": self.reason,
            "missing": self.missing,
            "level": self.level,
            **{name: getattr(self, name).tolist() for name in ("edges", "shares", "low", "high", "naive")},
        }

    def _table(self) -> dict[str, Array]:
        """One row a bin: where it begins and ends, its share, the ends of the interval, and the naive share."""
        bounds: dict[str, Any] = {"from": self.edges[:-1], "to": self.edges[1:]}
        if self.column is not None:
            halves = {"from": 0.5, "to": -0.5}  # edges lie between the last day of a bin and the first of the next
            bounds = {name: [self.column.written(edge + halves[name]) for edge in bounds[name]] for name in bounds}
        return bounds | {"share": self.shares, "low": self.low, "high": self.high, "naive": self.naive}

    def plot(self, translate: Translate = str) -> Figure:
        """The estimated density with its intervals, over the uncorrected one."""
        written = None if self.column is None else self.column.written
        interval = self.low, self.high, self.level
        return density_chart(self.name, self.edges, self.shares, interval, self.naive, translate, written)

    def __str__(self) -> str:
        low, middle, high = (
            f"{number:.4g}" if self.column is None else self.column.written(number + 0.5)
            for number in self.quantile([0.25, 0.5, 0.75])
        )
        missing = f"; {self.missing:.1%} missing" if self.missing else ""
        bins = counted(len(self.shares), "bin")
        return f"{self.name}: {middle} ({low} … {high}){missing}; {bins}, {self.reason}"


def density(
    reader: Reader,
    column: str,
    *,
    bins: Bins | None,
    method: DensityMethod,
    level: float = DEFAULT_LEVEL,
    weights: str | None = None,
    progress: Progress = int,
) -> Density:
    """Count one perturbed column code by code and estimate the shares of its bins, by people that records stand for."""
    if method not in get_args(DensityMethod):
        raise ArgumentError(
            "method",
            Phrase("must be one of {methods}", methods=", ".join(get_args(DensityMethod))),
            Phrase("Choose one."),
            example=method,
        )
    check_interval(level, "table")
    classes = WeightClass.all_of(reader, weights, progress)
    found = [_density(one.reader, column, bins, method, level, progress) for one in classes]
    return _weighed(found, np.array([one.share for one in classes])) if weights else found[0]


def _weighed(classes: Sequence[Density], shares: Array) -> Density:
    """The density of all people, from those of classes of weights.

    Intervals add up: what smoothing does to a bin it may do to that of every class.
    """
    numbers = shares * (1 - np.array([one.missing for one in classes]))
    each = (numbers / max(numbers.sum(), 1e-300))[:, None]
    names = ("shares", "low", "high", "naive")
    found = {name: (each * np.stack([getattr(one, name) for one in classes])).sum(axis=0) for name in names}
    return replace(classes[int(shares.argmax())], **found, missing=float(1 - numbers.sum()))


def _density(
    reader: Reader, column: str, bins: Bins | None, method: DensityMethod, level: float, progress: Progress
) -> Density:
    plan = reader.plan
    attribute = released_number(plan, column)
    binned = _Binned.of(reader, column, min(DEFAULT_BINS, attribute.points) if bins is None else bins, progress)
    naive, found = binned.naive, binned.estimated(plan, method)
    reach = float(ndtri((1 + level) / 2)) * found.errors
    low, high = _allowed(reader, binned, level)
    return Density(
        column,
        attribute.borders_of(binned.edges),
        found.shares,
        np.minimum(np.maximum(found.shares - reach, 0.0), low[: len(naive)]),
        np.maximum(np.minimum(found.shares + reach, 1.0), high[: len(naive)]),
        naive / max(naive.sum(), 1.0),
        method,
        found.reason,
        binned.told.missing or 0.0,
        None if attribute.has_mean else attribute,
        level,
    )


def shares_of_bins(reader: Reader, column: str, bins: int, progress: Progress) -> Array:
    """The estimated shares alone, found once a release: their intervals take half as long again."""
    if (column, bins) not in reader.shares:
        binned = _Binned.of(reader, column, bins, progress)
        reader.shares[column, bins] = binned.estimated(reader.plan, "auto").shares
    return reader.shares[column, bins]


@dataclass(frozen=True, eq=False)
class _Binned:
    """A number's bins, and what records tell of them."""

    question: TableQuestion
    told: ToldNumbers
    edges: NDArray[np.int64]
    naive: Array
    """How many records came out in each bin."""

    @classmethod
    def of(cls, reader: Reader, column: str, bins: Bins, progress: Progress) -> _Binned:
        """Counted in one pass."""
        question = ask(reader.plan, (column,), {column: bins}, None)
        axis, points = question.cells[0], released_number(reader.plan, column).points
        (told,) = told_numbers(reader, [column], progress)
        edges = axis.edges[axis.edges <= points]
        places = axis.place(told.codes, reader.plan.reach(column))
        naive = np.bincount(places, told.counts, minlength=len(edges) - 1).astype(float)
        return cls(question, told, edges, naive)

    def estimated(self, plan: Plan, method: DensityMethod) -> BinShares:
        """The shares of true records in each bin."""
        name = self.question.cells[0].name
        mechanism, attribute = plan.mechanisms.get(name), released_number(plan, name)
        return _estimate(self.told, mechanism, attribute, self.edges, method, self.naive)


@dataclass(frozen=True, eq=False)
class ToldNumbers:
    """What the records that tell a column have there.

    Attributes
    ----------
    codes : Codes
        Distinct codes of numbers.
    counts : Array
        How many records have each.
    missing : float | None
        The estimated share of true records without a number; None where all have one.
    gone : float
        How many records have none.
    """

    codes: Codes
    counts: Array
    missing: float | None
    gone: float = 0.0

    def checked(self, name: str) -> ToldNumbers:
        """The same, refused if there is none."""
        if not len(self.codes):
            raise DataError(name, Phrase("the release holds no records"), Phrase("There is nothing to estimate from."))
        return self


def told_numbers(reader: Reader, columns: Sequence[str], progress: Progress) -> list[ToldNumbers]:
    """The numbers of some columns, each by itself, all in one pass."""
    plan = reader.plan
    tables = [[every_code(plan.schema.in_release(name), plan.reach(name))] for name in columns]
    found = []
    for name, tallies in zip(columns, tell_by_tell(reader.tallies, plan, tables, progress), strict=True):
        (*_, places), counts = reduce(Tally.merge, tallies).occupied()
        codes = (places - plan.reach(name)).astype(np.int32)
        check_told(plan, name)
        attribute = released_number(plan, name)
        is_number = codes < attribute.points + plan.reach(name)
        numbers = ToldNumbers(codes[is_number], counts[is_number], None).checked(name)
        if attribute.missing == "category":
            gone = float(counts[~is_number].sum())
            missing = _missing(gone / counts.sum(), attribute, plan.mechanisms.get(name))
            numbers = replace(numbers, missing=missing, gone=gone)
        found.append(numbers)
    return found


def _allowed(reader: Reader, binned: _Binned, level: float) -> tuple[Array, Array]:
    """The least and the largest share of each bin that some true table explains, however smooth or not it is."""
    question, told, plan = binned.question, binned.told, reader.plan
    (axis,), (cells,), reach = question.axes, question.cells, plan.reach(question.cells[0].name)
    if not question.is_perturbed(plan) or cells.size > LARGEST_AXIS:
        return np.ones(cells.size), np.zeros(cells.size)
    codes = np.append(told.codes, plan.schema.in_release(cells.name).size - 1 + reach)
    counts = np.bincount(axis.place(codes, reach), np.append(told.counts, told.gone), axis.size).astype(float)
    operator = reader.operator(question)
    estimate = reconstruct(counts, operator).counts
    ends = interval(counts, operator, estimate, question.reading, level=level, about="population")
    numbers = max(counts.sum() * (1 - (told.missing or 0.0)), 1.0)
    low, high = (np.minimum(end / numbers, 1.0) for end in ends)
    return low, high


def _missing(gone: float, attribute: Numeric, mechanism: Mechanism | None) -> float:
    """The share of true records without a number, from that of released ones."""
    if mechanism is None:
        return gone
    number, missing = mechanism.transition(np.array([0, attribute.points, attribute.points + 1])).matrix[1]
    return float(np.clip((gone - number) / (missing - number), 0.0, 1.0))


def released_number(plan: Plan, column: str) -> Numeric:
    """A column that is a number."""
    attribute = plan.schema.in_release(column)
    if not isinstance(attribute, Numeric):
        raise SchemaError(Phrase("column {column!r} is not a number; ask for its crosstab", column=column))
    return attribute


def _estimate(
    told: ToldNumbers,
    mechanism: Mechanism | None,
    attribute: Numeric,
    edges: NDArray[np.int64],
    method: DensityMethod,
    naive: Array,
) -> BinShares:
    if mechanism is None:
        return BinShares(naive / naive.sum(), np.zeros_like(naive), Phrase("nothing was perturbed"))
    low, step = attribute.axis
    unit = np.sqrt(mechanism.variance().mean() / 2) / step
    cells = finer_cells(edges, max(unit / _CELLS_A_UNIT, 1.0))
    column = of_codes(told.codes, mechanism, low, step, cells, told.missing)
    bounds_apart = np.union1d(cells, [cells[0] + 1, cells[-1] - 1])
    apart, _ = of_codes(told.codes, mechanism, low, step, bounds_apart, told.missing, like=cells)
    observed = observations([column], smoothing=Options.smoothing, weights=told.counts)
    return estimate_shares(observed, np.searchsorted(cells, edges[:-1]), method, apart)


def finer_cells(edges: NDArray[np.int64], width: float) -> NDArray[np.int64]:
    """Bins cut into equal cells of about this many codes, so that an atom has a place of its own in them."""
    most = max(_MOST_CELLS // (len(edges) - 1), 1)
    parts = [
        np.rint(np.linspace(low, high, int(np.clip(np.ceil((high - low) / width), 1, min(most, high - low))) + 1))
        for low, high in itertools.pairwise(edges)
    ]
    return np.unique(np.concatenate(parts)).astype(np.int64)
