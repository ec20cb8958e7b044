"""Estimators that solve the linear equations: unbiased, and its projection on what counts can be."""

from __future__ import annotations

import numpy as np

from kakuran.mechanism.base import Array
from kakuran.reconstruction.operator import Operator


def inverse(counts: Array, operator: Operator) -> Array:
    """A⁻¹y: unbiased, but cells may be negative."""
    return operator.solve(counts)


def simplex(counts: Array, operator: Operator) -> Array:
    """The nearest table to A⁻¹y without negative cells and with the same total."""
    return on_simplex(operator.solve(counts), counts.sum())


def on_simplex(table: Array, total: float) -> Array:
    """The nearest non-negative table with this total (Held et al. 1974): subtract one threshold, cut at zero."""
    if total == 0:
        return np.zeros_like(table)
    ordered = np.sort(table, axis=None)[::-1]
    thresholds = (np.cumsum(ordered) - total) / np.arange(1, ordered.size + 1)
    last = np.flatnonzero(ordered > thresholds)[-1]
    return np.maximum(table - thresholds[last], 0.0)
