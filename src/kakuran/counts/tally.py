"""Counting coded records, wherever they lie: rows that differ, and a monoid, so that any engine can count in pieces."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kakuran.counts.cells import Cells, every_code
from kakuran.errors import SchemaError
from kakuran.schema import Categorical, Layout, Numeric, no_reach, to_arrow
from kakuran.typing import Array, Codes, Indices, Progress, Reach
from kakuran.words import Phrase


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Rows that differ, in the order of their columns.

    Attributes
    ----------
    columns : list[NDArray]
        The distinct rows, column by column.
    counts : NDArray
        How often each occurs, or what the weights of its copies add up to.
    place : NDArray
        Which of them each of the given rows is.
    first : NDArray
        The first of the given rows that is each of them.
    """

    columns: list[NDArray[Any]]
    counts: NDArray[Any]
    place: Indices
    first: Indices

    def __len__(self) -> int:
        return len(self.counts)


def distinct_rows(columns: Sequence[NDArray[np.integer]], weights: Array | None = None) -> DistinctRows:
    """The rows that differ in some column of whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from kakuran.counts import distinct_rows
    >>> found = distinct_rows([np.array([2, 0, 2]), np.array([5, 7, 5])])
    >>> [column.tolist() for column in found.columns], found.counts.tolist(), found.place.tolist()
    ([[0, 2], [7, 5]], [1, 2], [1, 0, 1])
    """
    place, count = _joint_codes(columns)
    first = np.empty(count, np.intp)
    first[place[::-1]] = np.arange(len(place))[::-1]
    counts = np.bincount(place, weights, minlength=count)
    return DistinctRows([column[first] for column in columns], counts, place, first)


def rows_of_each(codes: NDArray[np.integer], size: int) -> list[Indices]:
    """The rows that have each of the values 0 … size − 1.

    Examples
    --------
    >>> import numpy as np
    >>> from kakuran.counts import rows_of_each
    >>> [rows.tolist() for rows in rows_of_each(np.array([2, 0, 2]), 3)]
    [[1], [], [0, 2]]
    """
    order = np.argsort(_narrow(codes), kind="stable")
    return np.split(order, np.searchsorted(codes[order], np.arange(1, size)))


def _narrow(codes: NDArray[np.integer]) -> NDArray[np.integer]:
    """The same in as few bytes as it takes: numpy sorts numbers of one or two without comparing them."""
    ends = (np.min_scalar_type(end) for end in (codes.min(initial=0), codes.max(initial=0)))
    return codes.astype(np.result_type(*ends))


_MOST_CELLS = 1 << 62
"""More could not be numbered."""


def _joint_codes(columns: Sequence[NDArray[np.integer]]) -> tuple[Indices, int]:
    """One code a row for several columns together, numbered in order and without gaps, and how many there are."""
    codes, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        lowest, highest = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        digits, width = column - lowest, highest - lowest + 1
        if size * width > _MOST_CELLS:
            codes, size = _without_gaps(codes, size)
            if size * width > _MOST_CELLS:
                digits, width = _without_gaps(digits, width)
        codes, size = codes * width + digits, size * width
    return _without_gaps(codes, size)


def _without_gaps(codes: NDArray[np.integer], size: int) -> tuple[Indices, int]:
    if size > max(8 * len(codes), 1 << 20):
        found, places = np.unique(codes, return_inverse=True)
        return places, len(found)
    is_used = np.zeros(size, bool)
    is_used[codes] = True
    return (np.cumsum(is_used) - 1)[codes], int(is_used.sum())


DENSE_CELLS = 1 << 22
_FEW = 1 << 18


