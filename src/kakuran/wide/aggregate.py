"""k-anonymous rows: every class of at least k people publishes one row (the other half of S1's Theorem 1).

Candidates for such rows are the unions of patterns that people have, every single pattern, and nothing. Everybody
starts at the nearest candidate. Candidates with fewer than k people are then visited from the smallest: either it
closes, and its people go to their next best, or it is filled up with those who mind least from classes that can spare
them, whichever costs less. In the end every class publishes in every cell the median of its members, which for bits is
the vote of the majority and can only bring rows nearer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from kakuran.typing import Indices
from kakuran.wide.boolean import BooleanFactors, boolean_product
from kakuran.wide.matrices import BitWords, hamming, pack, pack_dense
from kakuran.wide.mdav import check_groups


def majority_rows(X: Any, classes: Indices) -> Any:
    """The vote of every class as a CSR matrix of classes × columns; a tie is 0."""
    from scipy.sparse import csr_array

    n, count = len(classes), int(classes.max()) + 1
    members = csr_array((np.ones(n, np.int32), (classes, np.arange(n))), shape=(count, n))
    votes = (members @ X.astype(np.int32)).tocsr()
    sizes = np.repeat(np.bincount(classes, minlength=count), np.diff(votes.indptr))
    votes.data = (2 * votes.data > sizes).astype(np.int32)
    votes.eliminate_zeros()
    return votes.astype(X.dtype)


def median_rows(X: Any, classes: Indices) -> Any:
    """The lower median of every class in every column, zeros counted, as a CSR matrix of classes × columns."""
    from scipy.sparse import csr_array

    count, columns = int(classes.max()) + 1, X.shape[1]
    cells = np.repeat(classes, np.diff(X.indptr)).astype(np.int64) * columns + X.indices
    order = np.lexsort((X.data, cells))
    cells, values = cells[order], X.data[order]
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    held = np.diff(starts, append=len(cells))
    sizes = np.bincount(classes, minlength=count)[cells[starts] // columns]
    # Members without an entry hold a zero, so the median is that many places further down.
    place = (sizes - 1) // 2 - (sizes - held)
    is_kept = place >= 0
    chosen = starts[is_kept]
    rows, places = np.divmod(cells[chosen], columns)
    return csr_array((values[chosen + place[is_kept]], (rows, places)), shape=(count, columns))


_MOST_COMPARISONS = 1 << 30
"""Words up to which everybody is compared with every candidate, and classes are then improved."""

_DONORS = 20_000
_ROUNDS = 12


def aggregate_bits(X: Any, factors: BooleanFactors, k: int, start: Indices | None = None) -> Indices:
    """The class of every row, each of at least k.

    Parameters
    ----------
    X : Any
        A binary CSR matrix.
    factors : BooleanFactors
        Its Boolean factors.
    k : int
        The fewest rows of a class.
    start : Indices | None
        Another grouping, whose majority rows become candidates too.
    """
    rows = pack(X)
    candidates, own = _patterns(factors)
    if candidates.size * len(rows) > _MOST_COMPARISONS:
        return _checked(_fill_classes(rows, candidates, own, k), k)
    if start is not None:
        candidates = np.concatenate([candidates, pack(majority_rows(X, start))])
    classes = _fill_classes(rows, candidates, _nearest(rows, candidates), k)
    return _polish(X, rows, _checked(classes, k), k)


def _patterns(factors: BooleanFactors) -> tuple[BitWords, Indices]:
    """The unions of patterns that somebody has, each alone, and none; and everybody's own."""
    rank = factors.rank
    alone = np.concatenate([np.zeros((1, rank), np.uint8), np.eye(rank, dtype=np.uint8)])
    packed = pack_dense(np.concatenate([alone, factors.U]))
    keys = np.ascontiguousarray(packed).view(f"V{packed.shape[1] * 8}").ravel()
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    chosen = np.concatenate([alone, factors.U])[first]
    return pack(boolean_product(chosen, factors.V)), place[rank + 1 :]


def _polish(X: Any, rows: BitWords, classes: Indices, k: int) -> Indices:
    """Everybody to the nearest of the rows the classes publish, and so on while the loss falls."""
    centres = pack(majority_rows(X, classes))
    loss = _loss(rows, centres, classes)
    for _ in range(_ROUNDS):
        moved = _checked(_fill_classes(rows, centres, _nearest(rows, centres), k), k)
        centres = pack(majority_rows(X, moved))
        lower = _loss(rows, centres, moved)
        if lower >= loss:
            break
        classes, loss = moved, lower
    return classes


def _checked(classes: Indices, k: int) -> Indices:
    """Classes numbered without gaps, none below k."""
    numbered = np.unique(classes, return_inverse=True)[1]
    check_groups(numbered, k)
    return numbered


@njit(cache=True, nogil=True)
def _loss(rows: BitWords, centres: BitWords, classes: Indices) -> int:  # pragma: no cover - compiled
    total = 0
    for i in range(len(rows)):
        total += hamming(rows[i], centres[classes[i]])
    return total


