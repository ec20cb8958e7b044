"""A fitted mixture, and what it says of true and of perturbed records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from kakuran.colours import ESTIMATE, NAIVE
from kakuran.errors import ArgumentError, needing
from kakuran.mechanism.base import Array
from kakuran.reconstruction.mixture import em, gibbs, rotated, shape
from kakuran.reconstruction.mixture.ellipses import Ellipses, shares_of
from kakuran.reconstruction.mixture.model import Components
from kakuran.reconstruction.mixture.noise import ColumnNoise, place_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
            return em.log_joint(self.columns, observed)
        scale = np.array([noise.scale for noise in self.noises])
        if self.kind == "full":
            return gibbs.log_joint(records, self.ellipses, scale)
        return rotated.log_joint_of(records, self.ellipses, scale)

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
            return np.exp(shape.log_density(points, self.columns, self._supports))
        seen = gibbs.whiten(points, self.ellipses, np.zeros_like(points)).log_density
        return np.exp(logsumexp(seen + np.log(self.weights), axis=1))

    def cdf(self, numbers: Array, column: int = 0) -> Array:
        """The share of true records up to each number of one column."""
        return shape.distribution(numbers, self.columns, self._supports[column], column)

    def quantile(self, shares: Array, column: int = 0) -> Array:
        """The number of one column below which each share of the true records lies."""
        if not ((shares >= 0) & (shares <= 1)).all():
            raise ArgumentError("shares", "must lie between 0 and 1", "Ask for shares, not percents.")
        return shape.quantile(shares, self.columns, self._supports[column], column)

    def sample(self, count: int, dice: np.random.Generator) -> tuple[Array, NDArray[np.intp]]:
        """Synthetic true records, and the component each came from."""
        if self.kind == "diag":
            return shape.sample(count, self.columns, self._supports, dice)
        labels = dice.choice(len(self.weights), count, p=self.weights)
        roots = np.linalg.cholesky(self.covariances)[labels]
        records = self.means[labels] + np.einsum("nij,nj->ni", roots, dice.standard_normal((count, len(self.noises))))
        return records, labels

    @property
    def _supports(self) -> list[tuple[float, float]]:
        return [noise.support for noise in self.noises]

    def plot(self, column: int = 0) -> Figure:
        """The density of one column, and its components."""
        with needing("a plot", "plot"):
            from kakuran.picture import Picture, without_frame
        low, high = self.quantile(np.array([0.001, 0.999]), column)
        points = np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), 800)
        figure = Picture(figsize=(8, 3.6), layout="constrained")
        axes = figure.subplots()
        whole, support = self.columns, self._supports[column]
        for chosen in range(len(whole)):
            one = Components(np.ones(1), whole.means[[chosen]], whole.sigmas[[chosen]])
            part = whole.weights[chosen] * np.gradient(shape.distribution(points, one, support, column), points)
            axes.fill_between(points, part, color=NAIVE, alpha=0.6, linewidth=0)
        axes.plot(points, np.gradient(self.cdf(points, column), points), color=ESTIMATE, linewidth=1.6)
        axes.set_xlabel(f"column {column}" if len(self.noises) > 1 else "true number")
        axes.set_ylabel("density")
        without_frame(axes)
        return figure
