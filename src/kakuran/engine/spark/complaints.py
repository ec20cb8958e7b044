"""What Spark complains of, in one line in place of two stack traces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, PythonException

from kakuran.errors import ReleaseError

COMPLAINTS = (PySparkException, Py4JJavaError)


@contextmanager
def told_plainly() -> Iterator[None]:
    """What Spark could not do is an error like others."""
    try:
        yield
    except COMPLAINTS as error:
        raise ReleaseError(f"Spark failed: {gist(error)}") from error


def gist(error: Exception) -> str:
    """The last line of what Python says, the first of what Java says."""
    lines = [line.strip(": ") for line in str(error).partition("JVM stacktrace")[0].splitlines()]
    skipped = ("\t", "SQLSTATE", "An error occurred while calling")
    told = [line for line in lines if line and not line.startswith(skipped)]
    return told[-1 if isinstance(error, PythonException) else 0]
