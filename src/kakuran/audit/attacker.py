"""The strongest attacker we can compute: knows the whole true table and every parameter of the release.

For each released record the attacker forms the posterior over the people it may belong to and links it to the most
probable one; knowing that every person has exactly one record, the attacker can also choose the most probable way to
match them all. On tables of a handful of records the posterior is exact: all assignments are enumerated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from kakuran.audit.likelihoods import IMPOSSIBLE, Likelihoods, cut_between
from kakuran.counts import DistinctRows, distinct_rows, rows_of_each
from kakuran.mechanism import Telling
from kakuran.perturbation import CodedColumns
from kakuran.typing import Array, Indices, Progress

ENUMERABLE = 8
"""Records up to which all assignments are enumerated."""

ASSIGNABLE = 2000
"""Records up to which the most probable one-to-one matching is found exactly."""

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


@dataclass(frozen=True, eq=False)
class _Part:
    """The distinct records that tell the same columns."""

    rows: Indices
    """Which of all distinct records they are."""
    likelihoods: Likelihoods
    person_of: Indices
    """Whom of the people that differ in what is told each of those that differ anywhere is."""

    def weighed(self, weights: Array) -> Array:
        """The weights of people who do not differ in what is told, added up."""
        return np.bincount(self.person_of, weights).astype(float)


class Attacker:
    """Likelihoods of released records given every person of the true table.

    People who are alike are one class, and records that are alike are attacked once: cost follows what differs. What a
    record tells was drawn without looking at it, so that it says nothing of whose it is; people who are alike in the
    columns that it tells are one class to it. Columns that no record tells are public: they must agree.

    Parameters
    ----------
    original : CodedColumns
        The true table.
    tellings : Sequence[Telling]
        How records tell their columns.
    told : str | None
        The column of a release that says which of these a record is; None where there is but one.
    """

    def __init__(self, original: CodedColumns, tellings: Sequence[Telling], told: str | None = None) -> None:
        self.original, self.tellings, self.told = original, tellings, told
        self.people = len(next(iter(original.values())))
        self._public = set(original).difference(*(telling.columns for telling in tellings))
        classes = distinct_rows(list(original.values()))
        self._classes = dict(zip(original, classes.columns, strict=True))
        self._class_of, self._sizes = classes.place, classes.counts.astype(float)

    def log_likelihoods(self, released: CodedColumns) -> Array:
        """log p(released record | person), given what it tells: records × people."""
        return self._log_likelihoods_of_classes(released)[:, self._class_of]

    def _log_likelihoods_of_classes(self, released: CodedColumns) -> Array:
        found = np.empty((len(next(iter(released.values()))), len(self._sizes)))
        for rows, telling in self._by_telling(released):
            some = {name: codes[rows, None] for name, codes in released.items()}
            found[rows] = self._logs(telling, some, self._classes)
        return found

    def log_likelihoods_of(self, released: CodedColumns, owners: Indices) -> Array:
        """The same of every record and one person."""
        found = np.empty(len(owners))
        for rows, telling in self._by_telling(released):
            some, own = (
                {name: codes[places] for name, codes in table.items()}
                for table, places in ((released, rows), (self.original, owners[rows]))
            )
            found[rows] = self._logs(telling, some, own)
        return found

    def _logs(self, telling: Telling, released: CodedColumns, original: CodedColumns) -> Array:
        logs = np.maximum(telling.log_likelihood(released, original), IMPOSSIBLE)
        for name in self._public:
            logs = np.where(released[name] == original[name], logs, IMPOSSIBLE)
        return logs

    def _by_telling(self, released: CodedColumns) -> Iterator[tuple[Indices, Telling]]:
        """The records that tell the same columns."""
        told = np.zeros(len(next(iter(released.values()))), np.int32) if self.told is None else released[self.told]
        for rows, telling in zip(rows_of_each(told, len(self.tellings)), self.tellings, strict=True):
            if len(rows):
                yield rows, telling

    def attack(
        self,
        released: CodedColumns,
        owners: Indices | None,
        dice: np.random.Generator,
        progress: Progress = int,
    ) -> LinkageAttack:
        """Link released records to people; count the right links where the true `owners` are known.

        All are matched at once only when every person's record is attacked and the owners are known.
        """
        found = distinct_rows(list(released.values()))
        parts = list(self._parts(dict(zip(released, found.columns, strict=True))))
        is_matched = owners is not None and len(found.place) == self.people
        if is_matched and self.people > ASSIGNABLE:
            progress = _spread(progress, 2 + _SCALINGS)
        best, total, ties = np.empty((3, len(found)))
        for part in parts:
            seen = part.likelihoods.suspicion(part.weighed(self._sizes))
            best[part.rows], total[part.rows], ties[part.rows] = seen.best, seen.total, seen.ties
            progress(int(found.counts[part.rows].sum()))
        is_possible = total > IMPOSSIBLE
        total[~is_possible] = IMPOSSIBLE
        posteriors, densities = np.exp(best - total)[found.place], total[found.place] - np.log(self.people)
        if owners is None:
            return LinkageAttack(posteriors, densities, None, None)
        is_right = self.log_likelihoods_of(released, owners) >= np.where(is_possible, best - _TIE, 0)[found.place]
        linked = float((is_right / np.maximum(ties, 1)[found.place]).mean())
        if not is_matched:
            return LinkageAttack(posteriors, densities, linked, None)
        if self.people <= ASSIGNABLE:
            matched = self._assigned(released, dice)
        else:
            matched = self._scaled(parts, found.counts.astype(float), dice, progress)[found.place]
        return LinkageAttack(posteriors, densities, linked, float((matched == owners).mean()))

    def steps(self, released: CodedColumns) -> int:
        """How many steps it takes to go through all records once: at most one a pair of a record and a person."""
        found = distinct_rows(list(released.values()))
        records = dict(zip(released, found.columns, strict=True))
        return sum(
            cut_between(some, dict(zip(some, people.columns, strict=True))).steps
            for _, _, some, people in self._told_apart(records)
        )

    def _parts(self, records: CodedColumns) -> Iterator[_Part]:
        for rows, telling, some, people in self._told_apart(records):
            original = dict(zip(some, people.columns, strict=True))
            yield _Part(rows, Likelihoods(telling, some, original), people.place)

    def _told_apart(self, records: CodedColumns) -> Iterator[tuple[Indices, Telling, CodedColumns, DistinctRows]]:
        """Records that tell the same columns, what they tell or is public of them, and people who differ in that."""
        for rows, telling in self._by_telling(records):
            names = [name for name in self.original if name in self._public or name in telling.columns]
            people = distinct_rows([self._classes[name] for name in names])
            yield rows, telling, {name: records[name][rows] for name in names}, people

    def _assigned(self, released: CodedColumns, dice: np.random.Generator) -> Indices:
        """The person of every record in the most probable matching, where each has exactly one."""
        from scipy.optimize import linear_sum_assignment

        logs = self.log_likelihoods(released)
        return linear_sum_assignment(logs + 1e-9 * dice.random(logs.shape), maximize=True)[1]

    def _scaled(self, parts: Sequence[_Part], alike: Array, dice: np.random.Generator, progress: Progress) -> Indices:
        """The most probable person of every distinct record once every person has one record as well.

        Sinkhorn scaling: people whom many records claim are weighed down until posteriors add up to one a person.
        """
        weights = np.ones(len(self._sizes))
        for _ in range(_SCALINGS):
            claims = np.zeros(len(self._sizes))
            for part in parts:
                claimed = part.likelihoods.claims(part.weighed(weights * self._sizes), alike[part.rows])
                claims += claimed[part.person_of]
                progress(int(alike[part.rows].sum()))
            weights = np.divide(1, claims, where=claims > 0, out=np.zeros(len(claims)))
            weights /= weights.max()
        luck = dice.random(self.people, np.float32)
        luckiest = np.lexsort((luck, self._class_of))[np.cumsum(self._sizes.astype(np.intp)) - 1]
        weights *= np.exp(_TIE * luck[luckiest])
        matched = np.empty(len(alike), np.intp)
        for part in parts:
            first = np.lexsort((weights, part.person_of))[np.cumsum(np.bincount(part.person_of)) - 1]
            matched[part.rows] = first[part.likelihoods.likeliest(weights[first])]
            progress(int(alike[part.rows].sum()))
        return luckiest[matched]


def _spread(progress: Progress, passes: int) -> Progress:
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
