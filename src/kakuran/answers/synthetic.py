"""Made-up records: a complete table drawn from the joint model of a release, how good it is, and how to use several.

Whoever draws from a model draws no more than the release tells, so nothing further is given away. Records of one table
are drawn from the model itself. Where several are wanted, each comes from the model that other records would have
given, so that they differ by as much as is not known (Raghunathan, Reiter and Rubin 2003).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from kakuran.answers.answer import Answer
from kakuran.answers.density import DEFAULT_BINS, shares_of_bins
from kakuran.answers.reader import JointTables, Reader, check_told, model_cells
from kakuran.counts import Cells, Tally, cells_of, every_code
from kakuran.defaults import DEFAULT_LEVEL, check_level
from kakuran.design import ExpectedError, Plan, expected_error
from kakuran.errors import ArgumentError, SchemaError
from kakuran.model import JointModel
from kakuran.schema import Layout, decode_columns
from kakuran.typing import Array, Codes, Indices, Progress
from kakuran.words import Phrase

ROWS_AT_ONCE = 1 << 17
MOST_TABLES = 60
"""Tables of so many columns that are looked at to say how good made-up records are."""
REFITS = 5
"""Models of other records that are compared with."""
_NOBODY = 1e-6


@dataclass(frozen=True, eq=False)
class _Inside:
    """The codes of a column inside the cells of a model."""

    edges: NDArray[np.int64]
    below: Array
    """How likely it is to be below each code."""

    @classmethod
    def of(cls, cells: Cells, likely: Array) -> _Inside:
        """By how likely every code is."""
        return cls(cells.edges, np.append(0.0, np.cumsum(likely + _NOBODY * likely.mean())))

    def codes(self, cells: Indices, dice: np.random.Generator) -> Codes:
        """One in the cell of each record."""
        first, last = self.edges[cells], self.edges[cells + 1] - 1
        low, high = self.below[first], self.below[last + 1]
        luck = low + dice.random(len(cells)) * (high - low)
        return np.clip(np.searchsorted(self.below, luck, side="right") - 1, first, last).astype(np.int32)


@dataclass(frozen=True, eq=False)
class _KeptRows:
    """What the records of a release have in the columns that are kept as they are: distinct rows, how many of each."""

    codes: Mapping[str, Codes]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, reader: Reader, progress: Progress) -> _KeptRows:
        """Counted in one pass, if there are any."""
        kept = reader.plan.schema.kept
        if not kept:
            return cls({}, np.array([reader.n]))
        places, counts = reader.records.tallies([list(map(every_code, kept))], progress)[0].occupied()
        codes = {one.name: place.astype(np.int32) for one, place in zip(kept, places, strict=True)}
        return cls(codes, counts.astype(np.int64))

    def drawn(self, n: int, batch: int, dice: np.random.Generator) -> Iterator[Indices]:
        """The row of each of n records, so many at a time: each as often as it is there, if all of them are asked."""
        left, everybody = self.counts, int(self.counts.sum())
        for start in range(0, n, batch):
            size = min(batch, n - start)
            if n == everybody:
                times = dice.multivariate_hypergeometric(left, size, method="marginals")
                left = left - times
            else:
                times = dice.multinomial(size, self.counts / everybody)
            yield dice.permutation(np.repeat(np.arange(len(times)), times))


@dataclass(frozen=True, eq=False)
class SyntheticTable(Answer):
    """Made-up records that are like the true ones; `Release.synthesise` makes them.

    They are drawn when they are asked for, always the same. As a frame, several copies stand below each other, and the
    first column says which is which; a loop goes through them one by one.

    Attributes
    ----------
    plan : Plan
        How the records of the release were perturbed.
    n : int
        How many records each copy has.
    tables : JointTables
        The joint model of the release, and the cells it knows.
    models : tuple of JointModel
        The model that each copy is drawn from.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.samples import census, census_schema
    >>> release = kk.perturb(census(5_000), kk.calibrate(census_schema(), n=5_000, k=5))
    >>> release.synthesise(n=100).to_arrow().shape
    (100, 4)
    >>> copies = release.synthesise(copies=2)
    >>> copies.to_arrow().column_names
    ['copy', 'sex', 'age', 'job', 'region']
    >>> [copy.to_arrow().num_rows for copy in copies]
    [5000, 5000]
    """

    plan: Plan
    n: int
    tables: JointTables
    models: tuple[JointModel, ...]
    _inside: Mapping[str, _Inside]
    _kept: _KeptRows

    def __len__(self) -> int:
        """How many copies there are."""
        return len(self.models)

    def __iter__(self) -> Iterator[SyntheticTable]:
        return (replace(self, models=(model,)) for model in self.models)

    @property
    def source_records(self) -> int:
        """How many records the release holds."""
        return int(self._kept.counts.sum())

    @property
    def reason(self) -> Phrase:
        """How the model was found, in words."""
        return self.tables.model.reason

    @property
    def columns(self) -> list[str]:
        """The columns of the table; the first says which copy it is, where there are several."""
        names = [one.name for one in self.plan.schema.released]
        return names if len(self) == 1 else [self._copy_column, *names]

    @property
    def _copy_column(self) -> str:
        name = "copy"
        while name in self.plan.schema.names:
            name += "_"
        return name

    @property
    def schema(self) -> pa.Schema:
        """The arrow schema of the table."""
        released = Layout(self.plan.schema).arrow
        return released if len(self) == 1 else pa.schema([(self.columns[0], pa.int32()), *released])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The records, some at a time, so that they need never be in memory together."""
        for number, model in enumerate(self.models, 1):
            for codes in self._drawn(model):
                batch = decode_columns(self.plan.schema.released, codes)
                if len(self) > 1:
                    copies = pa.array(np.full(batch.num_rows, number, np.int32))
                    batch = pa.record_batch([copies, *batch.columns], self.schema)
                yield batch

    def _drawn(self, model: JointModel) -> Iterator[dict[str, Codes]]:
        """The codes of one copy."""
        dice = model.randomness.spawn(1).generator()
        for rows in self._kept.drawn(self.n, ROWS_AT_ONCE, dice):
            kept = {name: codes[rows] for name, codes in self._kept.codes.items()}
            places = [axis.place(kept[axis.name]) if axis.name in kept else None for axis in self.tables.axes]
            drawn = zip(self.tables.axes, model.draw(len(rows), places, dice), strict=True)
            yield {
                axis.name: kept[axis.name] if axis.name in kept else self._inside[axis.name].codes(cells, dice)
                for axis, cells in drawn
            }

    def _table(self) -> Mapping[str, Any]:
        table = pa.Table.from_batches(self.batches(), self.schema)
        return dict(zip(table.column_names, table.columns, strict=True))

    def __str__(self) -> str:
        records = Phrase("1 made-up record") if self.n == 1 else Phrase("{count:,} made-up records", count=self.n)
        if len(self) > 1:
            records = Phrase("{records}, {count:,} copies", records=records, count=len(self))
        columns = ", ".join(self.columns)
        return Phrase("{records} of {columns}; {reason}", records=records, columns=columns, reason=self.reason)

    def to_dict(self) -> dict[str, Any]:
        """What it is, in plain values; the records are in its table."""
        return {"records": self.n, "copies": len(self), "columns": self.columns, "model": self.reason}

    def quality(self) -> SyntheticQuality:
        """How far the first copy is expected to be from the truth, table by table, from the release alone."""
        dice = self.tables.model.randomness.spawn(2).generator()
        others = [self.tables.model.resampled(dice) for _ in range(REFITS)]
        perturbed = [place for place, axis in enumerate(self.tables.axes) if axis.name in self.plan.mechanisms]
        asked = [some for ways in (1, 2, 3) for some in _some_tables(perturbed, ways, dice)]
        tallies = [Tally.zero([self.tables.axes[place] for place in places]) for places in asked]
        for codes in self._drawn(self.models[0]):
            for tally in tallies:
                tally.update(codes)
        shares = [tally.counts / self.n for tally in tallies]
        return SyntheticQuality.of(
            [
                (len(places), np.mean([_wrong(found, one.table(places), self.n) for one in others], axis=0))
                for places, found in zip(asked, shares, strict=True)
            ],
            expected_error(self.plan.tells, self.source_records),
        )


