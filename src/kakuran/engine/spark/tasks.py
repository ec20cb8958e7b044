"""What the executors do for a release: draw records, and put drawn records in random order, in files of their own.

Spark may attempt a task several times, but of each partition it hands one result to the driver. That result names the
file of the attempt it comes from; any other file is of an attempt that came to nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kakuran.counts import Tally
from kakuran.engine.spark.partials import numbers_in, running_task
from kakuran.errors import ReleaseError
from kakuran.perturbation import BUCKETS, ROWS_A_GROUP, ROWS_AT_A_TIME, Bounds, Kernel, Rows, rechunked, scatter
from kakuran.randomness import Randomness
from kakuran.schema import Part
from kakuran.words import Phrase

_WAY_OUT = Phrase("name a folder that the executors and this program see under the same path")


@dataclass(frozen=True, order=True)
class Attempt:
    """The file that an attempt at a partition has written."""

    partition: int
    name: str


@contextmanager
def writing(folder: Path) -> Iterator[tuple[BinaryIO, Attempt]]:
    """A file that no other attempt writes to."""
    task = running_task()
    attempt = Attempt(task.partitionId(), f"{task.partitionId()}-{task.taskAttemptId()}")
    try:
        file = (folder / attempt.name).open("xb")
    except FileNotFoundError:
        raise ReleaseError(
            Phrase("{folder}: not there on an executor; {way}", folder=folder.parent, way=_WAY_OUT)
        ) from None
    with file:
        yield file, attempt


def commit(folder: Path, attempts: Sequence[Attempt]) -> list[Path]:
    """The files of these attempts in the order of their partitions; every other file in the folder is deleted.

    An attempt that nobody waits for may still be writing: its file goes with the folder.
    """
    twice = [partition for partition, files in Counter(one.partition for one in attempts).items() if files > 1]
    if twice:
        raise ReleaseError(
            Phrase(
                "{folder}: partition {number} was written twice; nothing was published, run again",
                folder=folder.parent,
                number=twice[0],
            )
        )
    kept = [folder / attempt.name for attempt in sorted(attempts)]
    if not all(path.exists() for path in kept):
        raise ReleaseError(
            Phrase(
                "{folder}: what the executors write there does not arrive here; {way}",
                folder=folder.parent,
                way=_WAY_OUT,
            )
        )
    for path in set(folder.iterdir()).difference(kept):
        path.unlink(missing_ok=True)
    return kept


_PACKED = pa.schema([("rows", pa.large_binary())])
"""Drawn records: a batch has a value a bucket, the packed codes of those that chose it."""


@dataclass(frozen=True)
class Drawn:
    """Files of drawn records, and the tally of the very originals they were drawn of."""

    attempts: Sequence[Attempt]
    tally: Tally

    def merge(self, other: Drawn) -> Drawn:
        """Both."""
        return Drawn([*self.attempts, *other.attempts], self.tally.merge(other.tally))


@dataclass(frozen=True)
class DrawTask:
    """Perturb records, every one of which chooses a bucket at random; a file of the release has those of some."""

    kernel: Kernel
    folder: Path
    seed: int | None

    def __call__(self, parts: Iterator[Part]) -> Drawn:
        """The file that this attempt wrote, and the tally of what it read."""
        tally = self.kernel.plan.tally()
        with writing(self.folder) as (file, attempt), pa.ipc.new_file(file, _PACKED) as writer:
            randomness = Randomness.from_seed(self.seed).spawn(attempt.partition)
            for rows in rechunked(self._drawn(parts, tally, randomness), ROWS_AT_A_TIME):
                writer.write_batch(_packed(*scatter(rows, BUCKETS, randomness)))
        return Drawn([attempt], tally)

    def _drawn(self, parts: Iterator[Part], tally: Tally, randomness: Randomness) -> Iterator[Rows]:
        for part in parts:
            codes = part.through(self.kernel.plan.schema.encode)
            tally.update(codes, len(part))
            yield self.kernel.pack(self.kernel.sample(codes, randomness))


@dataclass(frozen=True)
class OrderTask:
    """Put the drawn records of some buckets in random order; nothing is drawn of their values.

    Records have chosen their buckets independently, so buckets in random order, one after the other, are too.
    """

    kernel: Kernel
    drawn: Sequence[Path]
    folder: Path
    files: int
    seed: int | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> list[Attempt]:
        """The file of the release that this attempt wrote."""
        (number,) = numbers_in(batches)
        with writing(self.folder) as (file, attempt), pq.ParquetWriter(file, self.kernel.schema) as writer:
            for rows in rechunked(self._shuffled(number), ROWS_A_GROUP):
                writer.write_batch(self.kernel.decode(self.kernel.unpack(rows)))
        return [attempt]

    def _shuffled(self, number: int) -> Iterator[Rows]:
        """The records of the buckets that are this file's, each bucket in random order."""
        randomness = Randomness.from_seed(self.seed).spawn(-1 - number)
        batches = [batch for path in self.drawn for batch in _mapped(path)]
        for bucket in range(number * BUCKETS // self.files, (number + 1) * BUCKETS // self.files):
            packed = b"".join(batch[bucket].as_buffer() for batch in batches)
            rows = np.frombuffer(packed, np.dtype((np.void, self.kernel.row_type.itemsize)))
            yield rows.take(randomness.permutation(len(rows)))


def _mapped(path: Path) -> Iterator[pa.LargeBinaryArray]:
    """The batches of a file of drawn records; of a bucket no more is read than its records."""
    with pa.memory_map(str(path)) as mapped:
        file = pa.ipc.open_file(mapped)
        for number in range(file.num_record_batches):
            yield file.get_batch(number).column(0)


def _packed(rows: Rows, bounds: Bounds) -> pa.RecordBatch:
    buffers = [None, pa.py_buffer(bounds * rows.itemsize), pa.py_buffer(rows)]
    return pa.record_batch([pa.Array.from_buffers(pa.large_binary(), BUCKETS, buffers)], schema=_PACKED)
