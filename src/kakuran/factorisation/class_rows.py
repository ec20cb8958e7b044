"""The row a class publishes: in every cell the median of its members, which for bits is the vote of the majority."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def majority_rows(X: Any, classes: NDArray[np.intp]) -> Any:
    """The vote of every class as a CSR matrix of classes × columns; a tie is 0."""
    from scipy.sparse import csr_array

    n, count = len(classes), int(classes.max()) + 1
    members = csr_array((np.ones(n, np.int32), (classes, np.arange(n))), shape=(count, n))
    votes = (members @ X.astype(np.int32)).tocsr()
    sizes = np.repeat(np.bincount(classes, minlength=count), np.diff(votes.indptr))
    votes.data = (2 * votes.data > sizes).astype(np.int32)
    votes.eliminate_zeros()
    return votes.astype(X.dtype)


def median_rows(X: Any, classes: NDArray[np.intp]) -> Any:
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
