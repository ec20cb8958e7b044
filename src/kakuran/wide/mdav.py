"""Groups of at least k records, by MDAV or any other method, checked.

MDAV makes groups of k around the records farthest from everybody (Domingo-Ferrer & Torra 2005); large tables are cut
into blocks of neighbours first. V-MDAV makes groups of k to 2k−1 that take in a neighbour who is nearer to them than to
anybody else (Solanas 2006). For one number dynamic programming over the sorted records finds the best grouping there is
(Hansen & Mukherjee 2003). Local search moves records to a nearer group, or swaps them with a member of it, while that
lowers the loss.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeAlias, get_args

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kakuran.errors import CalibrationError, ReleaseError, is_real
from kakuran.typing import Array, Indices
from kakuran.words import Phrase, so_many_records


def mdav(points: Array, k: int) -> Indices:
    """The group of every record: k a group, up to 2k−1 in the last."""
    return _mdav(np.ascontiguousarray(points.T, np.float64), k)


@njit(cache=True, nogil=True, fastmath=True)
def _mdav(columns: Array, k: int) -> Indices:  # pragma: no cover - compiled
    """Records still without a group are kept together at the front, so that every pass runs over plain columns."""
    d, n = columns.shape
    left = columns.copy()
    owner = np.arange(n)
    group_of = np.empty(n, np.intp)
    total = np.zeros(d)
    for c in range(d):
        total[c] = left[c].sum()
    distance, nearest, centre = np.empty(n), np.empty(k, np.intp), np.empty(d)
    groups, m = int(np.intp(0)), n  # a plain 0 is a type of its own: helpers would be compiled for it, too
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
    left: Array, m: int, total: Array, centre: Array, distance: Array
) -> None:  # pragma: no cover - compiled
    """Squared distances of the first m records to the one of them that is farthest from their mean."""
    for c in range(len(centre)):
        centre[c] = total[c] / m
    distances_to(left, m, centre, distance)
    centre[:] = left[:, np.argmax(distance[:m])]
    distances_to(left, m, centre, distance)


@njit(cache=True, nogil=True, fastmath=True)
def distances_to(columns: Array, m: int, centre: Array, out: Array) -> None:  # pragma: no cover - compiled
    """Squared distances of the first m records to a point."""
    for i in range(m):
        out[i] = (columns[0, i] - centre[0]) ** 2
    for c in range(1, len(centre)):
        for i in range(m):
            out[i] += (columns[c, i] - centre[c]) ** 2


@njit(cache=True, nogil=True)
def k_nearest(distance: Array, m: int, nearest: Indices) -> None:  # pragma: no cover - compiled
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
    left: Array, owner: Indices, m: int, distance: Array, nearest: Indices, total: Array, group_of: Indices, group: int
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


BLOCK = 8000
"""Records a block may have; grouping one costs the square of it."""


def blocked(points: Array, k: int, block: int = BLOCK) -> Indices:
    """Halve along the widest column until blocks are small enough, then group each by MDAV."""
    blocks = list(_halves(points, np.arange(len(points)), max(block, 4 * k)))
    with ThreadPoolExecutor() as pool:
        parts = list(pool.map(lambda rows: mdav(points[rows], k), blocks))
    groups, used = np.empty(len(points), np.intp), 0
    for rows, part in zip(blocks, parts, strict=True):
        groups[rows] = part + used
        used += int(part.max()) + 1
    return groups


def _halves(points: Array, rows: Indices, most: int) -> list[Indices]:
    if len(rows) <= most:
        return [rows]
    chosen = points[rows]
    column = chosen[:, np.argmax(chosen.var(axis=0))]
    middle = len(rows) // 2
    order = np.argpartition(column, middle)
    return _halves(points, rows[order[:middle]], most) + _halves(points, rows[order[middle:]], most)


def optimal(numbers: Array, k: int) -> Indices:
    """The grouping with the least sum of squares; its groups are runs of k to 2k−1 sorted records. O(n log n + nk)."""
    order = np.argsort(numbers, kind="stable")
    groups = np.empty(len(numbers), np.intp)
    groups[order] = _optimal_runs(numbers[order] - numbers.mean(), k)
    return groups


@njit(cache=True, nogil=True)
def _optimal_runs(numbers: Array, k: int) -> Indices:  # pragma: no cover - compiled
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


GAIN = 0.2
"""γ: a neighbour joins if it is nearer to the group than γ times its distance to the nearest record left."""


def v_mdav(points: Array, k: int) -> Indices:
    """The group of every record."""
    return _v_mdav(np.ascontiguousarray(points.T, np.float64), k)


@njit(cache=True, nogil=True)
def _v_mdav(columns: Array, k: int) -> Indices:  # pragma: no cover - compiled
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
    groups, m = int(np.intp(0)), n  # a plain 0 is a type of its own: helpers would be compiled for it, too
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
    left: Array, owner: Indices, m: int, to_group: Array, distance: Array, group_of: Indices, place: int, group: int
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
def _join_the_nearest_groups(columns: Array, group_of: Indices, groups: int) -> None:  # pragma: no cover - compiled
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


GroupingMethod: TypeAlias = Literal["mdav", "local-search", "blocked", "v-mdav", "optimal"]


def group_records(points: Array, k: int, method: GroupingMethod = "mdav") -> Indices:
    """The group of every record; each has at least k.

    Parameters
    ----------
    points : Array
        Records × coordinates.
    k : int
        The fewest records of a group.
    method : GroupingMethod
        ``"mdav"``; ``"local-search"``, MDAV and then moves and swaps; ``"blocked"``, for large tables, MDAV within
        blocks of neighbours; ``"v-mdav"``, groups of variable size; ``"optimal"``, the least loss of all, for a number.
    """
    k = check_k(k, len(points))
    if method not in get_args(GroupingMethod):
        raise CalibrationError(
            Phrase(
                "unknown method {method!r}; there are {methods}",
                method=method,
                methods=", ".join(get_args(GroupingMethod)),
            )
        )
    if not np.isfinite(points).all():
        raise CalibrationError(
            Phrase("records with missing or infinite coordinates cannot be grouped; fill them in first")
        )
    groups = _grouped(points, k, method)
    check_groups(groups, k)
    return groups


def _grouped(points: Array, k: int, method: GroupingMethod) -> Indices:
    if method == "optimal":
        if points.shape[1] != 1:
            raise CalibrationError(
                Phrase(
                    "the optimum is known for one number only, and records have {count}; use local-search",
                    count=points.shape[1],
                )
            )
        return optimal(points[:, 0], k)
    if method == "v-mdav":
        return v_mdav(points, k)
    if method == "mdav":
        return mdav(points, k)
    if method == "blocked":
        return blocked(points, k)
    return improve(points, blocked(points, k, START), k)


def check_k(k: float, n: int) -> int:
    """k as a whole number; one that promises nothing or cannot be kept is refused."""
    if not (is_real(k) and k >= 2 and float(k).is_integer()):
        raise CalibrationError(Phrase("k must be a whole number of at least 2 (k=1 hides nobody), got {k!r}", k=k))
    if k > n:
        raise CalibrationError(
            Phrase(
                "k={k:g} is more than the {records}: nobody can hide among more people than there are",
                k=k,
                records=so_many_records(n),
            )
        )
    return int(k)


def check_groups(groups: NDArray[np.integer], k: int) -> int:
    """The last word before anything is handed out: no group smaller than k. The size of the smallest."""
    smallest = int(np.bincount(groups)[np.unique(groups)].min())
    if smallest < k:
        raise ReleaseError(
            Phrase(
                "a group of {records} was made where {k} were promised; nothing is released",
                records=so_many_records(smallest),
                k=k,
            )
        )
    return smallest


NEIGHBOURS = 6
"""How many of the nearest groups a record considers."""

START = 25_000
"""Records a block may have in the grouping that is improved; larger ones gain little once it is."""

_SWEEPS = 40
_LEAST_GAIN = 1e-3
_TREE_DIMENSIONS = 10
_BLOCK_CELLS = 1 << 22


def improve(points: Array, groups: Indices, k: int) -> Indices:
    """Groups of at least k with a sum of squares that is no larger."""
    groups = groups.copy()
    count = int(groups.max()) + 1
    points = np.ascontiguousarray(points, np.float64)
    distinct, which = np.unique(points, axis=0, return_inverse=True)  # of categories few are, and the same is near them
    for _ in range(_SWEEPS):
        sizes = np.bincount(groups, minlength=count)
        centres = (
            np.column_stack([np.bincount(groups, column, minlength=count) for column in points.T]) / sizes[:, None]
        )
        before = float(((points - centres[groups]) ** 2).sum())
        capacity = max(2 * k, int(sizes.max()) + 1)
        nearest = _nearest_centres(distinct, centres)[which.ravel()]
        gain = _sweep(points, groups, centres, sizes, nearest, k, capacity)
        if gain <= _LEAST_GAIN * before:
            break
    return groups


def _nearest_centres(points: Array, centres: Array) -> Indices:
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
    points: Array, groups: Indices, centres: Array, sizes: Indices, nearest: Indices, k: int, capacity: int
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
