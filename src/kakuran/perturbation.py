"""The kernel, a record batch in, a perturbed record batch out; and a source of any size through it, in random order.

Of more rows than fit in memory every one goes to a bucket chosen at random, and every bucket is shuffled by itself: one
after the other they are in uniformly random order, since rows choose independently. Buckets lie on disk as packed rows
of perturbed codes.

Where people have several rows, all are perturbed, and some of each person's are used: which ones does not depend on
what they say, so that it is as if they had been drawn first, and no original lies on disk.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kakuran.counts import Tally
from kakuran.design import Plan
from kakuran.mechanism import AliasTable, ExactWeights, integer_weights
from kakuran.randomness import Randomness
from kakuran.schema import (
    Part,
    People,
    Pseudonyms,
    Source,
    check_same_for_a_person,
    draw_rows,
    in_order,
    narrowest_integer,
    read_parts,
)
from kakuran.typing import Codes, Progress

Made = TypeVar("Made")
CodedColumns: TypeAlias = Mapping[str, Codes]


@dataclass(frozen=True)
class Kernel:
    """Perturbs batches as a plan says; immutable and picklable, so that any engine can carry it to its workers.

    Only released columns come out, made anew from their codes: no metadata, no dropped column and no float of the
    original survives.
    """

    plan: Plan

    @property
    def schema(self) -> pa.Schema:
        """The arrow schema of what comes out."""
        return self.plan.layout.arrow

    def __call__(self, batch: pa.RecordBatch, randomness: Randomness | None = None) -> pa.RecordBatch:
        """Perturb a batch, from a stream of its own unless one is given."""
        codes = self.plan.schema.encode(batch)
        return self.decode(self.sample(codes, randomness or Randomness.secure()))

    def sample(self, codes: CodedColumns, randomness: Randomness) -> dict[str, Codes]:
        """Perturb the codes of the columns that each record tells; kept ones pass."""
        layout, kept = self.plan.layout, self.plan.schema.kept
        draw = self._tell if layout.told else self.plan.tells[0].telling.sample
        drawn = draw(codes, randomness) | {attribute.name: codes[attribute.name] for attribute in kept}
        return {attribute.name: drawn[attribute.name] for attribute in layout.attributes}

    def _tell(self, codes: CodedColumns, randomness: Randomness) -> dict[str, Codes]:
        """Every record draws what it tells, without looking at its values; the other columns stay empty."""
        layout, n = self.plan.layout, len(next(iter(codes.values())))
        told = self._draws.draw(randomness.words(n)).astype(np.int32)
        names = [attribute.name for attribute in self.plan.schema.perturbed]
        drawn = {name: np.full(n, layout.untold(name), np.int32) for name in names}
        order = np.argsort(told.astype(narrowest_integer(len(self.plan.tells))), kind="stable")
        bounds = np.searchsorted(told[order], np.arange(len(self.plan.tells) + 1))
        for tell, (start, stop) in zip(self.plan.tells, itertools.pairwise(bounds), strict=True):
            rows = order[start:stop]
            some = {name: codes[name][rows] for name in tell.columns}
            for name, column in tell.telling.sample(some, randomness).items():
                drawn[name][rows] = column
        return drawn | {layout.telling[0]: told}

    @property
    def weights(self) -> ExactWeights:
        """How often every tell is drawn, of 2⁶³."""
        return integer_weights(np.array([tell.share for tell in self.plan.tells]), 0)

    @cached_property
    def _draws(self) -> AliasTable:
        return AliasTable.build(self.weights)

    def decode(self, codes: CodedColumns) -> pa.RecordBatch:
        """The batch that has these codes."""
        return self.plan.layout.decode(codes)

    @property
    def row_type(self) -> np.dtype[np.void]:
        """A packed row of released codes, each column as narrow as its domain allows."""
        return np.dtype(
            [
                (f"f{place}", narrowest_integer(attribute.size + self.plan.reach(attribute.name)))
                for place, attribute in enumerate(self.plan.layout.attributes)
            ]
        )

    def pack(self, codes: CodedColumns) -> np.ndarray[tuple[int], np.dtype[np.void]]:
        """Codes as packed rows, which shuffle and spill to disk as one array.

        Opaque ones: numpy moves a row that it knows the fields of field by field, ten times as slowly.
        """
        columns = [codes[attribute.name] for attribute in self.plan.layout.attributes]
        rows = np.empty(len(columns[0]), self.row_type)
        for place, column in enumerate(columns):
            rows[f"f{place}"] = column
        return rows.view(np.dtype((np.void, rows.itemsize)))

    def unpack(self, rows: np.ndarray[tuple[int], np.dtype[np.void]]) -> dict[str, Codes]:
        """The inverse of `pack`; rows whose fields are known do too."""
        fields = rows.view(self.row_type) if rows.dtype.names is None else rows
        return {
            attribute.name: fields[f"f{place}"].astype(np.int32)
            for place, attribute in enumerate(self.plan.layout.attributes)
        }


Rows: TypeAlias = np.ndarray[tuple[int], np.dtype[np.void]]


ROWS_AT_A_TIME = 1 << 20
"""Rows that are scattered together: every bucket is opened once for all of them."""


def scatter(rows: Rows, buckets: int, randomness: Randomness) -> tuple[Rows, NDArray[np.int64]]:
    """The rows bucket by bucket, where every row has chosen one at random, and where each bucket starts and ends."""
    chosen = randomness.below(buckets, len(rows))
    order = np.argsort(chosen.astype(narrowest_integer(buckets)), kind="stable")
    bounds = np.searchsorted(chosen[order], np.arange(buckets + 1))
    return rows.take(order), bounds


class RowsOfPeople:
    """All rows of people in, some of each person's out: those of a person wait in the same file on disk."""

    def __init__(self, kernel: Kernel, files: int, scratch: Path, randomness: Randomness) -> None:
        self._kernel = kernel
        self._paths = [scratch / f"people-{number}" for number in range(files)]
        self._randomness = randomness
        self._row_type = np.dtype([("person", np.uint64), ("row", np.void, kernel.row_type.itemsize)])
        for path in self._paths:
            path.touch()

    def add(self, people: People, rows: Rows) -> None:
        """Take in rows, and whose they are."""
        told = np.empty(len(rows), self._row_type)
        told["person"], told["row"] = people, rows
        place = people % np.uint64(len(self._paths))
        order = np.argsort(place, kind="stable")
        bounds = np.searchsorted(place[order], np.arange(len(self._paths) + 1, dtype=np.uint64))
        for path, (start, stop) in zip(self._paths, itertools.pairwise(bounds), strict=True):
            with path.open("ab") as file:
                told[order[start:stop]].tofile(file)

    def drawn(self, tally: Tally) -> Iterator[Rows]:
        """The rows that are used, once all were added; the tally then has everybody in it, each once."""
        schema = self._kernel.plan.schema
        for number, path in enumerate(self._paths):
            told = np.fromfile(path, self._row_type)
            path.unlink()
            people, rows = told["person"], np.ascontiguousarray(told["row"])
            codes = self._kernel.unpack(rows)
            kept = {attribute.name: codes[attribute.name] for attribute in schema.kept}
            check_same_for_a_person(people, kept)
            first = np.unique(people, return_index=True)[1]
            tally.update({name: column[first] for name, column in kept.items()}, len(first))
            yield rows[draw_rows(people, schema.rows_a_person, self._randomness.spawn(number))]


