"""Expectation maximisation with an exact M step: weighted means of closed-form moments, where S0 §3.1 has a gradient.

EM climbs surely, and crawls where noise hides the components: `quasi_newton` takes larger steps with the same sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from kakuran.mechanism.base import Array
from kakuran.reconstruction.mixture.convolution import Moments
from kakuran.reconstruction.mixture.model import Components, Fit, Observations

_LIGHTEST = 1e-300
"""The least weight: a component without records stays where it is."""


@dataclass(frozen=True, eq=False)
class Sums:
    """What one E step leaves: the likelihood, and for each component its expected records and their moments.

    `shift` and `spread` are E[x−μ] and E[(x−μ)²] over a component's records, those cut off by bounds included
    (`size` of them altogether).
    """

    log_likelihood: float
    records: Array
    size: Array
    shift: Array
    spread: Array


def log_joint(components: Components, observed: Observations) -> Array:
    """log p(component, y) of every row and component."""
    return _joint(components, observed, _moments(components, observed))


def _moments(components: Components, observed: Observations) -> list[Moments]:
    return [
        channel.moments(components.means[:, column], components.sigmas[:, column])
        for column, channel in enumerate(observed.channels)
    ]


def _joint(components: Components, observed: Observations, moments: list[Moments]) -> Array:
    joint = np.log(np.maximum(components.weights, _LIGHTEST))[None, :]
    for column, of_column in enumerate(moments):
        joint = joint + observed.gather(of_column.log_density, column)
    return joint


def log_likelihood(components: Components, observed: Observations) -> float:
    """Σ log p(y) (S0 eq. 13)."""
    return float(observed.counts @ logsumexp(log_joint(components, observed), axis=1))


def e_step(components: Components, observed: Observations) -> Sums:
    """Responsibilities (S0 eq. 10) and the sums they weigh."""
    moments = _moments(components, observed)
    joint = _joint(components, observed, moments)
    highest = joint.max(axis=1, keepdims=True)
    shares = np.exp(joint - highest)
    totals = shares.sum(axis=1, keepdims=True)
    shares *= observed.counts[:, None] / totals
    records = np.maximum(shares.sum(axis=0), _LIGHTEST)
    size, shift, spread = (np.empty_like(components.means) for _ in range(3))
    for column, (_, first, second, cut_off) in enumerate(moments):
        weights = observed.scatter(shares, column, len(first))
        firsts, seconds, whole = (weights * first).sum(axis=0), (weights * second).sum(axis=0), records
        if cut_off is not None:
            whole = records * (1 + cut_off.ratio)
            firsts, seconds = firsts + records * cut_off.first, seconds + records * cut_off.second
        size[:, column], shift[:, column], spread[:, column] = whole, firsts / whole, seconds / whole
    return Sums(float(observed.counts @ (highest + np.log(totals))[:, 0]), records, size, shift, spread)


def m_step(components: Components, sums: Sums, observed: Observations) -> Components:
    """The exact maximum given the sums, within the limits of each column."""
    means, sigmas = np.empty_like(components.means), np.empty_like(components.sigmas)
    for column, channel in enumerate(observed.channels):
        limits, old = channel.limits, components.means[:, column]
        means[:, column] = np.clip(old + sums.shift[:, column], limits.low, limits.high)
        moved = means[:, column] - old
        variance = sums.spread[:, column] - 2 * moved * sums.shift[:, column] + moved**2
        if observed.smoothing:
            variance = _smoothed(variance, observed.smoothing / sums.size[:, column], limits.unit)
        sigmas[:, column] = np.clip(np.sqrt(np.maximum(variance, 0)), limits.least_sigma, limits.most_sigma)
    return Components(sums.records / sums.records.sum(), means, sigmas)


def _smoothed(variance: Array, share: Array, unit: float) -> Array:
    """The maximum over v of −log v − S/v − ν/n·log(1 + φ²/v), a quadratic."""
    lean = variance - (1 - share) * unit**2
    return 0.5 * (lean + np.sqrt(lean**2 + 4 * variance * unit**2))


def climb(start: Components, observed: Observations, *, tolerance: float = 1e-9, most_steps: int = 10_000) -> Fit:
    """Plain EM until a step gains less than `tolerance` a record; the height never falls."""
    components, path = start, []
    for _ in range(most_steps):
        sums = e_step(components, observed)
        path.append(sums.log_likelihood - observed.penalty(components.sigmas))
        if len(path) > 1 and path[-1] - path[-2] <= tolerance * observed.n:
            return Fit(components, sums.log_likelihood, tuple(path))
        components = m_step(components, sums, observed)
    return Fit(components, log_likelihood(components, observed), tuple(path), converged=False)
