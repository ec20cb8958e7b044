"""How many rows of a DataFrame Spark hands to a task at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyspark.sql import SparkSession

from kakuran.engine.spark.complaints import COMPLAINTS

BYTES_A_BATCH = "spark.sql.execution.arrow.maxBytesPerBatch"
ROWS_A_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
_NO_LIMIT = (1 << 31) - 1
_ROWS_AT_ONCE = 1 << 16
"""Spark hands over 10,000 rows at a time; larger batches cost less a row."""


@contextmanager
def unmeasured(session: SparkSession) -> Iterator[None]:
    """Let rows alone, and not bytes, say when a batch is full.

    To keep to so many bytes Spark measures the whole batch anew for every row, which takes as long as all else it does
    with the row. Where rows are limited, batches of numbers and labels are small anyway.
    """
    is_ours = _lift_limit(session)
    try:
        yield
    finally:
        if is_ours:
            session.conf.unset(BYTES_A_BATCH)


def _lift_limit(session: SparkSession) -> bool:
    """Whether it could be done; a limit that somebody chose stays."""
    try:
        if session.conf.get(BYTES_A_BATCH, None) is not None or int(session.conf.get(ROWS_A_BATCH) or 0) <= 0:
            return False
        session.conf.set(BYTES_A_BATCH, _NO_LIMIT)
    except COMPLAINTS:  # not every cluster lets its settings be changed: there it just takes longer
        return False
    return True


def joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer batches."""
    some: list[pa.RecordBatch] = []
    for batch in batches:
        some.append(batch)
        if sum(map(len, some)) >= _ROWS_AT_ONCE:
            yield pa.concat_batches(some)
            some = []
    if some:
        yield pa.concat_batches(some)
