"""One joint model of a release whose records each told only some of their columns (maths §10).

Within a latent class columns are independent, so the joint is Σ_h π_h ∏_j θ_hj, and the expected perturbed counts of a
tell t over the columns J are A_t Σ_h π_h ⊗_{j∈J} θ_hj. EM climbs the likelihood of the counts of all tells at once:
cells, never records, so that its cost does not follow their number. Classes and stop are chosen by counts that were
held out of the fit, and fits that held out other counts and started elsewhere are averaged: a mixture of mixtures of
latent classes is one more of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from kakuran.counts import distinct_rows
from kakuran.errors import ArgumentError
from kakuran.mechanism import Transition
from kakuran.model.estimators import splits
from kakuran.model.likelihood import em_step
from kakuran.model.operator import Operator, one_thread
from kakuran.randomness import Randomness
from kakuran.typing import Array, Indices
from kakuran.words import Phrase

CLASSES = (1, 2, 4, 8, 16, 32, 64)
ENOUGH = 16
"""Fewer classes are always tried: averaged, they help even where none of them predicts best."""
LUCK = 5.0
"""How much better a model that is chosen by held-out counts predicts them by luck: about 1 for each part."""
PARTS = 5
"""One record in so many is held out of each fit."""
PRIOR = 0.3
"""Records with average values that every class is given, so that rare ones stay sensible."""
STOPS = (0, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64)
"""Steps of EM from the model towards the counts of the tells that hold a table."""

_LEAST = 1e-12
_SPREAD = 0.5
_MOST_STEPS = 300
_LEAST_STEPS = 60
_MOST_WORK = 200_000_000
"""Steps of one climb, each as many as there are cells × classes."""
_WORK_AT_ONCE = 1 << 18
"""Cells × classes up to which all parts climb at once: calls of numpy would take longer than what they compute."""
_PATIENCE = 40
_PATIENT_STOPS = 4
_MOST_RAKES = 1000
_SHARES = 33
_AT_ONCE = 1 << 22
_DRAWN_AT_ONCE = 1 << 17
_FURTHEST = 64.0
_FURTHER = 1.15
"""How much further each leap may go than the one before: the first would overlook where to stop."""


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
class _Classes:
    """A point of each of some climbs: climbs × the shares of latent classes, and the profiles of all columns."""

    shares: Array
    profiles: Array
    """Cells × climbs × classes."""

    @classmethod
    def together(cls, some: Sequence[_Classes]) -> _Classes:
        """All climbs of some."""
        return cls(np.concatenate([one.shares for one in some]), np.concatenate([one.profiles for one in some], axis=1))

    def apart(self) -> list[_Classes]:
        """Each climb by itself."""
        return [_Classes(self.shares[[one]], self.profiles[:, [one]]) for one in range(len(self.shares))]


@dataclass(frozen=True, eq=False)
class _LastColumn:
    """Tells with the same last column, perturbed alike: rows are cells of their other columns."""

    rows: slice
    last: slice
    anywhere: Array
    """The shares of what may come out in the last column by chance."""
    members: tuple[tuple[int, int], ...]
    """Which tells these are, and the place of the last column in each."""


class _Tells:
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

    def step(self, point: _Classes, counts: Sequence[Array], averages: Array) -> tuple[_Classes, list[Array]]:
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
        return _Classes(_shared_out(shares + _LEAST), self.normalised(found)), everything

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

    def leap(self, point: _Classes, once: _Classes, twice: _Classes, furthest: float) -> _Classes:
        """Further along two steps of EM (SQUAREM, Varadhan and Roland 2008); EM alone takes thousands under noise."""
        start, first, second = (
            np.log(np.maximum(np.concatenate([one.shares[None], one.profiles]), _LEAST)) for one in (point, once, twice)
        )
        slope = first - start
        bend = second - first - slope
        sizes = [np.sqrt((change**2).sum(axis=(0, 2), keepdims=True)) for change in (slope, bend)]
        reach = np.clip(sizes[0] / np.maximum(sizes[1], _LEAST), 1, furthest)
        further = np.exp(np.clip(start + 2 * reach * slope + reach**2 * bend, -500, 100))
        return _Classes(_shared_out(further[0]), self.normalised(further[1:]))

    def normalised(self, profiles: Array) -> Array:
        """With shares that add up to 1 in every column and class."""
        return profiles / np.add.reduceat(profiles, self.starts[:-1], axis=0)[self._column_of_row]

    def start(self, classes: int, dice: np.random.Generator) -> _Classes:
        """Somewhere to climb from: classes that know next to nothing, each something else."""
        spread = _SPREAD if classes > 1 else 0.0
        profiles = self.flat[:, None] * np.exp(spread * dice.standard_normal((len(self.flat), classes)))
        return _Classes(np.full((1, classes), 1 / classes), self.normalised(profiles[:, None]))

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


def _normalised(shares: Array) -> Array:
    return shares / shares.sum()


@dataclass(frozen=True, eq=False)
class _Split:
    """Counts of all tells without those of one part of the records, and of that part."""

    kept: Sequence[Array]
    held: Sequence[Array]


def _splits(told: Sequence[ToldCounts], dice: np.random.Generator) -> Iterator[_Split]:
    """As many as there are parts; every record is held out in one of them."""
    flat = np.concatenate([one.counts.ravel() for one in told])
    ends = np.cumsum([one.counts.size for one in told])[:-1]
    for pair in splits(flat, PARTS, dice):
        yield _Split(
            *(
                [part.reshape(one.counts.shape) for part, one in zip(np.split(side, ends), told, strict=True)]
                for side in pair
            )
        )


def _randomness(told: Sequence[ToldCounts]) -> Randomness:
    """The same for the same counts."""
    return Randomness.derived(b"".join(np.ascontiguousarray(one.counts).tobytes() for one in told))


def _climb(
    tells: _Tells, parts: Sequence[_Split], starts: Sequence[_Classes], averages: Array
) -> tuple[_Classes, float]:
    """Climb without each part until the parts have long been predicted worse; where that was best, and how well.

    All climbs stop at the same step: one that stopped by its own part alone would often go too far by luck. Small ones
    take each step together.
    """
    kept, held = [tells.laid_out(part.kept) for part in parts], [tells.laid_out(part.held) for part in parts]
    work = sum(block.size for block in kept[0]) * starts[0].shares.size
    many = len(parts) if len(parts) * work <= _WORK_AT_ONCE else 1
    groups = [slice(first, first + many) for first in range(0, len(parts), many)]
    counts, judging = ([_stacked(side[group]) for group in groups] for side in (kept, held))
    points, furthest, judged = [_Classes.together(starts[group]) for group in groups], 2.0, 0
    best, score = points, -math.inf
    for step in range(0, min(_MOST_STEPS, max(_LEAST_STEPS, _MOST_WORK // work)), 2):
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
    return _Classes.together(best), score


def _stacked(parts: Sequence[Sequence[Array]]) -> list[Array]:
    """Block by block, the counts of all parts."""
    return [np.stack(blocks) for blocks in zip(*parts, strict=True)]


class _Joint(Protocol):
    """A joint distribution."""

    def table(self, axes: Sequence[int], groups: Sequence[Indices | None]) -> Array:
        """The shares of the cells of a table."""

    def given(self, target: int, places: Sequence[Indices | None]) -> Array:
        """The logarithm of the probability of each cell of a column together with what is known: records × cells."""

    def draw(self, known: _KnownCells, dice: np.random.Generator) -> list[Indices]:
        """The cells of made-up records along every column, those that are known as they are."""


@dataclass(frozen=True, eq=False)
class _KnownCells:
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
        known = _known(-1, self.places)
        if not known:
            return list(self.places), np.zeros(self.count, np.intp)
        found = distinct_rows([cells for _, cells in known])
        columns = dict(zip((axis for axis, _ in known), found.columns, strict=True))
        return [columns.get(axis) for axis in range(len(self.places))], found.place

    def some(self, records: Indices) -> _KnownCells:
        """The same of some of the records."""
        return _KnownCells([None if cells is None else cells[records] for cells in self.places], len(records))


@dataclass(frozen=True, eq=False)
class _Mixture:
    """Latent classes: the share of each, and column by column its distribution over cells × classes."""

    shares: Array
    profiles: tuple[Array, ...]

    @classmethod
    def average(cls, point: _Classes, starts: Indices) -> _Mixture:
        """The mixture of what several climbs reached, which is one more of them."""
        profiles = point.profiles.reshape(len(point.profiles), -1)
        return cls(point.shares.ravel() / len(point.shares), tuple(np.split(profiles, starts[1:-1])))

    def table(self, axes: Sequence[int], groups: Sequence[Indices | None]) -> Array:
        """Half of the columns against the other half, so that no table is held for every class."""
        profiles = [_lumped(self.profiles[axis], parts) for axis, parts in zip(axes, groups, strict=True)]
        shape = tuple(len(profile) for profile in profiles)
        half = min(range(len(shape) + 1), key=lambda cut: math.prod(shape[:cut]) + math.prod(shape[cut:]))
        left, right = (_outer(some, len(self.shares)) for some in (profiles[:half], profiles[half:]))
        return ((left * self.shares) @ right.T).reshape(shape)

    def given(self, target: int, places: Sequence[Indices | None]) -> Array:
        """By the classes that each record may be of."""
        known = [(_log(self.profiles[axis]), cells) for axis, cells in _known(target, places)]
        records = len(known[0][1])
        found = np.empty((records, len(self.profiles[target])))
        rows = max(1, _AT_ONCE // len(self.shares))
        for start in range(0, records, rows):
            here = slice(start, start + rows)
            members = sum((profile[cells[here]] for profile, cells in known), _log(self.shares))
            most = members.max(axis=1, keepdims=True)
            found[here] = _log(np.exp(members - most) @ self.profiles[target].T) + most
        return found

    def draw(self, known: _KnownCells, dice: np.random.Generator) -> list[Indices]:
        """A class for each record, and in it every column by itself."""
        kinds, place = known.kinds
        members = sum((_log(self.profiles[axis])[cells] for axis, cells in _known(-1, kinds)), _log(self.shares)[None])
        of_class = _drawn(_softmax(members), place, dice)
        return [
            _drawn(profile.T, of_class, dice) if cells is None else cells
            for profile, cells in zip(self.profiles, known.places, strict=True)
        ]


def _known(target: int, places: Sequence[Indices | None]) -> list[tuple[int, Indices]]:
    """The columns that are known of records, but for the one that is asked for."""
    return [(axis, cells) for axis, cells in enumerate(places) if cells is not None and axis != target]


def _log(values: Array) -> Array:
    return np.log(np.maximum(values, 1e-300))


def _softmax(logs: Array) -> Array:
    return _rows_normalised(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _drawn(shares: Array, rows: Indices, dice: np.random.Generator) -> Indices:
    """A cell for every record, by the distribution that stands in its row."""
    below = np.cumsum(shares, axis=1)
    below = below / below[:, -1:] + np.arange(len(shares))[:, None]
    found = np.searchsorted(below.ravel(), rows + dice.random(len(rows)), side="right")
    return np.clip(found - rows * shares.shape[1], 0, shares.shape[1] - 1)


def _lumped(profile: Array, parts: Indices | None) -> Array:
    """Cells added up by parts."""
    if parts is None:
        return profile
    lumped = np.zeros((int(parts.max()) + 1, profile.shape[1]))
    np.add.at(lumped, parts, profile)
    return lumped


def _outer(profiles: Sequence[Array], width: int) -> Array:
    """All cells of a table of some columns × whatever each of them goes with."""
    return reduce(lambda rows, one: (rows[:, None] * one).reshape(-1, width), profiles, np.ones((1, width)))


@dataclass(frozen=True, eq=False)
class _Tree:
    """A tree of pairs: every column depends on its neighbours alone."""

    margins: tuple[Array, ...]
    steps: Mapping[tuple[int, int], Array]
    """From a column to a neighbour: the distribution of the second given the first, cells × cells."""
    neighbours: Mapping[int, Sequence[int]]

    @classmethod
    def of(cls, margins: Sequence[Array], pairs: Mapping[tuple[int, int], Array]) -> _Tree:
        """The tree of the pairs that tell most of each other (Chow and Liu 1968)."""
        steps: dict[tuple[int, int], Array] = {}
        neighbours: dict[int, list[int]] = {column: [] for column in range(len(margins))}
        for first, second in _spanning(len(margins), pairs):
            pair = _raked(pairs[first, second], margins[first], margins[second])
            steps[first, second], steps[second, first] = _rows_normalised(pair), _rows_normalised(pair.T)
            neighbours[first].append(second)
            neighbours[second].append(first)
        return cls(tuple(margins), steps, neighbours)

    @cached_property
    def _roots(self) -> list[int]:
        """The first column of each part that hangs together."""
        roots, reached = [], set[int]()
        for root in self.neighbours:
            if root not in reached:
                roots.append(root)
                reached |= self._reached(root, None)
        return roots

    def _reached(self, here: int, before: int | None) -> set[int]:
        further = (self._reached(there, here) for there in self.neighbours[here] if there != before)
        return {here}.union(*further)

    def table(self, axes: Sequence[int], groups: Sequence[Indices | None]) -> Array:
        """Every column that is not asked for is summed over as soon as its neighbours are."""
        asked = dict(zip(axes, groups, strict=True))
        found, order = np.ones(1), list[int]()
        for root in self._roots:
            rows, named = self._beyond(root, None, asked)
            found, order = np.outer(found, self.margins[root] @ rows).ravel(), order + named
        shape = [len(_lumped(self.margins[axis][:, None], asked[axis])) for axis in order]
        return found.reshape(shape).transpose([order.index(axis) for axis in axes])

    def _beyond(self, here: int, before: int | None, asked: Mapping[int, Indices | None]) -> tuple[Array, list[int]]:
        """The distribution of what is asked for from a column on, given its cells; and the order of what that is."""
        size = len(self.margins[here])
        rows, order = (_lumped(np.eye(size), asked[here]).T, [here]) if here in asked else (np.ones((size, 1)), [])
        for there in self.neighbours[here]:
            if there != before:
                further, named = self._beyond(there, here, asked)
                rows = (rows[:, :, None] * (self.steps[here, there] @ further)[:, None]).reshape(size, -1)
                order = order + named
        return rows, order

    def given(self, target: int, places: Sequence[Indices | None]) -> Array:
        """By what is known along each way from it, and of columns that do not hang together with it."""
        known = [None if axis == target else cells for axis, cells in enumerate(places)]
        found = _log(self.margins[target] * self._likely(target, None, known))
        for root in self._roots:
            if target not in self._reached(root, None):
                found = found + _log(self._likely(root, None, known) @ self.margins[root])[:, None]
        return found

    def _likely(self, here: int, before: int | None, known: Sequence[Indices | None]) -> Array:
        """How likely what is known from a column on is, given its cells: records × cells."""
        cells, size = known[here], len(self.margins[here])
        likely = np.ones((1, size)) if cells is None else np.eye(size)[cells]
        for there in self.neighbours[here]:
            if there != before:
                likely = likely * (self._likely(there, here, known) @ self.steps[here, there].T)
        return likely

    def draw(self, known: _KnownCells, dice: np.random.Generator) -> list[Indices]:
        """Column by column from each root on."""
        drawn: dict[int, Indices] = {}
        for root in self._roots:
            self._draw_from(root, None, known, drawn, dice)
        return [drawn[axis] for axis in range(len(self.margins))]

    def _draw_from(
        self, here: int, before: int | None, known: _KnownCells, drawn: dict[int, Indices], dice: np.random.Generator
    ) -> None:
        """A column, by what stands before it and by what is known from it on; then those beyond it."""
        cells = known.places[here]
        if cells is None:
            kinds, place = known.kinds
            alike = distinct_rows([place] if before is None else [place, drawn[before]])
            likely = self._likely(here, before, kinds)
            likely = likely[np.minimum(alike.columns[0], len(likely) - 1)]
            shares = self.margins[here] if before is None else self.steps[before, here][alike.columns[1]]
            cells = _drawn(np.maximum(shares * likely, 1e-300), alike.place, dice)
        drawn[here] = cells
        for there in self.neighbours[here]:
            if there != before:
                self._draw_from(there, here, known, drawn, dice)


def _spanning(columns: int, pairs: Mapping[tuple[int, int], Array]) -> Iterator[tuple[int, int]]:
    """The pairs of a spanning tree with the most information in all."""
    part = list(range(columns))
    for first, second in sorted(pairs, key=lambda pair: -_information(pairs[pair])):
        if part[first] != part[second]:
            yield first, second
            joined = part[second]
            part = [part[first] if one == joined else one for one in part]


def _information(table: Array) -> float:
    """The mutual information of two columns."""
    independent = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    some = table > 0
    return float((table[some] * np.log(table[some] / independent[some])).sum())


def _raked(table: Array, rows: Array, columns: Array) -> Array:
    """A table scaled to margins that are known better (Deming and Stephan 1940)."""
    table = table + _LEAST
    for _ in range(_MOST_RAKES):
        table = table * (columns / table.sum(axis=0))
        found = table.sum(axis=1)
        if np.abs(found - rows).max() < _LEAST:
            break
        table = table * (rows / found)[:, None]
    return table


def _rows_normalised(rows: Array) -> Array:
    return rows / rows.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class _Blend:
    """A mixture of joint distributions."""

    weights: Sequence[float]
    joints: Sequence[_Joint]

    def table(self, axes: Sequence[int], groups: Sequence[Indices | None]) -> Array:
        """The average of theirs."""
        return np.average([joint.table(axes, groups) for joint in self.joints], axis=0, weights=self.weights)

    def given(self, target: int, places: Sequence[Indices | None]) -> Array:
        """Each counts as much as it expects what is known."""
        found = [
            math.log(weight) + joint.given(target, places)
            for weight, joint in zip(self.weights, self.joints, strict=True)
        ]
        return np.logaddexp.reduce(found)

    def draw(self, known: _KnownCells, dice: np.random.Generator) -> list[Indices]:
        """Each record by one of them."""
        unknown = [axis for axis, cells in enumerate(known.places) if cells is None]
        if not unknown:
            return [cells for cells in known.places if cells is not None]
        kinds, place = known.kinds
        likely = np.log(np.array(self.weights))[None]
        if len(unknown) < len(kinds):
            target = unknown[0]
            likely = likely + np.column_stack(
                [np.logaddexp.reduce(joint.given(target, kinds), axis=1) for joint in self.joints]
            )
        drawn_by = _drawn(_softmax(likely), place, dice)
        found = [np.empty(known.count, np.intp) for _ in known.places]
        for number, joint in enumerate(self.joints):
            records = np.flatnonzero(drawn_by == number)
            if len(records):
                for column, cells in zip(found, joint.draw(known.some(records), dice), strict=True):
                    column[records] = cells
        return found


@dataclass(frozen=True, eq=False)
class _Evidence:
    """The counts of all tells, without each part of the records and with all of them."""

    told: tuple[ToldCounts, ...]
    parts: tuple[_Split, ...]
    times: int
    """How often each record is counted."""

    def about(self, axes: Sequence[int]) -> list[tuple[Operator, Array, Array]]:
        """Of the tells that hold some columns: how they were perturbed, counts without each part and all, the parts."""
        return [
            (
                one.of(axes).operator.stacked(),
                np.stack(
                    [replace(one, counts=part.kept[tell]).of(axes).counts for part in self.parts]
                    + [one.of(axes).counts]
                ),
                np.stack([replace(one, counts=part.held[tell]).of(axes).counts for part in self.parts]),
            )
            for tell, one in enumerate(self.told)
            if one.holds(axes)
        ]

    def expected(self, joints: Sequence[_Joint]) -> Array:
        """The shares of all cells of the tells in a row, part by part, under the models without each part."""
        shares = [
            one.operator.forward(_normalised(joint.table(one.axes, [None] * len(one.axes)))).ravel()
            for joint in joints[: len(self.parts)]
            for one in self.told
        ]
        return np.concatenate(shares)[self._held > 0]

    def score(self, expected: Array) -> float:
        """The log-likelihood of the parts, from such shares, as if each record were counted once."""
        return float((self._held[self._held > 0] * _log(expected)).sum()) / self.times

    @cached_property
    def _held(self) -> Array:
        return np.concatenate([counts.ravel() for part in self.parts for counts in part.held])

    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of columns that some tell holds."""
        return sorted({pair for one in self.told for pair in combinations(sorted(one.axes), 2)})

    def resampled(self, dice: np.random.Generator) -> _Evidence:
        """As many records drawn anew, each part from its own: copies of a record never judge a fit to it."""
        ends = np.cumsum([one.counts.size for one in self.told])[:-1]
        held = [np.concatenate([counts.ravel() for counts in part.held]) for part in self.parts]
        drawn = [self.times * _drawn_anew(counts, int(counts.sum()) // self.times, dice) for counts in held]
        everything = sum(drawn, np.zeros_like(drawn[0]))

        def laid(flat: Array) -> list[Array]:
            tables = np.split(flat, ends)
            return [table.reshape(one.counts.shape) for table, one in zip(tables, self.told, strict=True)]

        told = [replace(one, counts=counts) for one, counts in zip(self.told, laid(everything), strict=True)]
        parts = tuple(_Split(laid(everything - held), laid(held)) for held in drawn)
        return _Evidence(tuple(told), parts, self.times)


def _drawn_anew(counts: Array, total: int, dice: np.random.Generator) -> Array:
    """So many records, each like one of those that there are."""
    return dice.multinomial(total, counts / counts.sum()).astype(float) if total else np.zeros_like(counts)


def _moved(joints: Sequence[_Joint], axes: Sequence[int], evidence: _Evidence) -> Array:
    """Tables of some models, moved towards the counts of the tells that hold them as far as held-out ones approve.

    The models are those without each part of the records, and of all of them.
    """
    tables = np.stack([_normalised(joint.table(axes, [None] * len(axes))) for joint in joints])
    told = evidence.about(axes)
    best, found, judged = -math.inf, tables, 0
    for stop, at in enumerate(_towards(tables, told)) if told else ():
        score = _predicts(at, told)
        if score > best:
            best, found, judged = score + (0 if stop else LUCK), at, stop
        elif stop - judged >= _PATIENT_STOPS:
            break
    return found


def _towards(tables: Array, told: Sequence[tuple[Operator, Array, Array]]) -> Iterator[Array]:
    """The path of EM from some tables to what the tells say of them, at the stops."""
    for step in range(STOPS[-1] + 1):
        if step in STOPS:
            yield tables
        further = sum((em_step(tables, counts, operator) for operator, counts, _ in told), np.zeros_like(tables))
        total = further.sum(axis=tuple(range(1, tables.ndim)), keepdims=True)
        tables = np.where(total > 0, further / np.maximum(total, 1e-300), tables)


def _predicts(tables: Array, told: Sequence[tuple[Operator, Array, Array]]) -> float:
    """The log-likelihood of the parts that were held out."""
    score = 0.0
    for operator, _, held in told:
        expected = np.maximum(operator.forward(tables[: len(held)]), 1e-300)
        score += float((held * np.log(expected)).sum())
    return score


def joint_model(sizes: Sequence[int], told: Sequence[ToldCounts], times: int = 1) -> JointModel:
    """The joint distribution of all columns; a function of the counts alone.

    An average of latent classes, fewer and more, and of a tree of pairs, by how well they predict held-out counts.

    Parameters
    ----------
    sizes : Sequence[int]
        How many cells each column has.
    told : Sequence[ToldCounts]
        The perturbed counts of every tell.
    times : int
        In how many of them each record is counted, column by column.
    """
    _check(sizes, told)
    dice = _randomness(told).generator()
    return _fitted(tuple(sizes), _Evidence(tuple(told), tuple(_splits(told, dice)), times), dice)


def _fitted(sizes: tuple[int, ...], evidence: _Evidence, dice: np.random.Generator) -> JointModel:
    with one_thread():
        independent, *more = _classes(sizes, evidence, dice)
        found = reduce(_Weighed.joined_by, more, _Weighed.alone(independent, evidence))
        found = found.joined_by(_Kind(Phrase("a tree of pairs"), _trees(found.joints, evidence, len(sizes))))
    return JointModel(sizes, found.reason, found.joints, evidence)


def _check(sizes: Sequence[int], told: Sequence[ToldCounts]) -> None:
    if not told:
        raise ArgumentError("told", "holds no counts", "Count at least one tell.")
    for one in told:
        one.operator.checked(one.counts)
        found, shape = one.operator.true_shape(one.counts), tuple(sizes[axis] for axis in one.axes)
        if found != shape:
            problem = f"has counts of {found} cells for columns {one.axes} of {shape}"
            raise ArgumentError("told", problem, "Count over all cells of the columns.")


@dataclass(frozen=True, eq=False)
class _Kind:
    """One kind of model without each part of the records and, last, with all of them."""

    name: Phrase
    joints: Sequence[_Joint]


def _classes(sizes: Sequence[int], evidence: _Evidence, dice: np.random.Generator) -> Iterator[_Kind]:
    """More and more latent classes, until many predict what was held out worse than fewer."""
    tells = _Tells(sizes, evidence.told)
    averages, best = np.repeat(tells.flat[:, None], len(evidence.parts), axis=1), -math.inf
    for classes in CLASSES:
        starts = [tells.start(classes, dice) for _ in evidence.parts]
        point, score = _climb(tells, evidence.parts, starts, averages)
        if classes > ENOUGH and score < best - LUCK:
            break
        best = max(best, score)
        if classes == 1:
            averages = point.profiles[:, :, 0]
        name = Phrase("{classes} latent classes", classes=classes) if classes > 1 else Phrase("independent columns")
        yield _Kind(name, [_Mixture.average(some, tells.starts) for some in (*point.apart(), point)])


@dataclass(frozen=True, eq=False)
class _Weighed:
    """Kinds of models, how much each of them counts, and what they expect of what was held out."""

    evidence: _Evidence
    kinds: tuple[_Kind, ...]
    weights: tuple[float, ...]
    expected: Array

    @classmethod
    def alone(cls, kind: _Kind, evidence: _Evidence) -> _Weighed:
        """One kind."""
        return cls(evidence, (kind,), (1.0,), evidence.expected(kind.joints))

    def joined_by(self, kind: _Kind) -> _Weighed:
        """With one more kind, and as much of it as held-out counts make likely if before them any share was."""
        expected = self.evidence.expected(kind.joints)
        shares = np.linspace(0, 1, _SHARES)
        scores = np.array([self.evidence.score(share * expected + (1 - share) * self.expected) for share in shares])
        scores -= LUCK * shares
        share = float(np.average(shares, weights=np.exp(scores - scores.max())))
        return _Weighed(
            self.evidence,
            (*self.kinds, kind),
            (*(weight * (1 - share) for weight in self.weights), share),
            share * expected + (1 - share) * self.expected,
        )

    @property
    def joints(self) -> list[_Blend]:
        """Their mixtures without each part of the records and, last, with all of them."""
        return [_Blend(self.weights, joints) for joints in zip(*(kind.joints for kind in self.kinds), strict=True)]

    @property
    def reason(self) -> Phrase:
        """In words."""
        share, best = max(zip(self.weights, (kind.name for kind in self.kinds), strict=True))
        return Phrase(
            "average of {count} by held-out likelihood, most of all {best} ({share:.0%})",
            count=len(self.kinds),
            best=best,
            share=share,
        )


def _trees(joints: Sequence[_Joint], evidence: _Evidence, columns: int) -> list[_Joint]:
    """Trees of pairs that are moved from some models towards the counts."""
    pairs = {pair: _moved(joints, pair, evidence) for pair in evidence.pairs()}
    return [
        _Tree.of(
            [_normalised(joint.table([column], [None])) for column in range(columns)],
            {pair: tables[place] for pair, tables in pairs.items()},
        )
        for place, joint in enumerate(joints)
    ]


@dataclass(frozen=True, eq=False)
class JointModel:
    """A joint distribution of all columns of a release.

    Attributes
    ----------
    sizes : tuple[int, ...]
        How many cells each column has.
    reason : Phrase
        How it was found, in words.
    """

    sizes: tuple[int, ...]
    reason: Phrase
    _joints: Sequence[_Blend] = field(repr=False)
    """Without each part of the records and, last, with all of them."""
    _evidence: _Evidence = field(repr=False)

    def table(self, axes: Sequence[int], groups: Sequence[Indices | None] = ()) -> Array:
        """The shares of the cells of a table.

        Parameters
        ----------
        axes : Sequence[int]
            Its columns, in any order.
        groups : Sequence[Indices | None]
            Of each of them, the part that each cell is in; None, or nothing at all, where every cell is one.
        """
        return _normalised(self._joints[-1].table(axes, groups or [None] * len(axes)))

    def given(self, target: int, places: Sequence[Indices | None]) -> Array:
        """The distribution of one column for records of which others are known: records × cells.

        Parameters
        ----------
        target : int
            The column.
        places : Sequence[Indices | None]
            Of every column, the cell that each record is in; None where it is not known. The target's own is not used.
        """
        if not _known(target, places):
            raise ArgumentError("places", "say nothing about any other column", "Ask for the table of the column.")
        found = self._joints[-1].given(target, places)
        found = np.exp(found - found.max(axis=1, keepdims=True))
        return found / found.sum(axis=1, keepdims=True)

    def without(self, axes: Sequence[int]) -> list[Array]:
        """What `direct` would be without each part of the records: what chance makes of it."""
        return list(_moved(self._joints, axes, self._evidence)[:-1])

    def kinds(self, axes: Sequence[int]) -> list[tuple[float, Array]]:
        """The same table as each kind of model has it by itself, and how much it counts."""
        blend = self._joints[-1]
        return [
            (weight, _normalised(joint.table(axes, [None] * len(axes))))
            for weight, joint in zip(blend.weights, blend.joints, strict=True)
        ]

    def predicts(self, axes: Sequence[int], tables: Sequence[Array]) -> Array:
        """The log-likelihood of what each part tells of some columns, under a table for each that never saw it."""
        scores = np.zeros(len(tables))
        for tell, one in enumerate(self._evidence.told):
            told = [axis for axis in axes if axis in one.axes]
            others = tuple(place for place, axis in enumerate(axes) if axis not in one.axes)
            if told:
                operator = one.of(told).operator
                for place, (part, table) in enumerate(zip(self._evidence.parts, tables, strict=True)):
                    held = replace(one, counts=part.held[tell]).of(told).counts
                    scores[place] += float((held * _log(operator.forward(table.sum(axis=others)))).sum())
        return scores

    @property
    def leaving_out(self) -> list[JointModel]:
        """The models without each part of the records."""
        return [replace(self, _joints=[joint]) for joint in self._joints[: len(self._evidence.parts)]]

    def foretells(
        self, part: int, axes: Sequence[int], cells: Sequence[Indices], weights: Array
    ) -> tuple[float, float]:
        """How well made-up records foretell a column of one part, given the others: log-likelihood, and how many tell.

        Parameters
        ----------
        part : int
            The part.
        axes : Sequence[int]
            The column, then others that are known of the made-up records.
        cells : Sequence[Indices]
            Of each of the others, the cell that every made-up record is in.
        weights : Array
            How much of each made-up record is in every cell of the column: records × cells.
        """
        likely, tellers = 0.0, 0.0
        for one, held in zip(self._evidence.told, self._evidence.parts[part].held, strict=True):
            if axes[0] in one.axes:
                known = {axis: some for axis, some in zip(axes[1:], cells, strict=True) if axis in one.axes}
                told = one.of([axes[0], *known])
                shape = [self.sizes[axis] for axis in known]
                place = np.zeros(len(weights), np.intp)
                for axis, some in known.items():
                    place = place * self.sizes[axis] + some
                table: Array = np.stack([np.bincount(place, some, math.prod(shape)) for some in weights.T]).astype(
                    float
                )
                seen = told.operator.forward(_normalised(table).reshape(-1, *shape))
                counts = replace(one, counts=held).of([axes[0], *known]).counts
                likely += float((counts * (_log(seen) - _log(seen.sum(axis=0)))).sum())
                tellers += float(counts.sum())
        return likely, tellers

    @property
    def randomness(self) -> Randomness:
        """A stream that is the same for the same counts."""
        return _randomness(self._evidence.told)

    def draw(
        self, count: int, places: Sequence[Indices | None] = (), dice: np.random.Generator | None = None
    ) -> list[Indices]:
        """Made-up records: the cell of each along every column.

        Parameters
        ----------
        count : int
            How many.
        places : Sequence[Indices | None]
            Of every column, the cell that each record is to be in; None, or nothing at all, where the model draws it.
        dice : Generator | None
            What they are drawn with; without it they are always the same.
        """
        dice = self.randomness.generator() if dice is None else dice
        known = _KnownCells(places or [None] * len(self.sizes), count)
        parts = np.array_split(np.arange(count), max(1, -(-count // _DRAWN_AT_ONCE)))
        drawn = [self._joints[-1].draw(known.some(part), dice) for part in parts]
        return [np.concatenate(cells) for cells in zip(*drawn, strict=True)]

    def resampled(self, dice: np.random.Generator) -> JointModel:
        """The model that as many other records, drawn from these, would have given: what chance makes of it."""
        return _fitted(self.sizes, self._evidence.resampled(dice), dice)

    def direct(self, axes: Sequence[int]) -> Array:
        """The shares of the cells of a table, moved from the model towards the counts of the tells that hold it.

        How far is judged by counts that were held out; the model's own table where no tell holds this one.
        """
        found: Array = _moved(self._joints, axes, self._evidence)[-1]
        return found
