"""In how large a crowd does each person stand? The swap bound of maths §2, exactly.

Whoever knows the whole true table can link person i to a released record with probability at most
1 / Σ_j m_ij, where m_ij = exp(−swap cost of i and j) and the sum runs over everybody, i included. That sum
is the person's crowd. Two ways to the smallest crowd, chosen by how the table was counted:

- over all cells, one pass per axis, O(cells);
- over distinct × distinct records, where records leave as soon as their crowd is large enough.

Columns without a mechanism are public: people who differ there are never in each other's crowd.

Where records tell only some columns, as one value, somebody who differs in what a record tells costs 2ε, and somebody
who does not but differs elsewhere costs ε: only the other one's record may tell of it. The smallest crowd is that of
the worst tell (maths §10).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.counts import DenseTally, Tally, distinct_rows
from kakuran.mechanism import Mechanism, Telling
from kakuran.typing import Array, Codes

MechanismsByName: TypeAlias = Mapping[str, Mechanism]

_ROWS, _COLUMNS = 1024, 1024
_FEW_VALUES = 32
_INFINITE = 1e9
"""A cost of which nothing is left."""


class Crowd:
    """The crowds that the people of a table stand in.

    Parameters
    ----------
    tally : Tally
        The table, counted over every code of the columns that the attacker may know.
    """

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._names = [axis.name for axis in tally.axes]
        if not isinstance(tally, DenseTally):
            places, self._counts = tally.occupied()
            self._places = [place.astype(np.int32) for place in places]
            self._hardest: NDArray[np.intp] = np.argmin(self._counts, keepdims=True)

    def reaches(self, k: float, tellings: Sequence[Telling]) -> bool:
        """Whether everybody's crowd is at least k."""
        return self.smallest(tellings, cap=k, enough=k) >= k

    def smallest(self, tellings: Sequence[Telling], cap: float = math.inf, enough: float = 0.0) -> float:
        """The smallest crowd of anybody, or `cap` if that is smaller, where records tell one of these.

        May stop at the first crowd found below `enough`; the answer is then that crowd, not the smallest.
        """
        mechanisms = tellings[0].by_column
        if mechanisms is None:
            return min(cap, *(self._smallest_of_tell(telling, tellings) for telling in tellings))
        if isinstance(self._tally, DenseTally):
            return min(cap, self._smallest_of_cells(self._tally.counts, mechanisms))
        return self._smallest_of_records(mechanisms, cap, enough)

    def _smallest_of_tell(self, telling: Telling, tellings: Sequence[Telling]) -> float:
        """Among those whose record tells the same columns: equals, those equal in what is told, and all others."""
        places, equal = self._tally.occupied()
        named = dict(zip(self._names, places, strict=True))
        perturbed = set().union(*(one.columns for one in tellings))
        public = [place for name, place in named.items() if name not in perturbed]
        told = [named[name] for name in telling.columns if name in named]
        everybody, alike = (self._sizes(columns, equal) for columns in (public, public + told))
        factor = math.exp(-max(one.epsilon for one in tellings))
        return float((equal + factor * (alike - equal) + factor**2 * (everybody - alike)).min())

    @staticmethod
    def _sizes(columns: Sequence[NDArray[np.intp]], counts: Array) -> Array:
        """For each distinct record, how many people share its values of some columns."""
        if not columns:
            return np.full(len(counts), counts.sum())
        groups = distinct_rows(columns, counts)
        return groups.counts[groups.place].astype(float)

    def _smallest_of_cells(self, counts: Array, mechanisms: MechanismsByName) -> float:
        """One pass per perturbed axis, then the least over the cells that hold somebody."""
        sums = counts
        for axis, name in enumerate(self._names):
            if name in mechanisms:
                sums = mechanisms[name].swap_sums(sums, axis)
        return float(sums[counts > 0].min())

    def _smallest_of_records(self, mechanisms: MechanismsByName, cap: float, enough: float) -> float:
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
        """Columns of few values are looked up all together, in one matrix product; others go one by one."""
        cost = np.zeros((len(rows), len(columns)))
        looked_up, values = [np.zeros((len(rows), 0))], [np.zeros((0, len(columns)), bool)]
        for name, size, places in zip(self._names, self._tally.shape, self._places, strict=True):
            mechanism, a, b = mechanisms.get(name), places[rows], places[columns]
            if size <= _FEW_VALUES:
                codes = np.arange(size, dtype=np.int32)
                looked_up.append(_swap_cost(mechanism, codes[:, None], codes[None, :])[a])
                values.append(codes[:, None] == b)
            else:
                cost += _swap_cost(mechanism, a[:, None], b[None, :])
        cost += np.concatenate(looked_up, axis=1) @ np.concatenate(values).astype(float)
        return cost


def _swap_cost(mechanism: Mechanism | None, a: Codes, b: Codes) -> Array:
    """Of columns that are public, too; finite, so that it may be multiplied by 0."""
    cost = np.where(a != b, math.inf, 0.0) if mechanism is None else mechanism.swap_cost(a, b)
    return np.minimum(cost, _INFINITE)
