"""A table of originals on Spark: counted for the promise, and drawn once.

Why a release takes two jobs is told in docs/decisions/spark-draws-once.md. The first draws, and writes what it drew;
the second reads that back and puts it in random order. Nothing is drawn in the second, and nothing in the first is
read by anybody before its output has been committed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from kakuran.calibration import Crowd, Plan
from kakuran.engine.spark.bad_data import located
from kakuran.engine.spark.columns import Columns
from kakuran.engine.spark.complaints import told_plainly
from kakuran.engine.spark.folders import commit, parts_of
from kakuran.engine.spark.partials import FEW_CELLS, folded, mapped
from kakuran.engine.spark.tasks import BAD_DATA, DRAWN, Draw, Order, bad_data_in
from kakuran.errors import DataError, ReleaseError
from kakuran.perturbation import Kernel
from kakuran.schema import Categorical, Numeric, Schema
from kakuran.schema.codes import encode
from kakuran.schema.frames import check_columns_are_unique

ROWS_A_FILE = 1 << 20
"""So many records a file of the release, and so many packed ones in the memory of the task that writes it."""


@dataclass(frozen=True, eq=False)
class Originals:
    """A DataFrame of original records, classic or of Spark Connect.

    Attributes
    ----------
    frame : the records
    schema : what its columns may hold
    are_text : whether its columns are text still, as in a CSV file

    Examples
    --------
    With a session called ``spark``:

    >>> import kakuran as kk
    >>> from kakuran.engine.spark import Originals
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse"])])
    >>> people = Originals(spark.createDataFrame([("nurse",), ("clerk",), ("nurse",)], ["job"]), schema)
    >>> people.crowd(schema.released).n
    3
    """

    frame: DataFrame
    schema: Schema
    are_text: bool = False

    def __post_init__(self) -> None:
        check_columns_are_unique(self.frame.columns)
        self.schema.check_columns(self.frame.columns)

    @told_plainly()
    def crowd(self, attributes: Sequence[Categorical | Numeric]) -> Crowd:
        """The crowd of the table over some of its columns; over none, just the number of records."""
        if not attributes:
            everybody = Crowd.of(())
            everybody.update({}, self.frame.count())
            return everybody
        columns = Columns(attributes, self.are_text)

        def of_partition(batches: Iterator[pa.RecordBatch]) -> Crowd:
            crowd = Crowd.of(attributes)
            for batch in columns.batches(batches):
                codes = {attribute.name: encode(attribute, batch.column(attribute.name)) for attribute in attributes}
                crowd.update(codes, batch.num_rows)
            return crowd

        is_large = math.prod(attribute.size for attribute in attributes) > FEW_CELLS
        found = folded(columns.select(self.frame), of_partition, _both, is_large=is_large)
        if isinstance(found, DataError):
            raise located(self.frame, columns, found)
        return Crowd.of(attributes) if found is None else found

    @told_plainly()
    def draw(self, plan: Plan, folder: Path, seed: int | None = None) -> tuple[list[Path], int]:
        """Draw every record once and write the draws in random order; the Parquet files, and how many records.

        Parameters
        ----------
        plan : for the schema of these originals
        folder : an empty, private one that the executors see too
        seed : every partition has a stream of its own: a secret one, or a function of the seed and its number
        """
        crowd = self.crowd(plan.crowd().attributes)
        plan.check(crowd)
        buckets = -(-crowd.n // ROWS_A_FILE)
        drawn = self._drawn(plan, buckets, folder / "drawn", seed)
        order = Order(Kernel(plan), seed)
        written = commit(mapped(drawn.repartitionById(buckets, "bucket"), order, order.schema), folder / "ordered")
        _check_what_was_drawn(written, plan, crowd)
        return parts_of(folder / "ordered"), crowd.n

    def _drawn(self, plan: Plan, buckets: int, folder: Path, seed: int | None) -> DataFrame:
        columns = Columns(plan.schema.released, self.are_text)
        draw = Draw(Kernel(plan), columns, buckets, seed)
        drawn = commit(mapped(columns.select(self.frame), draw, DRAWN), folder)
        bad_data = drawn.where(drawn["bucket"] == BAD_DATA).head()
        if bad_data is not None:
            raise located(self.frame, columns, bad_data_in(bad_data["rows"]))
        return drawn


def _both(one: Crowd, other: Crowd) -> Crowd:
    one.merge(other)
    return one


def _check_what_was_drawn(written: DataFrame, plan: Plan, crowd: Crowd) -> None:
    """A DataFrame is computed anew for every job, so what was counted need not be what was drawn."""
    records = written.count()
    if records != crowd.n:
        raise ReleaseError(
            f"{crowd.n:,} records were counted, but {records:,} were drawn: the table changed in between, or not all "
            "executors see the folder. Nothing was published; write the table to files of its own, or name another "
            "folder"
        )
    if plan.calibration == "worst-case":
        plan.check(Originals(written, plan.schema).crowd(plan.schema.kept))
