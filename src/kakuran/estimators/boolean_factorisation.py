"""Boolean factorisation as a transformer."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kakuran.factorisation import encode_rows, factorise_boolean
from kakuran.factorisation.boolean import boolean_product
from kakuran.factorisation.matrices import binary_matrix


class BooleanFactorisation(TransformerMixin, BaseEstimator):
    """X ≈ U ∘ Vᵀ in bits, with 1 + 1 = 1 (S1 eq. 7).

    Parameters
    ----------
    rank : how many patterns; ``"auto"`` takes the number that guesses hidden entries best
    seed : decides which rows the patterns are found on, where there are more than are needed

    Attributes
    ----------
    components_ : patterns × columns, of 0 and 1 (Vᵀ)
    rank_ : how many patterns there are

    Examples
    --------
    >>> import numpy as np, kakuran as kk
    >>> X = np.kron(np.eye(2, dtype=int), np.ones((3, 2), int))
    >>> model = kk.BooleanFactorisation(rank=2)
    >>> U = model.fit_transform(X)
    >>> bool((model.inverse_transform(U).toarray() == X).all())
    True
    """

    def __init__(self, rank: int | Literal["auto"] = "auto", *, seed: int = 0) -> None:
        self.rank = rank
        self.seed = seed

    def fit(self, X: Any, y: None = None) -> BooleanFactorisation:
        """Find the patterns of a binary matrix, dense or sparse."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: None = None) -> NDArray[np.uint8]:
        """Find the patterns, and which of them every row has."""
        factors = factorise_boolean(X, self.rank, seed=self.seed)
        self.components_, self.rank_ = factors.V.T, factors.rank
        return factors.U

    def transform(self, X: Any) -> NDArray[np.uint8]:
        """Which patterns every row has."""
        check_is_fitted(self)
        return encode_rows(binary_matrix(X), np.ascontiguousarray(self.components_.T))

    def inverse_transform(self, U: NDArray[np.uint8]) -> Any:
        """The rows that have these patterns, as a sparse matrix."""
        check_is_fitted(self)
        return boolean_product(np.asarray(U, np.uint8), self.components_.T)
