"""p(record | person) of all records and all people, summed and compared without writing out every pair.

A likelihood is a product over columns, or such a product and a constant where columns are told as one value. So the
columns are cut into two halves: a sum over people is one over the left halves that occur, of sums over the right halves
that occur with each, and so is a maximum. With some √n combinations in each half these are n√n steps and not n². Where
left halves are nearly everybody's own, nothing is on the right, and all pairs are gone through.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kakuran.counts import DistinctRows, distinct_rows
from kakuran.mechanism import Telling
from kakuran.perturbation import CodedColumns
from kakuran.typing import Array, Codes, Indices

IMPOSSIBLE = -1e12
"""What stands for the log-likelihood of a record that cannot be a person's."""

_TIE = 1e-4
_NARROW = 32
_LARGEST_TABLE = 1 << 22
_MOST_COMBINATIONS = 1 << 26
"""Of a half of a record and a half of a person, to be held in memory for all records."""
_FEW_COMBINATIONS = 1 << 24
"""To be held in memory besides."""
_BLOCK_CELLS = 1 << 19
_TURNED = 64
_EXPONENTIAL = 4
"""Steps that an exponential takes, beside a multiplication."""
_FEW = 2000
"""People up to whom everything is computed in double precision."""
_DEEP, _DEEPEST = 30.0, 300.0
"""How far apart, in logarithms, likelihoods may lie to be multiplied in single and in double precision."""

Block: TypeAlias = NDArray[Any]
"""Of floats, in single precision where there are many."""
Precision: TypeAlias = type[np.float32] | type[np.float64]


class Half:
    """Π near over some of the columns: released combinations of their values × true ones.

    A column is looked up in a table of outcomes × values: columns with few values all together in one matrix product,
    others one by one; only where the table would be huge are pairs computed directly. A column that is not told is
    public: it must agree.
    """

    def __init__(self, names: Sequence[str], released: CodedColumns, original: CodedColumns, telling: Telling) -> None:
        self._telling = telling
        self.records, self.people = _combinations(names, released), _combinations(names, original)
        self._narrow: list[tuple[Indices, Block, Indices]] = []
        self._wide: list[tuple[Indices, Block, Indices]] = []
        self._pairs: list[tuple[str, Codes, Codes]] = []
        for name, said, true in zip(names, self.records.columns, self.people.columns, strict=False):
            outcomes, values = distinct_rows([said]), distinct_rows([true])
            if len(outcomes) * len(values) > _LARGEST_TABLE:
                self._pairs.append((name, said, true))
                continue
            logs = self._logs_near(name, outcomes.columns[0][:, None], values.columns[0][None, :])
            tables = self._narrow if len(values) <= _NARROW else self._wide
            tables.append((outcomes.place, logs, values.place))
        self._indicators: Block = np.concatenate(
            [np.zeros((0, len(self.people)), bool)]
            + [np.arange(logs.shape[1])[:, None] == value for _, logs, value in self._narrow]
        )

    def round_to(self, precision: Precision) -> None:
        """Compute in this precision from now on."""
        self._indicators = self._indicators.astype(precision)
        self._narrow, self._wide = (
            [(outcome, logs.astype(precision), value) for outcome, logs, value in tables]
            for tables in (self._narrow, self._wide)
        )

    @property
    def depth(self) -> float:
        """How far apart likelihoods may lie, in logarithms, that are not impossible."""
        if self._pairs:
            return math.inf
        tables = [logs[logs > IMPOSSIBLE] for _, logs, _ in self._narrow + self._wide]
        return sum(float(np.ptp(possible)) for possible in tables if possible.size)

    def likelihoods(self, rows: slice) -> tuple[Block, Array]:
        """Of some released combinations × all true ones, over the largest of each, and the logarithm of that."""
        logs = self._logs(rows)
        highest = logs.max(axis=1, keepdims=True)
        highest[highest < IMPOSSIBLE / 10] = 0
        logs -= highest
        return np.exp(logs, out=logs), highest[:, 0].astype(float)

    def _logs(self, rows: slice) -> Block:
        nothing = np.zeros((len(range(len(self.records))[rows]), 0), self._indicators.dtype)
        told = [logs[outcome[rows]] for outcome, logs, _ in self._narrow]
        total: Block = np.concatenate([nothing, *told], axis=1) @ self._indicators
        for outcome, logs, value in self._wide:
            total += np.take(logs[outcome[rows]], value, axis=1)
        for name, said, true in self._pairs:
            total += self._logs_near(name, said[rows][:, None], true[None, :])
        return total

    def _logs_near(self, name: str, released: Codes, original: Codes) -> Array:
        if name not in self._telling.columns:
            return np.where(released == original, 0.0, IMPOSSIBLE)
        return np.maximum(self._telling.log_near(name, released, original), IMPOSSIBLE)


