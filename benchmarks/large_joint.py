"""`python -m benchmarks.large_joint SIZE …` reconstructs a joint with `auto` and prints seconds and its peak in GiB."""

from __future__ import annotations

import resource
import sys

from benchmarks.joints import draw, zipf
from benchmarks.timing import seconds
from kakuran.reconstruction import reconstruct

RECORDS = 1_000_000
RETENTION = 0.5
_UNIT = 1 if sys.platform == "darwin" else 1024


def main(*sizes: str) -> None:
    """Draw the table, reconstruct it, look back."""
    _, counts, operator = draw(zipf([int(size) for size in sizes]), RECORDS, RETENTION, 7)
    taken = seconds(lambda: reconstruct(counts, operator))
    print(taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT / 2**30)


if __name__ == "__main__":
    main(*sys.argv[1:])
