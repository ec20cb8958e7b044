"""What one perturbed number tells of the true one, component by component.

A channel holds the distinct observations of one column (points, bins or cells) and answers, for components given by
their means and deviations, with the moments of the true value given each observation. Nothing else of the noise is
needed to fit a mixture.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from kakuran.mechanism.base import Array
from kakuran.reconstruction.mixture.convolution import Moments, Truncation, at_points, in_bins

_SMALLEST = 1e-3
"""The least deviation, in units of the noise: below it a component cannot be told from an atom."""

_INV_ROOT_2PI = 0.3989422804014327


@dataclass(frozen=True, eq=False)
class Limits:
    """Where means and deviations may lie, and the unit in which they are measured while climbing."""

    low: float
    high: float
    least_sigma: float
    most_sigma: float
    unit: float


class Channel(Protocol):
    """One column of observations."""

    @property
    def limits(self) -> Limits:
        """Where components may lie."""

    @property
    def centres(self) -> Array:
        """A number for each observation."""

    def moments(self, means: Array, sigmas: Array) -> Moments:
        """Of the true value given each observation (rows) and component (columns)."""


@dataclass(frozen=True, eq=False)
class LaplacePoints:
    """Numbers as they are, with Laplace noise and no bounds (S0 eq. 8)."""

    points: Array
    scale: float

    @cached_property
    def limits(self) -> Limits:
        """Means among the observations."""
        return _limits_without_bounds(self.points.min(), self.points.max(), self.scale)

    @property
    def centres(self) -> Array:
        """The numbers themselves."""
        return self.points

    def moments(self, means: Array, sigmas: Array) -> Moments:
        """In closed form."""
        return at_points(self.points, means, sigmas, self.scale)


@dataclass(frozen=True, eq=False)
class LaplaceBins:
    """Numbers known to lie between edges, with Laplace noise and no bounds; exact however wide the bins."""

    low: Array
    high: Array
    scale: float

    @cached_property
    def limits(self) -> Limits:
        """Means among the observations."""
        return _limits_without_bounds(self.low.min(), self.high.max(), self.scale)

    @property
    def centres(self) -> Array:
        """The middles of the bins."""
        return (self.low + self.high) / 2

    def moments(self, means: Array, sigmas: Array) -> Moments:
        """In closed form."""
        return in_bins(self.low, self.high, means, sigmas, self.scale)


@dataclass(frozen=True, eq=False)
class GridCells:
    """Numbers on a grid between bounds, seen through any mechanism.

    A component is a Gaussian cut off at the bounds; the true record is the cell it falls in, and the mechanism acts on
    cells. Everything is a finite sum.

    Attributes
    ----------
    matrix : probability of each observation (rows) given each true cell (columns)
    edges : the bounds of the true cells
    centres : a number for each observation
    unit : the size of the noise, in the sense of Laplace's φ
    """

    matrix: Array
    edges: Array
    centres: Array
    unit: float

    @cached_property
    def limits(self) -> Limits:
        """Means within the outermost cells; a component may shrink to an atom in one cell."""
        cell, span = np.diff(self.edges).min(), self.edges[-1] - self.edges[0]
        return Limits(self.edges[0] + cell / 2, self.edges[-1] - cell / 2, cell / 16, span, self.unit)

    def moments(self, means: Array, sigmas: Array) -> Moments:
        """Sums over the true cells; what lies beyond the bounds is what they lack of 1, 0 and σ²."""
        mass, first, second = self._inside(means, sigmas)
        count, within = len(means), mass.sum(axis=0)
        sums = self.matrix @ np.hstack([mass, first, second])
        density = np.maximum(sums[:, :count], 1e-300)
        cut_off = Truncation(1 / within - 1, -first.sum(axis=0) / within, (sigmas**2 - second.sum(axis=0)) / within)
        log_density = np.log(density) - np.log(within)
        return Moments(log_density, sums[:, count : 2 * count] / density, sums[:, 2 * count :] / density, cut_off)

    def shares(self, weights: Array, means: Array, sigmas: Array) -> Array:
        """Of the true cells, in a mixture of components."""
        mass = self._inside(means, sigmas)[0]
        return mass @ (weights / mass.sum(axis=0))

    def _inside(self, means: Array, sigmas: Array) -> tuple[Array, Array, Array]:
        """∫ of 1, (x−μ) and (x−μ)² over each cell."""
        z = (self.edges[:, None] - means) / sigmas
        bell = _INV_ROOT_2PI * np.exp(-0.5 * z * z)
        # Measured from the nearer tail, so that small probabilities keep their digits.
        tail = ndtr(-np.abs(z))
        below = z < 0
        beside = np.abs(np.diff(tail, axis=0))
        mass = np.where(below[:-1] & ~below[1:], 1 - tail[:-1] - tail[1:], beside)
        return mass, -sigmas * np.diff(bell, axis=0), sigmas**2 * (mass - np.diff(z * bell, axis=0))


def _limits_without_bounds(low: float, high: float, scale: float) -> Limits:
    return Limits(low, high, _SMALLEST * scale, max(high - low, scale), scale)
