"""The accelerated climb: L-BFGS-B, which needs no more than EM does.

By Fisher's identity the sums of the E step are the gradient of the likelihood. Where noise hides the components EM
takes thousands of steps, this some tens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from kakuran.mechanism.base import Array
from kakuran.reconstruction.mixture.em import e_step
from kakuran.reconstruction.mixture.model import Components, Fit, Observations
from kakuran.reconstruction.threads import one_thread

_MEMORY = 20
_LIGHTEST = 1e-12
_FARTHEST_LOGIT = 30.0


@dataclass(frozen=True, eq=False)
class _Landscape:
    """The height over free parameters: logits of weights, means in units of the noise, logs of deviations."""

    observed: Observations
    shape: tuple[int, int]

    def point(self, components: Components) -> Array:
        logits = np.log(np.maximum(components.weights, _LIGHTEST))
        means, logs = components.means / self.observed.units, np.log(components.sigmas)
        return np.concatenate([logits, means.ravel(), logs.ravel()])

    def components(self, point: Array) -> Components:
        count, columns = self.shape
        logits, means, logs = np.split(point, [count, count + count * columns])
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
