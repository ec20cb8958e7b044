"""A table of originals on Spark, a DataFrame or files: counted for the promise, and drawn once.

Why a release takes two jobs is told in docs/decisions/spark-draws-once.md. The first draws, and writes what it drew;
the second reads that back and puts it in random order. Nothing is drawn in the second, and nothing that the first wrote
is read by anybody before it has been settled which attempts count.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import add
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from kakuran.counts import Tally
from kakuran.design import CountsItself, Plan
from kakuran.engine.spark.partials import FEW_CELLS, folded, numbered, told_plainly
from kakuran.engine.spark.tables import Files, table_of
from kakuran.engine.spark.tasks import Attempt, Drawn, DrawTask, OrderTask, commit
from kakuran.errors import ReleaseError, SchemaError
from kakuran.perturbation import BUCKETS, Kernel
from kakuran.schema import Categorical, Numeric, Part, Schema, check_columns_are_unique, encode_columns, open_source
from kakuran.words import Phrase, so_many_records

ROWS_A_FILE = 1 << 20
"""So many records a file of the release, and so many packed ones in the memory of the task that writes it."""


@dataclass(frozen=True, eq=False)
class Originals(CountsItself):
    """A table of original records: a DataFrame, classic or of Spark Connect, or files.

    Attributes
    ----------
    records : DataFrame | Files
        The DataFrame, or the files.
    schema : Schema
        What its columns may hold.

    Examples
    --------
    With a session called ``spark``:

    >>> import kakuran as kk
    >>> from kakuran.engine.spark import Originals
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse"])])
    >>> people = Originals(spark.createDataFrame([("nurse",), ("clerk",), ("nurse",)], ["job"]), schema)
    >>> people.count_columns(schema.released).n
    3
    """

    records: DataFrame | Files
    schema: Schema

    def __post_init__(self) -> None:
        if self.schema.person is not None:
            raise SchemaError(
                Phrase(
                    "rows of each {person!r} are not drawn on Spark: leave out the engine, which reads files "
                    "that are larger than memory, too; or draw one row a person on Spark, write them, and "
                    "leave out person",
                    person=self.schema.person,
                )
            )
        columns = table_of(self.records).columns
        check_columns_are_unique(columns)
        self.schema.check_columns(columns)

    @told_plainly()
    def count_columns(self, attributes: Sequence[Categorical | Numeric]) -> Tally:
        """The records over every code of some columns; over none, just how many there are."""
        table, nobody = table_of(self.records), Tally.of_columns(attributes)
        if not attributes and (rows := table.rows) is not None:
            nobody.update({}, rows)
            return nobody

        def of_parts(parts: Iterator[Part]) -> Tally:
            tally = Tally.of_columns(attributes)
            for part in parts:
                tally.update(part.through(lambda batch: encode_columns(attributes, batch)), len(part))
            return tally

        # Where nothing else tells how many records there are, a column does.
        columns = attributes or self.schema.released[:1]
        return table.folded(columns, of_parts, Tally.merge, nobody, is_large=_is_large(nobody))

    @told_plainly()
    def draw(self, plan: Plan, folder: Path, seed: int | None = None) -> tuple[list[Path], int]:
        """Draw every record once and write the draws in random order; the Parquet files, and how many records.

        Parameters
        ----------
        plan : Plan
            For the schema of these originals.
        folder : Path
            An empty, private one that the executors see too.
        seed : int | None
            Every partition has a stream of its own: a secret one, or a function of the seed and its number.
        """
        drawn, ordered = folder.absolute() / "drawn", folder.absolute() / "ordered"
        drawn.mkdir()
        ordered.mkdir()
        found = self._drawn(DrawTask(Kernel(plan), drawn, seed))
        plan.check(found.tally)
        files = min(-(-found.tally.n // ROWS_A_FILE), BUCKETS)
        order = OrderTask(Kernel(plan), commit(drawn, found.attempts), ordered, files, seed)
        parts = commit(ordered, self._ordered(order))
        _check_none_is_missing(parts, found.tally.n)
        return parts, found.tally.n

    def _drawn(self, draw: DrawTask) -> Drawn:
        plan = draw.kernel.plan
        nothing = Drawn([], plan.tally())
        is_large = _is_large(nothing.tally)
        return table_of(self.records).folded(plan.schema.released, draw, Drawn.merge, nothing, is_large=is_large)

    def _ordered(self, order: OrderTask) -> list[Attempt]:
        numbers = numbered(table_of(self.records).session, order.files)
        nothing: list[Attempt] = []
        found = folded(numbers, order, add, nothing, is_large=False)
        assert isinstance(found, list)  # noqa: S101 (no values are read that could be bad)
        return found


def _is_large(tally: Tally) -> bool:
    return math.prod(tally.shape) > FEW_CELLS


def _check_none_is_missing(parts: Sequence[Path], records: int) -> None:
    found = sum(pq.read_metadata(part).num_rows for part in parts)
    if found != records:
        raise ReleaseError(
            Phrase(
                "drew {records}, but the files hold {found:,}: not all executors see the same folder. Nothing "
                "was published; name another folder",
                records=so_many_records(records),
                found=found,
            )
        )


@told_plainly()
def start_session() -> SparkSession:
    """The session that is running, or one as SPARK_REMOTE or spark-defaults.conf ask for; local otherwise.

    Executors use the Python that runs here, unless PYSPARK_PYTHON names another.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return SparkSession.builder.appName("kakuran").getOrCreate()


def read_originals(session: SparkSession, path: Path, schema: Schema, **written: str | None) -> Originals:
    """A Parquet, CSV or Arrow file, or a folder or pattern of such files; CSV written as told to `open_source`."""
    return Originals(Files(session, open_source(path.absolute(), **written)), schema)
