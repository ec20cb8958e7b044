"""A fitted mixture, and what it says of true and of perturbed records: density, distribution, quantiles, samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from kakuran.charts import component_chart
from kakuran.errors import ArgumentError
from kakuran.model.mixture.climbing import log_joint
from kakuran.model.mixture.covariance import Ellipses, noisy_log_joint, shares_of, turned_log_joint_of, whiten
from kakuran.model.mixture.observations import ColumnNoise, Components, place_rows
from kakuran.typing import Array, Indices

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Bounds = tuple[float, float]
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
) -> tuple[Array, Indices]:
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


Covariance: TypeAlias = Literal["diag", "rotated", "full"]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Gaussians behind perturbed records.

    Attributes
    ----------
    weights, means, covariances : K, K × columns, K × columns × columns; components in the order of their means
    kind : what the covariances may be
    noises : the noise of each column
    path : what was climbed, after each step
    converged : whether the last step gained next to nothing
    """

    weights: Array
    means: Array
    covariances: Array
    kind: Covariance
    noises: Sequence[ColumnNoise]
    path: tuple[float, ...]
    converged: bool

    @property
    def columns(self) -> Components:
        """Each component's mean and deviation in every column."""
        return Components(self.weights, self.means, np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2)))

    @property
    def ellipses(self) -> Ellipses:
        """The components with their covariances."""
        return Ellipses(self.weights, self.means, self.covariances)

    @property
    def parameters(self) -> int:
        """Numbers that were fitted."""
        count, columns = self.means.shape
        spread = columns if self.kind == "diag" else columns * (columns + 1) // 2
        return count * (columns + spread + 1) - 1

    def log_joint(self, records: Array) -> Array:
        """log p(component, y) of perturbed records."""
        if self.kind == "diag":
            observed = place_rows(records, self.noises)
            return log_joint(self.columns, observed)
        scale = np.array([noise.scale for noise in self.noises])
        if self.kind == "full":
            return noisy_log_joint(records, self.ellipses, scale)
        return turned_log_joint_of(records, self.ellipses, scale)

    def memberships(self, records: Array) -> Array:
        """The probability of each component given a perturbed record (S0 eq. 10)."""
        return shares_of(self.log_joint(records))

    def log_likelihoods(self, records: Array) -> Array:
        """log p(y) of perturbed records."""
        likelihoods: Array = logsumexp(self.log_joint(records), axis=1)
        return likelihoods

    def density(self, points: Array) -> Array:
        """Of true records at points, rows × columns."""
        if self.kind == "diag":
            return np.exp(log_density(points, self.columns, self._supports))
        seen = whiten(points, self.ellipses, np.zeros_like(points)).log_density
        return np.exp(logsumexp(seen + np.log(self.weights), axis=1))

    def cdf(self, numbers: Array, column: int = 0) -> Array:
        """The share of true records up to each number of one column."""
        return distribution(numbers, self.columns, self._supports[column], column)

    def quantile(self, shares: Array, column: int = 0) -> Array:
        """The number of one column below which each share of the true records lies."""
        if not ((shares >= 0) & (shares <= 1)).all():
            raise ArgumentError("shares", "must lie between 0 and 1", "Ask for shares, not percents.")
        return quantile(shares, self.columns, self._supports[column], column)

    def sample(self, count: int, dice: np.random.Generator) -> tuple[Array, Indices]:
        """Synthetic true records, and the component each came from."""
        if self.kind == "diag":
            return sample(count, self.columns, self._supports, dice)
        labels = dice.choice(len(self.weights), count, p=self.weights)
        roots = np.linalg.cholesky(self.covariances)[labels]
        records = self.means[labels] + np.einsum("nij,nj->ni", roots, dice.standard_normal((count, len(self.noises))))
        return records, labels

    @property
    def _supports(self) -> list[tuple[float, float]]:
        return [noise.support for noise in self.noises]

    def plot(self, column: int = 0) -> Figure:
        """The density of one column, and its components."""
        low, high = self.quantile(np.array([0.001, 0.999]), column)
        points = np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), 800)
        whole, support = self.columns, self._supports[column]
        ones = (Components(np.ones(1), whole.means[[at]], whole.sigmas[[at]]) for at in range(len(whole)))
        parts = [
            weight * np.gradient(distribution(points, one, support, column), points)
            for weight, one in zip(whole.weights, ones, strict=True)
        ]
        name = f"column {column}" if len(self.noises) > 1 else "true number"
        return component_chart(points, parts, np.gradient(self.cdf(points, column), points), name)
