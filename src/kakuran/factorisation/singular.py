"""The leading singular vectors of a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.randomness import Randomness


def leading(X: Any, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Left vectors in columns, strengths, right vectors in rows; the strongest first."""
    if not X.nnz:
        return np.zeros((X.shape[0], count)), np.zeros(count), np.zeros((count, X.shape[1]))
    from scipy.sparse.linalg import svds

    start = Randomness.seeded(0).generator().normal(size=min(X.shape))
    found: Any = svds(X.astype(np.float64), count, v0=start)
    left, strengths, right = found
    return left[:, ::-1], strengths[::-1], right[::-1]
