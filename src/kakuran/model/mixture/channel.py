"""A Gaussian seen through Laplace noise: density, distribution and what the noise hides, in closed form (S0 eq. 8).

With s = σ/φ and z = (y−μ)/σ the density of y is the sum of two halves, one for a true value below y and one above:

    below = exp(s²/2 − sz)·Φ(z − s)/2φ      above = exp(s²/2 + sz)·Φ(−z − s)/2φ

In logs, and with the scaled complementary error function where the exponent is large, nothing overflows. S0 misprints
erfc without 2/√π and the Gaussian without its ½.

What one perturbed number tells of the true one, component by component.

A channel holds the distinct observations of one column (points, bins or cells) and answers, for components given by
their means and deviations, with the moments of the true value given each observation. Nothing else of the noise is
needed to fit a mixture.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from kakuran.typing import Array

_ROOT_2 = math.sqrt(2)
_LOG_2 = math.log(2)
_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)


class Truncation(NamedTuple):
    """What the bounds of a domain cut off each component, so that its own mean and deviation can be told.

    As if, for each true record inside the bounds, `ratio` more had been drawn outside, with these sums of (x−μ) and
    (x−μ)² (Dempster, Laird & Rubin 1977, §4.2).
    """

    ratio: Array
    first: Array
    second: Array


class PosteriorMoments(NamedTuple):
    """What is known of x given y, for every observation and component.

    Attributes
    ----------
    log_density : Array
        Of y; for a bin, the log of its probability.
    first : Array
        E[x − μ | y].
    second : Array
        E[(x − μ)² | y].
    cut_off : Truncation | None
        What bounds take from each component, where there are any.
    """

    log_density: Array
    first: Array
    second: Array
    cut_off: Truncation | None = None


def at_points(points: Array, means: Array, sigmas: Array, scale: float) -> PosteriorMoments:
    """The exact posterior moments of a true value given its perturbed one.

    x given y is a normal cut in two at y, and its moments collapse to E[x−μ] = (σ²/φ)(below − above)/f and
    E[(x−μ)²] = σ²(1 + s²(1 − N(y)/f)).
    """
    s, z = sigmas / scale, (points[:, None] - means) / sigmas
    below, above = _log_half(z, s), _log_half(-z, s)
    both = np.logaddexp(below, above)
    log_gaussian_share = -0.5 * z * z - _LOG_ROOT_2PI + _LOG_2 - np.log(s) - both
    first = sigmas * s * np.tanh(0.5 * (below - above))
    second = sigmas**2 * (1 - s**2 * np.expm1(log_gaussian_share))
    return PosteriorMoments(both - math.log(2 * scale), first, second)


def in_bins(low: Array, high: Array, means: Array, sigmas: Array, scale: float) -> PosteriorMoments:
    """The same given only that y lies between two edges: all three integrate in closed form.

    With D = below − above: ∫f = ΔΦ − φΔD, ∫E[x−μ]f = −σ²Δf, ∫E[(x−μ)²]f = σ²(∫f − s²φΔD).
    """
    s = sigmas / scale
    # A bin is measured from the tail it lies in, so that its probability is no difference of numbers near one.
    is_upper = (low + high)[:, None] > 2 * means
    near, far = np.where(is_upper, low[:, None] - means, means - high[:, None]), (high - low)[:, None]
    inner, outer = (_tail_logs(distance / sigmas, s, scale) for distance in (near, near + far))
    unit = np.maximum(np.maximum(*inner[:2]), inner[2])
    gauss_in, below_in, above_in = (np.exp(log - unit) for log in inner)
    gauss_out, below_out, above_out = (np.exp(log - unit) for log in outer)
    lost_difference = scale * ((below_in - above_in) - (below_out - above_out))
    mass = np.maximum(gauss_in - gauss_out + lost_difference, 1e-300)
    lost_density = (below_in + above_in) - (below_out + above_out)
    first = sigmas**2 * lost_density / mass
    second = sigmas**2 * (1 + s**2 * lost_difference / mass)
    return PosteriorMoments(unit + np.log(mass), np.where(is_upper, first, -first), np.maximum(second, first**2))


def _tail_logs(z: Array, s: Array, scale: float) -> tuple[Array, Array, Array]:
    """Logs of the Gaussian tail beyond z and of the two halves of the density at z."""
    return log_ndtr(-z), _log_half(z, s) - math.log(2 * scale), _log_half(-z, s) - math.log(2 * scale)


def _log_half(z: Array, s: Array) -> Array:
    """log of 2φ times the half below: exp(s²/2 − sz)·Φ(z − s), in whichever form does not cancel."""
    beyond = s - z
    return np.where(
        beyond < 0,
        s * (0.5 * s - z) + log_ndtr(-np.minimum(beyond, 0.0)),
        np.log(erfcx(np.maximum(beyond, 0.0) / _ROOT_2)) - 0.5 * z * z - _LOG_2,
    )


_SMALLEST = 1e-3
"""The least deviation, in units of the noise: below it a component cannot be told from an atom."""

_INV_ROOT_2PI = 0.3989422804014327


@dataclass(frozen=True, eq=False)
class ChannelLimits:
    """Where means and deviations may lie, and the unit in which they are measured while climbing."""

    low: float
    high: float
    least_sigma: float
    most_sigma: float
    unit: float


class Channel(Protocol):
    """One column of observations."""

    @property
    def limits(self) -> ChannelLimits:
        """Where components may lie."""

    @property
    def centres(self) -> Array:
        """A number for each observation."""

    def moments(self, means: Array, sigmas: Array) -> PosteriorMoments:
        """Of the true value given each observation (rows) and component (columns)."""


@dataclass(frozen=True, eq=False)
class LaplacePoints:
    """Numbers as they are, with Laplace noise and no bounds (S0 eq. 8)."""

    points: Array
    scale: float

    @cached_property
    def limits(self) -> ChannelLimits:
        """Means among the observations."""
        return _limits_without_bounds(self.points.min(), self.points.max(), self.scale)

    @property
    def centres(self) -> Array:
        """The numbers themselves."""
        return self.points

    def moments(self, means: Array, sigmas: Array) -> PosteriorMoments:
        """In closed form."""
        return at_points(self.points, means, sigmas, self.scale)


@dataclass(frozen=True, eq=False)
class LaplaceBins:
    """Numbers known to lie between edges, with Laplace noise and no bounds; exact however wide the bins."""

    low: Array
    high: Array
    scale: float

    @cached_property
    def limits(self) -> ChannelLimits:
        """Means among the observations."""
        return _limits_without_bounds(self.low.min(), self.high.max(), self.scale)

    @property
    def centres(self) -> Array:
        """The middles of the bins."""
        return (self.low + self.high) / 2

    def moments(self, means: Array, sigmas: Array) -> PosteriorMoments:
        """In closed form."""
        return in_bins(self.low, self.high, means, sigmas, self.scale)


@dataclass(frozen=True, eq=False)
class GridCells:
    """Numbers on a grid between bounds, seen through any mechanism.

    A component is a Gaussian cut off at the bounds; the true record is the cell it falls in, and the mechanism acts on
    cells. Everything is a finite sum.

    Attributes
    ----------
    matrix : Array
        Probability of each observation (rows) given each true cell (columns).
    edges : Array
        The bounds of the true cells.
    centres : Array
        A number for each observation.
    unit : float
        The size of the noise, in the sense of Laplace's φ.
    """

    matrix: Array
    edges: Array
    centres: Array
    unit: float

    @cached_property
    def limits(self) -> ChannelLimits:
        """Means within the outermost cells; a component may shrink to an atom in one cell."""
        cell, span = np.diff(self.edges).min(), self.edges[-1] - self.edges[0]
        return ChannelLimits(self.edges[0] + cell / 2, self.edges[-1] - cell / 2, cell / 16, span, self.unit)

    def moments(self, means: Array, sigmas: Array) -> PosteriorMoments:
        """Sums over the true cells; what lies beyond the bounds is what they lack of 1, 0 and σ²."""
        inside, count = self.inside(means, sigmas), len(means)
        within, lost, spread = inside.sum(axis=2)
        sums = self.matrix @ inside.reshape(3 * count, -1).T
        density = np.maximum(sums[:, :count], 1e-300)
        cut_off = Truncation(1 / within - 1, -lost / within, (sigmas**2 - spread) / within)
        log_density = np.log(density) - np.log(within)
        return PosteriorMoments(
            log_density, sums[:, count : 2 * count] / density, sums[:, 2 * count :] / density, cut_off
        )

    def shares(self, weights: Array, means: Array, sigmas: Array) -> Array:
        """Of the true cells, in a mixture of components."""
        mass = self.inside(means, sigmas)[0]
        return (weights / mass.sum(axis=1)) @ mass

    def inside(self, means: Array, sigmas: Array) -> Array:
        """∫ of 1, (x−μ) and (x−μ)² over each cell: 3 × components × cells."""
        means, sigmas = means[:, None], sigmas[:, None]
        found = np.empty((3, len(means), len(self.edges) - 1))
        z = (self.edges - means) / sigmas
        bell = np.exp(-0.5 * z * z)
        bell *= _INV_ROOT_2PI
        # Measured from the nearer tail, so that small probabilities keep their digits.
        tail = ndtr(-np.abs(z))
        below = z < 0
        is_middle = below[:, :-1] & ~below[:, 1:]
        np.abs(_between(tail), out=found[0])
        np.copyto(found[0], 1 - tail[:, :-1] - tail[:, 1:], where=is_middle)
        np.multiply(-sigmas, _between(bell), out=found[1])
        np.multiply(sigmas**2, found[0] - _between(z * bell), out=found[2])
        return found


def _between(at_edges: Array) -> Array:
    """What each cell adds; `np.diff` takes as long as all else that is done with so few numbers."""
    return at_edges[:, 1:] - at_edges[:, :-1]


def _limits_without_bounds(low: float, high: float, scale: float) -> ChannelLimits:
    return ChannelLimits(low, high, _SMALLEST * scale, max(high - low, scale), scale)
