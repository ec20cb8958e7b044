"""Latent classes of a release, found by the counts of all tells at once: how many there are, and the joint they make.

Within a latent class columns are independent, so the joint is Σ_h π_h ∏_j θ_hj, and the expected perturbed counts of a
tell t over the columns J are A_t Σ_h π_h ⊗_{j∈J} θ_hj (maths §10). EM climbs the likelihood of the counts: cells, never
records, so that its cost does not follow their number. Counts that are held out of a climb say where it is to stop, and
whether more classes are worth it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np

from kakuran.counts import distinct_rows
from kakuran.mechanism import Transition
from kakuran.model.operator import Operator
from kakuran.model.reconstruction import splits
from kakuran.randomness import Randomness
from kakuran.typing import Array, Indices

CLASSES = (1, 2, 4, 8, 16, 32, 64)
ENOUGH = 16
"""Fewer classes are always tried: averaged, they help even where none of them predicts best."""
PARAMETERS_PER_RECORD = 2.0
"""Classes that would have more are not tried: 64 for 300 records of 40 columns took minutes and predicted worse."""
LUCK = 5.0
"""How much better a model that is chosen by held-out counts predicts them by luck: about 1 for each part."""
PARTS = 5
"""One record in so many is held out of each fit."""
PRIOR = 0.3
"""Records with average values that every class is given, so that rare ones stay sensible."""

_LEAST = 1e-12
_SPREAD = 0.5
_MOST_STEPS = 300
_LEAST_STEPS = 60
_MOST_WORK = 200_000_000
"""Steps of one climb, each as many as there are cells × classes."""
_WORK_PER_RECORD = 100_000
"""The same for few records, whose cells are mostly empty."""
_WORK_AT_ONCE = 1 << 18
"""Cells × classes up to which all parts climb at once: calls of numpy would take longer than what they compute."""
_PATIENCE = 40
_FURTHEST = 64.0
_FURTHER = 1.15
"""How much further each leap may go than the one before: the first would overlook where to stop."""
_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class ToldCounts:
    """The perturbed counts of all records that told the same columns.

    Parameters
    ----------
    axes : tuple[int, ...]
        The columns.
    counts : Array
        How many records came out in each cell, an axis a column.
    operator : Operator
        How they were perturbed.
    """

    axes: tuple[int, ...]
    counts: Array
    operator: Operator

    def of(self, axes: Sequence[int]) -> ToldCounts:
        """What they told of some of the columns."""
        places = [self.axes.index(axis) for axis in axes]
        others = tuple(place for place in range(len(self.axes)) if place not in places)
        counts = self.counts.sum(axis=others).transpose(np.argsort(np.argsort(places)))
        operator = Operator(
            [self.operator.transitions[place] for place in places],
            self.operator.together,
            [self.operator.shares[place] for place in places] if self.operator.shares else (),
        )
        return ToldCounts(tuple(axes), counts, operator)

    def holds(self, axes: Sequence[int]) -> bool:
        """Whether these records told all of some columns."""
        return set(axes) <= set(self.axes)


@dataclass(frozen=True, eq=False)
class ClassPoint:
    """A point of each of some climbs: climbs × the shares of latent classes, and the profiles of all columns."""

    shares: Array
    profiles: Array
    """Cells × climbs × classes."""

    @classmethod
    def together(cls, some: Sequence[ClassPoint]) -> ClassPoint:
        """All climbs of some."""
        return cls(np.concatenate([one.shares for one in some]), np.concatenate([one.profiles for one in some], axis=1))

    def apart(self) -> list[ClassPoint]:
        """Each climb by itself."""
        return [ClassPoint(self.shares[[one]], self.profiles[:, [one]]) for one in range(len(self.shares))]


@dataclass(frozen=True, eq=False)
class _LastColumn:
    """Tells with the same last column, perturbed alike: rows are cells of their other columns."""

    rows: slice
    last: slice
    anywhere: Array
    """The shares of what may come out in the last column by chance."""
    members: tuple[tuple[int, int], ...]
    """Which tells these are, and the place of the last column in each."""


class ToldLayout:
    """How latent classes come out in the counts of all tells, and the way back.

    All profiles, as they are and as each mechanism perturbs them, lie below each other, with a row of ones at the end.
    A row of a block is the product of some of those rows: of the columns of the tell but the last, which is left for a
    product of matrices. Replaced records (the 1−ρ of columns perturbed as one value) tell of kept columns alone.
    """

    def __init__(self, sizes: Sequence[int], told: Sequence[ToldCounts]) -> None:
        self.sizes = tuple(sizes)
        self.starts: Indices = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)
        self._column_of_row = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self._perturbed: dict[tuple[int, bytes], tuple[slice, Transition]] = {}
        self._height = int(self.starts[-1])
        self._lay_out(told)

    def _lay_out(self, told: Sequence[ToldCounts]) -> None:
        laid = [_Laid(one, self._leaves_of(one)) for one in told]
        alike: dict[tuple[int, bytes], list[_Laid]] = {}
        for one in laid:
            alike.setdefault((one.last.start, one.anywhere.tobytes()), []).append(one)
        order = [one for group in alike.values() for one in group]
        ends = iter(np.cumsum([one.height for one in order]).tolist())
        begin, self.blocks = 0, []
        for group in alike.values():
            end = [next(ends) for _ in group][-1]
            members = tuple((laid.index(one), one.place) for one in group)
            self.blocks.append(_LastColumn(slice(begin, end), group[0].last, group[0].anywhere, members))
            begin = end
        width, ones = max(1, *(len(one.axes) - 1 for one in told)), self._height
        self._factors = np.concatenate([one.factors(width, ones) for one in order])
        self._kept = np.concatenate([one.factors(width, ones, kept=True) for one in order])
        self._together = np.concatenate([np.full((one.height, 1), one.together) for one in order])
        self._by_chance = np.concatenate([one.by_chance for one in order])[:, None]
        self._gather, self._gather_kept = map(self._indicator, (self._factors, self._kept))
        self._has_kept = bool((self._kept != ones).any())

    def _leaves_of(self, told: ToldCounts) -> list[slice]:
        return [self._leaf(axis, one) for axis, one in zip(told.axes, told.operator.transitions, strict=True)]

    def _leaf(self, axis: int, transition: Transition | None) -> slice:
        """Where the profiles of a column lie, as a transition perturbs them."""
        if transition is None or transition.is_identity:
            return slice(int(self.starts[axis]), int(self.starts[axis + 1]))
        key = axis, transition.matrix.tobytes()
        if key not in self._perturbed:
            rows = slice(self._height, self._height + len(transition.matrix))
            self._perturbed[key] = rows, transition
            self._height = rows.stop
        return self._perturbed[key][0]

    def _indicator(self, factors: Indices) -> Any:
        """Rows of profiles × rows of blocks, sparse: 1 where one is a factor of the other."""
        from scipy.sparse import csr_array

        rows = np.arange(0, factors.size + 1, factors.shape[1])
        return csr_array((np.ones(factors.size), factors.ravel(), rows), (len(factors), self._height + 1)).T.tocsr()

    def laid_out(self, tables: Sequence[Array]) -> list[Array]:
        """Counts of the tells as rows of the blocks × cells of their last column."""
        return [
            np.concatenate(
                [
                    np.moveaxis(tables[tell], place, -1).reshape(-1, tables[tell].shape[place])
                    for tell, place in block.members
                ]
            )
            for block in self.blocks
        ]

    def step(self, point: ClassPoint, counts: Sequence[Array], averages: Array) -> tuple[ClassPoint, list[Array]]:
        """Where EM goes from a point, and the shares of the cells of every tell that the point leads to.

        Counts, and these shares, have the climbs first; averages are cells × climbs.
        """
        leaves = self._leaves(point.profiles)
        rows = self._product(leaves, self._factors) * point.shares
        kept = self._product(leaves, self._kept) * point.shares if self._has_kept else None
        chance = self._by_chance if kept is None else (self._by_chance * kept.sum(axis=2)).T[:, :, None]
        found, by_row, replaced, everything = np.zeros_like(leaves), np.empty_like(rows), np.zeros(rows.shape[:2]), []
        for block, seen in zip(self.blocks, counts, strict=True):
            at = block.rows
            here, last = _climbs_first(rows[at]), _climbs_first(leaves[block.last])
            expected = self._together[at] * (here @ last.swapaxes(1, 2)) + chance[..., at, :] * block.anywhere
            everything.append(np.maximum(expected, 1e-300, out=expected))
            ratio = seen / expected
            if kept is not None:
                replaced[at] = (ratio @ block.anywhere).T
            ratio *= self._together[at]
            found[block.last] += _climbs_first(last * (ratio.swapaxes(1, 2) @ here))
            by_row[at] = _climbs_first(here * (ratio @ last))
        found += _gathered(self._gather, by_row)
        shares = by_row.sum(axis=0)
        if kept is not None:
            by_row = kept * (self._by_chance * replaced)[:, :, None]
            found += _gathered(self._gather_kept, by_row)
            shares = shares + by_row.sum(axis=0)
        found = self._back(found, leaves, point.profiles) + PRIOR * averages[:, :, None]
        return ClassPoint(_shared_out(shares + _LEAST), self.normalised(found)), everything

    def _leaves(self, profiles: Array) -> Array:
        """The profiles as they are and as they are perturbed, and ones."""
        perturbed = [
            transition.forward(profiles[self.starts[axis] : self.starts[axis + 1]], 0)
            for (axis, _), (_, transition) in self._perturbed.items()
        ]
        return np.concatenate([profiles, *perturbed, np.ones((1, *profiles.shape[1:]))])

    def _product(self, leaves: Array, factors: Indices) -> Array:
        return reduce(np.multiply, (leaves[column] for column in factors.T))

    def _back(self, found: Array, leaves: Array, profiles: Array) -> Array:
        """Expected true counts of cells and classes, from those of what came out."""
        true = found[: self.starts[-1]]
        for (axis, _), (rows, transition) in self._perturbed.items():
            here = slice(self.starts[axis], self.starts[axis + 1])
            ratio = np.divide(found[rows], leaves[rows], out=np.zeros_like(found[rows]), where=leaves[rows] > 0)
            true[here] += profiles[here] * transition.adjoint(ratio, 0)
        return true

    def leap(self, point: ClassPoint, once: ClassPoint, twice: ClassPoint, furthest: float) -> ClassPoint:
        """Further along two steps of EM (SQUAREM, Varadhan and Roland 2008); EM alone takes thousands under noise."""
        start, first, second = (
            np.log(np.maximum(np.concatenate([one.shares[None], one.profiles]), _LEAST)) for one in (point, once, twice)
        )
        slope = first - start
        bend = second - first - slope
        sizes = [np.sqrt((change**2).sum(axis=(0, 2), keepdims=True)) for change in (slope, bend)]
        reach = np.clip(sizes[0] / np.maximum(sizes[1], _LEAST), 1, furthest)
        further = np.exp(np.clip(start + 2 * reach * slope + reach**2 * bend, -500, 100))
        return ClassPoint(_shared_out(further[0]), self.normalised(further[1:]))

    def normalised(self, profiles: Array) -> Array:
        """With shares that add up to 1 in every column and class."""
        return profiles / np.add.reduceat(profiles, self.starts[:-1], axis=0)[self._column_of_row]

    def start(self, classes: int, dice: np.random.Generator) -> ClassPoint:
        """Somewhere to climb from: classes that know next to nothing, each something else."""
        spread = _SPREAD if classes > 1 else 0.0
        profiles = self.flat[:, None] * np.exp(spread * dice.standard_normal((len(self.flat), classes)))
        return ClassPoint(np.full((1, classes), 1 / classes), self.normalised(profiles[:, None]))

    @cached_property
    def flat(self) -> Array:
        """The profile of a class that knows nothing."""
        return 1 / np.repeat(np.asarray(self.sizes, dtype=float), self.sizes)


@dataclass(frozen=True, eq=False)
class _Laid:
    """A tell, cell by cell of its columns but the last."""

    told: ToldCounts
    leaves: Sequence[slice]

    @cached_property
    def place(self) -> int:
        """Of the last column: the largest, and not a kept one unless all are."""
        perturbed = self.told.operator.perturbed_axes or range(len(self.told.axes))
        return max(perturbed, key=lambda place: self.told.counts.shape[place])

    @property
    def together(self) -> float:
        """The probability that what is perturbed is not replaced."""
        return self.told.operator.together if self.told.operator.perturbed_axes else 1.0

    @property
    def last(self) -> slice:
        """Where the profiles of the last column lie."""
        return self.leaves[self.place]

    @property
    def anywhere(self) -> Array:
        """The shares of what comes out in the last column of records that are replaced."""
        return self._shares(self.place)

    def _shares(self, place: int) -> Array:
        shares = self.told.operator.shares[place] if self.together < 1 else None
        return np.ones(self.told.counts.shape[place]) if shares is None else shares

    @property
    def others(self) -> list[int]:
        """The places of the columns but the last."""
        return [place for place in range(len(self.told.axes)) if place != self.place]

    @cached_property
    def cells(self) -> Indices:
        """The cells of those columns, a row a column."""
        shape = [self.told.counts.shape[place] for place in self.others]
        return np.indices(shape).reshape(len(shape), math.prod(shape))

    @property
    def height(self) -> int:
        """How many there are."""
        return self.cells.shape[1]

    def factors(self, width: int, ones: int, *, kept: bool = False) -> Indices:
        """The rows of profiles that make up each row, filled up with ones; only those of kept columns, if asked."""
        rows = np.full((self.height, width), ones)
        for column, (place, cells) in enumerate(zip(self.others, self.cells, strict=True)):
            if not kept or self.told.operator.transitions[place] is None:
                rows[:, column] = self.leaves[place].start + cells
        return rows

    @property
    def by_chance(self) -> Array:
        """The probability that a record is replaced, and comes out in each row for what is perturbed of it."""
        chance = np.full(self.height, 1 - self.together)
        for place, cells in zip(self.others, self.cells, strict=True):
            chance *= self._shares(place)[cells]
        return chance


def _climbs_first(table: Array) -> Array:
    """Or second again, if they were."""
    return table.swapaxes(0, 1)


def _gathered(indicator: Any, rows: Array) -> Array:
    """The sums of rows that an indicator marks."""
    found: Array = (indicator @ rows.reshape(len(rows), -1)).reshape(-1, *rows.shape[1:])
    return found


def _shared_out(shares: Array) -> Array:
    """Shares of classes that add up to 1 in every climb."""
    return shares / shares.sum(axis=1, keepdims=True)


def normalised(shares: Array) -> Array:
    """Scaled to add up to 1."""
    return shares / shares.sum()


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Counts of all tells without those of one part of the records, and of that part."""

    kept: Sequence[Array]
    held: Sequence[Array]


