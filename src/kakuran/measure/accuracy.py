"""How near a result comes to the truth: S0's L1 accuracy of distributions, S1's mean absolute loss of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from kakuran.errors import ArgumentError


def l1_accuracy(p: Any, q: Any) -> float:
    """100·(1 − ½ Σ|p − q|): the percentage of people two distributions put into the same cell (S0 §4).

    Counts are scaled to distributions first.

    Examples
    --------
    >>> import kakuran as kk
    >>> kk.l1_accuracy([2, 1, 1], [1, 2, 1])
    75.0
    """
    shares = [_distribution(name, np.asarray(cells, float)) for name, cells in (("p", p), ("q", q))]
    if shares[0].shape != shares[1].shape:
        raise ArgumentError("q", f"has cells {shares[1].shape}, p {shares[0].shape}", "Count both over the same cells.")
    return float(100 * (1 - np.abs(shares[0] - shares[1]).sum() / 2))


def wrong_cells(truth: Any, counts: Any) -> float:
    """The share of people whom estimated counts put in the wrong cell, ½ Σ|p − q|; cells below zero count as empty.

    Examples
    --------
    >>> from kakuran.measure import wrong_cells
    >>> round(wrong_cells([2, 1, 1], [4, 1, -1]), 6)
    0.3
    """
    return 1 - l1_accuracy(truth, np.maximum(counts, 0)) / 100


def _distribution(name: str, cells: Any) -> Any:
    if not (cells >= 0).all() or not 0 < cells.sum() < np.inf:
        raise ArgumentError(name, "is not a distribution", "Give counts or shares of at least 0, not all 0.")
    return cells / cells.sum()


def mean_absolute_loss(original: Any, released: Any) -> float:
    """Mean |x − x'| over all cells of two matrices, dense or sparse (S1 eq. 12).

    Examples
    --------
    >>> from kakuran.measure import mean_absolute_loss
    >>> mean_absolute_loss([[0, 2], [1, 1]], [[0, 1], [1, 1]])
    0.25
    """
    from scipy.sparse import issparse

    matrices: list[Any] = [m if issparse(m) else np.asarray(m, float) for m in (original, released)]
    x, y = matrices
    if x.shape != y.shape:
        raise ArgumentError("matrix", f"{x.shape} before and {y.shape} after", "Compare matrices of one shape.")
    return float(abs(x - y).sum() / max(x.shape[0] * x.shape[1], 1))
