"""V-MDAV: groups of k to 2k−1 that take in a neighbour who is nearer to them than to anybody else (Solanas 2006)."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kakuran.microaggregation.mdav import distances_to, k_nearest

GAIN = 0.2
"""γ: a neighbour joins if it is nearer to the group than γ times its distance to the nearest record left."""


def v_mdav(points: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """The group of every record."""
    return _v_mdav(np.ascontiguousarray(points.T, np.float64), k)


@njit(cache=True, nogil=True)
def _v_mdav(columns: NDArray[np.float64], k: int) -> NDArray[np.intp]:  # pragma: no cover - compiled
    d, n = columns.shape
    group_of = np.full(n, -1, np.intp)
    owner = np.arange(n)
    left = columns.copy()
    centre = np.empty(d)
    for c in range(d):
        centre[c] = columns[c].mean()
    remoteness, distance, to_group = np.empty(n), np.empty(n), np.empty(n)
    distances_to(columns, n, centre, remoteness)
    nearest = np.empty(k, np.intp)
    groups, m = 0, n
    while m >= k:
        farthest = np.argmax(remoteness[owner[:m]])
        distances_to(left, m, left[:, farthest].copy(), distance)
        k_nearest(distance, m, nearest)
        to_group[:m] = np.inf
        for place in np.sort(nearest)[::-1]:
            m = _join(left, owner, m, to_group, distance, group_of, int(place), groups)
        size = k
        while size < 2 * k - 1 and m > k:
            candidate = int(np.argmin(to_group[:m]))
            distances_to(left, m, left[:, candidate].copy(), distance)
            distance[candidate] = np.inf
            # Distances are squared, so γ is too.
            if to_group[candidate] >= GAIN * GAIN * distance[:m].min():
                break
            m = _join(left, owner, m, to_group, distance, group_of, candidate, groups)
            size += 1
        groups += 1
    _join_the_nearest_groups(columns, group_of, groups)
    return group_of


@njit(cache=True, nogil=True)
def _join(
    left: NDArray[np.float64],
    owner: NDArray[np.intp],
    m: int,
    to_group: NDArray[np.float64],
    distance: NDArray[np.float64],
    group_of: NDArray[np.intp],
    place: int,
    group: int,
) -> int:  # pragma: no cover - compiled
    """Put a record into a group; everybody left may now be nearer to it."""
    group_of[owner[place]] = group
    distances_to(left, m, left[:, place].copy(), distance)
    m -= 1
    owner[place] = owner[m]
    to_group[place], distance[place] = to_group[m], distance[m]
    left[:, place] = left[:, m]
    for i in range(m):
        to_group[i] = min(to_group[i], distance[i])
    return m


@njit(cache=True, nogil=True)
def _join_the_nearest_groups(
    columns: NDArray[np.float64], group_of: NDArray[np.intp], groups: int
) -> None:  # pragma: no cover - compiled
    """The fewer than k who are left go where the centre is nearest."""
    d, n = columns.shape
    centres, sizes = np.zeros((d, groups)), np.zeros(groups)
    for i in range(n):
        if group_of[i] >= 0:
            centres[:, group_of[i]] += columns[:, i]
            sizes[group_of[i]] += 1
    centres /= sizes
    distance = np.empty(groups)
    for i in range(n):
        if group_of[i] < 0:
            distances_to(centres, groups, columns[:, i].copy(), distance)
            group_of[i] = np.argmin(distance)
