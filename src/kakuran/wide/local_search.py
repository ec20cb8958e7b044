"""Local search: records move to a nearer group, or swap places with a member of it, while that lowers the loss."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

NEIGHBOURS = 6
"""How many of the nearest groups a record considers."""

START = 25_000
"""Records a block may have in the grouping that is improved; larger ones gain little once it is."""

_SWEEPS = 40
_LEAST_GAIN = 1e-3
_TREE_DIMENSIONS = 10
_BLOCK_CELLS = 1 << 22


def improve(points: NDArray[np.float64], groups: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """Groups of at least k with a sum of squares that is no larger."""
    groups = groups.copy()
    count = int(groups.max()) + 1
    points = np.ascontiguousarray(points, np.float64)
    for _ in range(_SWEEPS):
        sizes = np.bincount(groups, minlength=count)
        centres = (
            np.column_stack([np.bincount(groups, column, minlength=count) for column in points.T]) / sizes[:, None]
        )
        before = float(((points - centres[groups]) ** 2).sum())
        capacity = max(2 * k, int(sizes.max()) + 1)
        gain = _sweep(points, groups, centres, sizes, _nearest_centres(points, centres), k, capacity)
        if gain <= _LEAST_GAIN * before:
            break
    return groups


def _nearest_centres(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.intp]:
    """The nearest groups of every record; a tree in few dimensions, blocks of all distances in many."""
    wanted = min(NEIGHBOURS + 1, len(centres))
    if points.shape[1] <= _TREE_DIMENSIONS:
        from scipy.spatial import KDTree

        return np.asarray(KDTree(centres).query(points, wanted, workers=-1)[1]).reshape(len(points), wanted)
    squares = (centres**2).sum(axis=1)
    height = max(1, _BLOCK_CELLS // len(centres))
    blocks = [
        np.argpartition(squares - 2 * points[start : start + height] @ centres.T, wanted - 1, axis=1)[:, :wanted]
        for start in range(0, len(points), height)
    ]
    return np.concatenate(blocks)


@njit(cache=True, nogil=True, fastmath=True)
def _sweep(
    points: NDArray[np.float64],
    groups: NDArray[np.intp],
    centres: NDArray[np.float64],
    sizes: NDArray[np.intp],
    nearest: NDArray[np.intp],
    k: int,
    capacity: int,
) -> float:  # pragma: no cover - compiled
    """One pass over all records; centres follow every step. The sum of squares that was saved."""
    n, d = points.shape
    members = np.empty((len(sizes), capacity), np.intp)
    filled = np.zeros(len(sizes), np.intp)
    for i in range(n):
        members[groups[i], filled[groups[i]]] = i
        filled[groups[i]] += 1
    saved = 0.0
    for i in range(n):
        g = groups[i]
        own = 0.0
        for c in range(d):
            own += (points[i, c] - centres[g, c]) ** 2
        best, best_group, best_member = -1e-12, -1, -1
        for place in range(nearest.shape[1]):
            h = nearest[i, place]
            if h == g:
                continue
            other = 0.0
            for c in range(d):
                other += (points[i, c] - centres[h, c]) ** 2
            if sizes[g] > k and sizes[h] < capacity:
                change = other * sizes[h] / (sizes[h] + 1) - own * sizes[g] / (sizes[g] - 1)
                if change < best:
                    best, best_group, best_member = change, h, -1
            shrink = 1.0 / sizes[g] + 1.0 / sizes[h]
            for slot in range(sizes[h]):
                j = members[h, slot]
                along, square = 0.0, 0.0
                for c in range(d):
                    step = points[j, c] - points[i, c]
                    along += step * (centres[h, c] - centres[g, c])
                    square += step * step
                change = 2 * along - square * shrink
                if change < best:
                    best, best_group, best_member = change, h, slot
        if best_group < 0:
            continue
        saved -= best
        h = best_group
        slot_of_i = 0
        while members[g, slot_of_i] != i:
            slot_of_i += 1
        if best_member >= 0:
            j = members[h, best_member]
            for c in range(d):
                step = points[j, c] - points[i, c]
                centres[g, c] += step / sizes[g]
                centres[h, c] -= step / sizes[h]
            members[g, slot_of_i], members[h, best_member] = j, i
            groups[i], groups[j] = h, g
        else:
            for c in range(d):
                centres[g, c] += (centres[g, c] - points[i, c]) / (sizes[g] - 1)
                centres[h, c] += (points[i, c] - centres[h, c]) / (sizes[h] + 1)
            members[g, slot_of_i] = members[g, sizes[g] - 1]
            members[h, sizes[h]] = i
            sizes[g] -= 1
            sizes[h] += 1
            groups[i] = h
    return saved
