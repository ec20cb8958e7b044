"""The cells of a table: along one axis, and how an answer is read off a finer table.

Along an axis lies every value of a category, intervals of a number, or the parts that a condition makes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import SchemaError
from kakuran.schema import Categorical, Numeric, Schema
from kakuran.typing import Array, Codes
from kakuran.words import Phrase

Bins: TypeAlias = int | Sequence[float]
"""Into how many intervals to cut a number, or at which numbers: each begins an interval."""
_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Cells:
    """One axis of a table of counts.

    Attributes
    ----------
    name : str
        The column.
    edges : NDArray
        The codes edges[r] … edges[r+1]−1 are a run that stays together; the first is 0 unless noise reaches below.
    labels : tuple[str, ...]
        What to call each cell.
    groups : NDArray | None
        The cell of each run; without it every run is a cell.
    has_missing : bool
        Whether the last code stands for a missing value.
    only : int | None
        Count only the records with this code, in the one cell there is.
    """

    name: str
    edges: NDArray[np.int64]
    labels: tuple[str, ...]
    groups: NDArray[np.intp] | None = None
    has_missing: bool = False
    only: int | None = None

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.labels)

    @property
    def runs(self) -> NDArray[np.intp]:
        """The cell of every run."""
        return np.arange(len(self.edges) - 1) if self.groups is None else self.groups

    @cached_property
    def of_code(self) -> NDArray[np.intp]:
        """The cell of every code, from the first edge on."""
        return np.repeat(self.runs, np.diff(self.edges))

    def place(self, codes: Codes, reach: int = 0) -> NDArray[np.intp]:
        """The cell of each code; numbers beyond the bounds fall in the outermost cells of numbers.

        They may lie up to `reach` beyond, and the code of missing comes after them.
        """
        first, last = int(self.edges[0]), int(self.edges[-1]) - 1
        if self.has_missing and reach != -first:
            codes = np.where(codes == last + first + reach, last, np.minimum(codes, last - 1))
        return np.take(self.of_code, codes - first if first else codes, mode="clip")

    def lumped(self, parts: NDArray[np.intp]) -> Cells:
        """Fewer cells, given the number of the one that each of these becomes part of."""
        groups = parts if self.groups is None else parts[self.groups]
        return replace(self, labels=("",) * (int(parts.max()) + 1), groups=groups)

    def extended(self, reach: int) -> Cells:
        """These, then cells as wide for numbers that many codes beyond the bounds; missing comes after those."""
        last = int(self.edges[-1]) - self.has_missing
        width = max(last // max(len(self.edges) - 1 - self.has_missing, 1), 1)
        inside, missing = self.edges[self.edges < last], [last + reach, last + reach + 1][: 1 + self.has_missing]
        below, above = np.arange(-reach, 0, width), np.arange(last, last + reach, width)
        beyond = self.size + np.arange(len(below) + len(above))
        settled, missing_run = self.runs[: len(inside)], self.runs[len(inside) :]
        groups = np.concatenate([beyond[: len(below)], settled, beyond[len(below) :], missing_run])
        return replace(
            self,
            edges=np.concatenate([below, inside, above, missing]).astype(np.int64),
            labels=self.labels + ("",) * len(beyond),
            groups=groups.astype(np.intp),
        )

    def settled(self, extended: Cells) -> NDArray[np.intp]:
        """Of every cell of these extended, the one of these that it falls in."""
        first_codes = np.zeros(extended.size, np.int32)
        first_codes[extended.runs[::-1]] = extended.edges[-2::-1]
        return self.place(first_codes, -int(extended.edges[0]))

    @classmethod
    def of_parts(cls, name: str, parts: NDArray[np.intp], labels: Sequence[str], *, has_missing: bool = False) -> Cells:
        """The cells that a part number for every code makes."""
        starts = np.flatnonzero(np.diff(parts, prepend=-1))
        return cls(name, np.append(starts, len(parts)), tuple(labels), parts[starts], has_missing)


def cells_of(schema: Schema, name: str, bins: Bins | None) -> Cells:
    """The cells of a released column; numbers are cut into `bins` intervals, or where bins say, or as is usual."""
    attribute = schema.in_release(name)
    if isinstance(attribute, Numeric):
        return _intervals(attribute, attribute.usual_cells if bins is None else bins)
    if bins is not None:
        raise SchemaError(Phrase("column {name!r} holds categories; bins are for numbers", name=name))
    has_missing = attribute.missing == "category"
    return Cells(name, np.arange(attribute.size + 1), _category_labels(attribute), has_missing=has_missing)


def every_code(attribute: Categorical | Numeric, reach: int = 0) -> Cells:
    """A cell for every code of a column, also for those that lie as far beyond its bounds as noise reaches."""
    edges = np.arange(-reach, attribute.size + reach + 1)
    return Cells(attribute.name, edges, ("",) * (len(edges) - 1), has_missing=attribute.missing == "category")


def only(attribute: Categorical | Numeric, code: int) -> Cells:
    """The records with one value of a column; others are not counted."""
    return Cells(attribute.name, np.array([code, code + 1]), ("",), only=code)


def _category_labels(attribute: Categorical) -> tuple[str, ...]:
    return (*map(str, attribute.values), *([Phrase("missing")] if attribute.missing == "category" else []))


def _intervals(attribute: Numeric, bins: Bins) -> Cells:
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        edges = attribute.cells(bins)
    else:
        edges = _cut_at(attribute, bins)
    inside = edges[edges <= attribute.points]
    labels = [attribute.label(int(first), int(end) - 1) for first, end in pairwise(inside)]
    has_missing = attribute.missing == "category"
    if has_missing:
        labels.append(Phrase("missing"))
    return Cells(attribute.name, edges, tuple(labels), has_missing=has_missing)


def _cut_at(attribute: Numeric, starts: Any) -> NDArray[np.int64]:
    """Edges, in codes, of intervals that begin at some numbers; what lies before the first is one more."""
    named = Phrase("column {name!r}: bins", name=attribute.name)
    try:
        numbers = [attribute.number_of(start) for start in starts]
    except (TypeError, SchemaError):
        what = Phrase("numbers") if attribute.has_mean else Phrase("dates")
        raise SchemaError(
            Phrase(
                "{named} must be a whole number of intervals, or the {what} they begin at; got {starts!r}",
                named=named,
                what=what,
                starts=starts,
            )
        ) from None
    for number in numbers:
        if not attribute.low <= number <= attribute.high + attribute.step:
            low, high = attribute.written(attribute.low), attribute.written(attribute.high)
            raise SchemaError(
                Phrase(
                    "{named} begin at {number}, outside {low} … {high}",
                    named=named,
                    number=attribute.written(number),
                    low=low,
                    high=high,
                )
            )
    codes = [attribute.first_from(number) for number in numbers]
    for before, after, is_empty in zip(numbers, numbers[1:], np.diff(codes) <= 0, strict=False):
        if is_empty:
            told = attribute.written(before), attribute.written(after)
            raise SchemaError(
                Phrase(
                    "{named} have nothing between {before} and {after}; give rising numbers",
                    named=named,
                    before=told[0],
                    after=told[1],
                )
            )
    edges = np.unique([0, *codes, attribute.points])
    return np.append(edges, attribute.size) if attribute.missing == "category" else edges


@dataclass(frozen=True, eq=False)
class Reading:
    """Sums over the cells of a table.

    Attributes
    ----------
    shape : tuple[int, ...]
        Of the answer; its axes are the first axes of the table.
    groups : tuple[NDArray, ...]
        For each axis of the answer, the place in it of every cell along the table's axis.
    counted : NDArray | None
        Which cells of the table count at all; all of them without it.
    """

    shape: tuple[int, ...]
    groups: tuple[NDArray[np.intp], ...]
    counted: NDArray[np.bool_] | None = None

    @classmethod
    def all_of(cls, shape: tuple[int, ...]) -> Reading:
        """Every cell as it is."""
        return cls(shape, tuple(map(np.arange, shape)))

    @property
    def is_plain(self) -> bool:
        """Whether the answer is the table itself."""
        return self.counted is None and all(map(_is_identity, self.groups, self.shape))

    def of(self, table: Array) -> Array:
        """The answer."""
        if self.counted is not None:
            table = np.where(self.counted, table, 0.0)
        table = table.sum(axis=tuple(range(len(self.shape), table.ndim)))
        for axis, (group, size) in enumerate(zip(self.groups, self.shape, strict=True)):
            if not _is_identity(group, size):
                member = np.equal.outer(np.arange(size), group).astype(float)
                table = np.moveaxis(np.tensordot(member, table, axes=(1, axis)), 0, axis)
        return table

    def weights(self, shape: tuple[int, ...]) -> Iterator[Array]:
        """A table of ones and zeros for every cell of the answer, in order, some at a time."""
        answers = math.prod(self.shape)
        place = np.zeros(shape, np.int64)
        for axis, (group, size) in enumerate(zip(self.groups, self.shape, strict=True)):
            place = place * size + group.reshape([-1 if other == axis else 1 for other in range(len(shape))])
        if self.counted is not None:
            place = np.where(self.counted, place, -1)
        step = max(1, _AT_ONCE // place.size)
        for start in range(0, answers, step):
            some = np.arange(start, min(start + step, answers))
            yield (place == some.reshape(-1, *(1,) * len(shape))).astype(float)


def _is_identity(group: NDArray[np.intp], size: int) -> bool:
    return np.array_equal(group, np.arange(size))
