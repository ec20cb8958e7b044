"""A table that is asked of a release: the cells its condition cuts columns into, what to count, how it is read off.

Directly where a tell holds the table, and by one joint model of all that is told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, combinations
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from kakuran.answers.estimate import Estimate, warned_of
from kakuran.answers.filling import BandFilling
from kakuran.counts import Bins, Cells, Predicate, Reading, Records, Tally, cells_of, distinct_rows, only, parse
from kakuran.defaults import DEFAULT_LEVEL
from kakuran.design import Plan
from kakuran.errors import SchemaError
from kakuran.mechanism import Transition
from kakuran.model import (
    About,
    Histogram,
    JointModel,
    Method,
    Operator,
    Reconstruction,
    ToldCounts,
    interval,
    inverse_estimate,
    joint_model,
    operator_of,
    reconstruct,
    transition_between,
)
from kakuran.schema import Numeric
from kakuran.typing import Array, Number, Progress
from kakuran.words import Phrase

FINE_BINS = (100, 50, 20)
"""Into how many intervals a noisy number is cut, besides where it is shown or a condition cuts it: the first if the
table stays small and the noise leaves so many. Cells are taken to be evenly filled inside, and wide ones are not."""
SMALL_TABLE = 1 << 12
MODEL_BINS = 20
"""Into how many intervals the joint model cuts a number."""
MOST_TOGETHER = 1 << 18
"""Cells of a table that the joint model is fitted to."""

CellsKey: TypeAlias = tuple[tuple[str, bytes], ...]
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


_LEAST_EPSILON = 2.0**-40
"""Less tells nothing of 10¹² people; estimates divide by it, and have four digits of a total left."""


def check_told(plan: Plan, name: str) -> None:
    """Refuse a column that nothing was left of."""
    if name in plan.mechanisms and plan[name].epsilon < _LEAST_EPSILON:
        raise SchemaError(
            Phrase("column {name!r} was replaced entirely: the release tells nothing about it", name=name)
        )


def check_told_in_pairs(plan: Plan, names: Iterable[str]) -> None:
    """Refuse columns two of which nobody tells together: a model could only take them to be independent."""
    perturbed = [name for name in dict.fromkeys(names) if name in plan.mechanisms]
    apart = next((pair for pair in combinations(perturbed, 2) if not plan.holding(pair)), None)
    if apart is None:
        return
    one, other = apart
    way_out = Phrase("about one of them (about = {one!r}) or in which records tell both", one=one)
    if len(perturbed) > 2:  # about one of them, others would still not be told together
        way_out = Phrase("in which records tell any two of them (tell = 3, or tell = 2 and about nothing)")
    raise SchemaError(
        Phrase(
            "no record tells {one!r} and {other!r} together, so nothing shows how they go together; leave one of "
            "them out, or ask for a release {way_out}",
            one=one,
            other=other,
            way_out=way_out,
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
        raise SchemaError(Phrase("a cross-tabulation needs at least one column, a count a condition"))
    if not isinstance(bins, Mapping):
        raise SchemaError(Phrase("bins are given column by column, as in bins={{'age': 12}}; got {bins!r}", bins=bins))
    for name in columns:
        if not isinstance(name, str):
            raise SchemaError(
                Phrase("name the columns one by one, as in crosstab('job', 'sex'); got {name!r}", name=name)
            )
    if len(set(columns)) < len(columns):
        raise SchemaError(Phrase("a column stands twice in {columns}", columns=", ".join(columns)))
    for name in bins:
        if name not in columns:
            raise SchemaError(
                Phrase(
                    "bins are given for {name!r}, which is not among the columns {columns}",
                    name=name,
                    columns=", ".join(columns),
                )
            )


@dataclass(frozen=True, eq=False)
class JointTables:
    """A joint model over the cells of some columns."""

    axes: tuple[Cells, ...]
    model: JointModel

    def table(self, axes: Sequence[Cells]) -> Array:
        """The shares of the true records in the cells that some of the columns span."""
        return self.model.direct(self.places(axes))

    def errors(self, axes: Sequence[Cells], read: Callable[[Array], Array]) -> Array:
        """The standard errors of what is read off a table.

        How it varies with the records the model is fitted to, and with the kinds of models that are averaged.
        """
        parts = np.stack([read(part) for part in self.model.without(self.places(axes))])
        weights, kinds = zip(*self.model.kinds(self.places(axes)), strict=True)
        apart = (np.stack([read(kind) for kind in kinds]) - read(self.table(axes))) ** 2
        return np.sqrt((len(parts) - 1) * parts.var(axis=0) + np.average(apart, axis=0, weights=weights))

    def most(self, axes: Sequence[Cells], reading: Reading) -> Array:
        """What each cell of an answer cannot exceed, however its columns go together: the margins it lies in."""
        most = np.ones(reading.shape)
        for place, group in enumerate(reading.groups):
            margin = np.bincount(group, self.table([axes[place]]), reading.shape[place])
            most = np.minimum(most, margin.reshape([-1 if axis == place else 1 for axis in range(most.ndim)]))
        return most

    def places(self, axes: Sequence[Cells]) -> list[int]:
        """Where columns stand in the model."""
        names = [axis.name for axis in self.axes]
        return [names.index(axis.name) for axis in axes]


@dataclass(eq=False)
class Reader:
    """Counts what questions need, and estimates what was true; `Release.reader` is that of a release.

    Attributes
    ----------
    records : Records
        The perturbed records.
    plan : Plan
        How they were perturbed.
    n : int
        How many they are.
    own : Cells | None
        The one value of a kept column that they have, where others in the release are left aside.
    shares : dict[tuple[str, int], Array]
        What was estimated of the bins of a number, by the column and how many they are, for whom asks again.
    """

    records: Records
    plan: Plan
    n: int
    own: Cells | None = None
    shares: dict[tuple[str, int], Array] = field(default_factory=dict, init=False, repr=False)
    _models: dict[CellsKey, JointTables] = field(default_factory=dict, init=False, repr=False)
    _kept: dict[CellsKey, Array] = field(default_factory=dict, init=False, repr=False)
    _known: dict[str, Histogram] = field(default_factory=dict, init=False, repr=False)
    _fillings: dict[str, BandFilling] = field(default_factory=dict, init=False, repr=False)

    @property
    def known(self) -> Mapping[str, Histogram]:
        """Where the true values of told numbers lie, column by column; counted by whatever is counted first."""
        if not self._known and narrow_cells(self.plan):
            self._tallies([], int)
        return self._known

    def operator(self, question: TableQuestion) -> Operator:
        """How the cells to count came from those to estimate, among the records that report them."""
        for name in question.columns:
            check_told(self.plan, name)
        return operator_of(self.plan, question.truths, self.known, question.tells(self.plan), question.axes)

    def fillings(self, names: Iterable[str]) -> Mapping[str, BandFilling]:
        """Where in their bands the numbers lie that are told in bands, as the share of the records in each has it."""
        columns = [self.plan.schema.in_release(name) for name in names]
        banded = {one.name: one for one in columns if isinstance(one, Numeric) and one.bands}
        for name, attribute in banded.items():
            if name not in self._fillings:
                question = ask(self.plan, [name], {name: attribute.points}, None)
                (counts,) = self.count([question])
                found = reconstruct(counts, self.operator(question)).counts
                shares = question.reading.of(found)[: attribute.points]
                self._fillings[name] = BandFilling.of(attribute, shares)
        return {name: self._fillings[name] for name in banded}

    def tallies(self, tables: Sequence[Sequence[Cells]], progress: Progress = int) -> list[Tally]:
        """Count the records in the cells that the axes of each table span, all tables in one pass."""
        own = [] if self.own is None else [self.own]
        return self.records.tallies([[*own, *axes] for axes in tables], progress)

    def count(self, questions: Sequence[TableQuestion], progress: Progress = int) -> list[Array]:
        """The perturbed counts of every question, of the records that tell it, all in one pass."""
        tallies = tell_by_tell(self._tallies, self.plan, [question.axes for question in questions], progress)
        return [
            sum((_counts(tally, question.axes) for tally in some), np.zeros(question.shape))
            for question, some in zip(questions, tallies, strict=True)
        ]

    def _tallies(self, tables: Sequence[Sequence[Cells]], progress: Progress) -> list[Tally]:
        """Count tables and, in the first pass, where the true values of told numbers lie."""
        narrow = {} if self._known else narrow_cells(self.plan)
        counted = {name: counted_cells(self.plan, axis) for name, axis in narrow.items()}
        asked = {name: list(in_tells(self.plan, [axis])) for name, axis in counted.items()}
        tallies = iter(self.tallies([*chain(*asked.values()), *tables], progress))
        for name, some in asked.items():
            counts = sum((_counts(next(tallies), [counted[name]]) for _ in some), np.zeros(counted[name].size))
            operator = Operator([transition_between(narrow[name], self.plan[name], counted[name])])
            shares = reconstruct(counts, operator).counts / max(counts.sum(), 1.0)
            self._known[name] = Histogram(narrow[name].edges, shares)
        return list(tallies)

    def tabulate(
        self,
        question: TableQuestion,
        progress: Progress = int,
        *,
        method: Method = "auto",
        level: float = DEFAULT_LEVEL,
        about: About = "table",
        fakes: float = 0.0,
        totals: Sequence[TableQuestion] | None = None,
    ) -> Estimate:
        """Count what a question and its totals need and estimate; warns of cells that cannot be told from noise."""
        options: Any = {"method": method, "level": level, "about": about, "fakes": fakes}
        asked = [question, *(totals or ())]
        found, *others = (
            self.estimate(one, counts, progress, **options)
            for one, counts in zip(asked, self.count(asked, progress), strict=True)
        )
        if totals is not None and all(one.axes for one in others):
            others.append(self._everybody(found))
        return warned_of(replace(found, totals=tuple(others)), self.plan)

    def _everybody(self, like: Estimate) -> Estimate:
        """How many records there are, of which nothing is in doubt."""
        n = np.array(float(self.n))
        return replace(like, axes=(), counts=n, low=n, high=n, naive=n, rests_on="counts")

    def estimate(
        self,
        question: TableQuestion,
        counts: Array,
        progress: Progress = int,
        *,
        method: Method = "auto",
        level: float = DEFAULT_LEVEL,
        about: About = "table",
        fakes: float = 0.0,
    ) -> Estimate:
        """Reconstruct what was counted for a question, and read the answer off it."""
        check_interval(level, about)
        _check_fakes(fakes)
        if not question.tells(self.plan):
            return self._by_model(question, progress, method, level, about, fakes)
        operator, told = self.operator(question), self._share_told(counts)
        found = self.reconstructed(question, counts, method, progress)
        if method == "auto" and not fakes and told and self._is_shrunk(question):
            joint = self.joint(question.truths, progress)
            own = inverse_estimate(counts, operator, joint.table(question.truths), question.reading)
            low, high = joint.model.interval(joint.places(question.truths), question.reading, level, own)
            low, high = low * told, high * told
        else:
            low, high = interval(
                counts,
                operator,
                found.counts,
                question.reading,
                level=level,
                about=self.held(about, question.columns),
                fakes=fakes * float(counts.sum()),
                told=told,
            )
        if not told:  # nobody has told it yet
            low, high = np.zeros(low.shape), np.full(high.shape, float(self.n))
        scaled = self._scaling(question, told, progress)
        answer = question.reading.of(scaled(found.counts))
        seen, naive = question.seen.of(counts), question.seen.of(scaled(counts))
        every = np.divide(naive, seen, out=np.full(seen.shape, 1 / told if told else 1.0), where=seen > 0)
        return Estimate(
            axes=question.cells,
            counts=answer,
            low=np.minimum(low * every, answer),
            high=np.maximum(high * every, answer),
            naive=naive,
            level=level,
            about=about,
            fakes=fakes,
            method=found.method,
            reason=found.reason,
            gap=found.gap,
        )

    def counts_alone(self, question: TableQuestion, counts: Array, progress: Progress = int) -> Array:
        """The counts that `estimate` has, without intervals, which take most of its time."""
        if not question.tells(self.plan):
            table, told = self.joint(question.truths, progress).table(question.truths), 1.0
        else:
            table, told = self.reconstructed(question, counts, "auto", progress).counts, self._share_told(counts)
        return question.reading.of(self._scaling(question, told, progress)(table))

    def reconstructed(
        self, question: TableQuestion, counts: Array, method: Method = "auto", progress: Progress = int
    ) -> Reconstruction:
        """What those who tell it have: by the joint model where others tell parts of it, too."""
        if method == "auto" and self.plan.layout.told and question.is_perturbed(self.plan):
            joint = self.joint(question.truths, progress)
            return Reconstruction(joint.table(question.truths) * counts.sum(), method, joint.model.reason, None)
        return reconstruct(counts, self.operator(question), method)

    def _share_told(self, counts: Array) -> float:
        return min(float(counts.sum()) / self.n, 1.0) if self.n else 1.0

    def held(self, about: About, names: Iterable[str]) -> About:
        """Which truth intervals have to be wide enough for, of what is asked of some columns.

        Where rows of people were drawn, what all of their rows say is found from some of them, as if they had been
        drawn from a population. What is kept is the same in all rows of a person.
        """
        is_drawn = self.plan.schema.person is not None and any(name in self.plan.mechanisms for name in names)
        return "population" if is_drawn else about

    def _by_model(
        self, question: TableQuestion, progress: Progress, method: Method, level: float, about: About, fakes: float
    ) -> Estimate:
        """What no record tells, as the model of all that is told has it."""
        named = " and ".join(map(repr, question.columns))
        if method != "auto":
            raise SchemaError(
                Phrase(
                    "no record tells {named} together, so only the joint model can answer: leave out method",
                    named=named,
                )
            )
        if fakes:
            raise SchemaError(
                Phrase(
                    "no record tells {named} together: what made-up records could do to it is not known", named=named
                )
            )
        joint = self.joint(question.truths, progress)
        scaled = self._scaling(question, 1.0, progress)
        found = question.reading.of(scaled(joint.table(question.truths)))
        if self._is_shrunk(question):
            low, high = joint.model.interval(joint.places(question.truths), question.reading, level, None)
        elif self._is_bound(question):
            errors = joint.errors(question.truths, lambda part: question.reading.of(scaled(part)))
            reach = float(ndtri((1 + level) / 2)) * errors
            low, high = np.maximum(found - reach, 0.0), np.minimum(found + reach, self.n)
        else:
            low, high = np.zeros_like(found), joint.most(question.truths, question.reading) * self.n
        return Estimate(
            axes=question.cells,
            counts=found,
            low=low,
            high=high,
            naive=np.full(found.shape, np.nan),
            level=level,
            about=about,
            method=method,
            reason=joint.model.reason,
            gap=None,
            rests_on="model",
        )

    def _scaling(self, question: TableQuestion, told: float, progress: Progress) -> Callable[[Array], Array]:
        """From a table of some records to one of all: those with each value of kept columns are known."""
        if not self.plan.layout.told:
            return lambda table: table / told if told else table
        kept = [axis for axis in question.truths if axis.name not in self.plan.mechanisms]
        perturbed = tuple(place for place, axis in enumerate(question.truths) if axis.name in self.plan.mechanisms)
        key = _key_of(kept)
        if key not in self._kept:
            self._kept[key] = _counts(self.tallies([kept], progress)[0], kept) if kept else np.array(float(self.n))
        return partial(_scaled, totals=np.expand_dims(self._kept[key], perturbed))

    def _is_shrunk(self, question: TableQuestion) -> bool:
        """Whether the answer is the joint model's, of several columns that are all perturbed and told in pairs."""
        is_perturbed = all(axis.name in self.plan.mechanisms for axis in question.truths)
        return bool(self.plan.layout.told) and len(question.truths) > 1 and is_perturbed and self._is_bound(question)

    def _is_bound(self, question: TableQuestion) -> bool:
        """Whether every two of the columns are told together by somebody, so that the model knows how they go."""
        perturbed = [name for name in question.columns if name in self.plan.mechanisms]
        return all(self.plan.holding(pair) for pair in combinations(perturbed, 2))

    def joint(self, asked: Sequence[Cells] = (), progress: Progress = int) -> JointTables:
        """The joint model of all perturbed columns, and of kept ones that are asked about, counted in one pass.

        Columns are cut as the question cuts them, or else so that most questions can share one model. Of whole records
        only the columns that are asked about are counted: all of them would be too many cells.
        """
        wanted = {axis.name: axis for axis in asked}
        names = dict.fromkeys([*(self.plan.mechanisms if self.plan.layout.told else ()), *wanted])
        axes = tuple(wanted.get(name) or model_cells(self.plan, name) for name in names)
        key = _key_of(axes)
        if key not in self._models:
            self._models[key] = JointTables(axes, self._fitted(axes, progress))
        return self._models[key]

    def _fitted(self, axes: tuple[Cells, ...], progress: Progress) -> JointModel:
        together = self._counted_together(axes)
        counted = [counted_cells(self.plan, axis) for axis in axes]
        truths, tables = ([[some[place] for place in places] for _, places in together] for some in (axes, counted))
        told_by = self.plan.layout.attributes[0]
        selected = [
            [*([only(told_by, tell)] if self.plan.layout.told else []), *table]
            for (tell, _), table in zip(together, tables, strict=True)
        ]
        told = [
            ToldCounts(tuple(places), _counts(tally, table), operator_of(self.plan, truth, self.known, [tell], table))
            for (tell, places), truth, table, tally in zip(
                together, truths, tables, self._tallies(selected, progress), strict=True
            )
        ]
        times = max(sum(place in places for tell, places in together if tell == 0) for place in together[0][1])
        return joint_model([axis.size for axis in axes], told, times, self.n)

    def _counted_together(self, axes: Sequence[Cells]) -> list[tuple[int, list[int]]]:
        """The tables to count of each tell: all that it holds, kept columns too, unless they have too many cells.

        Then whole records are counted by every two columns, others by what they tell and one kept column at a time.
        """
        found: list[tuple[int, list[int]]] = []
        for number, tell in enumerate(self.plan.tells):
            told = [place for place, axis in enumerate(axes) if axis.name in tell.columns]
            kept = [place for place, axis in enumerate(axes) if axis.name not in self.plan.mechanisms]
            if math.prod(axes[place].size for place in (*told, *kept)) <= MOST_TOGETHER:
                found.append((number, sorted([*told, *kept])))
            elif self.plan.layout.told:
                found += [(number, sorted([*told, one])) for one in kept]
            else:
                found += [(number, list(pair)) for pair in combinations(range(len(axes)), 2)]
        return found


