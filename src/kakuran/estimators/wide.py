"""Tables of people × items and k-anonymous tables in scikit-learn's way: factorisations, releases, microaggregation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kakuran.audit import Distance
from kakuran.design import Calibration
from kakuran.wide import (
    Centre,
    GroupingMethod,
    MatrixKind,
    Protect,
    binary_matrix,
    boolean_product,
    counts_matrix,
    encode_rows,
    factorise_boolean,
    factorise_masked,
    microaggregate,
    release_matrix,
    solve_rows,
)


class BooleanFactorisation(TransformerMixin, BaseEstimator):
    """X ≈ U ∘ Vᵀ in bits, with 1 + 1 = 1 (S1 eq. 7).

    Parameters
    ----------
    rank : int or "auto"
        How many patterns; ``"auto"`` takes the number that guesses hidden entries best.
    seed : int
        Decides which rows the patterns are found on, where there are more than are needed.

    Attributes
    ----------
    components_ : array
        Patterns × columns, of 0 and 1 (Vᵀ).
    rank_ : int
        How many patterns there are.

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


class MaskedNMF(TransformerMixin, BaseEstimator):
    """X ≈ UVᵀ with U, V ≥ 0, fitted to the entries of X that are not zero (S1 eq. 10).

    Parameters
    ----------
    rank : int or "auto"
        How many factors; ``"auto"`` takes the number that guesses hidden entries best.
    max_iter : int
        The most epochs.
    tol : float
        Stop when an epoch lowers the error by less than this share.
    seed : int
        Of the start.

    Attributes
    ----------
    components_ : array
        Factors × columns (Vᵀ).
    rank_ : int
        How many factors there are.
    errors_ : list of float
        Root mean squared error over the non-zero entries after every epoch.
    n_iter_ : int
        Epochs done.

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


class MatrixRelease(BaseEstimator):
    """Release a matrix of people × items so that nobody's row can be found (S1).

    A release depends on all rows together and is drawn once, so there is `fit_transform` and no `transform`.

    Parameters
    ----------
    k : int
        Nobody can be linked to a row with probability above 1/k.
    rank : int or "auto"
        How many factors; ``"auto"`` takes the number that guesses hidden entries best and, for perturbed bits, loses
        least in a rehearsal.
    kind : "binary" or "counts"
        Bought or not, or how many.
    protect : "auto", "perturb" or "aggregate"
        ``"perturb"``: S1's Algorithm 1 (binary) or 2 (counts), noise on the factors of every person. ``"aggregate"``:
        classes of at least k people who publish one row (Theorem 1 for k-anonymity). ``"auto"``: whichever loses less.
    calibration : "worst-case" or "data-dependent"
        Of the noise, as in `kakuran.calibrate`.
    shuffle : bool
        Put the rows in random order, lest they be linked by their place.
    seed : int, optional
        For tests and teaching only; the release is then marked as not for publication.

    Attributes
    ----------
    manifest_ : dict
        What is to be published with the matrix.
    losses_ : dict
        Mean absolute loss (S1 eq. 12) of what was tried, beside an empty table and plain microaggregation.
    loss_ : float
        The loss of the release.

    Examples
    --------
    >>> import numpy as np, kakuran as kk
    >>> X = np.kron(np.eye(3, dtype=int), np.ones((20, 4), int))
    >>> release = kk.MatrixRelease(k=10, rank=3)
    >>> X_released = release.fit_transform(X)
    >>> release.loss_, release.manifest_["protect"], round(release.losses_["empty"], 3)
    (0.0, 'aggregate', 0.333)
    """

    def __init__(
        self,
        k: int = 10,
        *,
        rank: int | Literal["auto"] = "auto",
        kind: MatrixKind = "binary",
        protect: Protect = "auto",
        calibration: Calibration = "worst-case",
        shuffle: bool = True,
        seed: int | None = None,
    ) -> None:
        self.k = k
        self.rank = rank
        self.kind = kind
        self.protect = protect
        self.calibration = calibration
        self.shuffle = shuffle
        self.seed = seed

    def fit_transform(self, X: Any, y: None = None) -> Any:
        """The released matrix, sparse; its rows are in random order unless `shuffle` is off."""
        released = release_matrix(X, **self.get_params(deep=False))
        self.manifest_, self.losses_, self.loss_ = released.manifest, released.losses, released.loss
        return released.matrix


class Microaggregation(BaseEstimator):
    """Replace groups of at least k alike records by what stands for them.

    Records come back in the order they were given, so that other columns can stay beside them; shuffle before you
    publish. The result depends on all records together, so there is `fit_transform` and no `transform`.

    Parameters
    ----------
    k : int
        The fewest records that will share their values.
    method : str
        ``"local-search"``, MDAV and then moves and swaps; ``"mdav"`` alone; ``"blocked"``, for large tables, MDAV in
        blocks of neighbours; ``"v-mdav"``, groups of variable size; ``"optimal"``, the least loss of all, for a number.
    columns : sequence of str, optional
        Those to aggregate, all by default.
    distance : dict, optional
        Per column, as for `kakuran.information_loss`.
    centre : dict, optional
        Per column ``"mean"``, ``"median"`` or ``"mode"``; by default the mean of numbers, the mode of categories, and
        the lowest common ancestor of categories whose distance is a `Tree` (S3).
    weights : dict, optional
        How much each column counts when records are compared; columns are standardised first.

    Attributes
    ----------
    groups_ : array
        The group of every record.
    k_ : int
        The fewest records found to share their values.

    Examples
    --------
    >>> import numpy as np, kakuran as kk
    >>> kk.Microaggregation(k=2).fit_transform(np.array([1.0, 2.0, 9.0, 10.0])).tolist()
    [1.5, 1.5, 9.5, 9.5]
    """

    def __init__(
        self,
        k: int = 5,
        *,
        method: GroupingMethod = "local-search",
        columns: Sequence[str] | None = None,
        distance: Mapping[str, Distance] | None = None,
        centre: Mapping[str, Centre] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self.k = k
        self.method = method
        self.columns = columns
        self.distance = distance
        self.centre = centre
        self.weights = weights

    def fit_transform(self, X: Any, y: None = None) -> Any:
        """Aggregate a frame or an array; the same kind comes out."""
        masked = microaggregate(X, **self.get_params(deep=False))
        self.groups_, self.k_ = masked.groups, masked.k
        return masked.table
