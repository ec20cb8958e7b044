"""One value of every partition, and all of them put together.

Bad data is a value too: an exception would be retried, and its text, offending value and all, kept in logs.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark import TaskContext
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import DataFrame, SparkSession

from kakuran.errors import DataError, ReleaseError
from kakuran.words import Phrase

Value = TypeVar("Value")
Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_PARTIAL = "part int, value binary"
_MERGERS = 8
FEW_CELLS = 1 << 16
"""Half a megabyte: so many counts of each partition may reach the driver as they are."""


def numbered(session: SparkSession, count: int) -> DataFrame:
    """The numbers from 0, each in a partition of its own: a task is handed its number and nothing else."""
    return session.range(0, count, 1, max(count, 1))


def numbers_in(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    """The numbers a task was handed."""
    return (number for batch in batches for number in batch.column(0).to_pylist())


def partition_number() -> int:
    """Which partition the running task works on; the same in every attempt at it."""
    return running_task().partitionId()


def running_task() -> TaskContext:
    """The attempt at a task that runs here."""
    context = TaskContext.get()
    assert context is not None  # noqa: S101
    return context


def folded(
    frame: DataFrame,
    of_partition: Callable[[Iterator[pa.RecordBatch]], Value],
    merge: Callable[[Value, Value], Value],
    zero: Value,
    *,
    is_large: bool,
) -> Value | DataError:
    """The values of all partitions merged, or the first bad data that was met.

    Large values are merged by a few tasks first, so that few reach the driver. Of a partition that is computed twice
    one value counts: it goes to the same merger every time, and what a merger made is used once.
    """

    def partial(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            value: Value | DataError = of_partition(batches)
        except DataError as error:
            value = error
        yield _row(value)

    def merged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in batch.column("value"))
        values = (_loads(row.as_py()) for row in rows)
        first = next(values, None)
        if first is not None:
            yield _row(reduce(both, values, first))

    def both(one: Any, other: Any) -> Any:
        if isinstance(one, DataError):
            return one
        return other if isinstance(other, DataError) else merge(one, other)

    partials = _mapped(frame, partial)
    if is_large:
        partials = _mapped(partials.repartitionById(_MERGERS, "part"), merged)
    with unmeasured(frame.sparkSession):
        rows = sorted(partials.collect(), key=lambda row: row.part)
    found: Value | DataError = reduce(both, (_loads(row.value) for row in rows), zero)
    return found


def _mapped(frame: DataFrame, task: Task) -> DataFrame:
    with warnings.catch_warnings():
        # mapInArrow checks for pandas and has doubts about its version 3; no task of ours uses pandas.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return frame.mapInArrow(task, _PARTIAL)


def _row(value: object) -> pa.RecordBatch:
    return pa.record_batch({"part": pa.array([partition_number()], pa.int32()), "value": [pickle.dumps(value)]})


def _loads(pickled: bytes) -> Any:
    return pickle.loads(pickled)  # noqa: S301 (made by our own tasks a moment ago)


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


COMPLAINTS = (PySparkException, Py4JJavaError)


@contextmanager
def told_plainly() -> Iterator[None]:
    """What Spark could not do is an error like others."""
    try:
        yield
    except COMPLAINTS as error:
        raise ReleaseError(Phrase("Spark failed: {why}", why=gist(error))) from error


def gist(error: Exception) -> str:
    """The last line of what Python says, the first of what Java says."""
    lines = [line.strip(": ") for line in str(error).partition("JVM stacktrace")[0].splitlines()]
    skipped = ("\t", "SQLSTATE", "An error occurred while calling")
    told = [line for line in lines if line and not line.startswith(skipped)]
    return told[-1 if isinstance(error, PythonException) else 0]
