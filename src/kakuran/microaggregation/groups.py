"""Groups of at least k records, by any method, checked."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import CalibrationError, ReleaseError, counted, is_real

Method: TypeAlias = Literal["mdav", "local-search", "blocked", "v-mdav", "optimal"]


def group_records(points: NDArray[np.float64], k: int, method: Method = "mdav") -> NDArray[np.intp]:
    """The group of every record; each has at least k.

    Parameters
    ----------
    points : records × coordinates
    k : the fewest records of a group
    method : ``"mdav"``; ``"local-search"``, MDAV and then moves and swaps; ``"blocked"``, for large tables, MDAV within
        blocks of neighbours; ``"v-mdav"``, groups of variable size; ``"optimal"``, the least loss of all, for a number
    """
    k = check_k(k, len(points))
    if method not in get_args(Method):
        raise CalibrationError(f"unknown method {method!r}; there are {', '.join(get_args(Method))}")
    if not np.isfinite(points).all():
        raise CalibrationError("records with missing or infinite coordinates cannot be grouped; fill them in first")
    groups = _grouped(points, k, method)
    check_groups(groups, k)
    return groups


def _grouped(points: NDArray[np.float64], k: int, method: Method) -> NDArray[np.intp]:
    if method == "optimal":
        from kakuran.microaggregation.one_dimension import optimal

        if points.shape[1] != 1:
            raise CalibrationError(
                f"the optimum is known for one number only, and records have {points.shape[1]}; use local-search"
            )
        return optimal(points[:, 0], k)
    if method == "v-mdav":
        from kakuran.microaggregation.variable import v_mdav

        return v_mdav(points, k)
    if method == "mdav":
        from kakuran.microaggregation.mdav import mdav

        return mdav(points, k)
    from kakuran.microaggregation.blocked import blocked

    if method == "blocked":
        return blocked(points, k)
    from kakuran.microaggregation.local_search import START, improve

    return improve(points, blocked(points, k, START), k)


def check_k(k: float, n: int) -> int:
    """k as a whole number; one that promises nothing or cannot be kept is refused."""
    if not (is_real(k) and k >= 2 and float(k).is_integer()):
        raise CalibrationError(f"k must be a whole number of at least 2 (k=1 hides nobody), got {k!r}")
    if k > n:
        raise CalibrationError(
            f"k={k:g} is more than the {counted(n, 'record')}: nobody can hide among more people than there are"
        )
    return int(k)


def check_groups(groups: NDArray[np.integer], k: int) -> int:
    """The last word before anything is handed out: no group smaller than k. The size of the smallest."""
    smallest = int(np.bincount(groups)[np.unique(groups)].min())
    if smallest < k:
        raise ReleaseError(
            f"a group of {counted(smallest, 'record')} was made where {k} were promised; nothing is released"
        )
    return smallest
