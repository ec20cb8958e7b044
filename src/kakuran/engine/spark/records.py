"""A release on Spark, countable."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame

from kakuran.counts import Cells, Counting, Tally
from kakuran.design import Plan
from kakuran.engine.spark.partials import FEW_CELLS, told_plainly
from kakuran.engine.spark.tables import Files, Frame, table_of
from kakuran.errors import DataError, ReleaseError
from kakuran.schema import Part
from kakuran.typing import Codes, Progress
from kakuran.words import Phrase


@dataclass(frozen=True, eq=False)
class SparkRecords:
    """Perturbed records: a DataFrame, or Parquet files.

    Attributes
    ----------
    records : DataFrame | Files
        The DataFrame, or the Parquet files.
    plan : Plan
        Of the release.

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

    records: DataFrame | Files
    plan: Plan

    @told_plainly()
    def tallies(self, tables: Sequence[Sequence[Cells]], progress: Progress = int) -> list[Tally]:
        """Count the records in the cells that the axes of each table span; one job for all tables."""
        counting = Counting(self.plan.layout, tables)

        def of_parts(parts: Iterator[Part]) -> list[Tally]:
            tallies = counting.zero()
            for part in parts:
                part.through(lambda batch: counting.update(tallies, batch))
            return tallies

        is_large = sum(math.prod(axis.size for axis in axes) for axes in tables) > FEW_CELLS
        try:
            tallies = table_of(self.records).folded(
                counting.attributes, of_parts, counting.merged, counting.zero(), is_large=is_large
            )
        except DataError as error:
            raise ReleaseError(Phrase("not a release that can be read: {error}", error=str(error))) from None
        progress(tallies[0].n)
        return tallies

    def codes(self, columns: Sequence[str]) -> dict[str, Codes]:
        """The codes of some columns, on this machine."""
        layout = self.plan.layout
        attributes = layout.schema.some([*layout.telling, *columns])
        table = Frame(self.frame()).select(attributes).toArrow()
        return layout.encode(table.rename_columns([attribute.name for attribute in attributes]), columns)

    @told_plainly()
    def frame(self) -> DataFrame:
        """The DataFrame; of files, one that Spark reads."""
        if isinstance(self.records, Files):
            return self.records.session.read.parquet(*map(_address, self.records.source.paths))
        return self.records


def _address(path: Path) -> str:
    """Without a scheme Spark would take the path for one of the cluster's own file system; it decodes no escapes."""
    return f"file://{path.absolute()}"