def parts_held_out(told: Sequence[ToldCounts], dice: np.random.Generator) -> Iterator[HeldOut]:
    """As many as there are parts; every record is held out in one of them."""
    flat = np.concatenate([one.counts.ravel() for one in told])
    ends = np.cumsum([one.counts.size for one in told])[:-1]
    for pair in splits(flat, PARTS, dice):
        yield HeldOut(
            *(
                [part.reshape(one.counts.shape) for part, one in zip(np.split(side, ends), told, strict=True)]
                for side in pair
            )
        )


def dice_of(told: Sequence[ToldCounts]) -> Randomness:
    """The same for the same counts."""
    return Randomness.derived(b"".join(np.ascontiguousarray(one.counts).tobytes() for one in told))


def climb(
    tells: ToldLayout, parts: Sequence[HeldOut], starts: Sequence[ClassPoint], averages: Array, most_work: float
) -> tuple[ClassPoint, float]:
    """Climb without each part until the parts have long been predicted worse; where that was best, and how well.

    All climbs stop at the same step: one that stopped by its own part alone would often go too far by luck. Small ones
    take each step together.
    """
    kept, held = [tells.laid_out(part.kept) for part in parts], [tells.laid_out(part.held) for part in parts]
    work = sum(block.size for block in kept[0]) * starts[0].shares.size
    many = len(parts) if len(parts) * work <= _WORK_AT_ONCE else 1
    groups = [slice(first, first + many) for first in range(0, len(parts), many)]
    counts, judging = ([_stacked(side[group]) for group in groups] for side in (kept, held))
    points, furthest, judged = [ClassPoint.together(starts[group]) for group in groups], 2.0, 0
    best, score = points, -math.inf
    for step in range(0, min(_MOST_STEPS, max(_LEAST_STEPS, int(most_work // work))), 2):
        further, found = [], 0.0
        for group, point, seen, unseen in zip(groups, points, counts, judging, strict=True):
            once, expected = tells.step(point, seen, averages[:, group])
            found += float(sum((some * np.log(shares)).sum() for some, shares in zip(unseen, expected, strict=True)))
            further.append(tells.leap(point, once, tells.step(once, seen, averages[:, group])[0], furthest))
        if found > score:
            best, score, judged = points, found, step
        elif step - judged >= _PATIENCE:
            break
        points, furthest = further, min(furthest * _FURTHER, _FURTHEST)
    return ClassPoint.together(best), score


def _stacked(parts: Sequence[Sequence[Array]]) -> list[Array]:
    """Block by block, the counts of all parts."""
    return [np.stack(blocks) for blocks in zip(*parts, strict=True)]


def more_and_more_classes(
    sizes: Sequence[int],
    told: Sequence[ToldCounts],
    parts: Sequence[HeldOut],
    dice: np.random.Generator,
    records: float,
) -> Iterator[tuple[int, list[ClassMixture]]]:
    """One class, two, four … until many predict what was held out worse than fewer, or records are too few for more.

    Of each number, the mixtures without each part of the records and, last, with all of them.
    """
    tells = ToldLayout(sizes, told)
    averages, best = np.repeat(tells.flat[:, None], len(parts), axis=1), -math.inf
    for classes in CLASSES:
        if classes > 1 and classes * (sum(sizes) - len(sizes)) > PARAMETERS_PER_RECORD * records:
            break
        starts = [tells.start(classes, dice) for _ in parts]
        point, score = climb(tells, parts, starts, averages, min(_MOST_WORK, _WORK_PER_RECORD * records))
        if classes > ENOUGH and score < best - LUCK:
            break
        best = max(best, score)
        if classes == 1:
            averages = point.profiles[:, :, 0]
        yield classes, [ClassMixture.average(some, tells.starts) for some in (*point.apart(), point)]


@dataclass(frozen=True, eq=False)
class ClassMixture:
    """Latent classes: the share of each, and column by column its distribution over cells × classes."""

    shares: Array
    profiles: tuple[Array, ...]

    @classmethod
    def average(cls, point: ClassPoint, starts: Indices) -> ClassMixture:
        """The mixture of what several climbs reached, which is one more of them."""
        profiles = point.profiles.reshape(len(point.profiles), -1)
        return cls(point.shares.ravel() / len(point.shares), tuple(np.split(profiles, starts[1:-1])))

    def table(self, axes: Sequence[int], groups: Sequence[Indices | None]) -> Array:
        """Half of the columns against the other half, so that no table is held for every class."""
        profiles = [lump(self.profiles[axis], parts) for axis, parts in zip(axes, groups, strict=True)]
        shape = tuple(len(profile) for profile in profiles)
        half = min(range(len(shape) + 1), key=lambda cut: math.prod(shape[:cut]) + math.prod(shape[cut:]))
        left, right = (_outer(some, len(self.shares)) for some in (profiles[:half], profiles[half:]))
        return ((left * self.shares) @ right.T).reshape(shape)

    def given(self, target: int, places: Sequence[Indices | None]) -> Array:
        """By the classes that each record may be of."""
        known = [(safe_log(self.profiles[axis]), cells) for axis, cells in known_columns(target, places)]
        records = len(known[0][1])
        found = np.empty((records, len(self.profiles[target])))
        rows = max(1, _AT_ONCE // len(self.shares))
        for start in range(0, records, rows):
            here = slice(start, start + rows)
            members = sum((profile[cells[here]] for profile, cells in known), safe_log(self.shares))
            most = members.max(axis=1, keepdims=True)
            found[here] = safe_log(np.exp(members - most) @ self.profiles[target].T) + most
        return found

    def draw(self, known: KnownCells, dice: np.random.Generator) -> list[Indices]:
        """A class for each record, and in it every column by itself."""
        kinds, place = known.kinds
        members = sum(
            (safe_log(self.profiles[axis])[cells] for axis, cells in known_columns(-1, kinds)),
            safe_log(self.shares)[None],
        )
        of_class = draw_cells(softmax(members), place, dice)
        return [
            draw_cells(profile.T, of_class, dice) if cells is None else cells
            for profile, cells in zip(self.profiles, known.places, strict=True)
        ]


def _outer(profiles: Sequence[Array], width: int) -> Array:
    """All cells of a table of some columns × whatever each of them goes with."""
    return reduce(lambda rows, one: (rows[:, None] * one).reshape(-1, width), profiles, np.ones((1, width)))


@dataclass(frozen=True, eq=False)
class KnownCells:
    """What is known of some records.

    Attributes
    ----------
    places : Sequence[Indices | None]
        Of every column, the cell that each record is in; None where it is not known.
    count : int
        How many records there are.
    """

    places: Sequence[Indices | None]
    count: int

    @cached_property
    def kinds(self) -> tuple[list[Indices | None], Indices]:
        """What is known of records of which something else is, column by column; and which of these each record is."""
        known = known_columns(-1, self.places)
        if not known:
            return list(self.places), np.zeros(self.count, np.intp)
        found = distinct_rows([cells for _, cells in known])
        columns = dict(zip((axis for axis, _ in known), found.columns, strict=True))
        return [columns.get(axis) for axis in range(len(self.places))], found.place

    def some(self, records: Indices) -> KnownCells:
        """The same of some of the records."""
        return KnownCells([None if cells is None else cells[records] for cells in self.places], len(records))


def known_columns(target: int, places: Sequence[Indices | None]) -> list[tuple[int, Indices]]:
    """The columns that are known of records, but for the one that is asked for."""
    return [(axis, cells) for axis, cells in enumerate(places) if cells is not None and axis != target]


def safe_log(values: Array) -> Array:
    """The logarithm, and a large negative number where there is none."""
    return np.log(np.maximum(values, 1e-300))


def softmax(logs: Array) -> Array:
    """Shares, from their logarithms up to a constant, row by row."""
    return rows_normalised(np.exp(logs - logs.max(axis=1, keepdims=True)))


def draw_cells(shares: Array, rows: Indices, dice: np.random.Generator) -> Indices:
    """A cell for every record, by the distribution that stands in its row."""
    below = np.cumsum(shares, axis=1)
    below = below / below[:, -1:] + np.arange(len(shares))[:, None]
    found = np.searchsorted(below.ravel(), rows + dice.random(len(rows)), side="right")
    return np.clip(found - rows * shares.shape[1], 0, shares.shape[1] - 1)


def lump(profile: Array, parts: Indices | None) -> Array:
    """Cells added up by parts."""
    if parts is None:
        return profile
    lumped = np.zeros((int(parts.max()) + 1, profile.shape[1]))
    np.add.at(lumped, parts, profile)
    return lumped


def rows_normalised(rows: Array) -> Array:
    """Each scaled to add up to 1."""
    return rows / rows.sum(axis=1, keepdims=True)
