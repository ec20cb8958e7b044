"""Rows that differ, and how often each occurs: the one way to find out, for records, classes and cells alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.typing import Array, Indices


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Rows that differ, in the order of their columns.

    Attributes
    ----------
    columns : list[NDArray]
        The distinct rows, column by column.
    counts : NDArray
        How often each occurs, or what the weights of its copies add up to.
    place : NDArray
        Which of them each of the given rows is.
    first : NDArray
        The first of the given rows that is each of them.
    """

    columns: list[NDArray[Any]]
    counts: NDArray[Any]
    place: Indices
    first: Indices

    def __len__(self) -> int:
        return len(self.counts)


def distinct_rows(columns: Sequence[NDArray[np.integer]], weights: Array | None = None) -> DistinctRows:
    """The rows that differ in some column of whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from kakuran.counts import distinct_rows
    >>> found = distinct_rows([np.array([2, 0, 2]), np.array([5, 7, 5])])
    >>> [column.tolist() for column in found.columns], found.counts.tolist(), found.place.tolist()
    ([[0, 2], [7, 5]], [1, 2], [1, 0, 1])
    """
    place, count = _joint_codes(columns)
    first = np.empty(count, np.intp)
    first[place[::-1]] = np.arange(len(place))[::-1]
    counts = np.bincount(place, weights, minlength=count)
    return DistinctRows([column[first] for column in columns], counts, place, first)


def rows_of_each(codes: NDArray[np.integer], size: int) -> list[Indices]:
    """The rows that have each of the values 0 … size − 1.

    Examples
    --------
    >>> import numpy as np
    >>> from kakuran.counts import rows_of_each
    >>> [rows.tolist() for rows in rows_of_each(np.array([2, 0, 2]), 3)]
    [[1], [], [0, 2]]
    """
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.searchsorted(codes[order], np.arange(1, size)))


def _joint_codes(columns: Sequence[NDArray[np.integer]]) -> tuple[Indices, int]:
    """One code a row for several columns together, numbered in order and without gaps, and how many there are."""
    codes, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        lowest, highest = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        digits, width = column - lowest, highest - lowest + 1
        if size * width > max(4 * len(codes), 1 << 16):
            codes, size = _without_gaps(codes, size)
            if width > len(codes):
                digits, width = _without_gaps(digits, width)
        codes, size = codes * width + digits, size * width
    return _without_gaps(codes, size)


def _without_gaps(codes: NDArray[np.integer], size: int) -> tuple[Indices, int]:
    if size > max(8 * len(codes), 1 << 20):
        found, places = np.unique(codes, return_inverse=True)
        return places, len(found)
    is_used = np.zeros(size, bool)
    is_used[codes] = True
    return (np.cumsum(is_used) - 1)[codes], int(is_used.sum())
