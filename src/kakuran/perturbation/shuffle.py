"""A uniformly random order of more rows than fit in memory.

Every row goes to a bucket chosen at random, and every bucket is shuffled by itself: one after the other they are in
uniformly random order, since rows choose independently. Buckets lie on disk as packed rows of perturbed codes.
"""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.randomness import Randomness
from kakuran.schema.codes import narrowest_integer

Rows: TypeAlias = np.ndarray[tuple[int], np.dtype[np.void]]


ROWS_AT_A_TIME = 1 << 20
"""Rows that are scattered together: every bucket is opened once for all of them."""


def scatter(rows: Rows, buckets: int, randomness: Randomness) -> tuple[Rows, NDArray[np.int64]]:
    """The rows bucket by bucket, where every row has chosen one at random, and where each bucket starts and ends."""
    chosen = randomness.below(buckets, len(rows))
    order = np.argsort(chosen.astype(narrowest_integer(buckets)), kind="stable")
    bounds = np.searchsorted(chosen[order], np.arange(buckets + 1))
    return rows.take(order), bounds


class Shuffler:
    """Rows in, random order out."""

    def __init__(self, buckets: int, scratch: Path, randomness: Randomness) -> None:
        self._paths = [scratch / f"bucket-{number}" for number in range(buckets)]
        self._randomness = randomness
        self._row_type: np.dtype[np.void] | None = None
        self._waiting: list[Rows] = []
        self._lock = threading.Lock()
        for path in self._paths:
            path.touch()

    def add(self, rows: Rows) -> None:
        """Take in rows; once there are many, scatter them over the buckets."""
        self._row_type = rows.dtype
        self._waiting.append(rows)
        if sum(map(len, self._waiting)) >= ROWS_AT_A_TIME:
            self._scatter()

    def _scatter(self) -> None:
        if not self._waiting:
            return
        rows = np.concatenate(self._waiting)
        self._waiting.clear()
        scattered, bounds = scatter(rows, len(self._paths), self._randomness)
        for path, (start, stop) in zip(self._paths, itertools.pairwise(bounds), strict=True):
            with path.open("ab") as bucket:
                scattered[start:stop].tofile(bucket)

    def bucket(self, number: int) -> Rows:
        """The rows of one bucket in random order, once all rows were added; any thread may ask."""
        with self._lock:
            self._scatter()
        if self._row_type is None:
            return np.empty(0, np.dtype([]))
        rows = np.fromfile(self._paths[number], self._row_type)
        self._paths[number].unlink()
        return rows.take(self._randomness.spawn(number).permutation(len(rows)))
