"""One number: the best grouping there is, by dynamic programming over the sorted records (Hansen & Mukherjee 2003)."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


def optimal(numbers: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """The grouping with the least sum of squares; its groups are runs of k to 2k−1 sorted records. O(n log n + nk)."""
    order = np.argsort(numbers, kind="stable")
    groups = np.empty(len(numbers), np.intp)
    groups[order] = _optimal_runs(numbers[order] - numbers.mean(), k)
    return groups


@njit(cache=True, nogil=True)
def _optimal_runs(numbers: NDArray[np.float64], k: int) -> NDArray[np.intp]:  # pragma: no cover - compiled
    n = len(numbers)
    sums = np.zeros(n + 1)
    for i in range(n):
        sums[i + 1] = sums[i] + numbers[i]
    # Squares add up to the same in every grouping, so only what the means explain is maximised.
    explained = np.full(n + 1, -np.inf)
    explained[0] = 0.0
    run = np.zeros(n + 1, np.intp)
    for stop in range(k, n + 1):
        for size in range(k, min(2 * k, stop + 1)):
            total = sums[stop] - sums[stop - size]
            value = explained[stop - size] + total * total / size
            if value > explained[stop]:
                explained[stop] = value
                run[stop] = size
    group_of = np.empty(n, np.intp)
    stop, group = n, 0
    while stop > 0:
        group_of[stop - run[stop] : stop] = group
        stop -= run[stop]
        group += 1
    return group_of