def _some_tables(columns: Sequence[int], ways: int, dice: np.random.Generator) -> list[tuple[int, ...]]:
    """All tables of so many columns, or some of them where there are many."""
    tables = list(combinations(columns, ways))
    return [tables[place] for place in sorted(dice.permutation(len(tables))[:MOST_TABLES])]


def _wrong(found: Array, truth: Array, n: int) -> Array:
    """People in the wrong cell, and pMSE beside what it is of records drawn from the truth (Raab et al. 2021).

    pMSE is how well records can be told from true ones by their cell alone: the mean square of how far the probability
    that a record of the cell is made up lies from ½.
    """
    both = found + truth
    told_apart = np.divide((found - truth) ** 2, 8 * both, out=np.zeros_like(both), where=both > 0).sum()
    by_chance = max(int(np.count_nonzero(both)) - 1, 1) / (16 * n)
    return np.array([np.abs(found - truth).sum() / 2, told_apart, told_apart / by_chance])


@dataclass(frozen=True, eq=False)
class SyntheticQuality(Answer):
    """How far made-up records are expected to be from the truth; `SyntheticTable.quality` tells.

    Attributes
    ----------
    ways : tuple of int
        How many columns the tables have that were looked at.
    expected : array
        People in the wrong cell as the design expects, what the model may have missed among it, or by chance if that
        is more.
    by_chance : array
        People in the wrong cell by chance alone: how far the records lie from models of other people like these.
    pmse : array
        How well they can be told from true ones by their cell: 0 is not at all, ¼ is always.
    pmse_ratio : array
        The same beside records drawn from the truth itself, of which it would be 1.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.samples import census, census_schema
    >>> release = kk.perturb(census(5_000), kk.calibrate(census_schema(), n=5_000, k=5))
    >>> release.synthesise().quality().to_arrow().column_names
    ['columns', 'expected', 'by_chance', 'pmse', 'pmse_ratio']
    """

    ways: tuple[int, ...]
    expected: Array
    by_chance: Array
    pmse: Array
    pmse_ratio: Array

    @classmethod
    def of(cls, wrong: Sequence[tuple[int, Array]], expected: ExpectedError) -> SyntheticQuality:
        """On average over tables of so many columns."""
        ways = sorted({way for way, _ in wrong})
        means = [np.mean([found for way, found in wrong if way == asked], axis=0) for asked in ways]
        by_chance, pmse, pmse_ratio = np.array(means).T
        at_least = np.maximum([expected.of(way) for way in ways], by_chance)
        return cls(tuple(ways), at_least, by_chance, pmse, pmse_ratio)

    def __str__(self) -> str:
        told = [
            Phrase("{way}-way {expected:.1%}", way=way, expected=expected)
            for way, expected in zip(self.ways, self.expected, strict=True)
        ]
        tables = reduce(lambda one, other: Phrase("{one}, {other}", one=one, other=other), told)
        return Phrase("expected in the wrong cell of a table: {tables}", tables=tables)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs."""
        return {name: list(np.asarray(column).tolist()) for name, column in self._table().items()}

    @property
    def _labels(self) -> int:
        return 1

    def _table(self) -> Mapping[str, Any]:
        measures = ("expected", "by_chance", "pmse", "pmse_ratio")
        return {"columns": list(self.ways)} | {name: getattr(self, name) for name in measures}


def synthesise(reader: Reader, n: int | None = None, copies: int = 1, progress: Progress = int) -> SyntheticTable:
    """Draw made-up records from the joint model of a release."""
    plan = reader.plan
    for name, value in (("n", n), ("copies", copies)):
        if value is not None and not (isinstance(value, int | np.integer) and value >= 1):
            raise ArgumentError(
                name, Phrase("must be a whole number from 1 on"), Phrase("Say how many."), example=value
            )
    if not reader.n:
        raise SchemaError(Phrase("the release holds no records to make up others from"))
    for name in plan.mechanisms:
        check_told(plan, name)
    asked = plan.schema.kept if plan.layout.told else plan.schema.released
    tables = reader.joint([model_cells(plan, one.name) for one in asked], progress)
    inside = {axis.name: _inside(reader, axis, progress) for axis in tables.axes if axis.name in plan.mechanisms}
    dice = tables.model.randomness.spawn(0).generator()
    models = [tables.model] if copies == 1 else [tables.model.resampled(dice) for _ in range(copies)]
    return SyntheticTable(
        plan, reader.n if n is None else int(n), tables, tuple(models), inside, _KeptRows.of(reader, progress)
    )


def _inside(reader: Reader, axis: Cells, progress: Progress) -> _Inside:
    """Where in its cells a column lies: numbers as their density has them."""
    attribute = reader.plan.schema[axis.name]
    likely = np.ones(attribute.size)
    if axis.size < attribute.size:
        bins = min(DEFAULT_BINS, attribute.points)
        shares = shares_of_bins(reader, axis.name, bins, progress)
        widths = np.diff(cells_of(reader.plan.schema, axis.name, bins).edges[: bins + 1])
        likely[: attribute.points] = np.repeat(shares / widths, widths)
    return _Inside.of(axis, likely)


@dataclass(frozen=True, eq=False)
class CombinedEstimate:
    """What several copies of made-up records say together; `kakuran.combine` tells.

    Attributes
    ----------
    estimate : array
        The mean over the copies.
    error : array
        Its standard error, noise and sampling among it.
    low, high : array
        Bounds of its interval.
    level : float
        How often the interval should hold the truth.

    Examples
    --------
    >>> import kakuran as kk
    >>> kk.combine([40.1, 39.6, 40.4, 39.9], [0.01, 0.01, 0.01, 0.01], level=0.95).level
    0.95
    """

    estimate: Array
    error: Array
    low: Array
    high: Array
    level: float


def combine(estimates: ArrayLike, variances: ArrayLike, *, level: float = DEFAULT_LEVEL) -> CombinedEstimate:
    """Put together what was found on each copy of made-up records (Raghunathan, Reiter and Rubin 2003).

    Copies differ by what one copy's own variance says and by what is not known; twice the first would be counted if
    both were added, so the variance is (1 + 1/m)·b − v: b between the copies, v within them. It is about the people
    that those of the release were drawn from. Where chance makes it negative, v is taken.

    Parameters
    ----------
    estimates : array
        What was found, a row a copy: a number, or several such as the coefficients of a regression.
    variances : array
        The squares of their standard errors, as if the records of the copy were true ones.
    level : float, optional
        How often the interval should hold the truth.

    Examples
    --------
    >>> import kakuran as kk
    >>> found = kk.combine([40.1, 39.6, 40.4, 39.9], [0.01, 0.01, 0.01, 0.01])
    >>> float(found.estimate), float(found.low.round(1)), float(found.high.round(1))
    (40.0, 39.1, 40.9)
    """
    from scipy.special import stdtrit

    found, within = np.asarray(estimates, float), np.asarray(variances, float)
    if found.shape != within.shape or found.ndim == 0 or len(found) < 2:
        problem = Phrase(
            "and variances must be two or more rows of the same shape, got {one} and {other}",
            one=found.shape,
            other=within.shape,
        )
        raise ArgumentError("estimates", problem, Phrase("Give one row for each copy."))
    if not (np.isfinite(found).all() and np.isfinite(within).all() and (within >= 0).all()):
        raise ArgumentError(
            "variances", Phrase("and estimates must be finite, and variances not negative"), Phrase("Leave none out.")
        )
    check_level(level)
    between, inner = (1 + 1 / len(found)) * found.var(axis=0, ddof=1), within.mean(axis=0)
    is_clear = between > inner
    variance = np.where(is_clear, between - inner, inner)
    share = np.divide(inner, between, out=np.zeros_like(inner), where=is_clear)
    freedom = np.where(is_clear, (len(found) - 1) * (1 - share) ** 2, np.inf)
    error = np.sqrt(variance)
    reach = stdtrit(np.maximum(freedom, 1.0), (1 + level) / 2) * error
    middle = found.mean(axis=0)
    return CombinedEstimate(middle, error, middle - reach, middle + reach, level)
