"""Large tables: cut space into blocks of neighbours and group each by itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from kakuran.microaggregation.mdav import mdav

BLOCK = 8000
"""Records a block may have; grouping one costs the square of it."""


def blocked(points: NDArray[np.float64], k: int, block: int = BLOCK) -> NDArray[np.intp]:
    """Halve along the widest column until blocks are small enough, then group each by MDAV."""
    blocks = list(_halves(points, np.arange(len(points)), max(block, 4 * k)))
    with ThreadPoolExecutor() as pool:
        parts = list(pool.map(lambda rows: mdav(points[rows], k), blocks))
    groups, used = np.empty(len(points), np.intp), 0
    for rows, part in zip(blocks, parts, strict=True):
        groups[rows] = part + used
        used += int(part.max()) + 1
    return groups


def _halves(points: NDArray[np.float64], rows: NDArray[np.intp], most: int) -> list[NDArray[np.intp]]:
    if len(rows) <= most:
        return [rows]
    chosen = points[rows]
    column = chosen[:, np.argmax(chosen.var(axis=0))]
    middle = len(rows) // 2
    order = np.argpartition(column, middle)
    return _halves(points, rows[order[:middle]], most) + _halves(points, rows[order[middle:]], most)
