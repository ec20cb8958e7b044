"""The strongest attacker we can compute: knows the whole true table and every parameter of the release.

For each released record the attacker forms the posterior over the people it may belong to and links it to the most
probable one; knowing that every person has exactly one record, the attacker can also choose the most probable way to
match them all. On tables of a handful of records the posterior is exact: all assignments are enumerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import permutations, zip_longest

import numpy as np
from numpy.typing import NDArray

from kakuran.mechanism import Mechanism
from kakuran.mechanism.base import Array, Codes

ENUMERABLE = 8
"""Records up to which all assignments are enumerated."""

ASSIGNABLE = 2000
"""Records up to which the most probable one-to-one matching is found exactly."""

IMPOSSIBLE = -1e12
"""What stands for the log-likelihood of a record that cannot be a person's."""

_NARROW = 32
_LARGEST_TABLE = 1 << 22
_BLOCK_CELLS = 1 << 20
_TIE = 1e-4
_SCALINGS = 5


@dataclass(frozen=True)
class LinkageAttack:
    """What linking released records to people achieved.

    Attributes
    ----------
    posteriors : for every attacked record, the probability that the most probable person is the right one
    densities : log of the mean likelihood of every attacked record, which is high where noise was weak
    linked : share linked to the right person, one by one
    linked_one_to_one : share linked to the right person when all are matched at once, where that was played
    """

    posteriors: Array
    densities: Array
    linked: float | None
    linked_one_to_one: float | None