@njit(cache=True, nogil=True)
def _nearest(rows: BitWords, candidates: BitWords) -> Indices:  # pragma: no cover - compiled
    nearest = np.empty(len(rows), np.intp)
    for i in range(len(rows)):
        least = 1 << 60
        for c in range(len(candidates)):
            cost = hamming(rows[i], candidates[c])
            if cost < least:
                least, nearest[i] = cost, c
    return nearest


@njit(cache=True, nogil=True)
def _fill_classes(
    rows: BitWords, candidates: BitWords, start: Indices, k: int
) -> Indices:  # pragma: no cover - compiled
    """Close or fill up every candidate that fewer than k rows have chosen."""
    n, count = len(rows), len(candidates)
    class_of = start.copy()
    sizes = np.zeros(count, np.intp)
    first, following, preceding = np.full(count, -1, np.intp), np.full(n, -1, np.intp), np.full(n, -1, np.intp)
    for i in range(n):
        _enter(i, class_of[i], first, following, preceding, sizes, class_of)
    while True:
        # A plain -1 is a type of its own, for which all that follows would be compiled once more.
        smallest, c = k, int(np.intp(-1))
        for candidate in range(count):
            if 0 < sizes[candidate] < smallest:
                smallest, c = sizes[candidate], candidate
        if c < 0:
            return class_of
        leaving = np.empty(sizes[c], np.intp)
        place, i = 0, first[c]
        while i >= 0:
            leaving[place] = i
            place, i = place + 1, following[i]
        goals, closing = _next_best(rows, candidates, leaving, c, sizes)
        donors, filling = _cheapest_donors(rows, candidates, c, k, sizes, first, following)
        if len(donors) and filling < closing:
            for i in donors:
                _leave(i, class_of, first, following, preceding, sizes)
                _enter(i, c, first, following, preceding, sizes, class_of)
        else:
            for place in range(len(leaving)):
                _leave(leaving[place], class_of, first, following, preceding, sizes)
                _enter(leaving[place], goals[place], first, following, preceding, sizes, class_of)


@njit(cache=True, nogil=True)
def _enter(
    i: int, c: int, first: Indices, following: Indices, preceding: Indices, sizes: Indices, class_of: Indices
) -> None:  # pragma: no cover - compiled
    """Members of a class form a chain."""
    following[i], preceding[i] = first[c], -1
    if first[c] >= 0:
        preceding[first[c]] = i
    first[c] = i
    sizes[c] += 1
    class_of[i] = c


@njit(cache=True, nogil=True)
def _leave(
    i: int, class_of: Indices, first: Indices, following: Indices, preceding: Indices, sizes: Indices
) -> None:  # pragma: no cover - compiled
    if preceding[i] >= 0:
        following[preceding[i]] = following[i]
    else:
        first[class_of[i]] = following[i]
    if following[i] >= 0:
        preceding[following[i]] = preceding[i]
    sizes[class_of[i]] -= 1


@njit(cache=True, nogil=True)
def _next_best(
    rows: BitWords, candidates: BitWords, leaving: Indices, c: int, sizes: Indices
) -> tuple[Indices, int]:  # pragma: no cover - compiled
    """Where each member would go if the class closed, and what that costs."""
    goals, extra = np.empty(len(leaving), np.intp), 0
    for place in range(len(leaving)):
        row = rows[leaving[place]]
        least = 1 << 60
        for other in range(len(candidates)):
            if other != c and sizes[other] > 0:
                cost = hamming(row, candidates[other])
                if cost < least:
                    least, goals[place] = cost, other
        extra += least - hamming(row, candidates[c])
    return goals, extra


@njit(cache=True, nogil=True)
def _cheapest_donors(
    rows: BitWords, candidates: BitWords, c: int, k: int, sizes: Indices, first: Indices, following: Indices
) -> tuple[Indices, int]:  # pragma: no cover - compiled
    """Who would fill the class up to k at the least cost, and that cost; nobody if nearby classes spare too few."""
    wanted = k - sizes[c]
    rich = np.flatnonzero(sizes > k)
    apart = np.empty(len(rich), np.intp)
    for place in range(len(rich)):
        apart[place] = hamming(candidates[rich[place]], candidates[c])
    asked, costs, givers = np.empty(_DONORS, np.intp), np.empty(_DONORS, np.intp), np.empty(_DONORS, np.intp)
    met = 0
    for giver in rich[np.argsort(apart)]:
        i = first[giver]
        while i >= 0 and met < _DONORS:
            asked[met], givers[met] = i, giver
            costs[met] = hamming(rows[i], candidates[c]) - hamming(rows[i], candidates[giver])
            met, i = met + 1, following[i]
        if met == _DONORS:
            break
    spare = sizes - k
    donors, total, taken = np.empty(wanted, np.intp), 0, 0
    for place in np.argsort(costs[:met]):
        if spare[givers[place]] > 0:
            spare[givers[place]] -= 1
            donors[taken] = asked[place]
            total += costs[place]
            taken += 1
            if taken == wanted:
                return donors, total
    return donors[:0], 0
