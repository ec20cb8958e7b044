"""The release of a wide table as a transformer."""

from __future__ import annotations

from typing import Any, Literal

from sklearn.base import BaseEstimator

from kakuran.factorisation import Kind, Protect, release_matrix
from kakuran.factorisation.perturbed import Calibration


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
        kind: Kind = "binary",
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
