"""How near an estimated distribution is to the true one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kakuran.errors import DataError


def l1_accuracy(p: ArrayLike, q: ArrayLike) -> float:
    """100·(1 − ½Σ|p − q|) over the cells of two distributions (S0 §5).

    100 when they are equal, 0 when they never overlap. Counts are turned into shares first.

    Examples
    --------
    >>> import kakuran as kk
    >>> kk.l1_accuracy([50, 50, 0], [0.25, 0.5, 0.25])
    75.0
    """
    shares = [np.asarray(table, dtype=float) for table in (p, q)]
    if shares[0].shape != shares[1].shape:
        raise DataError(
            "l1_accuracy",
            f"cannot compare cells of shapes {shares[0].shape} and {shares[1].shape}",
            "Use the same cells.",
        )
    for table in shares:
        if not (np.isfinite(table).all() and (table >= 0).all() and table.sum() > 0):
            raise DataError(
                "l1_accuracy", "counts or shares must be finite, not negative, not all zero", "Count again."
            )
    first, second = (table / table.sum() for table in shares)
    return float(100 * (1 - 0.5 * np.abs(first - second).sum()))
