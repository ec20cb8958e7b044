"""The peak of a process's memory."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path


def own_peak() -> int:
    """Bytes. Linux is asked for the program's own peak: the one of `getrusage` starts at that of whoever started it."""
    if sys.platform == "linux":
        return peak_of("self")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def peak_of(process: int | str) -> int:
    """Bytes, of a process on Linux."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found.group(1)) * 1024
