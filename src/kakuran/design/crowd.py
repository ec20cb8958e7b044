"""In how large a crowd does each person stand? The swap bound of maths §2, exactly.

Whoever knows the whole true table can link person i to a released record with probability at most
1 / Σ_j m_ij, where m_ij = exp(−swap cost of i and j) and the sum runs over everybody, i included. That sum
is the person's crowd. Two ways to the smallest crowd, chosen by size:

- `DenseCrowd`: a histogram over all cells, one pass per axis, O(cells);
- `SparseCrowd`: distinct × distinct records, where records leave as soon as their crowd is large enough.

Columns without a mechanism are public: people who differ there are never in each other's crowd.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.mechanism import Mechanism
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array, Codes

MechanismsByName: TypeAlias = Mapping[str, Mechanism]

DENSE_CELLS = 1 << 22
_ROWS, _COLUMNS = 1024, 1024


class Crowd(ABC):
    """The records of a table, counted batch by batch, and the crowds they stand in."""

    def __init__(self, attributes: Sequence[Categorical | Numeric]) -> None:
        self.attributes = tuple(attributes)
        self.n = 0

    @staticmethod
    def of(attributes: Sequence[Categorical | Numeric]) -> Crowd:
        """An empty crowd over these attributes."""
        cells = math.prod(attribute.size for attribute in attributes)
        return DenseCrowd(attributes) if cells <= DENSE_CELLS else SparseCrowd(attributes)

    @abstractmethod
    def update(self, codes: Mapping[str, Codes], n: int) -> None:
        """Count n more records."""

    @abstractmethod
    def merge(self, other: Any) -> None:
        """Count the records of another crowd over the same attributes too."""

    @abstractmethod
    def smallest(self, mechanisms: MechanismsByName, cap: float = math.inf, enough: float = 0.0) -> float:
        """The smallest crowd of anybody, or `cap` if that is smaller.

        May stop at the first crowd found below `enough`; the answer is then that crowd, not the smallest.
        """

    @property
    @abstractmethod
    def fewest_alike(self) -> int:
        """The fewest people who share all their values: the smallest crowd without any noise."""

    def reaches(self, k: float, mechanisms: MechanismsByName) -> bool:
        """Whether everybody's crowd is at least k."""
        return self.smallest(mechanisms, cap=k, enough=k) >= k


class DenseCrowd(Crowd):
    """A histogram over every possible record."""

    def __init__(self, attributes: Sequence[Categorical | Numeric]) -> None:
        super().__init__(attributes)
        self.counts: Array = np.zeros(tuple(attribute.size for attribute in attributes))

    def update(self, codes: Mapping[str, Codes], n: int) -> None:
        """Add to the histogram."""
        self.n += n
        if not self.attributes:
            self.counts += n
            return
        cell = np.ravel_multi_index([codes[attribute.name] for attribute in self.attributes], self.counts.shape)
        if len(cell) < self.counts.size:
            np.add.at(self.counts.reshape(-1), cell, 1.0)
        else:
            self.counts += np.bincount(cell, minlength=self.counts.size).reshape(self.counts.shape)

    def merge(self, other: DenseCrowd) -> None:
        """Add the histograms."""
        self.n += other.n
        self.counts += other.counts

    def smallest(self, mechanisms: MechanismsByName, cap: float = math.inf, enough: float = 0.0) -> float:
        """One pass per perturbed axis, then the least over the cells that hold somebody."""
        sums = self.counts
        for axis, attribute in enumerate(self.attributes):
            if attribute.name in mechanisms:
                sums = mechanisms[attribute.name].swap_sums(sums, axis)
        return min(cap, float(sums[self.counts > 0].min()))

    @property
    def fewest_alike(self) -> int:
        """The smallest cell that holds somebody."""
        return int(self.counts[self.counts > 0].min())


class SparseCrowd(Crowd):
    """The distinct records and how often each occurs."""

    def __init__(self, attributes: Sequence[Categorical | Numeric]) -> None:
        super().__init__(attributes)
        self._records: NDArray[np.int32] = np.empty((0, len(self.attributes)), np.int32)
        self._counts: NDArray[np.int64] = np.empty(0, np.int64)
        self._hardest: NDArray[np.intp] = np.zeros(1, np.intp)

    def update(self, codes: Mapping[str, Codes], n: int) -> None:
        """Merge into the distinct records."""
        if not n:
            return
        batch = np.column_stack([codes[attribute.name] for attribute in self.attributes])
        self._add(batch, np.ones(n, np.int64))

    def merge(self, other: SparseCrowd) -> None:
        """Merge the distinct records of both."""
        if other.n:
            self._add(other._records, other._counts)

    def _add(self, more: NDArray[np.int32], copies: NDArray[np.int64]) -> None:
        self.n += int(copies.sum())
        records = np.concatenate([self._records, more])
        weights = np.concatenate([self._counts, copies])
        order = np.lexsort(records.T)
        records, weights = records[order], weights[order]
        is_first = np.concatenate([[True], (records[1:] != records[:-1]).any(axis=1)])
        self._records = records[is_first]
        self._counts = np.add.reduceat(weights, np.flatnonzero(is_first))
        self._hardest = np.array([np.argmin(self._counts)])

    def smallest(self, mechanisms: MechanismsByName, cap: float = math.inf, enough: float = 0.0) -> float:
        """Sum over others, most frequent first; a record leaves once its crowd has reached the bound.

        Partial sums only ever grow, so leaving early is safe, and whoever stays to the end has been summed in full.
        The record that was hardest last time is tried first: it usually settles the question.
        """
        others = np.argsort(-self._counts, kind="stable")
        bound = min(cap, self._crowds(self._hardest, others, mechanisms).item())
        if bound < enough:
            return bound
        staying = np.flatnonzero(self._counts < bound)
        sums = np.zeros(len(staying))
        for start in range(0, len(others), _COLUMNS):
            if not len(staying):
                return bound
            sums += self._crowds(staying, others[start : start + _COLUMNS], mechanisms)
            staying, sums = staying[sums < bound], sums[sums < bound]
        if len(staying):
            self._hardest = staying[[np.argmin(sums)]]
            bound = float(sums.min())
        return bound

    def _crowds(self, rows: NDArray[np.intp], columns: NDArray[np.intp], mechanisms: MechanismsByName) -> Array:
        """The part of each row's crowd that these columns make up."""
        parts = []
        for start in range(0, len(rows), _ROWS):
            block = rows[start : start + _ROWS]
            total = np.zeros(len(block))
            for first in range(0, len(columns), _COLUMNS):
                chosen = columns[first : first + _COLUMNS]
                total += np.exp(-self._costs(block, chosen, mechanisms)) @ self._counts[chosen]
            parts.append(total)
        return np.concatenate(parts)

    def _costs(self, rows: NDArray[np.intp], columns: NDArray[np.intp], mechanisms: MechanismsByName) -> Array:
        cost = np.zeros((len(rows), len(columns)))
        for place, attribute in enumerate(self.attributes):
            a, b = self._records[rows, place][:, None], self._records[columns, place][None, :]
            mechanism = mechanisms.get(attribute.name)
            cost += np.where(a != b, math.inf, 0.0) if mechanism is None else mechanism.swap_cost(a, b)
        return cost

    @property
    def fewest_alike(self) -> int:
        """The fewest copies of any record."""
        return int(self._counts.min())