def _combinations(names: Sequence[str], codes: CodedColumns) -> DistinctRows:
    """The distinct rows of some columns; of none, one."""
    return distinct_rows([codes[name] for name in names] or [np.zeros(_count(codes), np.int32)])


def _count(codes: CodedColumns) -> int:
    return len(next(iter(codes.values())))


@dataclass(frozen=True)
class Cut:
    """The columns in two halves, and how many steps it takes to go through all pairs so: one a pair at most."""

    left: Sequence[str]
    right: Sequence[str]
    steps: int


def cut_between(released: CodedColumns, original: CodedColumns) -> Cut:
    """Halves that may have about as many combinations, or all on the left if that is less work."""
    values = {name: len(distinct_rows([codes])) for name, codes in released.items()}
    halves: tuple[list[str], list[str]] = [], []
    for name in sorted(values, key=lambda name: -values[name]):
        min(halves, key=lambda half: math.prod(values[other] for other in half)).append(name)
    (said_left, true_left), (said_right, true_right) = (
        (len(_combinations(half, released)), len(_combinations(half, original))) for half in halves
    )
    records, people = _count(released), _count(original)
    steps = _EXPONENTIAL * (said_left * true_left + said_right * true_right)
    steps += records * true_left + people * said_right
    if max(true_left, true_right) * said_right > _MOST_COMBINATIONS or steps > _EXPONENTIAL * records * people:
        return Cut(list(values), [], records * people)
    return Cut(*halves, min(steps, records * people))


@dataclass(frozen=True)
class Suspicion:
    """What the likelihoods of all people say of some records.

    Attributes
    ----------
    best : Array
        The log-likelihood given the most probable person.
    total : Array
        The log of the sum over everybody.
    ties : Array
        How many people are as probable as the most probable one.
    """

    best: Array
    total: Array
    ties: Array


