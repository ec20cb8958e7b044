"""Which file bad data lies in: looked up afterwards, since carrying a file name with every row would cost too much."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.functions import input_file_name

from kakuran.engine.spark.columns import Columns
from kakuran.engine.spark.complaints import COMPLAINTS
from kakuran.engine.spark.partials import folded
from kakuran.errors import DataError
from kakuran.schema.codes import encode


def located(frame: DataFrame, columns: Columns, error: DataError) -> DataError:
    """The error again, with the file it lies in and a value, where the frame comes straight from files."""
    attribute = next(attribute for attribute in columns.attributes if attribute.name == error.column)
    column = Columns((attribute,), columns.are_text)

    def of_partition(batches: Iterator[pa.RecordBatch]) -> dict[str, DataError]:
        found: dict[str, DataError] = {}
        for batch in batches:
            for file in batch.column(1).unique().to_pylist():
                values = batch.column(0).filter(pc.equal(batch.column(1), file))
                try:
                    encode(attribute, column.typed(attribute, values))
                except DataError as problem:
                    found.setdefault(file, problem)
        return found

    try:
        with_file = column.select(frame).withColumn("file", input_file_name())
        found = folded(with_file, of_partition, lambda one, other: one | other, is_large=False)
    except COMPLAINTS:
        return error  # several tables were joined: there is no one file
    if not isinstance(found, dict) or not found:
        return error
    file, problem = min(found.items())
    return problem.at(file.removeprefix("file://")) if file else problem
