"""Up the likelihood: expectation maximisation, its accelerated form, and S0's own solver.

EM has an exact M step, weighted means of closed-form moments, where S0 §3.1 has a gradient. It climbs surely, and
crawls where noise hides the components. By Fisher's identity the sums of its E step are the gradient of the likelihood,
which is all that L-BFGS-B needs: where EM takes thousands of steps, it takes some tens. S0's Algorithm 1 has weights in
closed form, means and deviations by one gradient step of a fixed size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from kakuran.model.mixture.channel import GridCells, PosteriorMoments
from kakuran.model.mixture.observations import Components, Fit, Observations
from kakuran.model.operator import one_thread
from kakuran.typing import Array

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

_LIGHTEST = 1e-300
"""The least weight: a component without records stays where it is."""
_RAREST = 1e-280
"""The least probability of a row: any count over it is still a number."""


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


def _moments(components: Components, observed: Observations) -> list[PosteriorMoments]:
    return [
        channel.moments(components.means[:, column], components.sigmas[:, column])
        for column, channel in enumerate(observed.channels)
    ]


def _joint(components: Components, observed: Observations, moments: list[PosteriorMoments]) -> Array:
    joint = np.log(np.maximum(components.weights, _LIGHTEST))[None, :]
    for column, of_column in enumerate(moments):
        joint = joint + observed.gather(of_column.log_density, column)
    return joint


def log_likelihood(components: Components, observed: Observations) -> float:
    """Σ log p(y) (S0 eq. 13)."""
    return float(observed.counts @ log_seen(log_joint(components, observed), observed))


def log_seen(joint: Array, observed: Observations) -> Array:
    """log p(y) of every row, whichever component it is of, or by chance."""
    seen: Array = np.logaddexp(logsumexp(joint, axis=1), observed.log_chance)
    return seen


def e_step(components: Components, observed: Observations) -> Sums:
    """Responsibilities (S0 eq. 10) and the sums they weigh."""
    if (cells := observed.only_grid) is not None:
        return _e_step_on_a_grid(components, observed, cells)
    moments = _moments(components, observed)
    joint = _joint(components, observed, moments)
    by_chance = np.reshape(observed.log_chance, (-1, 1))
    # Column by column: numpy's own maximum of short rows takes longer than all else here.
    highest = np.maximum(reduce(np.maximum, joint.T)[:, None], by_chance)
    shares = np.exp(joint - highest)
    totals = shares @ np.ones((shares.shape[1], 1)) + np.exp(by_chance - highest)
    shares *= observed.counts[:, None] / totals
    records = np.maximum(_down(shares), _LIGHTEST)
    size, shift, spread = (np.empty_like(components.means) for _ in range(3))
    for column, (_, first, second, cut_off) in enumerate(moments):
        weights = observed.scatter(shares, column, len(first))
        firsts, seconds, whole = _down(weights * first), _down(weights * second), records
        if cut_off is not None:
            whole = records * (1 + cut_off.ratio)
            firsts, seconds = firsts + records * cut_off.first, seconds + records * cut_off.second
        size[:, column], shift[:, column], spread[:, column] = whole, firsts / whole, seconds / whole
    return Sums(float(observed.counts @ (highest + np.log(totals))[:, 0]), records, size, shift, spread)


def _e_step_on_a_grid(components: Components, observed: Observations, cells: GridCells) -> Sums:
    """The same for one column of cells: only the whole mixture goes through the mechanism, and counts come back."""
    inside = cells.inside(components.means[:, 0], components.sigmas[:, 0])
    within, lost, spread = inside @ np.ones(inside.shape[2])
    parts = components.weights / within
    seen = np.maximum(cells.matrix @ (parts @ inside[0]) + observed.chance, _RAREST)
    records, firsts, seconds = parts * (inside @ ((observed.counts / seen) @ cells.matrix))
    records = np.maximum(records, _LIGHTEST)
    # As if those had been drawn, too, that the bounds cut off.
    size = records / within
    shift, spread = firsts / size - lost, seconds / size + components.sigmas[:, 0] ** 2 - spread
    return Sums(float(observed.counts @ np.log(seen)), records, size[:, None], shift[:, None], spread[:, None])


def _down(table: Array) -> Array:
    """The sum of every column: with few of them, a product is quicker than numpy's own sum."""
    return np.ones(len(table)) @ table


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
            components.sigmas + rate * by_sigma, [one.least_sigma for one in limits], [one.most_sigma for one in limits]
        ),
    )


_MEMORY = 20
_LIGHTEST_START = 1e-12
_FARTHEST_LOGIT = 30.0


@dataclass(frozen=True, eq=False)
class _Landscape:
    """The height over free parameters: logits of weights, means in units of the noise, logs of deviations."""

    observed: Observations
    shape: tuple[int, int]

    def point(self, components: Components) -> Array:
        logits = np.log(np.maximum(components.weights, _LIGHTEST_START))
        means, logs = components.means / self.observed.units, np.log(components.sigmas)
        return np.concatenate([logits, means.ravel(), logs.ravel()])

    def components(self, point: Array) -> Components:
        count, numbers = self.shape[0], self.shape[0] * self.shape[1]
        logits, means, logs = point[:count], point[count : count + numbers], point[count + numbers :]
        weights, units = np.exp(logits - logits.max()), self.observed.units
        return Components(weights / weights.sum(), means.reshape(self.shape) * units, np.exp(logs.reshape(self.shape)))

    def bounds(self) -> list[tuple[float, float]]:
        limits = [channel.limits for channel in self.observed.channels]
        means = [(limit.low / limit.unit, limit.high / limit.unit) for limit in limits]
        logs = [(np.log(limit.least_sigma), np.log(limit.most_sigma)) for limit in limits]
        count = self.shape[0]
        return [(-_FARTHEST_LOGIT, _FARTHEST_LOGIT)] * count + means * count + logs * count

    def depth(self, point: Array) -> tuple[float, Array]:
        """How far below zero a record lies on average, and the slope."""
        components, observed = self.components(point), self.observed
        sums = e_step(components, observed)
        variance, noise = components.sigmas**2, observed.units**2
        by_logit = sums.records - sums.records.sum() * components.weights
        by_mean = sums.size * sums.shift / variance * observed.units
        by_log = sums.size * (sums.spread / variance - 1) + observed.smoothing * noise / (variance + noise)
        height = sums.log_likelihood - observed.penalty(components.sigmas)
        slope = np.concatenate([by_logit, by_mean.ravel(), by_log.ravel()])
        return -height / observed.n, -slope / observed.n


@one_thread()
def polish(start: Components, observed: Observations, *, tolerance: float = 1e-10, most_steps: int = 500) -> Fit:
    """Climb until a step gains less than `tolerance` of the height; no accepted step ever falls."""
    from scipy.optimize import minimize

    landscape = _Landscape(observed, start.means.shape)
    depths: list[float] = []

    def note(intermediate_result: OptimizeResult) -> None:
        depths.append(float(intermediate_result.fun))

    origin = landscape.point(start)
    found = minimize(
        landscape.depth,
        origin,
        jac=True,
        method="L-BFGS-B",
        bounds=landscape.bounds(),
        callback=note,
        options={"maxiter": most_steps, "ftol": tolerance, "gtol": 1e-9, "maxcor": _MEMORY},
    )
    components = landscape.components(found.x)
    path = tuple(-depth * observed.n for depth in (*depths, float(found.fun)))
    return Fit(components, path[-1] + observed.penalty(components.sigmas), path, converged=bool(found.success))
