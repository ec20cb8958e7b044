"""A release on Spark, countable."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kakuran.calibration import Plan
from kakuran.counts import Cells, Counting, Progress, Tally
from kakuran.engine.spark.columns import Columns
from kakuran.engine.spark.complaints import told_plainly
from kakuran.engine.spark.folders import address
from kakuran.engine.spark.partials import FEW_CELLS, folded
from kakuran.errors import DataError, ReleaseError
from kakuran.schema.codes import Codes, encode


@dataclass(frozen=True, eq=False)
class SparkRecords:
    """A DataFrame of perturbed records.

    Attributes
    ----------
    records : the DataFrame
    plan : of the release

    Examples
    --------
    With a session called ``spark``:

    >>> import kakuran as kk
    >>> from kakuran.counts import cells_of
    >>> from kakuran.engine.spark import SparkRecords
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse"])])
    >>> drawn = spark.createDataFrame([("nurse",), ("clerk",), ("nurse",)], ["job"])
    >>> (tally,) = SparkRecords(drawn, kk.calibrate(schema, n=3, k=2)).tallies([[cells_of(schema, "job", None)]])
    >>> tally.counts.tolist()
    [1.0, 2.0]
    """

    records: DataFrame
    plan: Plan

    @classmethod
    @told_plainly()
    def open(cls, path: Path, plan: Plan, session: SparkSession) -> SparkRecords:
        """The records in a Parquet file or a folder of such."""
        return cls(session.read.parquet(address(path)), plan)

    @told_plainly()
    def tallies(self, tables: Sequence[Sequence[Cells]], progress: Progress = int) -> list[Tally]:
        """Count the records in the cells that the axes of each table span; one job for all tables."""
        counting = Counting(self.plan, tables)
        columns = Columns(counting.attributes)

        def of_partition(batches: Iterator[pa.RecordBatch]) -> list[Tally]:
            tallies = counting.zero()
            for batch in columns.batches(batches):
                counting.update(tallies, batch)
            return tallies

        cells = sum(math.prod(axis.size for axis in axes) for axes in tables)
        found = folded(columns.select(self.records), of_partition, counting.merged, is_large=cells > FEW_CELLS)
        if isinstance(found, DataError):
            raise ReleaseError(f"not a release that can be read: {found}")
        tallies = counting.zero() if found is None else found
        progress(tallies[0].n)
        return tallies

    def codes(self, columns: Sequence[str]) -> dict[str, Codes]:
        """The codes of some columns, on this machine."""
        attributes = [attribute for attribute in self.plan.schema.released if attribute.name in columns]
        table = Columns(attributes).select(self.records).toArrow()
        return {
            attribute.name: encode(attribute, table.column(place), self.plan.reach(attribute.name))
            for place, attribute in enumerate(attributes)
        }

    def frame(self) -> DataFrame:
        """The DataFrame."""
        return self.records
