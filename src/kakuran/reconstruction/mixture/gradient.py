"""S0's own solver (Algorithm 1): weights in closed form, means and deviations by one gradient step of a fixed size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kakuran.mechanism.base import Array
from kakuran.reconstruction.mixture.em import Sums, e_step
from kakuran.reconstruction.mixture.model import Components, Fit, Observations

LEARNING_RATE = 1e-3
PRECISION = 1e-3
_SMALLEST_RATE = 1e-15


def gradient(components: Components, sums: Sums) -> tuple[Array, Array]:
    """∂L/∂μ and ∂L/∂σ (S0 §3.1.1): by Fisher's identity, sums of the posterior moments."""
    by_mean = sums.size * sums.shift / components.sigmas**2
    by_sigma = sums.size * (sums.spread / components.sigmas**2 - 1) / components.sigmas
    return by_mean, by_sigma


def climb_by_gradient(
    start: Components,
    observed: Observations,
    *,
    learning_rate: float = LEARNING_RATE,
    precision: float = PRECISION,
    most_steps: int = 100_000,
) -> Fit:
    """Steps of α times the gradient until the log-likelihood changes by less than ε.

    S0 leaves α to the user, and one that is too large for the number of records throws the parameters about. A step
    that would lower the likelihood is therefore taken back and α halved.
    """
    components, sums, rate = start, e_step(start, observed), learning_rate
    path = [sums.log_likelihood]
    while len(path) <= most_steps and rate > _SMALLEST_RATE:
        trial = _step(components, sums, observed, rate)
        reached = e_step(trial, observed)
        if not reached.log_likelihood >= path[-1]:
            rate /= 2
            continue
        components, sums = trial, reached
        path.append(sums.log_likelihood)
        if path[-1] - path[-2] < precision:
            return Fit(components, path[-1], tuple(path))
    return Fit(components, path[-1], tuple(path), converged=False)


def _step(components: Components, sums: Sums, observed: Observations, rate: float) -> Components:
    by_mean, by_sigma = gradient(components, sums)
    limits = [channel.limits for channel in observed.channels]
    return replace(
        components,
        weights=sums.records / sums.records.sum(),
        means=np.clip(components.means + rate * by_mean, [one.low for one in limits], [one.high for one in limits]),
        sigmas=np.clip(
            components.sigmas + rate * by_sigma,
            [one.least_sigma for one in limits],
            [one.most_sigma for one in limits],
        ),
    )
