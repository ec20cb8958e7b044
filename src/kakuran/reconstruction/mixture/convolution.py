"""A Gaussian seen through Laplace noise: density, distribution and what the noise hides, in closed form (S0 eq. 8).

With s = σ/φ and z = (y−μ)/σ the density of y is the sum of two halves, one for a true value below y and one above:

    below = exp(s²/2 − sz)·Φ(z − s)/2φ      above = exp(s²/2 + sz)·Φ(−z − s)/2φ

In logs, and with the scaled complementary error function where the exponent is large, nothing overflows. S0 misprints
erfc without 2/√π and the Gaussian without its ½.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr

from kakuran.mechanism.base import Array

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


class Moments(NamedTuple):
    """What is known of x given y, for every observation and component.

    Attributes
    ----------
    log_density : of y; for a bin, the log of its probability
    first : E[x − μ | y]
    second : E[(x − μ)² | y]
    cut_off : what bounds take from each component, where there are any
    """

    log_density: Array
    first: Array
    second: Array
    cut_off: Truncation | None = None


def at_points(points: Array, means: Array, sigmas: Array, scale: float) -> Moments:
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
    return Moments(both - math.log(2 * scale), first, second)


def in_bins(low: Array, high: Array, means: Array, sigmas: Array, scale: float) -> Moments:
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
    return Moments(unit + np.log(mass), np.where(is_upper, first, -first), np.maximum(second, first**2))


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
