"""A question to a release: the table to count, and how to read the answer off it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.counts import Bins, Cells, Predicate, Reading, Tally, cells_of, distinct_rows, only, parse
from kakuran.design import Plan
from kakuran.errors import SchemaError
from kakuran.mechanism import Transition
from kakuran.model import Histogram, Operator, operator_of, transition_between
from kakuran.schema import Numeric
from kakuran.typing import Progress
from kakuran.words import Phrase

FINE_BINS = (100, 50, 20)
"""Into how many intervals a noisy number is cut, besides where it is shown or a condition cuts it: the first if the
table stays small and the noise leaves so many. Cells are taken to be evenly filled inside, and wide ones are not."""
SMALL_TABLE = 1 << 12
MODEL_BINS = 20
"""Into how many intervals the joint model cuts a number."""


Count: TypeAlias = Callable[[Sequence[Sequence[Cells]], Progress], list[Tally]]
"""Counts records in the cells of some tables, all in one pass."""


@dataclass(frozen=True, eq=False)
class TableQuestion:
    """What to count and what to read off the counts.

    Attributes
    ----------
    cells : tuple of Cells
        The cells of the answer, one axis a column; none for a single number.
    truths : tuple of Cells
        The cells to estimate, the same columns first, then those that only the condition speaks of.
    reading : Reading
        Which of those cells make up each cell of the answer.
    axes : tuple of Cells
        The cells to count: the same, then those beyond the bounds of a number.
    seen : Reading
        Which of those make up each cell of an answer that takes perturbed records as they are.
    """

    cells: tuple[Cells, ...]
    truths: tuple[Cells, ...]
    reading: Reading
    axes: tuple[Cells, ...]
    seen: Reading

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the table to count."""
        return tuple(axis.size for axis in self.axes)

    @property
    def columns(self) -> list[str]:
        """All that the question speaks of."""
        return [axis.name for axis in self.axes]

    def tells(self, plan: Plan) -> list[int]:
        """The sets of told columns that hold all of them; none where only the joint model can answer."""
        return plan.holding(self.columns)

    def is_perturbed(self, plan: Plan) -> bool:
        """Whether any of the columns is."""
        return any(name in plan.mechanisms for name in self.columns)

    def operator(self, plan: Plan, known: Mapping[str, Histogram] = MappingProxyType({})) -> Operator:
        """How the cells to count came from those to estimate, among the records that tell them."""
        for name in self.columns:
            check_told(plan, name)
        return operator_of(plan, self.truths, self.tells(plan), self.axes, known)


def check_told(plan: Plan, name: str) -> None:
    """Refuse a column that nothing was left of."""
    if name in plan.mechanisms and plan[name].epsilon == 0:
        raise SchemaError(
            Phrase("column {name!r} was replaced entirely: the release tells nothing about it", name=name)
        )


def check_told_in_pairs(plan: Plan, names: Iterable[str]) -> None:
    """Refuse columns two of which nobody tells together: a model could only take them to be independent."""
    perturbed = [name for name in dict.fromkeys(names) if name in plan.mechanisms]
    for one, other in combinations(perturbed, 2):
        if not plan.holding([one, other]):
            raise SchemaError(
                Phrase(
                    "no record tells {one!r} and {other!r} together, so nothing shows how they go together; leave "
                    "one of them out, or ask for a release about one of them (about = {one!r}) or in which records "
                    "tell both",
                    one=one,
                    other=other,
                )
            )


def transition_of(plan: Plan, axis: Cells) -> Transition | None:
    """How the cells of a column by itself were perturbed; None where they were not."""
    check_told(plan, axis.name)
    mechanism = plan.mechanisms.get(axis.name)
    return None if mechanism is None else transition_between(axis, mechanism)