class Shuffler:
    """Rows in, random order out."""

    def __init__(self, buckets: int, scratch: Path, randomness: Randomness) -> None:
        self._paths = [scratch / f"bucket-{number}" for number in range(buckets)]
        self._randomness = randomness
        self._row_type: np.dtype[np.void] | None = None
        self._waiting: list[Rows] = []
        self._lock = threading.Lock()
        for path in self._paths:
            path.touch()

    def add(self, rows: Rows) -> None:
        """Take in rows; once there are many, scatter them over the buckets."""
        self._row_type = rows.dtype
        self._waiting.append(rows)
        if sum(map(len, self._waiting)) >= ROWS_AT_A_TIME:
            self._scatter()

    def _scatter(self) -> None:
        if not self._waiting:
            return
        rows = np.concatenate(self._waiting)
        self._waiting.clear()
        scattered, bounds = scatter(rows, len(self._paths), self._randomness)
        for path, (start, stop) in zip(self._paths, itertools.pairwise(bounds), strict=True):
            with path.open("ab") as bucket:
                scattered[start:stop].tofile(bucket)

    def bucket(self, number: int) -> Rows:
        """The rows of one bucket in random order, once all rows were added; any thread may ask."""
        with self._lock:
            self._scatter()
        if self._row_type is None:
            return np.empty(0, np.dtype([]))
        rows = np.fromfile(self._paths[number], self._row_type)
        self._paths[number].unlink()
        return rows.take(self._randomness.spawn(number).permutation(len(rows)))


