"""How sure a mixture is: the spread of refits to resampled records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kakuran.errors import ArgumentError
from kakuran.mechanism.base import Array
from kakuran.reconstruction.mixture.fit import Options, fit_mixture
from kakuran.reconstruction.mixture.fitted import Mixture
from kakuran.reconstruction.mixture.model import Observations
from kakuran.reconstruction.mixture.noise import observe
from kakuran.reconstruction.mixture.quasi_newton import polish

_ROUGH = 1e-8


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Mixtures fitted to as many records, drawn from the records with replacement."""

    refits: Sequence[Mixture]

    def interval(self, of: Callable[[Mixture], Array], level: float = 0.95) -> tuple[Array, Array]:
        """The percentiles between which `level` of the refits put a quantity."""
        if not 0 < level < 1:
            raise ArgumentError("level", "must lie between 0 and 1", "Give 0.95 for 95 %.", example=level)
        drawn = np.array([of(refit) for refit in self.refits])
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high


def bootstrap(mixture: Mixture, records: Array, options: Options, draws: int, dice: np.random.Generator) -> Bootstrap:
    """Refit `draws` times.

    Independent columns are refitted to resampled counts, starting from the fit, so that components keep their place.
    Sampled covariances settle slowly, and from the fit would hardly leave it: there the whole fit is repeated.
    """
    if mixture.kind == "diag":
        observed = observe(records, mixture.noises, smoothing=options.smoothing)
        return bootstrap_counts(mixture, observed, draws, dice)
    _check_draws(draws)
    options = replace(options, components=len(mixture.weights))
    rows = (dice.integers(0, len(records), len(records)) for _ in range(draws))
    return Bootstrap([fit_mixture(records[drawn], mixture.noises, options, dice) for drawn in rows])


def bootstrap_counts(mixture: Mixture, observed: Observations, draws: int, dice: np.random.Generator) -> Bootstrap:
    """Refit independent columns to resampled counts of what was observed."""
    _check_draws(draws)
    refits = []
    for _ in range(draws):
        counts = dice.multinomial(round(observed.n), observed.counts / observed.n).astype(float)
        found = polish(mixture.columns, observed.with_counts(counts), tolerance=_ROUGH).components
        covariances = found.sigmas[:, :, None] ** 2 * np.eye(len(mixture.noises))
        refits.append(replace(mixture, weights=found.weights, means=found.means, covariances=covariances))
    return Bootstrap(refits)


def _check_draws(draws: int) -> None:
    if draws < 2:
        raise ArgumentError("draws", "must be at least 2", "Some hundred give steady intervals.", example=draws)
