"""Latent classes of whole records, for trees: how many there are, and the joint table that is too large to be counted.

Within a latent class attributes are independent, so the joint is Σ_k π_k Π_j θ_jk. Every attribute of every class is
climbed by the same step as a table of counts is (S4 eq. 10): θ ← θ ∘ Aᵀ(y / Aθ), with y the records of the class. The
number of classes and of steps is chosen by the likelihood of held-out records; fits from several starts, each with
other records held out, are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.counts import distinct_rows
from kakuran.mechanism import Transition
from kakuran.model.reconstruction import marginal, splits
from kakuran.randomness import Randomness
from kakuran.typing import Array

CLASSES = (2, 4, 8, 16)
LUCK = 3.0
"""How much better than independent attributes latent classes must predict: less happens by luck."""
STARTS = 3
PARTS = 5
"""One record in so many is held out of each fit."""
PRIOR = 10.0
"""Records with average values that every class is given, so that rare ones stay sensible."""

_FURTHEST = 16.0
_LEAST = 1e-12
_MOST_STEPS = 300
_MOST_IN_A_RUN = 512
_PATIENCE = 60

Table: TypeAlias = Mapping[int, NDArray[np.intp] | None]
"""The axes of a table to count: all cells of an axis, or fewer, given the part that each of its cells is in."""


class Occupied(NamedTuple):
    """Cells of a table that somebody is in, by how much those weigh."""

    places: tuple[NDArray[np.intp], ...]
    weights: Array
    worth: Array | None = None


@dataclass(frozen=True, eq=False)
class PlacedRecords:
    """Distinct perturbed records: the cell of each along every axis, how many, and how the axes were perturbed.

    Of records that weigh differently, `weights` is how many there are times what each is worth, `worth`; those that lie
    in the same cells but weigh differently are apart, so that some of them can be held out.
    """

    places: tuple[NDArray[np.intp], ...]
    weights: Array
    transitions: tuple[Transition | None, ...]
    sizes: tuple[int, ...]
    worth: Array | None = None

    @cached_property
    def runs(self) -> list[slice]:
        """Neighbouring axes that together have few cells: what is looked up or counted of them, is so at once."""
        ends = [0]
        for axis in range(1, len(self.sizes)):
            if math.prod(self.sizes[ends[-1] : axis + 1]) > min(_MOST_IN_A_RUN, len(self.weights) / 4):
                ends.append(axis)
        return [slice(*ends) for ends in pairwise([*ends, len(self.sizes)])]

    @cached_property
    def indicator(self) -> Any:
        """Records × cells of all runs in a row, sparse: 1 where a record is in a cell."""
        from scipy.sparse import csr_array

        shapes = [self.sizes[run] for run in self.runs]
        cells = [np.ravel_multi_index(self.places[run], shape) for run, shape in zip(self.runs, shapes, strict=True)]
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        columns = np.column_stack(cells) + np.append(0, ends[:-1])
        rows = np.arange(0, columns.size + 1, len(cells))
        return csr_array((np.ones(columns.size), columns.ravel(), rows), (len(self.weights), int(ends[-1])))

    def summed(self, parts: Sequence[Array]) -> Array:
        """Of every record and class, what it has at each axis, added up; a row a cell and a column a class."""
        rows = [reduce(_outer_sum, parts[run]) for run in self.runs]
        return np.asarray(self.indicator @ np.concatenate(rows))

    def counted(self, values: Array) -> list[Array]:
        """Axis by axis, what the records in each cell have together; a row a record and a column a class."""
        rows, found, done = self.indicator.T @ values, [], 0
        for run in self.runs:
            shape = self.sizes[run]
            table = rows[done : done + math.prod(shape)].reshape(*shape, -1)
            done += math.prod(shape)
            every = range(len(shape))
            found += [table.sum(axis=tuple(other for other in every if other != axis)) for axis in every]
        return found

    @property
    def starts(self) -> NDArray[np.intp]:
        """Where each axis begins in that row."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.intp)

    @classmethod
    def distinct_of(
        cls, places: Sequence[NDArray[np.intp]], sizes: Sequence[int], worth: Array | None = None
    ) -> PlacedRecords:
        """Clean records, given the cell of each along every axis, and how much it weighs."""
        records = cls(tuple(places), np.ones(len(places[0])), (None,) * len(sizes), tuple(sizes))
        records = records if worth is None else replace(records, weights=worth, worth=worth)
        return replace(records, **records.occupied(dict.fromkeys(range(len(sizes))))._asdict())

    def counts(self, axis: int) -> Array:
        """The perturbed counts along one axis."""
        counts: Array = np.bincount(self.places[axis], self.weights, self.sizes[axis]).astype(float)
        return counts

    def tables(self, asked: Sequence[Table]) -> list[Array]:
        """The perturbed counts of some tables."""
        found = []
        for table in asked:
            cells, shape = self._cells(table)
            found.append(np.bincount(cells, self.weights, math.prod(shape)).reshape(shape).astype(float))
        return found

    def occupied(self, table: Table) -> Occupied:
        """The place along each axis of a table of every cell that somebody is in, how many are, and their worth."""
        kinds = [] if self.worth is None else [np.unique(self.worth, return_inverse=True)[1]]
        found = distinct_rows([*self._places(table), *kinds], self.weights)
        worth = None if self.worth is None else self.worth[found.first]
        return Occupied(tuple(found.columns[: len(table)]), found.counts.astype(float), worth)

    def _cells(self, table: Table) -> tuple[NDArray[np.intp], tuple[int, ...]]:
        """The cell of each record in a table, and the table's shape."""
        shape = tuple(self.sizes[axis] if parts is None else int(parts.max()) + 1 for axis, parts in table.items())
        return np.ravel_multi_index(self._places(table), shape), shape

    def _places(self, table: Table) -> list[NDArray[np.intp]]:
        """The place of each record along the axes of a table."""
        return [self.places[axis] if parts is None else parts[self.places[axis]] for axis, parts in table.items()]

    def distinct(self) -> PlacedRecords:
        """These."""
        return self

    def perturbed(self, profiles: Sequence[Array]) -> list[Array]:
        """The distribution of perturbed cells for each axis and class."""
        return [
            profile if transition is None else transition.forward(profile, 0)
            for profile, transition in zip(profiles, self.transitions, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """A joint distribution: the share of each latent class and, axis by axis, its distribution over the cells."""

    shares: Array
    profiles: tuple[Array, ...]
    held: Array = field(repr=False)
    """How many of each record were held out of the fit."""
    score: float
    """The log-likelihood of those."""


def average(fits: Sequence[LatentClasses]) -> tuple[Array, tuple[Array, ...]]:
    """The mixture of several fits, which is one more mixture of latent classes: its shares and profiles."""
    shares = np.concatenate([fit.shares for fit in fits]) / len(fits)
    return shares, tuple(np.concatenate(parts, axis=1) for parts in zip(*(fit.profiles for fit in fits), strict=True))


def fit_latent_classes(records: PlacedRecords) -> list[LatentClasses]:
    """Fits with as many classes as predict held-out records best; the same records give the same answer."""
    independent = _fit(records, 1, 0)
    first = max((_fit(records, classes, 0) for classes in CLASSES), key=lambda fit: fit.score)
    if first.score <= independent.score + LUCK:
        first = independent
    return [first, *(_fit(records, len(first.shares), start) for start in range(1, STARTS))]


def held_out(records: PlacedRecords, start: int) -> Array:
    """How many of each record to hold out of a fit, times their worth."""
    worth = np.ones(len(records.weights)) if records.worth is None else records.worth
    counts = np.divide(records.weights, worth, out=np.zeros_like(worth), where=worth > 0)
    _, held = next(splits(counts, PARTS, Randomness.seeded(start).generator()))
    return held * worth


def _fit(records: PlacedRecords, classes: int, start: int) -> LatentClasses:
    """Climb from a random start until held-out records have long been predicted worse."""
    held, dice = held_out(records, start), Randomness.seeded(STARTS + start).generator()
    averages = [
        _positive(marginal(records.counts(axis), transition)) for axis, transition in enumerate(records.transitions)
    ]
    climb = _Climb(records, records.weights - held, held, averages)
    shares = np.full(classes, 1 / classes)
    profiles = [_normalised(part[:, None] * np.exp(dice.standard_normal((len(part), classes)))) for part in averages]
    point = np.vstack([shares, *profiles])
    best: LatentClasses | None = None
    judged = 0
    for step in range(0, _MOST_STEPS, 2):
        once, likelihood = climb.step(point)
        if best is None or likelihood > best.score:
            best, judged = LatentClasses(*climb.parts(point), held, likelihood), step
        elif step - judged >= _PATIENCE:
            break
        point = climb.leap(point, once, climb.step(once)[0])
    assert best is not None  # noqa: S101
    return best


@dataclass(frozen=True, eq=False)
class _Climb:
    """Steps of EM, and leaps along them. A point has a column a class: its share, then its profiles axis by axis."""

    records: PlacedRecords
    kept: Array
    held: Array
    averages: Sequence[Array]

    def parts(self, point: Array) -> tuple[Array, tuple[Array, ...]]:
        """The shares of the classes and their profiles."""
        return point[0], tuple(np.split(point[1:], self.records.starts[1:]))

    def step(self, point: Array) -> tuple[Array, float]:
        """Where EM goes from a point, and how likely that point makes what was held out."""
        shares, profiles = self.parts(point)
        perturbed = self.records.perturbed(profiles)
        members, total = _memberships(self.records, perturbed, shares)
        likelihood = float(self.held @ np.log(total) - self.held.sum() * np.log(self.records.sizes).sum())
        members *= (self.kept / total)[:, None]
        kept = np.ones(len(members)) @ members
        counts = self.records.counted(members)
        stepped = map(_stepped, profiles, perturbed, counts, self.records.transitions, self.averages)
        return np.vstack([kept / self.kept.sum(), *stepped]), likelihood

    def leap(self, point: Array, once: Array, twice: Array) -> Array:
        """Further along two steps of EM (SQUAREM, Varadhan and Roland 2008); EM alone takes thousands under noise."""
        start, first, second = (np.log(np.maximum(one, _LEAST)) for one in (point, once, twice))
        slope = first - start
        bend = second - first - slope
        reach = np.clip(np.linalg.norm(slope) / np.maximum(np.linalg.norm(bend), _LEAST), 1, _FURTHEST)
        shares, profiles = self.parts(np.exp(start + 2 * reach * slope + reach**2 * bend))
        return np.vstack([_normalised(shares), *map(_normalised, profiles)])


def _memberships(records: PlacedRecords, perturbed: Sequence[Array], shares: Array) -> tuple[Array, Array]:
    """How likely each record is of each class, and altogether, times the number of cells.

    So products over many attributes stay near one.
    """
    members = records.summed([np.log(np.maximum(len(axis) * axis, 1e-300)) for axis in perturbed])
    members = np.multiply(np.exp(members, out=members), shares, out=members)
    # Of few columns a product is quicker than numpy's own sum.
    return members, np.maximum(members @ np.ones(len(shares)), 1e-300)


def _outer_sum(first: Array, second: Array) -> Array:
    """For each pair of rows their sum."""
    return (first[:, None] + second).reshape(-1, first.shape[1])


def _stepped(profile: Array, seen: Array, counts: Array, transition: Transition | None, average: Array) -> Array:
    """One step of EM for one axis."""
    ratio = np.divide(counts, seen, out=np.zeros_like(counts), where=seen > 0)
    back = ratio if transition is None else transition.adjoint(ratio, 0)
    return _normalised(profile * back + PRIOR * average[:, None])


def _positive(counts: Array) -> Array:
    """Shares of the cells, none of them zero."""
    return (counts + 0.5) / (counts + 0.5).sum()


def _normalised(columns: Array) -> Array:
    return columns / columns.sum(axis=0)
