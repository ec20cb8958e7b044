"""Rows of a wide sparse matrix as points in few dimensions, where they can be grouped."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.factorisation.matrices import some_rows
from kakuran.factorisation.singular import leading
from kakuran.randomness import Randomness

DIMENSIONS = 50
FEW_DIMENSIONS = 10
MANY_ROWS = 20_000
_SAMPLE = 10_000


def principal_coordinates(X: Any) -> NDArray[np.float64]:
    """X on its leading singular vectors, found on some rows; fewer of them when rows are many."""
    sample = some_rows(X, _SAMPLE, Randomness.seeded(0).generator())
    wanted = min(DIMENSIONS if X.shape[0] <= MANY_ROWS else FEW_DIMENSIONS, min(sample.shape) - 1)
    if wanted < 1:
        return X.toarray().astype(np.float64)
    return np.asarray(X.astype(np.float64) @ leading(sample, wanted)[2].T)