ROWS_A_BUCKET = 1 << 18
"""Rows that are put in random order together, in memory."""
MOST_BUCKETS = 1024


def perturb_batches(
    source: Source,
    plan: Plan,
    *,
    randomness: Randomness,
    shuffle: bool,
    scratch: Path,
    progress: Progress = int,
) -> Generator[pa.RecordBatch, None, None]:
    """Perturb a source; the plan's promise is checked on the way, and what was handed out is void if it does not hold.

    Every batch has a random stream of its own. Shuffling spills packed, already perturbed rows to `scratch`.
    """
    kernel, tally = Kernel(plan), plan.tally()
    files = min(-(-source.rows_guess // ROWS_A_BUCKET) or 1, MOST_BUCKETS)
    needed = {axis.name for axis in tally.axes}

    def perturbed(form: Callable[[dict[str, Codes]], Made]) -> Iterator[Made]:
        """What the kernel drew, batch by batch, in the form that is asked for."""

        def work(numbered: tuple[int, Part]) -> tuple[dict[str, Codes], Made, int]:
            number, part = numbered
            codes = part.through(plan.schema.encode)
            drawn = form(kernel.sample(codes, randomness.spawn(number)))
            return {name: codes[name] for name in needed}, drawn, len(part)

        for codes, drawn, rows in in_order(work, enumerate(read_parts(source, plan.schema))):
            tally.update(codes, rows)
            yield drawn
            progress(rows)
        plan.check(tally)

    def of_people() -> Iterator[Rows]:
        """What the kernel drew of the rows that are used, of each person some."""
        person, pseudonyms = str(plan.schema.person), Pseudonyms(randomness.spawn(-2))
        waiting = RowsOfPeople(kernel, files, scratch, randomness.spawn(-3))

        def work(numbered: tuple[int, Part]) -> tuple[People, Rows]:
            number, part = numbered
            people = part.through(lambda batch: pseudonyms.of(batch, person))
            return people, kernel.pack(kernel.sample(part.through(plan.schema.encode), randomness.spawn(number)))

        for people, rows in in_order(work, enumerate(read_parts(source, plan.schema))):
            waiting.add(people, rows)
            progress(len(rows))
        yield from waiting.drawn(tally)
        plan.check(tally)

    if not shuffle:
        yield from perturbed(kernel.decode)
        return
    shuffler = Shuffler(files, scratch, randomness.spawn(-1))
    for rows in perturbed(kernel.pack) if plan.schema.person is None else of_people():
        shuffler.add(rows)

    def decoded(bucket: int) -> list[pa.RecordBatch]:
        rows = shuffler.bucket(bucket)
        starts = range(0, len(rows), ROWS_A_BUCKET)
        return [kernel.decode(kernel.unpack(rows[start : start + ROWS_A_BUCKET])) for start in starts]

    for batches in in_order(decoded, range(files)):
        yield from batches
