"""People who have several rows: what is true of them, and the attacker who knows all of their rows.

Which rows were used is a secret that was drawn at random, and is forgotten. To whoever knows the table, a record of a
person is therefore as likely as the average of that person's rows makes it; and a table is that of all rows, each
weighed by how likely it was used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from kakuran.audit.attacker import ASSIGNABLE, Attacker, LinkageAttack, Matchings
from kakuran.audit.likelihoods import IMPOSSIBLE
from kakuran.counts import Cells
from kakuran.mechanism import Telling
from kakuran.perturbation import CodedColumns
from kakuran.randomness import Randomness
from kakuran.schema import Pseudonyms, Schema, Source, draw_rows, read_table, to_arrow
from kakuran.typing import Array, Codes, Indices, Progress

_BLOCK = 1 << 22
"""Pairs of a record and a person that are looked at together."""
_TIE = 1e-4


@dataclass(frozen=True, eq=False)
class TruePeople:
    """The rows of a true table and whose each is; everybody has one where the schema names no person.

    Attributes
    ----------
    codes : CodedColumns
        The table.
    person : Indices
        Of each row, in the order in which people first appear.
    most : int
        How many rows of each are used.
    """

    codes: CodedColumns
    person: Indices
    most: int

    @classmethod
    def of(cls, schema: Schema, original: Any) -> TruePeople:
        """The people of a table, given as a frame or as a source."""
        table = read_table(original, schema) if isinstance(original, Source) else to_arrow(original)
        codes = schema.encode(table)
        if schema.person is None:
            return cls(codes, np.arange(table.num_rows), 1)
        people = Pseudonyms(Randomness.secure()).of(table, schema.person)
        _, first, whose = np.unique(people, return_index=True, return_inverse=True)
        return cls(codes, np.argsort(np.argsort(first))[whose], schema.rows_a_person)

    @cached_property
    def rows(self) -> Array:
        """How many rows each person has."""
        return np.bincount(self.person).astype(float)

    @cached_property
    def used(self) -> Array:
        """How many records each person has in a release."""
        return np.minimum(self.rows, self.most)

    @property
    def records(self) -> int:
        """How many records a release of them has."""
        return int(self.used.sum())

    @cached_property
    def weights(self) -> Array:
        """How likely each row is used."""
        return np.asarray((self.used / self.rows)[self.person])

    def draw(self, dice: Randomness) -> Indices:
        """Rows that are used, as they might have been drawn."""
        if len(self.rows) == len(self.person):
            return np.arange(len(self.person))
        return draw_rows(self.person.astype(np.uint64), self.most, dice)

    def counts(self, axes: Sequence[Cells]) -> Array:
        """How many records are to be expected in the cells that some axes span."""
        shape = tuple(axis.size for axis in axes)
        places = [axis.place(self.codes[axis.name]) for axis in axes]
        cells = np.ravel_multi_index(places, shape) if places else np.zeros(len(self.person), np.intp)
        return np.bincount(cells, self.weights, math.prod(shape)).astype(float).reshape(shape)


class PeopleAttacker(Attacker):
    """Likelihoods of released records given everybody, each of whom may have several rows.

    Parameters
    ----------
    people : TruePeople
        Who they are.
    tellings, told : Sequence[Telling], str | None
        As for `Attacker`.
    """

    def __init__(self, people: TruePeople, tellings: Sequence[Telling], told: str | None = None) -> None:
        super().__init__(people.codes, tellings, told)
        self.people, self._whose = len(people.rows), people
        shares = 1 / people.rows[people.person]
        shape = len(self._sizes), self.people
        self._of_person = csr_array((shares, (self._class_of, people.person)), shape)
        order = np.argsort(people.person, kind="stable")
        self._rows_of = order, np.append(0, np.cumsum(people.rows)).astype(np.intp)

    def log_likelihoods(self, released: CodedColumns) -> Array:
        """log p(released record | person), given what it tells: records × people."""
        likelihoods, highest = self._likelihoods(released)
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(likelihoods) + highest[:, None], IMPOSSIBLE)

    def _likelihoods(self, released: CodedColumns) -> tuple[Array, Array]:
        """The same over the largest of each record, and the logarithm of that."""
        logs = self._log_likelihoods_of_classes(released)
        highest = logs.max(axis=1)
        return np.exp(logs - highest[:, None]) @ self._of_person, highest

    def log_likelihoods_of(self, released: CodedColumns, owners: Indices) -> Array:
        """The same of every record and one person."""
        order, first = self._rows_of
        counts = (first[1:] - first[:-1])[owners]
        records = np.repeat(np.arange(len(owners)), counts)
        starts = np.append(0, np.cumsum(counts)[:-1])
        rows = order[np.repeat(first[:-1][owners], counts) + np.arange(counts.sum()) - np.repeat(starts, counts)]
        every = super().log_likelihoods_of({name: codes[records] for name, codes in released.items()}, rows)
        return np.maximum(np.logaddexp.reduceat(every, starts) - np.log(counts), IMPOSSIBLE)

    def steps(self, released: CodedColumns) -> int:
        """How many steps it takes to go through all records once: one a pair of a record and a person or a row."""
        return len(next(iter(released.values()))) * max(self.people, len(self._sizes))

    def matchings(self, released: CodedColumns) -> list[tuple[Indices, Matchings]] | None:
        """None: an average over the rows of a person has more than two levels."""
        return None

    def attack(
        self, released: CodedColumns, owners: Indices | None, dice: np.random.Generator, progress: Progress = int
    ) -> LinkageAttack:
        """Link released records to people; count the right links where the true `owners` are known."""
        posteriors, densities, right = np.empty((3, len(next(iter(released.values())))))
        for some in self._blocks(len(posteriors)):
            likelihoods, highest = self._likelihoods({name: codes[some] for name, codes in released.items()})
            claims = likelihoods * self._whose.used
            best, total = claims.max(axis=1), claims.sum(axis=1)
            is_possible = highest > IMPOSSIBLE / 10
            posteriors[some] = np.where(is_possible, best / total, 0.0)
            densities[some] = np.where(is_possible, np.log(total) + highest, IMPOSSIBLE) - np.log(self.people)
            if owners is not None:
                ties = claims >= best[:, None] * (1 - _TIE)
                right[some] = ties[np.arange(len(ties)), owners[some]] / ties.sum(axis=1) * is_possible
            progress(len(best))
        if owners is None:
            return LinkageAttack(posteriors, densities, None, None)
        is_matched = len(posteriors) == self.people <= ASSIGNABLE and self._whose.records == self.people
        matched = float((self._assigned(released, dice) == owners).mean()) if is_matched else None
        return LinkageAttack(posteriors, densities, float(right.mean()), matched)

    def _blocks(self, records: int) -> Iterator[slice]:
        size = max(1, _BLOCK // max(self.people, len(self._sizes)))
        return (slice(start, start + size) for start in range(0, records, size))


def taken(codes: CodedColumns, rows: Indices) -> dict[str, Codes]:
    """Some rows of a table."""
    return {name: column[rows] for name, column in codes.items()}
