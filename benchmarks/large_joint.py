"""`python -m benchmarks.large_joint SIZE …` reconstructs a joint with `auto` and prints seconds and its peak in GiB."""

from __future__ import annotations

import sys

from benchmarks.joints import draw, zipf
from benchmarks.own_peak import own_peak
from benchmarks.timing import seconds
from kakuran.model import reconstruct

RECORDS = 1_000_000
RETENTION = 0.5


def main(*sizes: str) -> None:
    """Draw the table, reconstruct it, look back."""
    _, counts, operator = draw(zipf([int(size) for size in sizes]), RECORDS, RETENTION, 7)
    taken = seconds(lambda: reconstruct(counts, operator))
    print(taken, own_peak() / 2**30)


if __name__ == "__main__":
    main(*sys.argv[1:])