class Likelihoods:
    """p(record | person) = by_chance + together·Π near, of records that tell the same columns.

    Parameters
    ----------
    telling : Telling
        How the records tell them.
    released : CodedColumns
        Records that differ: the columns that they tell, and public ones.
    original : CodedColumns
        People who differ, in the same columns.
    """

    def __init__(self, telling: Telling, released: CodedColumns, original: CodedColumns) -> None:
        self._records, self._people = _count(released), _count(original)
        cut = cut_between(released, original)
        left, right = (Half(names, released, original, telling) for names in (cut.left, cut.right))
        depth = 0.0 if len(right.people) == 1 else left.depth + right.depth
        if depth > _DEEPEST:
            left, right = (Half(names, released, original, telling) for names in (list(released), []))
        self._precision: Precision = np.float32 if self._people > _FEW and depth <= _DEEP else np.float64
        for half in (left, right):
            half.round_to(self._precision)
        across, heights = right.likelihoods(slice(None))
        self._left, self._across = left, _transposed(across)
        is_small = len(left.records) * len(left.people) <= _FEW_COMBINATIONS
        self._all_left = left.likelihoods(slice(None)) if is_small else None
        self._said_right, self._true_right = right.records.place, right.people.place
        self._order = np.argsort(left.records.place, kind="stable")
        self._by_left = np.argsort(left.people.place, kind="stable")
        with np.errstate(divide="ignore"):
            self._heights = heights[self._said_right] + np.log(telling.together)
            self._by_chance = float(np.log(telling.by_chance))
        self._copies = telling.log_copies(released)
        public = [name for name in original if name not in telling.columns]
        groups = _combinations(public, {name: np.concatenate([released[name], original[name]]) for name in released})
        self._groups = len(groups)
        self._group, self._group_of = np.split(groups.place, [self._records])

    def suspicion(self, sizes: Array) -> Suspicion:
        """Who is most probable, everybody together, and how many are as probable as the first.

        Parameters
        ----------
        sizes : Array
            How many are alike of each of the people who differ.
        """
        sums, (tops, alike) = self._sums(sizes), np.zeros((2, *self._shape[::-1]), self._precision)
        for lefts, people, starts, parts in self._by_lefts():
            highest = np.maximum.reduceat(parts, starts)
            is_top = parts >= (1 - _TIE) * np.repeat(highest, np.diff(starts, append=len(people)), axis=0)
            tops[lefts] = highest
            alike[lefts] = np.add.reduceat(is_top * sizes[people, None].astype(self._precision), starts)
        tops, alike = _transposed(tops), _transposed(alike)
        best, total, ties = np.zeros((3, self._records))
        for rows, left, height in self._blocks():
            said = self._said_right[rows]
            parts = left * _each(tops, said)
            highest = parts.max(axis=1)
            best[rows] = height + _log(highest)
            total[rows] = height + _log(np.einsum("ij,ij->i", left, _each(sums, said)))
            ties[rows] = ((parts >= (1 - _TIE) * highest[:, None]) * _each(alike, said)).sum(axis=1)
        everybody = self._of_group(sizes)
        by_chance = np.where(everybody > 0, self._by_chance, -math.inf)
        ties = np.where(best > by_chance + math.log(_TIE), ties, everybody)
        most, altogether = np.logaddexp(best, by_chance), np.logaddexp(total, by_chance + _log(everybody))
        return Suspicion(most + self._copies, altogether + self._copies, ties)

    def claims(self, weights: Array, alike: Array) -> Array:
        """Σ p(record | person) / Σ p·weights over all records, for each person.

        Parameters
        ----------
        weights : Array
            How much each of the people who differ counts.
        alike : Array
            How many are alike of each of the records that differ.
        """
        sums, claims = self._sums(weights), np.zeros(self._shape, self._precision)
        by_chance = self._by_chance + _log(self._of_group(weights))
        claimed = np.zeros(self._groups)
        for rows, left, height in self._blocks():
            said = self._said_right[rows]
            near = height + _log(np.einsum("ij,ij->i", left, _each(sums, said)))
            total = np.logaddexp(near, by_chance[rows])
            total[total == -math.inf] = math.inf
            there, column = np.unique(said, return_inverse=True)
            values: Block = (alike[rows] * np.exp(height - total)).astype(self._precision)
            claims[there] += csr_array((values, (column, np.arange(len(rows)))), shape=(len(there), len(rows))) @ left
            claimed += np.bincount(self._group[rows], alike[rows] * np.exp(self._by_chance - total), self._groups)
        found, claims = claimed[self._group_of], _transposed(claims)
        for lefts, people, _, parts in self._by_lefts():
            place = self._left.people.place[people] - lefts.start
            found[people] += np.einsum("ij,ij->i", parts, claims[lefts][place])
        return found

    def likeliest(self, weights: Array) -> Indices:
        """The person with the largest p·weight, for each record."""
        tops, who = np.zeros(self._shape[::-1], self._precision), np.zeros(self._shape[::-1], np.int32)
        for lefts, people, starts, near in self._by_lefts():
            parts = near * weights[people, None].astype(self._precision)
            highest = np.maximum.reduceat(parts, starts)
            is_top = parts == np.repeat(highest, np.diff(starts, append=len(people)), axis=0)
            tops[lefts] = highest
            who[lefts] = np.maximum.reduceat(np.where(is_top, people[:, None].astype(np.int32), -1), starts)
        tops = _transposed(tops)
        heaviest = np.zeros(self._groups, np.intp)
        heaviest[self._group_of[np.argsort(weights)]] = np.argsort(weights)
        found = heaviest[self._group]
        for rows, left, height in self._blocks():
            said = self._said_right[rows]
            parts = left * _each(tops, said)
            chosen = parts.argmax(axis=1)
            nearest = who[chosen, said]
            near = height + _log(np.take_along_axis(parts, chosen[:, None], axis=1)[:, 0])
            also_by_chance = np.logaddexp(near, self._by_chance + _log(weights[nearest]))
            is_near = (near > -math.inf) & (also_by_chance >= self._by_chance + _log(weights[found[rows]]))
            found[rows] = np.where(is_near, nearest, found[rows])
        return found

    def _of_group(self, weights: Array) -> Array:
        """Of everybody who shares the public values of a record."""
        return np.bincount(self._group_of, weights, self._groups).astype(float)[self._group]

    @property
    def _shape(self) -> tuple[int, int]:
        """Released right halves × true left ones."""
        return self._across.shape[1], len(self._left.people)

    def _sums(self, weights: Array) -> Block:
        """Σ near·weight over the right halves that occur with each left one."""
        places = self._left.people.place, self._true_right
        weighed: Block = weights.astype(self._precision)
        people = csr_array((weighed, places), shape=(self._shape[1], len(self._across)))
        return _transposed(people @ self._across)

    def _by_lefts(self) -> Iterator[tuple[slice, Indices, Indices, Block]]:
        """People in the order of their left halves, some of these at a time: near of each × right halves."""
        place = self._left.people.place[self._by_left]
        bounds = np.searchsorted(place, np.arange(self._shape[1] + 1))
        step = max(1, _BLOCK_CELLS * self._shape[1] // (len(place) * self._shape[0]))
        for first in range(0, self._shape[1], step):
            lefts = slice(first, min(first + step, self._shape[1]))
            people = self._by_left[bounds[lefts.start] : bounds[lefts.stop]]
            yield lefts, people, bounds[lefts] - bounds[first], self._across[self._true_right[people]]

    def _blocks(self) -> Iterator[tuple[Indices, Block, Array]]:
        """Records in the order of their left halves, some at a time.

        Which they are; near of the left half of each × true ones, over the largest; the logarithm of what is left out.
        """
        step = max(1, _BLOCK_CELLS // self._shape[1])
        for start in range(0, self._records, step):
            rows = self._order[start : start + step]
            place = self._left.records.place[rows]
            if self._all_left is None:
                left, heights = self._left.likelihoods(slice(place[0], place[-1] + 1))
                place = place - place[0]
            else:
                left, heights = self._all_left
            is_each = place[-1] - place[0] + 1 == len(left) == len(rows)
            yield rows, left if is_each else left[place], heights[place] + self._heights[rows]


def _each(table: Block, rows: Indices) -> Block:
    """The row of a table for each of these; as it is where it has but one row for all."""
    return table if len(table) == 1 else table[rows]


def _transposed(table: Block) -> Block:
    """Some rows at a time: numpy's own way leaves the cache for every cell."""
    turned = np.empty(table.shape[::-1], table.dtype)
    for start in range(0, len(table), _TURNED):
        turned[:, start : start + _TURNED] = table[start : start + _TURNED].T
    return turned


def _log(values: Block) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(values).astype(float)
