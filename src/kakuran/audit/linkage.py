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

from kakuran.counts import distinct_rows
from kakuran.mechanism import Mechanism
from kakuran.typing import Array, Codes, Indices

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
    posteriors : Array
        For every attacked record, the probability that the most probable person is the right one.
    densities : Array
        Log of the mean likelihood of every attacked record, which is high where noise was weak.
    linked : float | None
        Share linked to the right person, one by one.
    linked_one_to_one : float | None
        Share linked to the right person when all are matched at once, where that was played.
    """

    posteriors: Array
    densities: Array
    linked: float | None
    linked_one_to_one: float | None


class Attacker:
    """Likelihoods of released records given every person of the true table.

    People who are alike are one class, and records that are alike are attacked once: cost follows what differs. A
    column is looked up in a table of outcomes × values: columns with few values all together in one matrix product,
    others one by one; only where the table would be huge are pairs computed directly. A column without a mechanism
    is public: it must agree.
    """

    def __init__(self, original: Mapping[str, Codes], mechanisms: Mapping[str, Mechanism]) -> None:
        self.original = original
        self.mechanisms = mechanisms
        self.people = len(next(iter(original.values())))
        self._precision = np.float64 if self.people <= ASSIGNABLE else np.float32
        classes = distinct_rows(list(original.values()))
        self._classes = dict(zip(original, classes.columns, strict=True))
        self._class_of, self._sizes = classes.place, classes.counts.astype(self._precision)
        self._tables: dict[str, NDArray[np.floating]] = {}
        self._places: dict[str, Indices] = {}
        for name, mechanism in mechanisms.items():
            values, places = np.unique(self._classes[name], return_inverse=True)
            outcomes = np.arange(-mechanism.reach, mechanism.size + mechanism.reach, dtype=np.int32)
            if len(outcomes) * len(values) <= _LARGEST_TABLE:
                logs = mechanism.log_likelihood(outcomes[:, None], values[None, :])
                self._tables[name] = np.maximum(logs, IMPOSSIBLE).astype(self._precision)
                self._places[name] = places
        self._narrow = [name for name, table in self._tables.items() if table.shape[1] <= _NARROW]
        widths = [self._tables[name].shape[1] for name in self._narrow]
        self._indicators = np.zeros((sum(widths), len(self._sizes)), self._precision)
        for name, offset in zip(self._narrow, np.cumsum([0, *widths]), strict=False):
            self._indicators[offset + self._places[name], np.arange(len(self._sizes))] = 1

    def log_likelihoods(self, released: Mapping[str, Codes]) -> NDArray[np.floating]:
        """log p(released record | person): records × people; in single precision where there are many."""
        return self._by_class(released, slice(None))[:, self._class_of]

    def _by_class(self, released: Mapping[str, Codes], rows: slice) -> NDArray[np.floating]:
        """log p(released record | person of a class): some records × classes."""
        chosen = {name: codes[rows] for name, codes in released.items()}
        rows_of = {name: table[chosen[name] + self.mechanisms[name].reach] for name, table in self._tables.items()}
        nothing = np.zeros((len(next(iter(chosen.values()))), 0), self._precision)
        total = np.concatenate([nothing, *(rows_of[name] for name in self._narrow)], axis=1) @ self._indicators
        for name, codes in self._classes.items():
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
        owners: Indices | None,
        dice: np.random.Generator,
        progress: Callable[[int], object] = int,
    ) -> LinkageAttack:
        """Link released records to people; count the right links where the true `owners` are known.

        All are matched at once only when every person's record is attacked and the owners are known.
        """
        count = len(next(iter(released.values())))
        is_matched = owners is not None and count == self.people
        if is_matched and self.people > ASSIGNABLE:
            progress = _spread(progress, 2 + _SCALINGS)
        found = distinct_rows(list(released.values()))
        records, record_of = dict(zip(released, found.columns, strict=True)), found.place
        posteriors, densities, right = np.empty(count), np.empty(count), 0.0
        for rows, logs in self._blocks(records):
            here = np.flatnonzero((rows.start <= record_of) & (record_of < rows.stop))
            highest = logs.max(axis=1)
            sums = np.exp(logs - highest[:, None]) @ self._sizes
            posteriors[here] = (1 / sums)[record_of[here] - rows.start]
            densities[here] = (highest + np.log(sums / self.people))[record_of[here] - rows.start]
            if owners is not None:
                is_best = logs >= highest[:, None] - _TIE
                chances = is_best / (is_best @ self._sizes)[:, None]
                right += chances[record_of[here] - rows.start, self._class_of[owners[here]]].sum()
            progress(len(here))
        if owners is None:
            return LinkageAttack(posteriors, densities, None, None)
        matched = self._match(records, record_of, dice, progress) if is_matched else None
        together = None if matched is None else float((matched == owners).mean())
        return LinkageAttack(posteriors, densities, float(right / count), together)

    def _blocks(self, records: Mapping[str, Codes]) -> Iterator[tuple[slice, NDArray[np.floating]]]:
        """All records, as many at a time as stay in cache; the next block is computed while the last one is used."""
        count = len(next(iter(records.values())))
        height = max(8, _BLOCK_CELLS // len(self._sizes))
        parts = [slice(start, min(start + height, count)) for start in range(0, count, height)]
        with ThreadPoolExecutor(1) as pool:
            upcoming = pool.submit(self._by_class, records, parts[0])
            for rows, following in zip_longest(parts, parts[1:]):
                logs = upcoming.result()
                if following is not None:
                    upcoming = pool.submit(self._by_class, records, following)
                yield rows, logs

    def _match(
        self,
        records: Mapping[str, Codes],
        record_of: Indices,
        dice: np.random.Generator,
        progress: Callable[[int], object],
    ) -> Indices:
        """The person of every record when each has exactly one.

        Small tables: the most probable matching. Large ones: the most probable person of each record once every
        person's posteriors have been made to add up to one record as well (Sinkhorn scaling).
        """
        if self.people <= ASSIGNABLE:
            from scipy.optimize import linear_sum_assignment

            logs = self._by_class(records, slice(None))[np.ix_(record_of, self._class_of)]
            return linear_sum_assignment(logs + 1e-9 * dice.random(logs.shape), maximize=True)[1]
        alike = np.bincount(record_of).astype(np.float32)
        prices = np.zeros(len(self._sizes), np.float32)
        for _ in range(_SCALINGS):
            claims = np.zeros(len(self._sizes), np.float32)
            for rows, logs in self._blocks(records):
                np.subtract(logs, prices, out=logs)
                np.subtract(logs, logs.max(axis=1, keepdims=True), out=logs)
                shares = np.exp(logs, out=logs)
                claims += (alike[rows] / (shares @ self._sizes)) @ shares
                progress(int(alike[rows].sum()))
            prices += np.log(claims)
        likeliest = []
        luck = dice.random(self.people, np.float32)
        luckiest = np.lexsort((luck, self._class_of))[np.cumsum(self._sizes.astype(np.intp)) - 1]
        for rows, logs in self._blocks(records):
            likeliest.append((logs - prices + _TIE * luck[luckiest]).argmax(axis=1))
            progress(int(alike[rows].sum()))
        return luckiest[np.concatenate(likeliest)][record_of]


def _spread(progress: Callable[[int], object], passes: int) -> Callable[[int], object]:
    """Progress over several passes, told as that of one."""
    done = 0

    def advance(records: int) -> None:
        nonlocal done
        before, done = done, done + records
        progress(done // passes - before // passes)

    return advance


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
