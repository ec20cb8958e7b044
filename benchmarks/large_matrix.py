"""`python -m benchmarks.large_matrix ROWS` releases a matrix and prints its loss, the seconds and the peak in GiB."""

from __future__ import annotations

import sys

from benchmarks.own_peak import own_peak
from benchmarks.timing import timed
from kakuran.samples import planted_matrix
from kakuran.wide import release_matrix


def main(rows: str) -> None:
    """Warm up on few rows, then time."""
    release_matrix(planted_matrix(5, rows=30_000, columns=100), 10, rank=5)
    X = planted_matrix(20, rows=int(rows))
    seconds, released = timed(lambda: release_matrix(X, 10, rank=20))
    peak = own_peak() / 2**30
    print(released.loss, seconds, peak)


if __name__ == "__main__":
    main(*sys.argv[1:])
