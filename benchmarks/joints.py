"""Joint tables of several kinds, and what perturbation makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.mechanism import UniformMixture
from kakuran.model import Operator

Array: TypeAlias = NDArray[np.float64]


def zipf(sizes: Sequence[int]) -> Array:
    """Independent attributes, each with shares 1, 1/2, 1/3, …"""
    return _shares(reduce(np.multiply.outer, [1 / np.arange(1, size + 1) for size in sizes]))


def truths() -> dict[str, Array]:
    """Shares of a table of 20 × 20 × 20 cells: skewed, even, concentrated in every eightieth cell, dependent."""
    shape = (20, 20, 20)
    sparse = np.zeros(shape)
    sparse.flat[np.random.default_rng(5).choice(sparse.size, sparse.size // 80, replace=False)] = 1
    x, y, z = np.indices(shape)
    dependent = np.exp(-((x - y) ** 2 + (y - z) ** 2) / 24 - x / 12)
    return {
        "Zipf": zipf(shape),
        "uniform": _shares(np.ones(shape)),
        "sparse": _shares(sparse),
        "dependent": _shares(dependent),
    }


def draw(shares: Array, records: int, retention: float, seed: int) -> tuple[Array, Array, Operator]:
    """True counts, perturbed ones, and the operator between them."""
    rng = np.random.default_rng(seed)
    operator = Operator([UniformMixture(retention, np.full(size, 1 / size)) for size in shares.shape])
    truth = rng.multinomial(records, shares.ravel()).reshape(shares.shape)
    perturbed = truth
    for axis, size in enumerate(shares.shape):
        kept = rng.binomial(perturbed, retention)
        replaced = rng.multinomial((perturbed - kept).sum(axis=axis), np.full(size, 1 / size))
        perturbed = kept + np.moveaxis(replaced, -1, axis)
    return truth.astype(float), perturbed.astype(float), operator


def _shares(weights: Array) -> Array:
    return weights / weights.sum()
