"""Distinct rows, and how often each occurs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def distinct_rows(rows: NDArray[np.int64], weights: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct rows of an array in order, each once, and the sum of its weights."""
    order = np.argsort(rows, kind="stable") if rows.ndim == 1 else np.lexsort(rows.T[::-1])
    rows, weights = rows[order], weights[order]
    is_other = rows[1:] != rows[:-1]
    starts = np.flatnonzero(np.concatenate([[True] * (len(rows) > 0), is_other if rows.ndim == 1 else is_other.any(1)]))
    return rows[starts], np.add.reduceat(weights, starts) if len(starts) else weights
