"""The peak of this process's memory."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path


def own_peak() -> int:
    """Bytes. Linux is asked for the program's own peak: the one of `getrusage` starts at that of whoever started it."""
    if sys.platform == "linux":
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found is not None:
            return int(found.group(1)) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
