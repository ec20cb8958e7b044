"""What the executors do for a release: draw records, and put drawn records in random order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kakuran.calibration import Crowd
from kakuran.engine.spark.attempts import Attempt, writing
from kakuran.engine.spark.partials import numbers_in
from kakuran.perturbation import Kernel
from kakuran.perturbation.shuffle import ROWS_AT_A_TIME, Rows, scatter
from kakuran.randomness import Randomness
from kakuran.schema.sources import Part

BUCKETS = 1024
"""A drawn record chooses one of so many; a file of the release has the records of some."""
ROWS_A_GROUP = 1 << 17
"""So many records a row group of the release, decoded at a time."""
_PACKED = pa.schema([("rows", pa.large_binary())])
"""Drawn records: a batch has a value a bucket, the packed codes of those that chose it."""


@dataclass(frozen=True)
class Drawn:
    """Files of drawn records, and the crowd of the very originals they were drawn of."""

    attempts: Sequence[Attempt]
    crowd: Crowd

    def merge(self, other: Drawn) -> Drawn:
        """Both."""
        self.crowd.merge(other.crowd)
        return Drawn([*self.attempts, *other.attempts], self.crowd)


@dataclass(frozen=True)
class Draw:
    """Perturb records, every one of which chooses a bucket at random."""

    kernel: Kernel
    folder: Path
    seed: int | None

    def __call__(self, parts: Iterator[Part]) -> Drawn:
        """The file that this attempt wrote, and the crowd of what it read."""
        crowd = self.kernel.plan.crowd()
        with writing(self.folder) as (file, attempt), pa.ipc.new_file(file, _PACKED) as writer:
            randomness = Randomness.from_seed(self.seed).spawn(attempt.partition)
            for rows in _gathered(self._drawn(parts, crowd, randomness)):
                writer.write_batch(_packed(*scatter(rows, BUCKETS, randomness)))
        return Drawn([attempt], crowd)

    def _drawn(self, parts: Iterator[Part], crowd: Crowd, randomness: Randomness) -> Iterator[Rows]:
        for part in parts:
            codes = part.through(self.kernel.plan.schema.encode)
            crowd.update({attribute.name: codes[attribute.name] for attribute in crowd.attributes}, len(part))
            yield self.kernel.pack(self.kernel.sample(codes, randomness))


@dataclass(frozen=True)
class Order:
    """Put the drawn records of some buckets in random order; nothing is drawn of their values."""

    kernel: Kernel
    drawn: Sequence[Path]
    folder: Path
    files: int
    seed: int | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> list[Attempt]:
        """The file of the release that this attempt wrote."""
        (number,) = numbers_in(batches)
        rows = self._rows(number * BUCKETS // self.files, (number + 1) * BUCKETS // self.files)
        rows = rows[Randomness.from_seed(self.seed).spawn(-1 - number).permutation(len(rows))]
        with writing(self.folder) as (file, attempt), pq.ParquetWriter(file, self.kernel.schema) as writer:
            for start in range(0, len(rows), ROWS_A_GROUP):
                writer.write_batch(self.kernel.decode(self.kernel.unpack(rows[start : start + ROWS_A_GROUP])))
        return [attempt]

    def _rows(self, first: int, end: int) -> Rows:
        """The records of neighbouring buckets, which lie together in every batch of every file."""
        blocks: list[Rows] = []
        for path in self.drawn:
            with pa.memory_map(str(path)) as mapped:
                file = pa.ipc.open_file(mapped)
                for number in range(file.num_record_batches):
                    _, bounds, rows = file.get_batch(number).column(0).buffers()
                    start, stop = np.frombuffer(bounds, np.int64)[[first, end]]
                    blocks.append(np.frombuffer(rows[start:stop], self.kernel.row_type))
        return np.concatenate(blocks)


def _packed(rows: Rows, bounds: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.RecordBatch:
    buffers = [None, pa.py_buffer(bounds * rows.itemsize), pa.py_buffer(rows)]
    return pa.record_batch([pa.Array.from_buffers(pa.large_binary(), BUCKETS, buffers)], schema=_PACKED)


def _gathered(drawn: Iterator[Rows]) -> Iterator[Rows]:
    """Some batches at a time, so that what goes to one bucket is a block worth the name."""
    some: list[Rows] = []
    for rows in drawn:
        some.append(rows)
        if sum(map(len, some)) >= ROWS_AT_A_TIME:
            yield np.concatenate(some)
            some = []
    if some:
        yield np.concatenate(some)
