"""What the executors do for a release: draw records, and put drawn records in random order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql.types import BooleanType, DataType, DoubleType, LongType, StringType, StructField, StructType

from kakuran.engine.spark.columns import Columns
from kakuran.engine.spark.partials import partition_number
from kakuran.errors import DataError
from kakuran.perturbation import Kernel
from kakuran.perturbation.shuffle import ROWS_AT_A_TIME, Rows, scatter
from kakuran.randomness import Randomness

DRAWN = "bucket int, place bigint, rows binary"
"""Drawn records, packed: the bucket they chose, the partition and batch they come from, their codes."""
BAD_DATA = -1
"""Instead of a bucket: what was wrong with a record, and no value of it."""

_SPARK_TYPES: dict[pa.DataType, DataType] = {
    pa.bool_(): BooleanType(),
    pa.int64(): LongType(),
    pa.float64(): DoubleType(),
    pa.string(): StringType(),
}
_ROWS_WRITTEN_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Draw:
    """Perturb the records of a partition, every one of which chooses a bucket at random."""

    kernel: Kernel
    columns: Columns
    buckets: int
    seed: int | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Numbered blocks of packed rows, or of bad data."""
        partition = partition_number()
        randomness = Randomness.from_seed(self.seed).spawn(partition)
        try:
            for number, rows in enumerate(_gathered(self._drawn(batches, randomness))):
                blocks = list(scatter(rows, self.buckets, randomness))
                yield _blocks(range(self.buckets), partition << 32 | number, [block.tobytes() for block in blocks])
        except DataError as error:
            told = json.dumps({"column": error.column, "problem": error.problem, "remedy": error.remedy})
            yield _blocks([BAD_DATA], 0, [told.encode()])

    def _drawn(self, batches: Iterator[pa.RecordBatch], randomness: Randomness) -> Iterator[Rows]:
        for batch in self.columns.batches(batches):
            codes = self.kernel.plan.schema.encode(batch)
            yield self.kernel.pack(self.kernel.sample(codes, randomness))


@dataclass(frozen=True)
class Order:
    """Put the drawn records of a partition in random order; nothing is drawn of their values."""

    kernel: Kernel
    seed: int | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches of released records."""
        blocks = [block for batch in batches for block in batch.to_pylist()]
        # Blocks arrive as the network brings them; a seeded order must not depend on that.
        blocks.sort(key=lambda block: (block["bucket"], block["place"]))
        rows = np.frombuffer(b"".join(block["rows"] for block in blocks), self.kernel.row_type)
        randomness = Randomness.from_seed(self.seed).spawn(-1 - partition_number())
        rows = rows[randomness.permutation(len(rows))]
        for start in range(0, len(rows), _ROWS_WRITTEN_AT_ONCE):
            yield self._decoded(rows[start : start + _ROWS_WRITTEN_AT_ONCE])

    def _decoded(self, rows: Rows) -> pa.RecordBatch:
        return self.kernel.decode(self.kernel.unpack(rows)).cast(self._plain_schema)

    @property
    def _plain_schema(self) -> pa.Schema:
        """What a kernel gives, without dictionaries: Spark knows none."""
        return pa.schema([(field.name, _plain(field.type)) for field in self.kernel.schema])

    @property
    def schema(self) -> StructType:
        """The same in Spark's words."""
        return StructType([StructField(field.name, _SPARK_TYPES[field.type]) for field in self._plain_schema])


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def bad_data_in(told: bytes) -> DataError:
    """The error a block of bad data tells of."""
    return DataError(**json.loads(told))


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


def _blocks(buckets: range | list[int], place: int, rows: list[bytes]) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "bucket": pa.array(buckets, pa.int32()),
            "place": pa.array([place] * len(rows), pa.int64()),
            "rows": pa.array(rows, pa.binary()),
        }
    )