def ask(plan: Plan, columns: Sequence[str], bins: Mapping[str, Bins], where: str | None) -> TableQuestion:
    """The question for a table over some columns, of the records that fulfil a condition."""
    _check_columns(columns, bins, where)
    cells = tuple(cells_of(plan.schema, name, bins.get(name)) for name in columns)
    shape = tuple(axis.size for axis in cells)
    if where is None:
        cuts = next(filter(_is_small, _cuts(plan, cells, None)), None)
        if cuts is None or not any(plan.layout.told or _is_noisy(plan, name) for name in columns):
            return _counting(plan, cells, cells, Reading.all_of(shape))
        counted = None
    else:
        predicate = parse(where, plan.schema)
        choices = list(_cuts(plan, cells, predicate))
        cuts = next(filter(_is_small, choices), choices[-1])
        counted = _counted(predicate, cuts)
    groups = tuple(axis.of_code[cut.first_codes] for axis, cut in zip(cells, cuts, strict=False))
    return _counting(plan, cells, tuple(cut.axis for cut in cuts), Reading(shape, groups, counted))


def ask_totals(
    plan: Plan, columns: Sequence[str], bins: Mapping[str, Bins], where: str | None
) -> Iterator[TableQuestion]:
    """The questions for the same over fewer of the columns; over none if there is a condition, as all are known."""
    for size in range(len(columns) - 1, -1 if where else 0, -1):
        for some in combinations(columns, size):
            yield ask(plan, some, {name: bins[name] for name in some if name in bins}, where)


def check_percent(percent: str | None, columns: Sequence[str]) -> None:
    """Refuse percentages of something that is not there, or of a column by itself, which are all 100."""
    possible = ["all", *(columns if len(columns) > 1 else ())]
    if percent is not None and percent not in possible:
        raise SchemaError(f"percent is of {' or of '.join(map(repr, possible))}; got {percent!r}")


def _counting(plan: Plan, cells: tuple[Cells, ...], truths: tuple[Cells, ...], reading: Reading) -> TableQuestion:
    """The question, with what to count for it."""
    axes = tuple(counted_cells(plan, axis) for axis in truths)
    inside = [axis.settled(other) for axis, other in zip(truths, axes, strict=True)]
    groups = tuple(group[place] for group, place in zip(reading.groups, inside, strict=False))
    counted = None if reading.counted is None else reading.counted[np.ix_(*inside)]
    return TableQuestion(cells, truths, reading, axes, Reading(reading.shape, groups, counted))


def counted_cells(plan: Plan, axis: Cells) -> Cells:
    """The cells in which to count what some cells of a column became: the same, and those beyond that are worth it."""
    beyond = plan.mechanisms[axis.name].beyond if axis.name in plan.mechanisms else 0
    return axis.extended(beyond) if beyond else axis


@dataclass(frozen=True, eq=False)
class _Cut:
    """An axis fine enough for a condition and a display, and a code in each of its cells."""

    axis: Cells
    first_codes: NDArray[np.intp]


def _cuts(plan: Plan, cells: Sequence[Cells], predicate: Predicate | None) -> Iterator[list[_Cut]]:
    """The axes of the table to count, those with the finest cells first."""
    shown = {axis.name: axis for axis in cells}
    names = dict.fromkeys((*shown, *(predicate.columns if predicate else ())))
    for bins in FINE_BINS:
        yield [_cut(plan, name, predicate, shown.get(name), bins) for name in names]


def _is_small(cuts: Sequence[_Cut]) -> bool:
    return math.prod(cut.axis.size for cut in cuts) <= SMALL_TABLE


def _is_noisy(plan: Plan, name: str) -> bool:
    """Whether it matters where in an interval of a number the true values lie."""
    mechanism = plan.mechanisms.get(name)
    is_lost = mechanism is not None and (bool(plan.layout.told) or mechanism.lumping == "neighbours")
    return is_lost and isinstance(plan.schema[name], Numeric)


