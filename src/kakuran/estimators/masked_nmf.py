"""Masked non-negative factorisation as a transformer."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kakuran.factorisation import factorise_masked
from kakuran.factorisation.masked import solve_rows
from kakuran.factorisation.matrices import counts_matrix


class MaskedNMF(TransformerMixin, BaseEstimator):
    """X ≈ UVᵀ with U, V ≥ 0, fitted to the entries of X that are not zero (S1 eq. 10).

    Parameters
    ----------
    rank : how many factors; ``"auto"`` takes the number that guesses hidden entries best
    max_iter : the most epochs
    tol : stop when an epoch lowers the error by less than this share
    seed : of the start

    Attributes
    ----------
    components_ : factors × columns (Vᵀ)
    rank_ : how many factors there are
    errors_ : root mean squared error over the non-zero entries after every epoch
    n_iter_ : epochs done

    Examples
    --------
    >>> import numpy as np, kakuran as kk
    >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 4.0, 5.0])
    >>> model = kk.MaskedNMF(rank=1)
    >>> U = model.fit_transform(X)
    >>> bool(np.allclose((U @ model.components_)[X > 0], X[X > 0]))
    True
    """

    def __init__(
        self, rank: int | Literal["auto"] = "auto", *, max_iter: int = 30, tol: float = 1e-3, seed: int = 0
    ) -> None:
        self.rank = rank
        self.max_iter = max_iter
        self.tol = tol
        self.seed = seed

    def fit(self, X: Any, y: None = None) -> MaskedNMF:
        """Find the factors of a matrix of counts, dense or sparse."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: None = None) -> NDArray[np.float64]:
        """Find the factors, and how much every row has of them."""
        factors = factorise_masked(X, self.rank, epochs=self.max_iter, tolerance=self.tol, seed=self.seed)
        self.components_, self.rank_ = factors.V.T, factors.rank
        self.errors_, self.n_iter_ = factors.errors, len(factors.errors)
        return factors.U

    def transform(self, X: Any) -> NDArray[np.float64]:
        """How much every row has of the factors."""
        check_is_fitted(self)
        return solve_rows(counts_matrix(X).astype(np.float64), np.ascontiguousarray(self.components_.T))

    def inverse_transform(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """UVᵀ: a guess at every cell, as a dense array."""
        check_is_fitted(self)
        guess: NDArray[np.float64] = np.asarray(U) @ self.components_
        return guess
