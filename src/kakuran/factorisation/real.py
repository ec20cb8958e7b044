"""Non-negative factors of a sparse matrix, all entries counted: the start of the Boolean ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.factorisation.singular import leading

_ITERATIONS = 25


def real_factors(X: Any, rank: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """U, V ≥ 0 with small ‖X − UVᵀ‖², by coordinate descent over columns from NNDSVD (Boutsidis & Gallopoulos 2008)."""
    U, V = _start(X, rank)
    transposed = X.T.tocsr()
    for _ in range(_ITERATIONS):
        _descend(U, X @ V, V.T @ V)
        _descend(V, transposed @ U, U.T @ U)
    return U, V


def _descend(factor: NDArray[np.float64], target: NDArray[np.float64], gram: NDArray[np.float64]) -> None:
    for r in range(len(gram)):
        step = (target[:, r] - factor @ gram[:, r]) / max(gram[r, r], 1e-12)
        np.maximum(factor[:, r] + step, 0.0, out=factor[:, r])


def _start(X: Any, rank: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    left, strengths, right = leading(X, rank)
    U, V = np.empty((X.shape[0], rank)), np.empty((X.shape[1], rank))
    for place in range(rank):
        u, v = left[:, place], right[place]
        sides = [(np.maximum(sign * u, 0), np.maximum(sign * v, 0)) for sign in (1, -1)]
        u, v = max(sides, key=lambda side: np.linalg.norm(side[0]) * np.linalg.norm(side[1]))
        norms = np.linalg.norm(u) + 1e-12, np.linalg.norm(v) + 1e-12
        height = np.sqrt(strengths[place] * norms[0] * norms[1])
        U[:, place], V[:, place] = height * u / norms[0], height * v / norms[1]
    # A zero would stay one for ever.
    floor = X.mean() / 100
    return np.maximum(U, floor), np.maximum(V, floor)
