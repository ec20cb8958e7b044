"""MDAV: groups of k around the records farthest from everybody (Domingo-Ferrer & Torra 2005)."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


def mdav(points: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """The group of every record: k a group, up to 2k−1 in the last."""
    return _mdav(np.ascontiguousarray(points.T, np.float64), k)


@njit(cache=True, nogil=True, fastmath=True)
def _mdav(columns: NDArray[np.float64], k: int) -> NDArray[np.intp]:  # pragma: no cover - compiled
    """Records still without a group are kept together at the front, so that every pass runs over plain columns."""
    d, n = columns.shape
    left = columns.copy()
    owner = np.arange(n)
    group_of = np.empty(n, np.intp)
    total = np.zeros(d)
    for c in range(d):
        total[c] = left[c].sum()
    distance, nearest, centre = np.empty(n), np.empty(k, np.intp), np.empty(d)
    groups, m = 0, n
    while m >= 3 * k:
        _measure_from_farthest(left, m, total, centre, distance)
        opposite = left[:, np.argmax(distance[:m])].copy()
        m = _take_nearest(left, owner, m, distance, nearest, total, group_of, groups)
        distances_to(left, m, opposite, distance)
        m = _take_nearest(left, owner, m, distance, nearest, total, group_of, groups + 1)
        groups += 2
    if m >= 2 * k:
        _measure_from_farthest(left, m, total, centre, distance)
        m = _take_nearest(left, owner, m, distance, nearest, total, group_of, groups)
        groups += 1
    for i in range(m):
        group_of[owner[i]] = groups
    return group_of


@njit(cache=True, nogil=True, fastmath=True)
def _measure_from_farthest(
    left: NDArray[np.float64],
    m: int,
    total: NDArray[np.float64],
    centre: NDArray[np.float64],
    distance: NDArray[np.float64],
) -> None:  # pragma: no cover - compiled
    """Squared distances of the first m records to the one of them that is farthest from their mean."""
    for c in range(len(centre)):
        centre[c] = total[c] / m
    distances_to(left, m, centre, distance)
    centre[:] = left[:, np.argmax(distance[:m])]
    distances_to(left, m, centre, distance)


@njit(cache=True, nogil=True, fastmath=True)
def distances_to(
    columns: NDArray[np.float64], m: int, centre: NDArray[np.float64], out: NDArray[np.float64]
) -> None:  # pragma: no cover - compiled
    """Squared distances of the first m records to a point."""
    for i in range(m):
        out[i] = (columns[0, i] - centre[0]) ** 2
    for c in range(1, len(centre)):
        for i in range(m):
            out[i] += (columns[c, i] - centre[c]) ** 2


@njit(cache=True, nogil=True)
def k_nearest(distance: NDArray[np.float64], m: int, nearest: NDArray[np.intp]) -> None:  # pragma: no cover - compiled
    """The places of the smallest distances, as many as `nearest` holds."""
    k = len(nearest)
    worst = 0
    for i in range(k):
        nearest[i] = i
        if distance[i] > distance[nearest[worst]]:
            worst = i
    bar = distance[nearest[worst]]
    for i in range(k, m):
        if distance[i] < bar:
            nearest[worst] = i
            for j in range(k):
                if distance[nearest[j]] > distance[nearest[worst]]:
                    worst = j
            bar = distance[nearest[worst]]


@njit(cache=True, nogil=True)
def _take_nearest(
    left: NDArray[np.float64],
    owner: NDArray[np.intp],
    m: int,
    distance: NDArray[np.float64],
    nearest: NDArray[np.intp],
    total: NDArray[np.float64],
    group_of: NDArray[np.intp],
    group: int,
) -> int:  # pragma: no cover - compiled
    """Put the k nearest into a group and close the gaps they leave; how many are left."""
    k_nearest(distance, m, nearest)
    for place in np.sort(nearest)[::-1]:
        group_of[owner[place]] = group
        m -= 1
        owner[place] = owner[m]
        for c in range(len(total)):
            total[c] -= left[c, place]
            left[c, place] = left[c, m]
    return m
