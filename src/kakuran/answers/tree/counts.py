"""Where a tree gets the counts of its nodes from: class × cell of one attribute, given the path to the node."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.answers.groups import ReadNumber
from kakuran.answers.reader import Reader
from kakuran.counts import Cells, Tally
from kakuran.mechanism import Transition
from kakuran.model import Method, Occupied, Operator, PlacedRecords, Table, effective, marginal, reconstruct
from kakuran.typing import Array, Progress

Tallies: TypeAlias = Callable[[Sequence[Sequence[Cells]]], list[Tally]]
"""Counts the records of a release in some tables, all in one pass (`kakuran.counts.Records`)."""


class Counted(Protocol):
    """Records with the class on the first axis: distinct ones in memory, or any number that can be counted anew."""

    @property
    def transitions(self) -> tuple[Transition | None, ...]:
        """How each axis was perturbed."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each axis."""

    def tables(self, asked: Sequence[Table]) -> list[Array]:
        """The perturbed counts of some tables, all in one pass."""

    def occupied(self, table: Table) -> Occupied:
        """The place along each axis of a table of every cell that somebody is in, how many are, and their worth."""

    def distinct(self) -> PlacedRecords:
        """The distinct records over all axes; they have to fit in memory."""


@dataclass(frozen=True, eq=False)
class Weighing:
    """How much records count that stand for different numbers of people.

    All together they count as many as would tell as much if they all stood for the same number: Kish's effective
    number, (Σw)²/Σw². What decides whether a node stands out from noise is how many records there are, not people.

    Attributes
    ----------
    cells : Cells
        The classes of a kept weight.
    worth : Array
        How much a record of each class counts.
    people : float
        How many people all records stand for.
    """

    cells: Cells
    worth: Array
    people: float

    @classmethod
    def of(cls, reader: Reader, weights: str | None, progress: Progress) -> Weighing | None:
        """By a column; None if every record counts once."""
        if weights is None:
            return None
        weight = ReadNumber.kept_weight(reader.plan, weights)
        counts = reader.tallies([[weight.cells]], progress)[0].counts
        people = weight.stated_total(reader.plan, weights) or float(counts @ weight.values)
        return cls(weight.cells, effective(counts, weight.values), people)


