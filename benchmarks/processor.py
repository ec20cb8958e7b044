"""Processor time and cores of a whole family of processes: Java, its Python workers and whoever started them."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PROCESSES = Path("/proc")


def family_seconds() -> float:
    """What this process and all it started have used so far, the dead included; only Linux tells."""
    return sum(_family().values()) / os.sysconf("SC_CLK_TCK") if _PROCESSES.is_dir() else math.nan


@contextmanager
def on_one_core() -> Iterator[None]:
    """Keep this process and all it started to one core; only on Linux."""
    allowed = os.sched_getaffinity(0)
    _keep_to([min(allowed)])
    try:
        yield
    finally:
        _keep_to(allowed)


def _keep_to(cores: Collection[int]) -> None:
    for process in _family():
        for thread in (_PROCESSES / str(process) / "task").glob("*"):
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.sched_setaffinity(int(thread.name), cores)


def _family() -> dict[int, int]:
    """The processor time, in ticks, of this process and of each that it started."""
    used: dict[int, int] = {}
    children: defaultdict[int, list[int]] = defaultdict(list)
    for path in _PROCESSES.glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        process = int(path.parent.name)
        children[int(fields[1])].append(process)
        used[process] = sum(map(int, fields[11:15]))
    family = [os.getpid()]
    for process in family:
        family.extend(children[process])
    return {process: used[process] for process in family}