class Attacker:
    """Likelihoods of released records given every person of the true table.

    A column is looked up in a table of outcomes × values: columns with few values all together in one matrix product,
    others one by one; only where the table would be huge are pairs computed directly. A column without a mechanism
    is public: it must agree.
    """

    def __init__(self, original: Mapping[str, Codes], mechanisms: Mapping[str, Mechanism]) -> None:
        self.original = original
        self.mechanisms = mechanisms
        self.people = len(next(iter(original.values())))
        self._precision = np.float64 if self.people <= ASSIGNABLE else np.float32
        self._tables: dict[str, NDArray[np.floating]] = {}
        self._places: dict[str, NDArray[np.intp]] = {}
        for name, mechanism in mechanisms.items():
            values, places = np.unique(original[name], return_inverse=True)
            outcomes = np.arange(-mechanism.reach, mechanism.size + mechanism.reach, dtype=np.int32)
            if len(outcomes) * len(values) <= _LARGEST_TABLE:
                logs = mechanism.log_likelihood(outcomes[:, None], values[None, :])
                self._tables[name] = np.maximum(logs, IMPOSSIBLE).astype(self._precision)
                self._places[name] = places
        self._narrow = [name for name, table in self._tables.items() if table.shape[1] <= _NARROW]
        widths = [self._tables[name].shape[1] for name in self._narrow]
        self._indicators = np.zeros((sum(widths), self.people), self._precision)
        for name, offset in zip(self._narrow, np.cumsum([0, *widths]), strict=False):
            self._indicators[offset + self._places[name], np.arange(self.people)] = 1

    def log_likelihoods(self, released: Mapping[str, Codes], rows: slice) -> NDArray[np.floating]:
        """log p(released record | person): attacked records × people; in single precision where there are many."""
        chosen = {name: codes[rows] for name, codes in released.items()}
        rows_of = {name: table[chosen[name] + self.mechanisms[name].reach] for name, table in self._tables.items()}
        nothing = np.zeros((len(next(iter(chosen.values()))), 0), self._precision)
        total = np.concatenate([nothing, *(rows_of[name] for name in self._narrow)], axis=1) @ self._indicators
        for name, codes in self.original.items():
            if name in self._narrow:
                continue
            if name in self._tables:
                total += rows_of[name][:, self._places[name]]
            else:
                total += self._pair_by_pair(name, chosen[name][:, None], codes[None, :])
        return total

    def _pair_by_pair(self, name: str, released: Codes, original: Codes) -> Array:
        if name not in self.mechanisms:
            return np.where(released == original, 0.0, IMPOSSIBLE)
        return np.maximum(self.mechanisms[name].log_likelihood(released, original), IMPOSSIBLE)

    def attack(
        self,
        released: Mapping[str, Codes],
        owners: NDArray[np.intp] | None,
        dice: np.random.Generator,
        progress: Callable[[int], object] = int,
    ) -> LinkageAttack:
        """Link released records to people; count the right links where the true `owners` are known.

        All are matched at once only when every person's record is attacked and the owners are known.
        """
        count = len(next(iter(released.values())))
        posteriors, densities, right = np.empty(count), np.empty(count), 0.0
        for rows, logs in self._blocks(released):
            highest = logs.max(axis=1)
            sums = np.exp(logs - highest[:, None]).sum(axis=1)
            posteriors[rows] = 1 / sums
            densities[rows] = highest + np.log(sums / self.people)
            if owners is not None:
                is_best = logs >= highest[:, None] - _TIE
                right += (is_best[np.arange(len(logs)), owners[rows]] / is_best.sum(axis=1)).sum()
            progress(rows.stop - rows.start)
        if owners is None:
            return LinkageAttack(posteriors, densities, None, None)
        matched = self._match(released, dice) if count == self.people else None
        together = None if matched is None else float((matched == owners).mean())
        return LinkageAttack(posteriors, densities, float(right / count), together)

    def _blocks(self, released: Mapping[str, Codes]) -> Iterator[tuple[slice, NDArray[np.floating]]]:
        """All records, as many at a time as stay in cache; the next block is computed while the last one is used."""
        count = len(next(iter(released.values())))
        height = max(8, _BLOCK_CELLS // self.people)
        parts = [slice(start, min(start + height, count)) for start in range(0, count, height)]
        with ThreadPoolExecutor(1) as pool:
            upcoming = pool.submit(self.log_likelihoods, released, parts[0])
            for rows, following in zip_longest(parts, parts[1:]):
                logs = upcoming.result()
                if following is not None:
                    upcoming = pool.submit(self.log_likelihoods, released, following)
                yield rows, logs

    def _match(self, released: Mapping[str, Codes], dice: np.random.Generator) -> NDArray[np.intp]:
        """The person of every record when each has exactly one.

        Small tables: the most probable matching. Large ones: the most probable person of each record once every
        person's posteriors have been made to add up to one record as well (Sinkhorn scaling).
        """
        if self.people <= ASSIGNABLE:
            from scipy.optimize import linear_sum_assignment

            logs = np.concatenate([block for _, block in self._blocks(released)])
            return linear_sum_assignment(logs + 1e-9 * dice.random(logs.shape), maximize=True)[1]
        prices = np.zeros(self.people, np.float32)
        for _ in range(_SCALINGS):
            claims = np.zeros(self.people, np.float32)
            for _, logs in self._blocks(released):
                np.subtract(logs, prices, out=logs)
                np.subtract(logs, logs.max(axis=1, keepdims=True), out=logs)
                shares = np.exp(logs, out=logs)
                claims += (1 / shares.sum(axis=1)) @ shares
            prices += np.log(claims)
        tie_break = _TIE * dice.random(self.people, np.float32)
        return np.concatenate([(logs - prices + tie_break).argmax(axis=1) for _, logs in self._blocks(released)])


def exact_posteriors(log_likelihoods: Array) -> Array:
    """Pr[released record s belongs to person i] over all assignments, s × i (maths §2)."""
    size = len(log_likelihoods)
    orders = np.array(list(permutations(range(size))))
    logs = log_likelihoods[np.arange(size), orders].sum(axis=1)
    weights = np.exp(logs - logs.max())
    posterior = np.zeros((size, size))
    for record in range(size):
        np.add.at(posterior[record], orders[:, record], weights)
    return posterior / weights.sum()
