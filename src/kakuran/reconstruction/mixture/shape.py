"""What a fitted mixture says of the true numbers: density, distribution, quantiles, bins, samples.

Components may be cut off at the bounds of a domain; each then has all its weight inside.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from kakuran.mechanism.base import Array
from kakuran.reconstruction.mixture.model import Components

Bounds = tuple[float, float]
UNBOUNDED: Bounds = (-np.inf, np.inf)
_HALVINGS = 80


def log_density(points: Array, components: Components, bounds: Sequence[Bounds]) -> Array:
    """Of true records, rows × columns."""
    joint = np.log(components.weights)[None, :]
    for column, (low, high) in enumerate(bounds):
        means, sigmas = components.means[:, column], components.sigmas[:, column]
        z = (points[:, [column]] - means) / sigmas
        joint = joint - 0.5 * z * z - np.log(sigmas * np.sqrt(2 * np.pi)) - np.log(_inside(means, sigmas, low, high))
        joint = np.where((points[:, [column]] < low) | (points[:, [column]] > high), -np.inf, joint)
    return np.logaddexp.reduce(joint, axis=1)


def distribution(points: Array, components: Components, bounds: Bounds, column: int = 0) -> Array:
    """P(X ≤ x) of one column."""
    means, sigmas = components.means[:, column], components.sigmas[:, column]
    low, high = bounds
    within = np.clip(points, low, high)[:, None]
    share = (ndtr((within - means) / sigmas) - ndtr((low - means) / sigmas)) / _inside(means, sigmas, low, high)
    return share @ components.weights


def probabilities(edges: Array, components: Components, bounds: Bounds, column: int = 0) -> Array:
    """Of the bins between edges."""
    return np.diff(distribution(edges, components, bounds, column))


def quantile(shares: Array, components: Components, bounds: Bounds, column: int = 0) -> Array:
    """The numbers below which these shares of records lie, by bisection to the last digit."""
    means, sigmas = components.means[:, column], components.sigmas[:, column]
    low = np.full(shares.shape, max(bounds[0], float((means - 40 * sigmas).min())))
    high = np.full(shares.shape, min(bounds[1], float((means + 40 * sigmas).max())))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_below = distribution(middle, components, bounds, column) < shares
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return np.where(shares <= 0, bounds[0], np.where(shares >= 1, bounds[1], (low + high) / 2))


def sample(
    count: int, components: Components, bounds: Sequence[Bounds], dice: np.random.Generator
) -> tuple[Array, NDArray[np.intp]]:
    """Synthetic true records, and the component each came from."""
    labels = dice.choice(len(components), count, p=components.weights)
    records: Array = np.empty((count, components.means.shape[1]))
    for column, (low, high) in enumerate(bounds):
        means, sigmas = components.means[labels, column], components.sigmas[labels, column]
        bottom, top = ndtr((low - means) / sigmas), ndtr((high - means) / sigmas)
        drawn = means + sigmas * ndtri(bottom + (top - bottom) * dice.random(count))
        records[:, column] = np.clip(drawn, low, high)
    return records, labels


def _inside(means: Array, sigmas: Array, low: float, high: float) -> Array:
    return ndtr((high - means) / sigmas) - ndtr((low - means) / sigmas)
