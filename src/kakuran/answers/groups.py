"""The moments of groups of records, weighed where weights are given, from which every statistic of them is read.

Where a tell holds all columns, the moments are linear in the counts and unbiased (`kakuran.model.moments_of`), numbers
being counted code by code. Where none does, or where a condition cuts through a number that noise has blurred, they are
read off the joint model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np

from kakuran.answers.filling import BandFilling
from kakuran.answers.reader import (
    Reader,
    TableQuestion,
    ask,
    check_interval,
    check_told,
    check_told_in_pairs,
    counted_cells,
    model_cells,
)
from kakuran.counts import Cells, Reading, cells_of, every_code, only, parse
from kakuran.defaults import DEFAULT_LEVEL
from kakuran.design import Plan
from kakuran.errors import SchemaError
from kakuran.model import About, Histogram, ToldCells, TrueMoments, moments_of, operator_of
from kakuran.schema import Numeric, Weight
from kakuran.typing import Array, Indices, Progress
from kakuran.words import Phrase

MOST_CODES = 1024
"""Grid points of a noisy number that are counted one by one; one of more is cut into half as many intervals."""
MOST_GROUPS = 1_000
"""Groups, with what they are found from, of which the moments are estimated together."""
_STEP = 1e-30

Read: TypeAlias = Callable[[Array], Array]
"""From the moments of groups to statistics."""


@dataclass(frozen=True, eq=False)
class AskedOf:
    """What every statistic can be asked with.

    Attributes
    ----------
    by : tuple[str, ...]
        Columns whose values make up the groups.
    where : str | None
        A condition that records must fulfil.
    bins : Mapping[str, int]
        Into how many groups to cut numbers among `by`.
    weights : str | None
        A kept column that says how many people each record stands for.
    level : float
        How often an interval should hold the truth.
    about : About
        Which truth.
    """

    by: tuple[str, ...] = ()
    where: str | None = None
    bins: Mapping[str, int] = field(default_factory=dict)
    weights: str | None = None
    level: float = DEFAULT_LEVEL
    about: About = "table"

    @classmethod
    def of(cls, by: str | Sequence[str] | None, **others: Any) -> AskedOf:
        """With the columns of groups as they are given: none, one or several."""
        names = () if by is None else (by,) if isinstance(by, str) else tuple(by)
        asking = cls(names, **{name: value for name, value in others.items() if value is not None})
        check_interval(asking.level, asking.about)
        return asking


@dataclass(frozen=True, eq=False)
class ReadNumber:
    """A column of which numbers are read, and the functions of it whose means are wanted; the first is 1."""

    name: str
    cells: Cells
    functions: Array
    there: int = 0
    """Which of them says whether there is a value."""
    is_weight: bool = False
    filling: BandFilling | None = None
    """Of a number in bands: where in them it lies."""
    moving: Array | None = None
    """Of a number in bands: the functions, with how they move with what bands hold; errors are those of these."""
    is_by_band: bool = False
    """Whether the functions say which band it is, so that every group can be filled by itself."""

    @classmethod
    def number(cls, reader: Reader, name: str, powers: int) -> ReadNumber:
        """A number: whether it is there, itself, its square, … up to a power."""
        plan = reader.plan
        attribute = number(plan, name)
        mechanism = plan.mechanisms.get(name)
        is_plain = mechanism is None or mechanism.lumping == "any" or attribute.points <= MOST_CODES
        cells = every_code(attribute) if is_plain else cells_of(plan.schema, name, MOST_CODES // 2)
        filling = reader.fillings([name]).get(name)
        functions = powers_of(attribute, cells, filling, powers)
        moving = None if filling is None else functions + _moved(attribute, filling, cells, powers)
        return cls(name, cells, functions, len(functions) - powers - 1, filling=filling, moving=moving)

    @classmethod
    def by_band(cls, reader: Reader, name: str) -> ReadNumber:
        """A number in bands: whether it is there, and which band it is but for the first, as `held` has them all."""
        attribute = number(reader.plan, name)
        bands = np.eye(attribute.size)[: attribute.points]
        there = [bands.sum(axis=0)] if attribute.missing == "category" else []
        functions = np.stack([np.ones(attribute.size), *there, *bands[1:]])
        filling = reader.fillings([name])[name]
        return cls(name, every_code(attribute), functions, len(there), filling=filling, is_by_band=True)

    def held(self, values: Array) -> Array:
        """What every band holds of a group, given the moments of the functions, groups × functions."""
        there, others = values[:, self.there], values[:, self.there + 1 :]
        return np.column_stack([there - others.sum(axis=1), others])

    def powers_in_groups(self, held: Array, powers: int) -> tuple[Array, Array]:
        """Powers of the number by group and band, each group filled as it holds bands; and if some heaped in them.

        With the first goes how they move with what the bands of a group hold, so that the errors of what is read are
        right.
        """
        assert self.filling is not None  # noqa: S101
        attribute, bands = self.filling.attribute, every_code(self.filling.attribute)

        def filled(filling: BandFilling, shares: Array) -> Array:
            moved, people = _moved(attribute, filling, bands, powers), shares.sum()
            centred = moved.T - (moved[:, : attribute.points] @ shares / people if people > 0 else 0.0)
            return np.asarray(powers_of(attribute, bands, filling, powers) + centred.T)

        fillings = [BandFilling.of(attribute, shares) for shares in held]
        smooth = np.stack([*map(filled, fillings, held)])
        heaped = np.stack(
            [[powers_of(attribute, bands, one, powers) for one in filling.heaped] for filling in fillings], axis=1
        )
        return smooth[..., -powers:, : attribute.points], heaped[..., -powers:, : attribute.points]

    @property
    def heaped(self) -> list[ReadNumber]:
        """Of a number in bands: the same, should some heap at one place or another of each band."""
        if self.filling is None or self.is_by_band:
            return []
        powers = len(self.functions) - 1 - self.there
        return [
            replace(self, functions=powers_of(one.attribute, self.cells, one, powers), filling=one)
            for one in self.filling.heaped
        ]

    @classmethod
    def weight(cls, plan: Plan, name: str) -> ReadNumber:
        """A weight: how many people a record stands for."""
        attribute = plan.schema.in_release(name) if isinstance(name, str) else number(plan, name)
        if isinstance(attribute, Weight):
            check_told(plan, name)
            values = np.array(attribute.values)
            return cls(name, every_code(attribute), np.stack([np.ones_like(values), values]), is_weight=True)
        attribute = number(plan, name)
        if name in plan.mechanisms:
            raise SchemaError(
                Phrase(
                    "column {name!r} was perturbed, so it cannot weigh records: what it says of a record is "
                    'not true of it. Release a sampling weight with role "weight", in classes, or leave out '
                    "weights",
                    name=name,
                )
            )
        if attribute.missing == "category":
            raise SchemaError(
                Phrase("column {name!r} may be missing, so it cannot weigh records; leave out weights", name=name)
            )
        numbers = np.asarray(attribute.numbers_of(np.arange(attribute.points)), float)
        return cls(name, every_code(attribute), np.stack([np.ones_like(numbers), numbers]), is_weight=True)

    @classmethod
    def kept_weight(cls, plan: Plan, name: str) -> ReadNumber:
        """A weight whose class is known of every record."""
        weight = cls.weight(plan, name)
        if name in plan.mechanisms:
            raise SchemaError(
                Phrase(
                    "the weight {name!r} was perturbed, so nobody knows which records are of which class, and "
                    "this cannot be weighed by it; crosstab, count, share, mean, variance and correlation can. "
                    "To count every record once, say weights=False (--weights none)",
                    name=name,
                )
            )
        return weight

    @staticmethod
    def stated_total(plan: Plan, name: str) -> float | None:
        """How many people all records stand for, where the schema says so of a weight."""
        attribute = plan.schema.in_release(name)
        return attribute.total if isinstance(attribute, Weight) else None

    @property
    def values(self) -> Array:
        """Of a weight: how many people a record stands for, cell by cell."""
        return self.functions[1]

    def along(self, plan: Plan, cells: Cells, known: Histogram | None) -> Array:
        """The same functions of other, wider cells, where what is known of the number says how it lies in them."""
        if self.is_weight or self.is_by_band:
            wider = np.zeros((self.functions.shape[1], cells.size))
            wider[np.arange(len(wider)), cells.place(np.arange(len(wider), dtype=np.int32))] = 1.0
            return np.asarray(self.functions @ wider / wider.sum(axis=0))
        attribute = number(plan, self.name)
        return powers_of(attribute, cells, self.filling or known, len(self.functions) - 1 - self.there)


@dataclass(frozen=True, eq=False)
class WeightClass:
    """Records each of which stands for the same number of people.

    Attributes
    ----------
    reader : Reader
        Of these records.
    share : float
        Which part they are of all people that records stand for.
    """

    reader: Reader
    share: float

    @classmethod
    def all_of(cls, reader: Reader, weights: str | None, progress: Progress) -> list[WeightClass]:
        """Every class of a kept weight that somebody is in; without a weight all records are one."""
        if weights is None:
            return [cls(reader, 1.0)]
        weight = ReadNumber.kept_weight(reader.plan, weights)
        attribute = reader.plan.schema.in_release(weights)
        counts = reader.tallies([[weight.cells]], progress)[0].counts
        people = counts * weight.values
        return [
            cls(replace(reader, n=int(counts[code]), own=only(attribute, code)), float(people[code] / people.sum()))
            for code in np.flatnonzero(people).tolist()
        ]


def powers_of(attribute: Numeric, cells: Cells, known: BandFilling | Histogram | None, powers: int) -> Array:
    """1, whether there is a number where it may be missing, and its powers, scaled to lie between −1 and 1."""
    low, high, cell, likely = known.pieces(cells) if isinstance(known, BandFilling) else _runs(attribute, cells, known)
    is_there = ~np.isnan(low)
    middle, half = scale_of(attribute)
    mean, width = np.nan_to_num(((low + high) / 2 - middle) / half), np.nan_to_num((high - low) / half)
    # Codes of a run are a grid: their variance is (width² + 2·width·step)/12.
    squares = mean**2 + width * (width + 2 * attribute.step / half) / 12
    there = [is_there.astype(float)] if attribute.missing == "category" else []
    made = [np.ones_like(mean), *there, *(is_there * some for some in (mean, squares)[:powers])]
    total = np.bincount(cell, likely, cells.size)
    return np.stack([np.bincount(cell, likely * some, cells.size) / total for some in made])


def _moved(attribute: Numeric, filling: BandFilling, cells: Cells, powers: int) -> Array:
    """How the same functions move with what each band holds; groups are taken to be filled by themselves."""
    bands = every_code(attribute)
    moved = filling.influence(lambda some: powers_of(attribute, bands, some, powers)[:, : attribute.points])
    moved = np.pad(moved, ((0, 0), (0, attribute.size - attribute.points)))
    return np.asarray(moved[:, cells.edges[:-1]])


def _runs(attribute: Numeric, cells: Cells, known: Histogram | None) -> tuple[Array, Array, Indices, Array]:
    """The least and the largest number of each run of codes, its cell, and how likely it is there; NaN for missing."""
    if known is None:
        edges, cell, likely = cells.edges, cells.runs, np.diff(cells.edges).astype(float)
    else:
        edges, cell, likely = known.within(cells)
    first, last = edges[:-1], np.minimum(edges[1:], attribute.points) - 1
    low, high = attribute.ends_of(first)[0].astype(float), attribute.ends_of(np.maximum(last, first))[1].astype(float)
    low[first >= attribute.points] = np.nan
    return low, high, cell, likely


def scale_of(attribute: Numeric) -> tuple[float, float]:
    """What is taken off a number, and what it is then divided by, to lie between −1 and 1."""
    return (attribute.low + attribute.high) / 2, attribute.span / 2


def number(plan: Plan, name: str) -> Numeric:
    """A released column of numbers, refused if it is none or if nothing was left of it."""
    if not isinstance(name, str):
        raise SchemaError(Phrase("name one column, as in mean('age'); got {name!r}", name=name))
    attribute = plan.schema.in_release(name)
    check_told(plan, name)
    if not isinstance(attribute, Numeric):
        raise SchemaError(
            Phrase("column {name!r} holds categories, not numbers; ask for a share of them, or a crosstab", name=name)
        )
    if not attribute.has_mean:
        raise SchemaError(
            Phrase("column {name!r} holds dates, not numbers; ask for a quantile of it, or a crosstab", name=name)
        )
    return attribute


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of records, and parts of them, by cells of the columns that make them up.

    Attributes
    ----------
    shown : tuple[Cells, ...]
        The columns of the groups.
    cells : tuple[Cells, ...]
        The cells that are estimated, column by column.
    members : Array
        Parts × groups × cells: which cells, all columns taken together, are in each part of each group.
    """

    shown: tuple[Cells, ...]
    cells: tuple[Cells, ...]
    members: Array

    @classmethod
    def of(cls, plan: Plan, asking: AskedOf, condition: str | None = None) -> Groups:
        """All records of each group, and of them those that fulfil a condition."""
        if not asking.by and asking.where is None and condition is None:
            return cls((), (), np.ones((1, 1, 1)))
        questions = [*questions_of(plan, asking, condition)]
        cells = questions[0].truths
        shape = tuple(axis.size for axis in cells)
        if math.prod(shape) * math.prod(axis.size for axis in questions[0].cells) > MOST_GROUPS**2:
            raise SchemaError(
                Phrase("{count:,} groups are too many to look at; ask by fewer columns or bins", count=math.prod(shape))
            )
        members = [_members(question.reading, shape) for question in questions]
        return cls(questions[0].cells, cells, np.stack(members))

    @property
    def count(self) -> int:
        """How many groups."""
        return self.members.shape[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a table of them."""
        return tuple(axis.size for axis in self.shown)


def questions_of(plan: Plan, asking: AskedOf, condition: str | None) -> Iterator[TableQuestion]:
    """The table of all records of each group and, where there is a condition, that of those that fulfil it."""
    where = f"({asking.where})" if asking.where is not None else None
    if condition is None:
        yield ask(plan, asking.by, asking.bins, asking.where)
        return
    parse(condition, plan.schema)  # a mistake in it is told as it was typed
    # The same comparisons in both, so that both are about the same cells.
    for text in (f"(({condition}) or not ({condition}))", f"({condition})"):
        yield ask(plan, asking.by, asking.bins, text if where is None else f"{where} and {text}")


def _members(reading: Reading, shape: tuple[int, ...]) -> Array:
    return np.concatenate([some.reshape(len(some), -1) for some in reading.weights(shape)])


@dataclass(frozen=True, eq=False)
class Found:
    """The moments of groups, as estimated, and how sure they are.

    Attributes
    ----------
    values : Array
        Groups × parts × products of functions of the targets.
    naive : Array
        The same of the perturbed records as they are.
    covariance : Array | None
        Of the estimates; None where they are a model's.
    spread : Callable
        How far each statistic varies by chance, given how it is read off the moments.
    rests_on : str
        "counts" or "model".
    reason : str
        In words.
    heaped : Sequence[Sequence[Array]]
        Of each target in bands, the moments should some heap at one place or another of each band.
    """

    values: Array
    naive: Array
    covariance: Array | None
    spread: Callable[[Read], Array]
    rests_on: Literal["counts", "model"]
    reason: str
    heaped: Sequence[Sequence[Array]] = ()

    def doubt(self, read: Read) -> Array:
        """How far statistics may well lie below and above, as nobody tells where in bands people lie: 2 × groups."""
        estimates = read(self.values)
        doubts = [doubt_of(estimates, [read(values) for values in some]) for some in self.heaped]
        return np.sqrt(np.sum(np.square(doubts), axis=0)) if doubts else np.zeros((2, *estimates.shape))

    def errors(self, read: Read) -> Array:
        """The standard errors of statistics that are read off the moments."""
        if self.covariance is None:
            return self.spread(read)
        slopes = _jacobian(read, self.values)
        return np.sqrt(np.maximum(((slopes @ self.covariance) * slopes).sum(axis=1), 0.0))


def doubt_of(estimates: Array, others: Sequence[Array]) -> Array:
    """How far statistics lie below and above, at most, under other assumptions."""
    apart = np.nan_to_num(np.stack(others) - estimates)
    return np.stack([np.maximum(-apart, 0.0).max(axis=0), np.maximum(apart, 0.0).max(axis=0)])


def find(reader: Reader, groups: Groups, targets: Sequence[ReadNumber], asking: AskedOf, progress: Progress) -> Found:
    """The moments of products of functions of the targets, in every part of every group."""
    names = [*(axis.name for axis in groups.cells), *(target.name for target in targets)]
    if is_linear(reader.plan, groups, names):
        return _by_counts(reader, groups, targets, asking, progress)
    return _by_model(reader, asking, groups, targets, progress)


def is_linear(plan: Plan, groups: Groups, names: Sequence[str]) -> bool:
    """Whether somebody tells all of it, and no group is cut through a number that noise has blurred."""
    for name in names:
        check_told(plan, name)
    blurred = [
        axis.name
        for axis in groups.cells
        if axis.name in plan.mechanisms
        and axis.size < plan.schema[axis.name].size
        and plan.mechanisms[axis.name].lumping == "neighbours"
    ]
    return not blurred and len(set(names)) == len(names) and bool(plan.holding(names))


def _by_counts(
    reader: Reader, groups: Groups, targets: Sequence[ReadNumber], asking: AskedOf, progress: Progress
) -> Found:
    axes = [*groups.cells, *(target.cells for target in targets)]
    functions = [*(_indicators(axis.size) for axis in groups.cells), *(target.functions for target in targets)]
    told = told_cells(reader, axes, progress)
    kept = [place for place, axis in enumerate(axes) if axis.name not in reader.plan.mechanisms]
    moments = moments_of(told, functions, reader.n, kept=kept)
    moving = [one.functions if one.moving is None else one.moving for one in targets]
    is_filled = any(one.moving is not None for one in targets)
    unsure = moments_of(told, [*functions[: -len(moving)], *moving], reader.n, kept=kept) if is_filled else moments
    place = {name: 1 + number for number, name in enumerate(moments.names)}
    order = np.array([place.get(name, 0) for name in product(*(range(len(some)) for some in functions))])
    sizes = tuple(len(target.functions) for target in targets)
    shape = groups.count, len(groups.members), *sizes
    slopes = np.zeros((math.prod(shape), 1 + len(moments.names)))
    slopes[:, order] = _rows(groups, math.prod(sizes))

    def read(found: TrueMoments) -> Array:
        return np.asarray(slopes @ np.append(1.0, found.values)).reshape(shape)

    def heaped(place: int, one: ReadNumber) -> Array:
        instead = [*functions]
        instead[len(groups.cells) + place] = one.functions
        return read(moments_of(told, instead, reader.n, kept=kept))

    return Found(
        read(moments),
        _naive(reader.plan, told, axes, groups, targets).reshape(shape),
        unsure.covariance_of(slopes[:, 1:], reader.held(asking.about, [axis.name for axis in axes])),
        lambda _: np.full(groups.count, np.nan),
        "counts",
        _reason(reader.plan, targets),
        [[heaped(place, one) for one in target.heaped] for place, target in enumerate(targets) if target.heaped],
    )


def _reason(plan: Plan, targets: Sequence[ReadNumber]) -> Phrase:
    """How it was found; where in its bands, and how far beyond its bounds, a number lies nobody tells."""
    reason = Phrase("unbiased, from what records tell of it")
    for target in targets:
        if target.filling is not None:
            reason = Phrase(
                "from what records tell of it, with numbers taken to lie smoothly within their bands; as {column} may "
                "heap there, the interval is wider. Shares of bands are surer, and so is its mean in a release without "
                "bands",
                column=target.name,
            )
    for attribute in plan.schema.some([target.name for target in targets]):
        if isinstance(attribute, Numeric) and attribute.clip:
            reason = Phrase(
                "{reason}; {column} below {low} or above {high} counts as that bound (clip)",
                reason=reason,
                column=attribute.name,
                low=attribute.written(attribute.low),
                high=attribute.written(attribute.high),
            )
    return reason


def _indicators(size: int) -> Array:
    """1, and which cell it is but for the first."""
    functions = np.eye(size)
    functions[0] = 1.0
    return functions


def _rows(groups: Groups, size: int) -> Array:
    """Moments of groups × what they are made of: products of functions of the columns of groups and of targets."""
    change = np.ones((1, 1))
    for axis in groups.cells:
        change = np.kron(change, np.linalg.inv(_indicators(axis.size)))
    found = groups.members @ change
    return np.einsum("pgf,ht->gphft", found, np.eye(size)).reshape(groups.members.size // found.shape[2] * size, -1)


def told_cells(
    reader: Reader, axes: Sequence[Cells], progress: Progress, weight: ReadNumber | None = None
) -> list[ToldCells]:
    """What every tell says of some columns, counted in one pass; what tells nothing of the perturbed ones is left out.

    Perturbed records are counted in cells of their own where it is worth it, and by how much they weigh.
    """
    plan = reader.plan
    perturbed = {axis.name for axis in axes if axis.name in plan.mechanisms}
    held = [
        (tell, [place for place, axis in enumerate(axes) if axis.name not in perturbed or axis.name in one.columns])
        for tell, one in enumerate(plan.tells)
        if not perturbed or perturbed.intersection(one.columns)
    ]
    if not perturbed:
        held = held[:1]
    seen = [counted_cells(plan, axis) for axis in axes]
    telling = plan.layout.attributes[0]
    first = [] if weight is None else [weight.cells]
    tables = [
        [*([only(telling, tell)] if plan.layout.told and perturbed else []), *first, *(seen[place] for place in places)]
        for tell, places in held
    ]
    found = []
    for (tell, places), tally in zip(held, reader.tallies(tables, progress), strict=True):
        cells, counts = tally.occupied()
        some, counted = [axes[place] for place in places], [seen[place] for place in places]
        operator = operator_of(plan, some, {}, [tell], counted)
        shape = tuple(axis.size for axis in counted)
        here = cells[len(cells) - len(places) :]
        if weight is None:
            found.append(ToldCells(tuple(places), here, counts, operator, shape))
        else:
            weights = weight.values[cells[len(cells) - len(places) - 1]]
            found.append(ToldCells.weighed(tuple(places), here, counts, weights, operator, shape))
    return found


def _naive(
    plan: Plan, told: Sequence[ToldCells], axes: Sequence[Cells], groups: Groups, targets: Sequence[ReadNumber]
) -> Array:
    """The moments of the perturbed records that tell all columns, as they are; numbers beyond bounds lie on them."""
    members = groups.members.reshape(*groups.members.shape[:2], *(axis.size for axis in groups.cells))
    total = np.zeros((groups.count, len(members) * math.prod(len(target.functions) for target in targets)))
    for one in told:
        if len(one.axes) == len(axes):
            places = [
                axis.settled(counted_cells(plan, axis))[place] for axis, place in zip(axes, one.places, strict=True)
            ]
            index: Any = (slice(None), slice(None), *places[: len(groups.cells)])
            inside = members[index].reshape(*members.shape[:2], -1)
            values = np.ones((1, len(one.counts)))
            for target, place in zip(targets, places[len(groups.cells) :], strict=True):
                values = (values[:, None] * target.functions[:, place]).reshape(-1, len(place))
            total += np.einsum("pgc,hc->gph", inside * one.counts, values).reshape(total.shape)
    return total / max(sum(one.n for one in told if len(one.axes) == len(axes)), 1.0)


def _jacobian(read: Read, values: Array) -> Array:
    """How statistics change with every moment; exact, by a step in the imaginary direction."""
    slopes = []
    for place in range(values.size):
        moved = values.astype(complex)
        moved.flat[place] += _STEP * 1j
        slopes.append(np.imag(read(moved)).ravel() / _STEP)
    return np.array(slopes).T


def _by_model(
    reader: Reader, asking: AskedOf, groups: Groups, targets: Sequence[ReadNumber], progress: Progress
) -> Found:
    """The same as the model of all that is told has it."""
    own = {axis.name: axis for axis in groups.cells}
    for target in targets:
        own.setdefault(target.name, model_cells(reader.plan, target.name))
    check_told_in_pairs(reader.plan, own)
    axes = list(own.values())
    joint = reader.joint(axes, progress)
    members = groups.members.reshape(*groups.members.shape[:2], *(axis.size for axis in groups.cells))
    members = members.reshape(*members.shape, *(1,) * (len(axes) - len(groups.cells)))
    places = [list(own).index(target.name) for target in targets]

    def along(target: ReadNumber) -> Array:
        return target.along(reader.plan, own[target.name], reader.known.get(target.name))

    letters = "abcdefghijklmnopqrstuvwxyz"[: len(axes)]
    made = "".join(f",{capital}{letters[place]}" for capital, place in zip("ABC", places, strict=False))
    summed = f"PG{letters}{made}->GP{'ABC'[: len(places)]}"
    functions = [*map(along, targets)]

    def moments(table: Array, functions: Sequence[Array] = functions) -> Array:
        return np.einsum(summed, members * table, *functions, optimize=True)

    def heaped(place: int, one: ReadNumber) -> Array:
        return moments(table, [*functions[:place], along(one), *functions[place + 1 :]])

    table = joint.table(axes)
    found = moments(table)
    return Found(
        found,
        np.full(found.shape, np.nan),
        None,
        lambda read: joint.errors(axes, lambda table: read(moments(table)).ravel()),
        "model",
        joint.model.reason,
        [[heaped(place, one) for one in target.heaped] for place, target in enumerate(targets) if target.heaped],
    )
