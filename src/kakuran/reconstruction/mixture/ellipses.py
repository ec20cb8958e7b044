"""Gaussians of any direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kakuran.mechanism.base import Array

_NARROWEST = 1e-3
"""The least deviation in any direction, in units of the noise."""


@dataclass(frozen=True, eq=False)
class Ellipses:
    """Weights (K), means (K × d) and covariances (K × d × d) of Gaussians."""

    weights: Array
    means: Array
    covariances: Array

    def __len__(self) -> int:
        return len(self.weights)

    def sorted(self) -> Ellipses:
        """By their means, so that equal fits look equal."""
        order = np.lexsort(self.means.T[::-1])
        return Ellipses(self.weights[order], self.means[order], self.covariances[order])


def floored(covariances: Array, scale: Array, *, least: float = _NARROWEST) -> Array:
    """No direction narrower than so much of the noise."""
    units = np.outer(scale, scale)
    values, vectors = np.linalg.eigh(covariances / units)
    values = np.maximum(values, least**2)
    return np.einsum("kij,kj,klj->kil", vectors, values, vectors) * units


def shares_of(log_joint: Array) -> Array:
    """Responsibilities from log p(component, y)."""
    shares = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