class Places:
    """Where some records lie in many tables; what the first axes of several tables have in common is found once.

    Parameters
    ----------
    codes : Mapping[str, Codes]
        Of every column that is counted.
    n : int | None
        How many records there are, for tables of no column at all.
    weights : Array | None
        How often each record counts; once without them.
    reach : Reach
        How far beyond its domain the codes of each column may lie.
    """

    def __init__(
        self,
        codes: Mapping[str, Codes],
        n: int | None = None,
        weights: Array | None = None,
        reach: Reach = no_reach,
    ) -> None:
        self.n = len(next(iter(codes.values()))) if n is None else n
        self.weights = weights
        self._codes = codes
        self._reach = reach
        self._rows: NDArray[np.intp] | None = None
        self._columns: dict[str, Codes] = {}
        self._known: dict[tuple[Cells, ...], NDArray[np.int64]] = {}
        self._groups: dict[str, defaultdict[int, Places]] = {}

    def cells(self, axes: tuple[Cells, ...]) -> NDArray[np.int64]:
        """The cell of each record in the table that some axes span."""
        spanned = tuple(axis for axis in axes if axis.only is None)
        if not spanned:
            return np.zeros(self.n, np.int64)
        *first, last = spanned
        if not first:
            return last.place(self._column(last.name), self._reach(last.name))
        cells = self._shared(tuple(first)) * last.size
        cells += self._shared((last,))
        return cells

    def counted(self, axes: Sequence[Cells]) -> Places:
        """The records that a table counts: all, or those with one value of a column or of each of several."""
        some = self
        for axis in axes:
            if axis.only is not None:
                some = some._with(axis.name)[axis.only]
        return some

    def _with(self, name: str) -> dict[int, Places]:
        """The records with each value of a column, put together once for all tables."""
        if name not in self._groups:
            codes = self._column(name)
            order = np.argsort(_narrow(codes), kind="stable")
            values, starts = np.unique(codes[order], return_index=True)
            groups = dict(zip(values.tolist(), np.split(order, starts[1:]), strict=True)) if len(order) else {}
            self._groups[name] = defaultdict(lambda: self._some(order[:0]))
            self._groups[name].update({value: self._some(rows) for value, rows in groups.items()})
        return self._groups[name]

    def _some(self, rows: NDArray[np.intp]) -> Places:
        weights = None if self.weights is None else self.weights[rows]
        some = Places(self._codes, len(rows), weights, self._reach)
        some._rows = rows if self._rows is None else self._rows[rows]
        return some

    def _column(self, name: str) -> Codes:
        """The codes of a column; of some rows they are picked when a table first asks for them, as few columns are."""
        if self._rows is None:
            return self._codes[name]
        if name not in self._columns:
            self._columns[name] = self._codes[name][self._rows]
        return self._columns[name]

    def _shared(self, axes: tuple[Cells, ...]) -> NDArray[np.int64]:
        if axes not in self._known:
            self._known[axes] = self.cells(axes)
        return self._known[axes]


def count_codes(
    codes: Mapping[str, Codes],
    tables: Sequence[Sequence[Cells]],
    weights: Array | None = None,
    reach: Reach = no_reach,
) -> list[Tally]:
    """The tallies of records in memory, some of them at a time."""
    tallies = [Tally.zero(axes) for axes in tables]
    for start in range(0, len(next(iter(codes.values()))), _FEW):
        some = slice(start, start + _FEW)
        records = Places(
            {name: column[some] for name, column in codes.items()},
            weights=None if weights is None else weights[some],
            reach=reach,
        )
        for tally in tallies:
            tally.add(records)
    return tallies


class Tally(ABC):
    """How many records lie in each cell of the table that some axes span.

    `Tally.zero(axes)` is empty, `update` counts records, `merge` adds two tallies of the same axes; the order does not
    matter. Tables of more than 2²² cells keep only the cells that somebody is in.

    Examples
    --------
    >>> import numpy as np, kakuran as kk
    >>> from kakuran.counts import Tally, cells_of
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse"])])
    >>> tally = Tally.of({"job": np.array([0, 1, 1])}, [cells_of(schema, "job", None)])
    >>> tally.merge(tally).counts.tolist()
    [2.0, 4.0]
    """

    def __init__(self, axes: Sequence[Cells]) -> None:
        self.axes = tuple(axes)
        self.shape = tuple(axis.size for axis in self.axes)

    @staticmethod
    def zero(axes: Sequence[Cells]) -> Tally:
        """No records yet."""
        cells = math.prod(axis.size for axis in axes)
        if cells > _MOST_CELLS:
            raise SchemaError(
                Phrase("a table of {cells:.3g} cells cannot be counted; use fewer columns or wider bins", cells=cells)
            )
        return DenseTally(axes) if cells <= DENSE_CELLS else SparseTally(axes)

    @staticmethod
    def of_columns(attributes: Iterable[Categorical | Numeric]) -> Tally:
        """No records yet, over every code of some columns, however many cells that makes."""
        axes = list(map(every_code, attributes))
        return DenseTally(axes) if math.prod(axis.size for axis in axes) <= DENSE_CELLS else SparseTally(axes)

    @staticmethod
    def of(codes: Mapping[str, Codes], axes: Sequence[Cells]) -> Tally:
        """The records with these codes."""
        tally = Tally.zero(axes)
        tally.update(codes)
        return tally

    def update(self, codes: Mapping[str, Codes], n: int | None = None) -> None:
        """Count records, given the codes of each column; where there is none, how many records."""
        self.add(Places(codes, n))

    @abstractmethod
    def add(self, records: Places) -> None:
        """Count records whose places other tallies ask for too."""

    def merge(self, other: Tally) -> Tally:
        """The records of both."""
        if [axis.name for axis in self.axes] != [axis.name for axis in other.axes] or self.shape != other.shape:
            raise SchemaError(
                Phrase("tallies of different tables cannot be merged: {one} and {other}", one=str(self), other=other)
            )
        return self._merged(other)

    def __str__(self) -> str:
        return " × ".join(f"{axis.name} ({axis.size:,})" for axis in self.axes)

    @abstractmethod
    def _merged(self, other: Any) -> Tally:
        """The records of both, given a tally of the same kind."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of records."""

    @property
    @abstractmethod
    def counts(self) -> Array:
        """The whole table."""

    @property
    def fewest(self) -> int:
        """The fewest records in any cell that somebody is in."""
        return int(self.occupied()[1].min())

    @abstractmethod
    def occupied(self) -> tuple[tuple[NDArray[np.intp], ...], Array]:
        """The place along each axis of every cell that somebody is in, and how many are."""


