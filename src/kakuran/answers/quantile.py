"""Quantiles of numbers and of ordered categories, with intervals: every value up to which so many may truly lie."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import ndtri

from kakuran.answers.filling import BandFilling
from kakuran.answers.groups import AskedOf, ReadNumber, WeightClass
from kakuran.answers.reader import Reader, TableQuestion, ask, check_told, check_told_in_pairs
from kakuran.answers.statistics import Statistic
from kakuran.counts import Cells, Reading
from kakuran.design import Plan
from kakuran.errors import SchemaError
from kakuran.model import interval, reconstruct
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array, Number, Progress
from kakuran.words import Phrase

FINE = 100
"""Into how many intervals a number is cut to find its quantiles."""
_RARE = 1e-9


def quantile(reader: Reader, column: str, part: float, asking: AskedOf, progress: Progress = int) -> Statistic:
    """The value up to which this part of the records lies, of a number or of ordered categories."""
    plan = reader.plan
    attribute = _ordered(plan, column)
    if not isinstance(part, Number) or not 0 < part < 1:
        raise SchemaError(
            Phrase("a quantile is asked for by a part between 0 and 1, as 0.5 for the median; got {part!r}", part=part)
        )
    bins = dict(asking.bins)
    if isinstance(attribute, Numeric):
        bins[column] = min(FINE, attribute.points)
    question = ask(plan, [*asking.by, column], bins, asking.where)
    *shown, cells = question.cells
    places = len(cells.labels) - cells.has_missing if isinstance(attribute, Numeric) else len(attribute.values)
    below = (_BelowByCounts if question.tells(plan) else _BelowByModel)(reader, question, places, asking, progress)
    shape = tuple(axis.size for axis in shown)
    found = [below.quantiles(group, part, math.prod(shape)) for group in range(math.prod(shape))]
    values = _Values(attribute, cells, reader.fillings([column]).get(column))
    estimates, low, high, naive = (values.at(np.array(some)).reshape(shape) for some in zip(*found, strict=True))
    reach = float(ndtri((1 + asking.level) / 2))
    more = values.labels({"value": estimates, "value_low": low, "value_high": high})
    return Statistic(
        name=_name(part, column),
        axes=tuple(shown),
        estimates=estimates,
        errors=(high - low) / (2 * reach),
        low=low,
        high=high,
        naive=naive,
        level=asking.level,
        about=asking.about,
        rests_on=below.rests_on,
        reason=below.reason,
        more=more,
    )


def _name(part: float, column: str) -> Phrase:
    if part == 0.5:
        return Phrase("median of {column}", column=column)
    return Phrase("quantile {part:g} of {column}", part=part, column=column)


def _ordered(plan: Plan, column: str) -> Categorical | Numeric:
    if not isinstance(column, str):
        raise SchemaError(Phrase("name one column, as in quantile('age', 0.5); got {column!r}", column=column))
    attribute = plan.schema.in_release(column)
    check_told(plan, column)
    if isinstance(attribute, Categorical) and not attribute.ordered and isinstance(attribute.values[0], str | bool):
        raise SchemaError(
            Phrase(
                "column {column!r} holds categories without an order, which have no quantiles; ask for its "
                "crosstab, or declare ordered = true in the schema",
                column=column,
            )
        )
    return attribute


@dataclass(frozen=True, eq=False)
class _Values:
    """From places among the cells of a column, and parts of them, to its values."""

    attribute: Categorical | Numeric
    cells: Cells
    filling: BandFilling | None

    def at(self, places: Array) -> Array:
        """The numbers, or else the numbers of the categories in their order."""
        if isinstance(self.attribute, Numeric):
            edges = self.cells.edges[self.cells.edges <= self.attribute.points]
            numbers = np.interp(places, np.arange(len(edges)), self.attribute.borders_of(edges))
            if self.filling is not None:
                numbers = self.filling.at(np.interp(places, np.arange(len(edges)), edges))
            return np.where(np.isnan(places), np.nan, np.clip(numbers, self.attribute.low, self.attribute.high))
        whole = np.ceil(np.nan_to_num(places, nan=1.0)).clip(1).astype(int) - 1
        is_number = not isinstance(self.attribute.values[0], str | bool)
        values = np.array(self.attribute.values, float)[whole] if is_number else whole.astype(float)
        return np.where(np.isnan(places), np.nan, values)

    def labels(self, found: Mapping[str, Array]) -> dict[str, Any]:
        """The categories or dates, where they are not numbers."""
        if isinstance(self.attribute, Numeric):
            return {} if self.attribute.has_mean else {name: self._written(values) for name, values in found.items()}
        if not isinstance(self.attribute.values[0], str):
            return {}
        names = np.array(self.attribute.values, object)
        return {name: np.asarray(names[values.astype(int)]) for name, values in found.items()}

    def _written(self, values: Array) -> Any:
        assert isinstance(self.attribute, Numeric)  # noqa: S101 - asked before
        texts = ["" if math.isnan(value) else self.attribute.written(value) for value in values.ravel()]
        return np.array(texts, object).reshape(values.shape)


@dataclass(eq=False)
class _BelowByCounts:
    """Which part of each group lies below each edge of a column, by counts that tell all of it."""

    reader: Reader
    question: TableQuestion
    places: int
    asking: AskedOf
    progress: Progress

    rests_on: ClassVar[Literal["counts", "model"]] = "counts"

    def __post_init__(self) -> None:
        classes = WeightClass.all_of(self.reader, self.asking.weights, self.progress)
        self.parts = [_CountedPart(one, self.question, self.asking, self.progress) for one in classes]
        self.reason = max(self.parts, key=lambda part: part.each).reason

    def quantiles(self, group: int, part: float, groups: int) -> tuple[float, float, float, float]:
        """Where the part is reached: by the estimate, at the earliest, at the latest, and in what was counted."""
        of_group = [part.of_group(group, groups) for part in self.parts]
        found, naive = np.sum(of_group, axis=0)[:, : self.places]
        if not found.sum() > 0:
            return math.nan, 0.0, float(self.places), math.nan
        wanted = part * found.sum()

        def first(end: int) -> float:
            """The first edge of which an end of the interval of those below it reaches the part."""
            low, high = 0, self.places
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if self._ends(group, middle, groups)[end] >= wanted else (middle, high)
            return float(high)

        estimate = _reached(found, part)
        return estimate, min(first(1) - 1, estimate), max(first(0), estimate), _reached(naive, part)

    def _ends(self, group: int, edge: int, groups: int) -> tuple[float, float]:
        """Of the people below an edge; classes of weights are independent of each other."""
        found = [part.of_group(group, groups)[0, :edge].sum() for part in self.parts]
        ends = [part.each * part.ends(group, edge, groups) for part in self.parts]
        reach = [np.maximum((some - end) * [1, -1], 0.0) for some, end in zip(found, ends, strict=True)]
        down, up = (math.hypot(*some) for some in zip(*reach, strict=True))
        return sum(found) - down, sum(found) + up


@dataclass(eq=False)
class _CountedPart:
    """What was counted of the records of one weight."""

    of: WeightClass
    question: TableQuestion
    asking: AskedOf
    progress: Progress

    def __post_init__(self) -> None:
        self.ends = cache(self._ends)
        reader = self.of.reader
        (self.counts,) = reader.count([self.question], self.progress)
        self.operator = reader.operator(self.question)
        found = reconstruct(self.counts, self.operator)
        self.table, self.reason = found.counts, found.reason
        self.told = min(float(self.counts.sum()) / max(reader.n, 1), 1.0)
        self.each = self.of.share / max(float(self.counts.sum()), 1.0)
        """Which part of all people a record stands for that tells the column."""

    def of_group(self, group: int, groups: int) -> Array:
        """The people of a group in each cell: by the estimate, and as they were counted."""
        tables = self.question.reading.of(self.table), self.question.seen.of(self.counts)
        return self.each * np.stack([table.reshape(groups, -1)[group] for table in tables])

    def _ends(self, group: int, edge: int, groups: int) -> Array:
        """Between which numbers of records of a group lie truly below an edge: one search asks where another did."""
        marks = np.zeros((groups, self.question.cells[-1].size), bool)
        marks[group, :edge] = True
        reading = self.question.reading
        inside = marks.reshape(reading.shape)[np.ix_(*reading.groups)]
        shape = self.operator.true_shape(self.counts)
        inside = np.broadcast_to(inside.reshape(*inside.shape, *(1,) * (len(shape) - inside.ndim)), shape)
        counted = inside if reading.counted is None else inside & reading.counted
        low, high = interval(
            self.counts,
            self.operator,
            self.table,
            Reading((), (), counted),
            level=self.asking.level,
            about=self.of.reader.held(self.asking.about, self.question.columns),
            told=self.told,
        )
        return np.array([float(low), float(high)])


@dataclass(eq=False)
class _BelowByModel:
    """The same as the model of all that is told has it."""

    reader: Reader
    question: TableQuestion
    places: int
    asking: AskedOf
    progress: Progress

    rests_on: ClassVar[Literal["counts", "model"]] = "model"

    def __post_init__(self) -> None:
        plan, name = self.reader.plan, self.asking.weights
        weights = [] if name is None else [ReadNumber.kept_weight(plan, name)]
        self.people = [weight.values for weight in weights]
        axes = [*self.question.truths, *(weight.cells for weight in weights)]
        check_told_in_pairs(plan, [axis.name for axis in axes])
        joint = self.reader.joint(axes, self.progress)
        self.reason = joint.model.reason
        self.table = self._below(joint.table(axes))
        reach = float(ndtri((1 + self.asking.level) / 2))
        self.reach = reach * joint.errors(axes, self._below)

    def _below(self, table: Array) -> Array:
        """The parts below the upper edge of every cell, groups × cells."""
        for people in self.people:
            table = table @ people
        found = self.question.reading.of(table)[..., : self.places].reshape(-1, self.places)
        return np.cumsum(found, axis=1) / np.maximum(found.sum(axis=1, keepdims=True), _RARE)

    def quantiles(self, group: int, part: float, groups: int) -> tuple[float, float, float, float]:
        """Where the part is reached: by the estimate, at the earliest and at the latest."""
        below, reach = self.table[group], self.reach[group]
        estimate = _reached(np.diff(below, prepend=0.0), part)
        earliest = int(np.argmax(np.append(below + reach >= part, True)))
        latest = int(np.argmax(np.append(below - reach >= part, True))) + 1
        return estimate, min(float(earliest), estimate), max(min(float(latest), self.places), estimate), math.nan


def _reached(shares: Array, part: float) -> float:
    """How many cells, and which part of the next, hold this part of all."""
    below = np.concatenate([[0.0], np.cumsum(shares)]) / max(shares.sum(), _RARE)
    cell = int(np.clip(np.searchsorted(below, part), 1, len(shares)))
    return cell - 1 + (part - below[cell - 1]) / max(below[cell] - below[cell - 1], _RARE)
