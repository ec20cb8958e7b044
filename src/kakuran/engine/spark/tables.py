"""Tables that the tasks of a Spark job read part by part: some rows of a DataFrame at a time, or pieces of files.

Which file bad data lies in is looked up afterwards, since carrying a file name with every row would cost too much.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import input_file_name

from kakuran.engine.spark.partials import COMPLAINTS, folded, joined, numbered, numbers_in, partition_number
from kakuran.errors import DataError
from kakuran.schema import Categorical, Numeric, Part, Source, declared_type, encode


def located(column: DataFrame, attribute: Categorical | Numeric, error: DataError) -> DataError:
    """The error again, with the file it lies in, where its column comes straight from files."""

    def of_partition(batches: Iterator[pa.RecordBatch]) -> dict[str, DataError]:
        found: dict[str, DataError] = {}
        for batch in batches:
            for file in filter(None, batch.column(1).unique().to_pylist()):
                try:
                    encode(attribute, batch.column(0).filter(pc.equal(batch.column(1), file)))
                except DataError as problem:
                    found.setdefault(file, problem)
        return found

    nothing: dict[str, DataError] = {}
    try:
        with_file = column.withColumn("file", input_file_name())
        found = folded(with_file, of_partition, lambda one, other: one | other, nothing, is_large=False)
    except COMPLAINTS:
        return error  # several tables were joined: there is no one file
    if not isinstance(found, dict) or not found:
        return error
    file, problem = min(found.items())
    return problem.at(file.removeprefix("file://"))


Value = TypeVar("Value")
PartReading: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[Part]]
"""The parts of a table that a task is to see, given what Spark hands it."""
ROWS_A_TASK = 1 << 20
"""At least so many records of files are read by one task: to start one takes longer than to count a few."""


class SparkTable(ABC):
    """Records with named columns."""

    @property
    @abstractmethod
    def session(self) -> SparkSession:
        """Where the jobs run."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """Their names."""

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """How many records there are, where that is known without reading all their columns."""

    @abstractmethod
    def read(self, attributes: Sequence[Categorical | Numeric]) -> tuple[DataFrame, PartReading]:
        """What Spark hands to the tasks of a job, and how these come from there to some columns; picklable."""

    def folded(
        self,
        attributes: Sequence[Categorical | Numeric],
        of_parts: Callable[[Iterator[Part]], Value],
        merge: Callable[[Value, Value], Value],
        zero: Value,
        *,
        is_large: bool,
    ) -> Value:
        """One value of some columns: every task makes one of the parts it reads, and all are merged."""
        frame, reading = self.read(attributes)
        found = folded(frame, lambda batches: of_parts(reading(batches)), merge, zero, is_large=is_large)
        if isinstance(found, DataError):
            raise self.located(found, attributes)
        return found

    def located(self, error: DataError, attributes: Sequence[Categorical | Numeric]) -> DataError:
        """The error again, and where the bad data lies, if its part did not know."""
        return error


@dataclass(frozen=True, eq=False)
class Files(SparkTable):
    """Files that tasks read by themselves, without a row passing through Java; all must see them under one path."""

    on: SparkSession
    source: Source

    @property
    def session(self) -> SparkSession:
        """Where the jobs run."""
        return self.on

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return self.source.names

    @property
    def rows(self) -> int | None:
        """As the files say."""
        return self.source.rows

    def read(self, attributes: Sequence[Categorical | Numeric]) -> tuple[DataFrame, PartReading]:
        """A number for every task, which stands for a piece of the files."""
        pieces = self.source.pieces(ROWS_A_TASK)
        wanted = {attribute.name: declared_type(attribute) for attribute in attributes}

        def reading(batches: Iterator[pa.RecordBatch]) -> Iterator[Part]:
            return chain.from_iterable(pieces[number].parts(wanted) for number in numbers_in(batches))

        return numbered(self.on, len(pieces)), reading


@dataclass(frozen=True, eq=False)
class Frame(SparkTable):
    """A DataFrame, classic or of Spark Connect, whose rows Spark computes and hands over."""

    frame: DataFrame

    @property
    def session(self) -> SparkSession:
        """Where the jobs run."""
        return self.frame.sparkSession

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return self.frame.columns

    @property
    def rows(self) -> int | None:
        """Spark counts them."""
        return self.frame.count()

    def read(self, attributes: Sequence[Categorical | Numeric]) -> tuple[DataFrame, PartReading]:
        """The columns themselves."""
        names = [attribute.name for attribute in attributes]

        def reading(batches: Iterator[pa.RecordBatch]) -> Iterator[Part]:
            place = f"partition {partition_number()} of the DataFrame"
            return (Part(batch.rename_columns(names), [(0, place)]) for batch in joined(batches))

        return self.select(attributes), reading

    def select(self, attributes: Sequence[Categorical | Numeric]) -> DataFrame:
        """Some columns, numbered: Spark would take the name ``a.b`` for a field of a column ``a``."""
        unnamed = self.frame.toDF(*(f"c{place}" for place in range(len(self.columns))))
        return unnamed.select([f"c{self.columns.index(attribute.name)}" for attribute in attributes])

    def located(self, error: DataError, attributes: Sequence[Categorical | Numeric]) -> DataError:
        """With the file, where the frame comes straight from files."""
        attribute = next(attribute for attribute in attributes if attribute.name == error.column)
        return located(self.select([attribute]), attribute, error)


def table_of(records: DataFrame | Files) -> SparkTable:
    """Either as a table."""
    return records if isinstance(records, Files) else Frame(records)