class DenseTally(Tally):
    """Every cell."""

    def __init__(self, axes: Sequence[Cells]) -> None:
        super().__init__(axes)
        self._counts = np.zeros(math.prod(self.shape), np.int64)

    def add(self, records: Places) -> None:
        """Count records whose places other tallies ask for too."""
        records = records.counted(self.axes)
        if not self.axes:
            self._counts += records.n
            return
        cells, weights = records.cells(self.axes), records.weights
        if weights is not None:
            self._counts += np.bincount(cells, weights, self._counts.size).astype(np.int64)
        elif len(cells) < self._counts.size:
            np.add.at(self._counts, cells, 1)
        else:
            self._counts += np.bincount(cells, minlength=self._counts.size)

    def _merged(self, other: DenseTally) -> DenseTally:
        both = DenseTally(self.axes)
        both._counts = self._counts + other._counts
        return both

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self._counts.sum())

    @property
    def counts(self) -> Array:
        """The whole table."""
        return self._counts.reshape(self.shape).astype(float)

    def occupied(self) -> tuple[tuple[NDArray[np.intp], ...], Array]:
        """The place along each axis of every cell that somebody is in, and how many are."""
        cells = np.flatnonzero(self._counts)
        return np.unravel_index(cells, self.shape) if self.axes else (), self._counts[cells].astype(float)


class SparseTally(Tally):
    """The cells that somebody is in, in order.

    New records wait until they are as many as the cells, so that every cell is sorted a few times and not once a batch.
    They are told apart by their numbers, or by their places along the axes where there are more than can be numbered.
    """

    def __init__(self, axes: Sequence[Cells]) -> None:
        super().__init__(axes)
        self._is_numbered = math.prod(self.shape) <= _MOST_CELLS
        self._keys: list[NDArray[Any]] = [np.empty(0, np.int64)] * (1 if self._is_numbered else len(self.axes))
        self._counts = np.empty(0)
        self._waiting: list[tuple[list[NDArray[Any]], Array]] = []

    def add(self, records: Places) -> None:
        """Count records whose places other tallies ask for too."""
        records = records.counted(self.axes)
        parts = [self.axes] if self._is_numbered else [(axis,) for axis in self.axes]
        weights = np.ones(records.n) if records.weights is None else records.weights
        self._waiting.append(([records.cells(axes) for axes in parts], weights))
        if sum(len(some) for _, some in self._waiting) >= max(len(self._counts), _FEW):
            self._settle()

    def _settle(self) -> None:
        if self._waiting:
            keys, weights = zip((self._keys, self._counts), *self._waiting, strict=True)
            self._waiting.clear()
            found = distinct_rows(
                [np.concatenate(column) for column in zip(*keys, strict=True)], np.concatenate(weights)
            )
            self._keys, self._counts = found.columns, found.counts

    def _merged(self, other: SparseTally) -> SparseTally:
        self._settle()
        other._settle()
        both = SparseTally(self.axes)
        both._waiting = [(self._keys, self._counts), (other._keys, other._counts)]
        both._settle()
        return both

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self._counts.sum() + sum(weights.sum() for _, weights in self._waiting))

    @property
    def counts(self) -> Array:
        """Refused: the whole table would be too large to estimate."""
        raise SchemaError(
            Phrase(
                "{columns} has {cells:,} cells, more than {most:,}; use fewer columns or wider bins",
                columns=" × ".join(axis.name for axis in self.axes),
                cells=math.prod(self.shape),
                most=DENSE_CELLS,
            )
        )

    def occupied(self) -> tuple[tuple[NDArray[np.intp], ...], Array]:
        """The place along each axis of every cell that somebody is in, and how many are."""
        self._settle()
        places = np.unravel_index(self._keys[0], self.shape) if self._is_numbered else tuple(self._keys)
        return places, self._counts


