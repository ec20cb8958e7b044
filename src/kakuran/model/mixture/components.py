"""What is fitted, and to what: components, observations, and where a climb ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kakuran.model.mixture.channel import Channel
from kakuran.typing import Array


@dataclass(frozen=True, eq=False)
class Components:
    """Weights (K), and means and deviations (K × columns), of Gaussians whose columns are independent."""

    weights: Array
    means: Array
    sigmas: Array

    def __len__(self) -> int:
        return len(self.weights)

    def sorted(self) -> Components:
        """By their means, so that equal fits look equal."""
        order = np.lexsort(self.means.T[::-1])
        return Components(self.weights[order], self.means[order], self.sigmas[order])


@dataclass(frozen=True, eq=False)
class Observations:
    """Perturbed records: for each column a channel, and for each record its place there.

    Attributes
    ----------
    channels : one a column
    counts : how many records each row stands for
    places : rows × columns, the observation of the column's channel; None where row i is observation i
    smoothing : the weight ν of the penalty ν/2·log(1 + φ²/σ²) on narrow components; 0 for maximum likelihood
    """

    channels: Sequence[Channel]
    counts: Array
    places: NDArray[np.intp] | None = None
    smoothing: float = 0.0

    @property
    def n(self) -> float:
        """Number of records."""
        return float(self.counts.sum())

    def with_counts(self, counts: Array) -> Observations:
        """The same rows, counted differently."""
        return replace(self, counts=counts)

    @cached_property
    def units(self) -> Array:
        """The noise of each column."""
        return np.array([channel.limits.unit for channel in self.channels])

    def penalty(self, sigmas: Array) -> float:
        """What the smoothing takes from the log-likelihood."""
        return 0.5 * self.smoothing * float(np.log1p((self.units / sigmas) ** 2).sum())

    def gather(self, values: Array, column: int) -> Array:
        """The values of each row's observation."""
        return values if self.places is None else values[self.places[:, column]]

    def scatter(self, values: Array, column: int, size: int) -> Array:
        """The sums of rows' values for each observation."""
        if self.places is None:
            return values
        place = self.places[:, column]
        return np.column_stack([np.bincount(place, weights=part, minlength=size) for part in values.T])


@dataclass(frozen=True, eq=False)
class Fit:
    """Where a climb ended.

    Attributes
    ----------
    components : Components
    log_likelihood : of all records
    path : what was climbed, the log-likelihood less the penalty on narrow components, after each step
    converged : whether the last step gained next to nothing
    """

    components: Components
    log_likelihood: float
    path: tuple[float, ...]
    converged: bool = True

    @property
    def objective(self) -> float:
        """The height that was reached."""
        return self.path[-1]
