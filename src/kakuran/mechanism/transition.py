"""How a perturbed axis of a table of counts comes from the true one, and back.

A transition acts on one axis of an array: `forward` maps true counts to expected perturbed ones, `adjoint`
is its transpose, `solve` its inverse. A table of several attributes applies one after the other; the joint
matrix is never built.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]


class Transition(ABC):
    """A linear map on one axis; column j of its matrix is the distribution of the perturbed cell given cell j."""

    @property
    @abstractmethod
    def matrix(self) -> Array:
        """The map as a matrix of outputs × inputs."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of cells."""

    @abstractmethod
    def forward(self, counts: Array, axis: int) -> Array:
        """Expected perturbed counts of true ones."""

    @abstractmethod
    def adjoint(self, values: Array, axis: int) -> Array:
        """The transposed map."""

    @abstractmethod
    def solve(self, counts: Array, axis: int) -> Array:
        """The counts that `forward` would map to these."""


@dataclass(frozen=True, eq=False)
class UniformMixture(Transition):
    """Keep with probability ρ, else land in each cell according to its share (S4 eq. 4–6): O(cells)."""

    retention: float
    shares: Array

    @property
    def matrix(self) -> Array:
        """ρI + (1−ρ)b1ᵀ."""
        identity = np.eye(len(self.shares))
        return self.retention * identity + (1 - self.retention) * self.shares[:, None]

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.shares)

    def forward(self, counts: Array, axis: int) -> Array:
        """Ax = ρx + (1−ρ)b Σx."""
        total = counts.sum(axis=axis, keepdims=True)
        return self.retention * counts + (1 - self.retention) * self._along(axis, counts.ndim) * total

    def adjoint(self, values: Array, axis: int) -> Array:
        """Aᵀv = ρv + (1−ρ) bᵀv."""
        weighted = (self._along(axis, values.ndim) * values).sum(axis=axis, keepdims=True)
        return self.retention * values + (1 - self.retention) * weighted

    def solve(self, counts: Array, axis: int) -> Array:
        """A⁻¹y = (y − (1−ρ)b Σy)/ρ."""
        total = counts.sum(axis=axis, keepdims=True)
        return (counts - (1 - self.retention) * self._along(axis, counts.ndim) * total) / self.retention

    def _along(self, axis: int, ndim: int) -> Array:
        shape = [1] * ndim
        shape[axis] = -1
        return self.shares.reshape(shape)


@dataclass(frozen=True, eq=False)
class DenseTransition(Transition):
    """A transition given by its matrix."""

    entries: Array

    @property
    def matrix(self) -> Array:
        """The matrix itself."""
        return self.entries

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.entries)

    def forward(self, counts: Array, axis: int) -> Array:
        """Ax."""
        return _contract(self.entries, counts, axis)

    def adjoint(self, values: Array, axis: int) -> Array:
        """Aᵀv."""
        return _contract(self.entries.T, values, axis)

    def solve(self, counts: Array, axis: int) -> Array:
        """A⁻¹y."""
        front = np.moveaxis(counts, axis, 0)
        solved = np.linalg.solve(self.entries, front.reshape(len(front), -1)).astype(float)
        return np.moveaxis(solved.reshape(front.shape), 0, axis)


def _contract(matrix: Array, values: Array, axis: int) -> Array:
    product: Array = np.tensordot(matrix, values, axes=(1, axis))
    return np.moveaxis(product, 0, axis)