@dataclass(frozen=True, eq=False)
class Counting:
    """Counts batches in the cells of some tables; picklable, so that any engine can carry it to its workers.

    Attributes
    ----------
    layout : Layout
        Of the release.
    tables : Sequence[Sequence[Cells]]
        The axes of each table.
    """

    layout: Layout
    tables: Sequence[Sequence[Cells]]

    @cached_property
    def attributes(self) -> tuple[Categorical | Numeric, ...]:
        """The columns that are counted or say what is told, and so have to be read."""
        return self.layout.schema.some({axis.name for axes in self.tables for axis in axes}.union(self.layout.telling))

    def zero(self) -> list[Tally]:
        """No records yet."""
        return [Tally.zero(axes) for axes in self.tables]

    def update(self, tallies: Sequence[Tally], batch: pa.RecordBatch) -> None:
        """Count a batch that has at least the counted columns."""
        codes = self.layout.encode(batch, [attribute.name for attribute in self.attributes])
        records = Places(codes, reach=self.layout.reach)
        for tally in tallies:
            tally.add(records)

    def __call__(self, batch: pa.RecordBatch) -> list[Tally]:
        """The tallies of a batch."""
        tallies = self.zero()
        self.update(tallies, batch)
        return tallies

    @staticmethod
    def merged(one: Sequence[Tally], other: Sequence[Tally]) -> list[Tally]:
        """The records of both, table by table."""
        return [left.merge(right) for left, right in zip(one, other, strict=True)]


@runtime_checkable
class Records(Protocol):
    """Perturbed records that can be counted.

    Every answer but those that look at single records is made from `tallies`, so whoever can count can be asked
    everything: an engine needs to know nothing of estimation.
    """

    def tallies(self, tables: Sequence[Sequence[Cells]], progress: Progress = int) -> list[Tally]:
        """Count the records in the cells that the axes of each table span, all tables in one pass."""

    def codes(self, columns: Sequence[str]) -> dict[str, Codes]:
        """The codes of some columns, record by record; they have to fit in memory."""

    def frame(self) -> Any:
        """The records as a frame."""


@dataclass(frozen=True, eq=False)
class MemoryRecords:
    """Records in memory: a frame, or codes, or both; every column is encoded at most once.

    Attributes
    ----------
    layout : Layout
        Of the release.
    given : Any
        The frame; made of the codes when it is asked for if there is none.
    known : dict[str, Codes]
        The codes of columns that are encoded already.
    """

    layout: Layout
    given: Any = None
    known: dict[str, Codes] = field(default_factory=dict)

    def tallies(self, tables: Sequence[Sequence[Cells]], progress: Progress = int) -> list[Tally]:
        """Count the records in the cells that the axes of each table span."""
        codes = self.codes([axis.name for axes in tables for axis in axes])
        tallies = count_codes(codes, tables, reach=self.layout.reach)
        progress(tallies[0].n)
        return tallies

    def codes(self, columns: Sequence[str]) -> dict[str, Codes]:
        """The codes of some columns, as the layout has them."""
        unknown = [name for name in columns if name not in self.known]
        if unknown:
            self.known.update(self.layout.encode(to_arrow(self.given), unknown))
        return {attribute.name: self.known[attribute.name] for attribute in self.layout.schema.some(columns)}

    def frame(self) -> Any:
        """As it was given, or an arrow table of all codes."""
        return self._decoded if self.given is None else self.given

    @cached_property
    def _decoded(self) -> pa.Table:
        return pa.Table.from_batches([self.layout.decode(self.known)])