@dataclass(frozen=True, eq=False)
class Passes:
    """Records that are not held: every call is one pass over them, and its memory follows the tables it asks for."""

    axes: tuple[Cells, ...]
    transitions: tuple[Transition | None, ...]
    tallies: Tallies
    weighing: Weighing | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each axis."""
        return tuple(axis.size for axis in self.axes)

    def tables(self, asked: Sequence[Table]) -> list[Array]:
        """The perturbed counts of some tables, all in one pass."""
        found = [tally.counts for tally in self._counted(asked)]
        return found if self.weighing is None else [some @ self.weighing.worth for some in found]

    def occupied(self, table: Table) -> Occupied:
        """The place along each axis of a table of every cell that somebody is in, how many are, and their worth."""
        places, counts = self._counted([table])[0].occupied()
        if self.weighing is None:
            return Occupied(places, counts)
        worth = self.weighing.worth[places[-1]]
        return Occupied(places[:-1], counts * worth, worth)

    def distinct(self) -> PlacedRecords:
        """The distinct records over all axes; they have to fit in memory."""
        places, weights, worth = self.occupied(dict.fromkeys(range(len(self.axes))))
        return PlacedRecords(places, weights, self.transitions, self.sizes, worth)

    def _counted(self, asked: Sequence[Table]) -> list[Tally]:
        lumped: dict[tuple[int, bytes], Cells] = {}  # one object a lump, so that an engine places records in it once

        def cells(axis: int, parts: NDArray[np.intp] | None) -> Cells:
            if parts is None:
                return self.axes[axis]
            return lumped.setdefault((axis, parts.tobytes()), self.axes[axis].lumped(parts))

        last = [] if self.weighing is None else [self.weighing.cells]
        return self.tallies([[*(cells(axis, parts) for axis, parts in table.items()), *last] for table in asked])


Path: TypeAlias = Sequence[NDArray[np.bool_]]
"""The cells of each axis that a node is about; the class is axis 0 and never restricted."""


class NodeCounts(Protocol):
    """Estimated counts for any node."""

    def tables(self, paths: Sequence[Path]) -> list[list[Array]]:
        """For each path, of the records on it: class × cell of every other axis, in order."""

    def classes(self, paths: Sequence[Path]) -> list[Array]:
        """For each path, of the records on it: how many there are of each class."""


@dataclass(frozen=True, eq=False)
class LatentCounts:
    """From one joint reconstruction of all attributes as latent classes."""

    shares: Array
    profiles: tuple[Array, ...]
    total: float

    def tables(self, paths: Sequence[Path]) -> list[list[Array]]:
        """For each path, of the records on it: class × cell of every other axis, in order."""
        return [[self.table(path, axis) for axis in range(1, len(path))] for path in paths]

    def classes(self, paths: Sequence[Path]) -> list[Array]:
        """For each path, of the records on it: how many there are of each class."""
        return [self.table(path, 1).sum(axis=1) for path in paths]

    def table(self, path: Path, axis: int) -> Array:
        """Σ_k π_k Π_j θ_jk, summed over the path."""
        weights = self.total * self.shares
        for other, (profile, allowed) in enumerate(zip(self.profiles, path, strict=True)):
            if other not in (0, axis):
                weights = weights * profile[allowed].sum(axis=0)
        return (self.profiles[0] * weights) @ (self.profiles[axis] * path[axis][:, None]).T


@dataclass(frozen=True, eq=False)
class Marginals:
    """Every axis by itself: how it was perturbed, and its perturbed counts."""

    transitions: tuple[Transition | None, ...]
    counts: tuple[Array, ...]

    @cached_property
    def estimated(self) -> tuple[Array, ...]:
        """The true counts along each axis."""
        return tuple(map(marginal, self.counts, self.transitions))

    def lumped(self, axis: int, parts: NDArray[np.intp]) -> Transition | None:
        """The transition between parts of an axis; inside each, true values as they are estimated to lie."""
        transition = self.transitions[axis]
        return None if transition is None else transition.lumped(parts, self.estimated[axis] + 1e-9)

    def spread(self, path: Path) -> float:
        """The standard error of an unbiased count of the records on a path: what noise alone could make of it."""
        total = float(self.counts[0].sum())
        variance = total
        for axis, allowed in enumerate(path):
            if allowed.all():
                continue
            seen = np.bincount(allowed, self.counts[axis], 2) / total
            parts = self.lumped(axis, allowed.astype(np.intp))
            variance *= (seen if parts is None else parts.squared_solve(seen, 0))[1]
        return math.sqrt(variance)


@dataclass(frozen=True, eq=False)
class PathCounts:
    """S4's way: for every attribute a joint reconstruction of class × path × attribute (eq. 12–14).

    Along the path only two parts of each attribute matter: on it or not (eq. 6).
    """

    counted: Counted
    method: Method

    @cached_property
    def firsts(self) -> list[Array]:
        """The perturbed counts of class × cell of every other axis: all that the first level needs."""
        return self.counted.tables([{0: None, axis: None} for axis in range(1, len(self.counted.sizes))])

    @cached_property
    def marginals(self) -> Marginals:
        """Every axis by itself."""
        counts = (self.firsts[0].sum(axis=1), *(table.sum(axis=0) for table in self.firsts))
        return Marginals(self.counted.transitions, counts)

    def tables(self, paths: Sequence[Path]) -> list[list[Array]]:
        """For each path, of the records on it: class × cell of every other axis, in order; counted in one pass."""
        found = iter(self._found([(path, axis) for path in paths for axis in range(1, len(path))]))
        return [[next(found) for _ in path[1:]] for path in paths]

    def classes(self, paths: Sequence[Path]) -> list[Array]:
        """For each path, of the records on it: how many there are of each class; counted in one pass."""
        return [table.sum(axis=1) for table in self._found([(path, 1) for path in paths])]

    def _found(self, wanted: Sequence[tuple[Path, int]]) -> list[Array]:
        """Reconstruct the joints of some paths and axes, and take the slices that are on the paths."""
        joints = [_joint(path, axis) for path, axis in wanted]
        beyond_first_level = [joint for joint in joints if len(joint) > 2]
        counts = iter(self.counted.tables(beyond_first_level) if beyond_first_level else [])
        return [
            self._on_path(path, axis, joint, next(counts) if len(joint) > 2 else self.firsts[axis - 1])
            for (path, axis), joint in zip(wanted, joints, strict=True)
        ]

    def _on_path(self, path: Path, axis: int, joint: Table, counts: Array) -> Array:
        transitions = [
            self.counted.transitions[other] if parts is None else self.marginals.lumped(other, parts)
            for other, parts in joint.items()
        ]
        order = [0, len(joint) - 1, *range(1, len(joint) - 1)]
        operator = Operator([transitions[place] for place in order])
        found = reconstruct(np.ascontiguousarray(counts.transpose(order)), operator, self.method).counts
        for _ in range(len(joint) - 2):
            found = found[..., 1]
        return np.maximum(found, 0.0) * path[axis]

    def coarse(self, parts: Sequence[NDArray[np.intp]]) -> PlacedRecords:
        """The distinct records when only the part of every axis is looked at that they are in."""
        table = {axis: part for axis, part in enumerate(parts) if axis == 0 or part.any()}
        found, weights, worth = self.counted.occupied(table)
        places = dict(zip(table, found, strict=True))
        nowhere = np.zeros(len(weights), np.intp)
        return PlacedRecords(
            tuple(places.get(axis, nowhere) for axis in range(len(parts))),
            weights,
            tuple(self.marginals.lumped(axis, part) for axis, part in enumerate(parts)),
            tuple(int(part.max()) + 1 for part in parts),
            worth,
        )


def _joint(path: Path, axis: int) -> Table:
    """Class × two parts of every attribute on the path × cells of an attribute, which come last.

    Tables of one node then begin with the same axes, which engines place records along only once.
    """
    others = [other for other in range(1, len(path)) if other != axis and not path[other].all()]
    return {0: None, **{other: path[other].astype(np.intp) for other in others}, axis: None}