def _cut(plan: Plan, name: str, predicate: Predicate | None, shown: Cells | None, bins: int) -> _Cut:
    """The coarsest cells within which every comparison with the column is true or false, and one cell is shown.

    Values that are replaced uniformly can be lumped together at no loss (S4 eq. 6). For other mechanisms it matters
    where in a lump the true values lie, so categories stay apart and numbers are cut into intervals.
    """
    parts = [condition.holds.astype(np.intp) for condition in (predicate.on(name) if predicate else ())]
    if shown is not None:
        parts.append(shown.of_code)
    mechanism = plan.mechanisms.get(name)
    if mechanism is not None and _is_noisy(plan, name):
        fine = model_cells(plan, name) if plan.layout.told else _bins(plan, name, min(bins, mechanism.finest))
        parts.append(fine.of_code)
        parts.append(np.cumsum(sum(np.abs(np.diff(part, prepend=part[0])) for part in parts) > 0))
    elif mechanism is not None and (plan.layout.told or mechanism.lumping != "any"):
        parts.append(np.arange(mechanism.size))
    # Cells in the order of what is finest, so that all questions that cut a column alike share a model.
    merged = distinct_rows(parts[::-1])
    has_missing = plan.schema.in_release(name).missing == "category"
    return _Cut(Cells.of_parts(name, merged.place, [""] * len(merged), has_missing=has_missing), merged.first)


def model_cells(plan: Plan, name: str) -> Cells:
    """The cells of a column in the joint model: every category, numbers in intervals fine enough for most questions."""
    is_number = isinstance(plan.schema.in_release(name), Numeric)
    return _bins(plan, name, MODEL_BINS) if is_number else cells_of(plan.schema, name, None)


def _bins(plan: Plan, name: str, bins: int) -> Cells:
    """So many intervals of a number, or as many as it has grid points."""
    return cells_of(plan.schema, name, min(bins, plan.schema[name].points))


def narrow_cells(plan: Plan) -> dict[str, Cells]:
    """Cells in which to see where in wider ones the true values of told numbers lie."""
    if not plan.layout.told:
        return {}
    return {
        name: _bins(plan, name, mechanism.finest)
        for name, mechanism in plan.mechanisms.items()
        if mechanism.lumping == "neighbours" and mechanism.epsilon and plan.schema[name].points > MODEL_BINS
    }


def tell_by_tell(count: Count, plan: Plan, tables: Sequence[Sequence[Cells]], progress: Progress) -> list[list[Tally]]:
    """Count tables in one pass: each at once where every record tells all of it, else in every tell that holds it."""
    asked = [list(in_tells(plan, axes)) for axes in tables]
    flat = [axes for some in asked for axes in some]
    tallies = iter(count(flat, progress) if flat else [])
    return [[next(tallies) for _ in some] for some in asked]


def in_tells(plan: Plan, axes: Sequence[Cells]) -> Iterator[Sequence[Cells]]:
    """The tables to count for one: itself, or as many as there are tells that hold it."""
    names = [axis.name for axis in axes]
    if not plan.layout.told or not any(name in plan.mechanisms for name in names):
        yield axes
        return
    for tell in plan.holding(names):
        yield [only(plan.layout.attributes[0], tell), *axes]


def _counted(predicate: Predicate, cuts: Sequence[_Cut]) -> NDArray[np.bool_]:
    """Which cells fulfil the condition."""
    place = {cut.axis.name: axis for axis, cut in enumerate(cuts)}
    shape = tuple(cut.axis.size for cut in cuts)

    def along(condition_holds: NDArray[np.bool_], name: str) -> NDArray[np.bool_]:
        axis = place[name]
        return condition_holds[cuts[axis].first_codes].reshape(
            [-1 if other == axis else 1 for other in range(len(cuts))]
        )

    holds = predicate.combine(lambda condition: along(condition.holds, condition.name))
    return np.broadcast_to(holds, shape)


def _check_columns(columns: Sequence[str], bins: Mapping[str, Bins], where: str | None) -> None:
    if not columns and where is None:
        raise SchemaError("a cross-tabulation needs at least one column, a count a condition")
    if not isinstance(bins, Mapping):
        raise SchemaError(f"bins are given column by column, as in bins={{'age': 12}}; got {bins!r}")
    for name in columns:
        if not isinstance(name, str):
            raise SchemaError(f"name the columns one by one, as in crosstab('job', 'sex'); got {name!r}")
    if len(set(columns)) < len(columns):
        raise SchemaError(Phrase("a column stands twice in {columns}", columns=", ".join(columns)))
    for name in bins:
        if name not in columns:
            raise SchemaError(f"bins are given for {name!r}, which is not among the columns {', '.join(columns)}")
