"""Files that tasks write by themselves, one an attempt, of which one a partition is kept.

Spark may attempt a task several times, but of each partition it hands one result to the driver. That result names the
file of the attempt it comes from; any other file is of an attempt that came to nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from kakuran.engine.spark.partials import running_task
from kakuran.errors import ReleaseError

_WAY_OUT = "name a folder that the executors and this program see under the same path"


@dataclass(frozen=True, order=True)
class Attempt:
    """The file that an attempt at a partition has written."""

    partition: int
    name: str


@contextmanager
def writing(folder: Path) -> Iterator[tuple[BinaryIO, Attempt]]:
    """A file that no other attempt writes to."""
    task = running_task()
    attempt = Attempt(task.partitionId(), f"{task.partitionId()}-{task.taskAttemptId()}")
    try:
        file = (folder / attempt.name).open("xb")
    except FileNotFoundError:
        raise ReleaseError(f"{folder.parent}: not there on an executor; {_WAY_OUT}") from None
    with file:
        yield file, attempt


def commit(folder: Path, attempts: Sequence[Attempt]) -> list[Path]:
    """The files of these attempts in the order of their partitions; every other file in the folder is deleted.

    An attempt that nobody waits for may still be writing: its file goes with the folder.
    """
    twice = [partition for partition, files in Counter(one.partition for one in attempts).items() if files > 1]
    if twice:
        raise ReleaseError(f"{folder.parent}: partition {twice[0]} was written twice; nothing was published, run again")
    kept = [folder / attempt.name for attempt in sorted(attempts)]
    if not all(path.exists() for path in kept):
        raise ReleaseError(f"{folder.parent}: what the executors write there does not arrive here; {_WAY_OUT}")
    for path in set(folder.iterdir()).difference(kept):
        path.unlink(missing_ok=True)
    return kept
