"""Which file bad data lies in: looked up afterwards, since carrying a file name with every row would cost too much."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.functions import input_file_name

from kakuran.engine.spark.complaints import COMPLAINTS
from kakuran.engine.spark.partials import folded
from kakuran.errors import DataError
from kakuran.schema import Categorical, Numeric
from kakuran.schema.codes import encode


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
