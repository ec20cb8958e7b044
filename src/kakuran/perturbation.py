"""The kernel, a record batch in, a perturbed record batch out; and a source of any size through it, in random order.

Of more rows than fit in memory every one goes to a bucket chosen at random, and every bucket is shuffled by itself: one
after the other they are in uniformly random order, since rows choose independently. Buckets lie on disk as packed rows
of perturbed codes, in a file without a name.

Where people have several rows, all are perturbed, and some of each person's are used: which ones does not depend on
what they say, so that it is as if they had been drawn first, and no original lies on disk.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TypeAlias

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
Bounds: TypeAlias = NDArray[np.int64]
"""Where each bucket starts among rows that lie bucket by bucket, and where the last one ends."""

ROWS_AT_A_TIME = 1 << 20
"""Rows that are scattered together; fewer never go to disk."""
ROWS_A_GROUP = 1 << 18
"""Records that are decoded together, and the row groups of a Parquet release: whatever the originals look like."""
BUCKETS = 1024
"""Parts of what goes to disk, each of which is in memory as a whole."""


def scatter(rows: Rows, buckets: int, randomness: Randomness) -> tuple[Rows, Bounds]:
    """The rows in random order, bucket by bucket, as if every row had chosen one at random."""
    sizes = np.bincount(randomness.below(buckets, len(rows)), minlength=buckets)
    return rows.take(randomness.permutation(len(rows))), np.concatenate([[0], sizes.cumsum()])


def rechunked(pieces: Iterable[Rows], size: int) -> Iterator[Rows]:
    """The same rows, so many at a time."""
    some: list[Rows] = []
    for rows in pieces:
        some.append(rows)
        if sum(map(len, some)) >= size:
            joined = np.concatenate(some)
            whole = len(joined) // size * size
            yield from (joined[start : start + size] for start in range(0, whole, size))
            some = [joined[whole:]]
    if any(map(len, some)):
        yield np.concatenate(some)


class Buckets:
    """Rows in, and bucket by bucket out again; many of them wait on disk.

    The file there has no name: however the process ends, nothing of it is left.
    """

    def __init__(self, scattered: Callable[[Rows, int], tuple[Rows, Bounds]], scratch: Path) -> None:
        self._scattered = scattered
        self._scratch = scratch
        self._waiting: list[Rows] = []
        self._file: IO[bytes] | None = None
        self._starts: list[Bounds] = []
        self._lock = threading.Lock()

    def add(self, rows: Rows) -> None:
        """Take in rows; once there are many, scatter them."""
        self._waiting.append(rows)
        if sum(map(len, self._waiting)) >= ROWS_AT_A_TIME:
            self._spill()

    def _spill(self) -> None:
        self._file = self._file or TemporaryFile(dir=self._scratch)  # noqa: SIM115 - closed in `close`
        rows, bounds = self._scattered(np.concatenate(self._waiting), BUCKETS)
        self._waiting = [rows[:0]]
        self._starts.append(self._file.seek(0, os.SEEK_END) + bounds * rows.itemsize)
        self._file.write(rows.view(np.uint8).data)

    def numbers(self) -> range:
        """Of all buckets, once all rows were added: there is one where nothing had to go to disk."""
        if self._file is None:
            return range(min(len(self._waiting), 1))
        self._spill()
        return range(BUCKETS)

    def bucket(self, number: int) -> Rows:
        """The rows of one bucket; any thread may ask."""
        if self._file is None:
            return np.concatenate(self._waiting)
        pieces = []
        with self._lock:
            for starts in self._starts:
                self._file.seek(starts[number])
                pieces.append(self._file.read(starts[number + 1] - starts[number]))
        return np.frombuffer(b"".join(pieces), self._waiting[0].dtype)

    def close(self) -> None:
        """Give up what is on disk."""
        if self._file is not None:
            self._file.close()


def shuffled(pieces: Iterable[Rows], scratch: Path, randomness: Randomness) -> Iterator[Rows]:
    """All rows in random order, in pieces that fit in memory."""
    with closing(Buckets(partial(scatter, randomness=randomness), scratch)) as buckets:
        for rows in pieces:
            buckets.add(rows)

        def in_random_order(number: int) -> Rows:
            rows = buckets.bucket(number)
            return rows.take(randomness.spawn(number).permutation(len(rows)))

        yield from in_order(in_random_order, buckets.numbers())


def rows_of_people(
    kernel: Kernel, pieces: Iterable[tuple[People, Rows]], tally: Tally, scratch: Path, randomness: Randomness
) -> Iterator[Rows]:
    """Of all rows of people, and whose they are, those that are used; the tally then has everybody in it, each once."""
    schema = kernel.plan.schema
    row_type = np.dtype([("person", np.uint64), ("row", np.void, kernel.row_type.itemsize)])

    def by_person(rows: Rows, buckets: int) -> tuple[Rows, Bounds]:
        """All rows of a person in the same bucket, and there in random order."""
        rows = rows.take(randomness.permutation(len(rows)))
        place = (rows.view(row_type)["person"] % np.uint64(buckets)).astype(narrowest_integer(buckets))
        order = np.argsort(place, kind="stable")
        return rows.take(order), np.searchsorted(place[order], np.arange(buckets + 1))

    with closing(Buckets(by_person, scratch)) as waiting:
        for people, rows in pieces:
            told = np.empty(len(rows), row_type)
            told["person"], told["row"] = people, rows
            waiting.add(told.view(np.dtype((np.void, row_type.itemsize))))
        for number in waiting.numbers():
            told = waiting.bucket(number).view(row_type)
            people, rows = told["person"], np.ascontiguousarray(told["row"])
            codes = kernel.unpack(rows)
            kept = {attribute.name: codes[attribute.name] for attribute in schema.kept}
            check_same_for_a_person(people, kept)
            first = np.unique(people, return_index=True)[1]
            tally.update({name: column[first] for name, column in kept.items()}, len(first))
            yield rows[draw_rows(people, schema.rows_a_person, randomness.spawn(number))]


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

    Every batch that is read has a random stream of its own. Shuffling spills packed, already perturbed rows to
    `scratch`. How many records a batch has that comes out does not depend on what was read.
    """
    kernel, tally = Kernel(plan), plan.tally()
    needed = {axis.name for axis in tally.axes}

    def perturbed() -> Iterator[Rows]:
        """What the kernel drew, batch by batch."""

        def work(numbered: tuple[int, Part]) -> tuple[dict[str, Codes], Rows]:
            number, part = numbered
            codes = part.through(plan.schema.encode)
            drawn = kernel.pack(kernel.sample(codes, randomness.spawn(number)))
            return {name: codes[name] for name in needed}, drawn

        for codes, rows in in_order(work, enumerate(read_parts(source, plan.schema))):
            tally.update(codes, len(rows))
            yield rows
            progress(len(rows))
        plan.check(tally)

    def of_people() -> Iterator[Rows]:
        """What the kernel drew of the rows that are used, of each person some."""
        person, pseudonyms = str(plan.schema.person), Pseudonyms(randomness.spawn(-2))

        def work(numbered: tuple[int, Part]) -> tuple[People, Rows]:
            number, part = numbered
            people = part.through(lambda batch: pseudonyms.of(batch, person))
            return people, kernel.pack(kernel.sample(part.through(plan.schema.encode), randomness.spawn(number)))

        def drawn() -> Iterator[tuple[People, Rows]]:
            for people, rows in in_order(work, enumerate(read_parts(source, plan.schema))):
                yield people, rows
                progress(len(rows))

        yield from rows_of_people(kernel, drawn(), tally, scratch, randomness.spawn(-3))
        plan.check(tally)

    rows = perturbed() if plan.schema.person is None else of_people()
    if shuffle:
        rows = shuffled(rows, scratch, randomness.spawn(-1))
    yield from in_order(lambda group: kernel.decode(kernel.unpack(group)), rechunked(rows, ROWS_A_GROUP))
