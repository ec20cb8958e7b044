"""Boolean factorisation as a transformer.

Masked non-negative factorisation as a transformer.

The release of a wide table as a transformer.

Microaggregation as a transformer.
"""

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


class MatrixRelease(BaseEstimator):
    """Release a matrix of people × items so that nobody's row can be found (S1).

    A release depends on all rows together and is drawn once, so there is `fit_transform` and no `transform`.

    Parameters
    ----------
    k : nobody can be linked to a row with probability above 1/k
    rank : how many factors; ``"auto"`` takes the number that guesses hidden entries best and, for perturbed bits, loses
        least in a rehearsal
    kind : ``"binary"``, bought or not, or ``"counts"``, how many
    protect : ``"perturb"``: S1's Algorithm 1 (binary) or 2 (counts), noise on the factors of every person.
        ``"aggregate"``: classes of at least k people who publish one row (Theorem 1 for k-anonymity). ``"auto"``:
        whichever loses less.
    calibration : of the noise, ``"worst-case"`` or ``"data-dependent"`` as in `kakuran.calibrate`
    shuffle : put the rows in random order, lest they be linked by their place
    seed : for tests and teaching only; the release is then marked as not for publication

    Attributes
    ----------
    manifest_ : what is to be published with the matrix
    losses_ : mean absolute loss (S1 eq. 12) of what was tried, beside an empty table and plain microaggregation
    loss_ : the loss of the release

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
        released = release_matrix(
            X,
            self.k,
            kind=self.kind,
            protect=self.protect,
            rank=self.rank,
            calibration=self.calibration,
            seed=self.seed,
            shuffle=self.shuffle,
        )
        self.manifest_, self.losses_, self.loss_ = released.manifest, released.losses, released.loss
        return released.matrix


class Microaggregation(BaseEstimator):
    """Replace groups of at least k alike records by what stands for them.

    Records come back in the order they were given, so that other columns can stay beside them; shuffle before you
    publish. The result depends on all records together, so there is `fit_transform` and no `transform`.

    Parameters
    ----------
    k : the fewest records that will share their values
    method : ``"mdav"``; ``"local-search"``, MDAV and then moves and swaps; ``"blocked"``, for large tables, MDAV within
        blocks of neighbours; ``"v-mdav"``, groups of variable size; ``"optimal"``, the least loss of all, for a number
    columns : those to aggregate, all by default
    distance : per column, as for `kakuran.information_loss`
    centre : per column ``"mean"``, ``"median"`` or ``"mode"``; by default the mean of numbers, the mode of categories,
        and the lowest common ancestor of categories whose distance is a `Tree` (S3)
    weights : how much each column counts when records are compared; columns are standardised first

    Attributes
    ----------
    groups_ : the group of every record
    k_ : the fewest records found to share their values

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
        method: GroupingMethod = "mdav",
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
        masked = microaggregate(
            X,
            self.k,
            columns=self.columns,
            method=self.method,
            distance=self.distance,
            centre=self.centre,
            weights=self.weights,
        )
        self.groups_, self.k_ = masked.groups, masked.k
        return masked.table
