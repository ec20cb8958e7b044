"""Joint distributions of all columns of a table: latent classes, a tree of pairs, and blends of them.

Each gives the table of any columns, a column given others, and made-up records.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Protocol

import numpy as np

from kakuran.counts import distinct_rows
from kakuran.model.climb import ClassPoint
from kakuran.typing import Array, Indices

_LEAST = 1e-12
_MOST_RAKES = 1000
_AT_ONCE = 1 << 22


class Joint(Protocol):
    """A joint distribution."""

    def table(self, axes: Sequence[int], groups: Sequence[Indices | None]) -> Array:
        """The shares of the cells of a table."""

    def given(self, target: int, places: Sequence[Indices | None]) -> Array:
        """The logarithm of the probability of each cell of a column together with what is known: records × cells."""

    def draw(self, known: KnownCells, dice: np.random.Generator) -> list[Indices]:
        """The cells of made-up records along every column, those that are known as they are."""


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
        profiles = [_lumped(self.profiles[axis], parts) for axis, parts in zip(axes, groups, strict=True)]
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
        of_class = _drawn(_softmax(members), place, dice)
        return [
            _drawn(profile.T, of_class, dice) if cells is None else cells
            for profile, cells in zip(self.profiles, known.places, strict=True)
        ]


def known_columns(target: int, places: Sequence[Indices | None]) -> list[tuple[int, Indices]]:
    """The columns that are known of records, but for the one that is asked for."""
    return [(axis, cells) for axis, cells in enumerate(places) if cells is not None and axis != target]


def safe_log(values: Array) -> Array:
    """The logarithm, and a large negative number where there is none."""
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
class PairTree:
    """A tree of pairs: every column depends on its neighbours alone."""

    margins: tuple[Array, ...]
    steps: Mapping[tuple[int, int], Array]
    """From a column to a neighbour: the distribution of the second given the first, cells × cells."""
    neighbours: Mapping[int, Sequence[int]]

    @classmethod
    def of(cls, margins: Sequence[Array], pairs: Mapping[tuple[int, int], Array]) -> PairTree:
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
        found = safe_log(self.margins[target] * self._likely(target, None, known))
        for root in self._roots:
            if target not in self._reached(root, None):
                found = found + safe_log(self._likely(root, None, known) @ self.margins[root])[:, None]
        return found

    def _likely(self, here: int, before: int | None, known: Sequence[Indices | None]) -> Array:
        """How likely what is known from a column on is, given its cells: records × cells."""
        cells, size = known[here], len(self.margins[here])
        likely = np.ones((1, size)) if cells is None else np.eye(size)[cells]
        for there in self.neighbours[here]:
            if there != before:
                likely = likely * (self._likely(there, here, known) @ self.steps[here, there].T)
        return likely

    def draw(self, known: KnownCells, dice: np.random.Generator) -> list[Indices]:
        """Column by column from each root on."""
        drawn: dict[int, Indices] = {}
        for root in self._roots:
            self._draw_from(root, None, known, drawn, dice)
        return [drawn[axis] for axis in range(len(self.margins))]

    def _draw_from(
        self, here: int, before: int | None, known: KnownCells, drawn: dict[int, Indices], dice: np.random.Generator
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
class Blend:
    """A mixture of joint distributions."""

    weights: Sequence[float]
    joints: Sequence[Joint]

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

    def draw(self, known: KnownCells, dice: np.random.Generator) -> list[Indices]:
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
