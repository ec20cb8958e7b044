"""Second moments of standardised columns: all that least squares needs to know of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import DataError

Array: TypeAlias = NDArray[np.float64]

_SINGULAR = 1e-12


@dataclass(frozen=True)
class Fitted:
    """Least squares on some of the columns, in standardised units."""

    coefficients: Array
    inverse: Array
    unexplained: float
    """RSS as a share of the target's sum of squares."""


@dataclass(frozen=True)
class Moments:
    """Moments XᵀX/N of columns of unit variance, the target last.

    Parameters
    ----------
    names, owners
        The explanatory columns and the party that holds each.
    matrix
        One row and column more than there are names: the target's.
    target_scale
        The standard deviation (or, without intercept, the root mean square) of the target in its own units.
    bits
        Binary digits the columns were rounded to; None if they were not.
    """

    names: tuple[str, ...]
    owners: tuple[str, ...]
    matrix: Array
    records: int
    intercept: bool
    target_scale: float
    bits: int | None = None

    def places(self, chosen: Sequence[str]) -> NDArray[np.intp]:
        """Where the chosen columns stand."""
        where = {name: place for place, name in enumerate(self.names)}
        return np.array([where[name] for name in chosen], np.intp)

    def are_of(self, held: Sequence[str]) -> NDArray[np.bool_]:
        """Which rows are of these columns; a name that is none of the explanatory columns is the target's."""
        return np.array([*(name in held for name in self.names), not set(held) <= set(self.names)])

    def between(self, held: Sequence[str]) -> Array:
        """The moments of these columns with all others."""
        ours = self.are_of(held)
        return self.matrix[np.ix_(ours, ~ours)]

    def fit(self, chosen: Sequence[str]) -> Fitted:
        """Least squares on the chosen columns; refuses columns that are combinations of each other."""
        at = self.places(chosen)
        among, with_target, total = self.matrix[np.ix_(at, at)], self.matrix[at, -1], self.matrix[-1, -1]
        if not len(at):
            return Fitted(np.empty(0), np.empty((0, 0)), 1.0)
        values, vectors = np.linalg.eigh(among)
        if values[0] < _SINGULAR * values[-1]:
            culprit = chosen[int(np.abs(vectors[:, 0]).argmax())]
            raise DataError(culprit, "is a combination of other columns in the model", "Leave it out of the plan.")
        inverse = (vectors / values) @ vectors.T
        coefficients = inverse @ with_target
        explained = float(with_target @ coefficients) / total
        return Fitted(coefficients, inverse, max(1 - explained, np.finfo(float).eps))

    def variance(self, fitted: Fitted) -> float:
        """RSS/N in the target's own units (S2 eq. 10)."""
        return float(fitted.unexplained * self.matrix[-1, -1] * self.target_scale**2)

    def condition(self, chosen: Sequence[str]) -> float:
        """Condition number of the standardised columns themselves."""
        if not len(chosen):
            return 1.0
        at = self.places(chosen)
        values = np.linalg.eigvalsh(self.matrix[np.ix_(at, at)])
        return float(np.sqrt(values[-1] / max(values[0], np.finfo(float).tiny)))
