"""Parquet folders that Spark writes: one committed file a partition, whatever was tried twice."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from pyspark.sql import DataFrame

from kakuran.errors import ReleaseError

_PART = re.compile(r"part-(\d+)-.*\.parquet")


def commit(frame: DataFrame, folder: Path) -> DataFrame:
    """Write a frame and read back what was committed.

    Of all attempts at a task Spark lets one commit. The first algorithm of the committer keeps what they write apart
    until the whole job is done; the second, which some sites prefer, does not. A file is written by one attempt, so one
    file a partition is one draw a record.
    """
    (
        frame.write.option("maxRecordsPerFile", 0)
        .option("mapreduce.fileoutputcommitter.algorithm.version", 1)
        .parquet(address(folder))
    )
    check_parts(folder)
    return frame.sparkSession.read.schema(frame.schema).parquet(address(folder))


def check_parts(folder: Path) -> None:
    """Refuse a folder in which a partition was committed twice, or none was."""
    parts = Counter(_number(path) for path in parts_of(folder))
    if not parts:
        raise ReleaseError(
            f"{folder.parent}: what the executors write there does not arrive here; name a folder that they and this "
            "program see under the same path"
        )
    twice = [number for number, files in parts.items() if files > 1]
    if twice:
        raise ReleaseError(f"{folder.parent}: partition {twice[0]} was written twice; nothing was published, run again")


def parts_of(folder: Path) -> list[Path]:
    """The files that were committed, in the order of the partitions."""
    return sorted((path for path in folder.iterdir() if _PART.fullmatch(path.name)), key=_number)


def _number(path: Path) -> int:
    found = _PART.fullmatch(path.name)
    assert found is not None  # noqa: S101
    return int(found.group(1))


def address(folder: Path) -> str:
    """Without a scheme Spark would take the path for one of the cluster's own file system; it decodes no escapes."""
    return f"file://{folder.absolute()}"
