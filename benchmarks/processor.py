"""Processor time of a whole family of processes: Java, its Python workers and whoever started them."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from pathlib import Path

_PROCESSES = Path("/proc")


def family_seconds() -> float:
    """What this process and all it started have used so far, the dead included; only Linux tells."""
    if not _PROCESSES.is_dir():
        return math.nan
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
    return sum(used[process] for process in family) / os.sysconf("SC_CLK_TCK")
