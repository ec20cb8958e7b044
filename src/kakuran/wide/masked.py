"""Non-negative factors fitted to the non-zero entries alone: min ‖O ∗ (X − UVᵀ)‖² (S1 eq. 10).

Alternating least squares: given V, every row of U is a small non-negative least-squares problem of its own, solved by
coordinate descent on its R × R Gram matrix; then the other way round. No step can raise the error. There are as many
factors as guess entries best that were hidden from the fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kakuran.randomness import Randomness
from kakuran.typing import Array
from kakuran.wide.matrices import (
    HIDDEN_SHARE,
    best_rank,
    check_columns,
    check_rank,
    counts_matrix,
)

_PASSES = 4
_MANY_PASSES = 200
_RIDGE = 1e-9


@dataclass(frozen=True)
class MaskedFactors:
    """X ≈ UVᵀ where X is not zero.

    Attributes
    ----------
    U : Array
        Rows × rank, at least 0.
    V : Array
        Columns × rank, at least 0.
    errors : tuple[float, ...]
        Root mean squared error over the non-zero entries after every epoch.
    """

    U: Array
    V: Array
    errors: tuple[float, ...]

    @property
    def rank(self) -> int:
        """How many factors there are."""
        return self.V.shape[1]


def factorise_masked(
    X: Any, rank: int | Literal["auto"] = "auto", *, epochs: int = 30, tolerance: float = 1e-3, seed: int = 0
) -> MaskedFactors:
    """The factors U, V ≥ 0 that are nearest to the non-zero entries of X.

    Parameters
    ----------
    X : Any
        Counts or other numbers of at least 0, dense or sparse; zeros say nothing.
    rank : int | Literal["auto"]
        How many factors; ``"auto"`` takes the one that guesses hidden non-zero entries best.
    epochs : int
        The most passes over all entries.
    tolerance : float
        Stop when an epoch lowers the error by less than this share.
    seed : int
        Of the start.
    """
    X = counts_matrix(X).astype(np.float64)
    dice = Randomness.seeded(seed).generator()
    rank = _rank_by_hidden_entries(X, epochs, tolerance, dice) if rank == "auto" else check_rank(rank, X.shape)
    return _fit(X, rank, epochs, tolerance, dice)


def solve_rows(X: Any, V: Array) -> Array:
    """For every row of X the non-negative weights of the factors that rebuild its non-zero entries best."""
    check_columns(X, V)
    U = np.ones((X.shape[0], V.shape[1]))
    _solve_rows(X.indptr, X.indices, X.data, V, U, _MANY_PASSES)
    return U


def _fit(X: Any, rank: int, epochs: int, tolerance: float, dice: np.random.Generator) -> MaskedFactors:
    level = np.sqrt(X.data.mean() / rank) if X.nnz else 0.0
    U, V = (level * dice.uniform(0.5, 1.5, (side, rank)) for side in X.shape)
    by_column = X.T.tocsr()
    errors: list[float] = []
    for _ in range(epochs):
        _solve_rows(X.indptr, X.indices, X.data, V, U, _PASSES)
        _solve_rows(by_column.indptr, by_column.indices, by_column.data, U, V, _PASSES)
        errors.append(_error(X.indptr, X.indices, X.data, U, V))
        if len(errors) > 1 and errors[-2] - errors[-1] < tolerance * errors[-1]:
            break
    return MaskedFactors(U, V, tuple(errors))


def _rank_by_hidden_entries(X: Any, epochs: int, tolerance: float, dice: np.random.Generator) -> int:
    is_hidden = dice.random(X.nnz) < HIDDEN_SHARE
    shown = X.copy()
    shown.data = np.where(is_hidden, 0.0, X.data)
    shown.eliminate_zeros()
    hidden = X.copy()
    hidden.data = np.where(is_hidden, X.data, 0.0)
    hidden.eliminate_zeros()

    def error(rank: int) -> float:
        found = _fit(shown, rank, epochs, tolerance, Randomness.seeded(rank).generator())
        return _error(hidden.indptr, hidden.indices, hidden.data, found.U, found.V)

    return best_rank(error, X.shape)


@njit(cache=True, nogil=True, fastmath=True)
def _solve_rows(
    indptr: NDArray[Any], indices: NDArray[Any], data: Array, given: Array, solved: Array, passes: int
) -> None:  # pragma: no cover - compiled
    """The best non-negative row for the entries of every row; a row without any is 0."""
    rank = given.shape[1]
    gram, target = np.empty((rank, rank)), np.empty(rank)
    for i in range(len(indptr) - 1):
        if indptr[i] == indptr[i + 1]:
            solved[i] = 0.0
            continue
        gram[:], target[:] = 0.0, 0.0
        for place in range(indptr[i], indptr[i + 1]):
            row = given[indices[place]]
            x = data[place]
            for a in range(rank):
                target[a] += x * row[a]
                for b in range(a + 1):
                    gram[a, b] += row[a] * row[b]
        trace = 0.0
        for a in range(rank):
            trace += gram[a, a]
            for b in range(a):
                gram[b, a] = gram[a, b]
        for _ in range(passes):
            for a in range(rank):
                slope = target[a]
                for b in range(rank):
                    slope -= gram[a, b] * solved[i, b]
                solved[i, a] = max(0.0, solved[i, a] + slope / (gram[a, a] + _RIDGE * trace + 1e-300))


@njit(cache=True, nogil=True, fastmath=True)
def _error(
    indptr: NDArray[Any], indices: NDArray[Any], data: Array, U: Array, V: Array
) -> float:  # pragma: no cover - compiled
    """Root mean squared error over the stored entries."""
    total = 0.0
    for i in range(len(indptr) - 1):
        for place in range(indptr[i], indptr[i + 1]):
            guess = 0.0
            for r in range(U.shape[1]):
                guess += U[i, r] * V[indices[place], r]
            total += (data[place] - guess) ** 2
    return np.sqrt(total / max(len(data), 1))