def _counts(tally: Tally, axes: Sequence[Cells]) -> Array:
    """What was counted along some axes, in one tell or in all."""
    return tally.counts.reshape([axis.size for axis in axes])


def _key_of(axes: Sequence[Cells]) -> CellsKey:
    """The same for axes that are cut alike."""
    return tuple((axis.name, axis.of_code.tobytes()) for axis in axes)


def _scaled(table: Array, totals: Array) -> Array:
    """A table scaled to known totals over the axes along which these have one cell; in proportion where it has none."""
    axes = tuple(axis for axis, size in enumerate(totals.shape) if size == 1)
    others = tuple(axis for axis in range(table.ndim) if axis not in axes)
    found, whole = table.sum(axis=axes, keepdims=True), table.sum(axis=others, keepdims=True)
    everybody = np.divide(whole, whole.sum(), out=np.zeros_like(whole), where=whole.sum() > 0)
    shares = np.divide(table, found, out=np.broadcast_to(everybody, table.shape).copy(), where=found > 0)
    return shares * totals


def check_interval(level: float, about: About) -> None:
    """Refuse a level that is none, and a truth that intervals cannot be wide enough for."""
    if not isinstance(level, Number) or not 0 < level < 1:
        raise SchemaError(
            Phrase("level must lie between 0 and 1, as 0.9 for a 90 % interval; got {level!r}", level=level)
        )
    if about not in get_args(About):
        raise SchemaError(Phrase("about must be 'table' or 'population', got {about!r}", about=about))


def _check_fakes(fakes: float) -> None:
    if not isinstance(fakes, Number) or not 0 <= fakes < 1:
        raise SchemaError(
            Phrase("fakes is the share of records that may be made up, as 0.01 for 1 %; got {fakes!r}", fakes=fakes)
        )
