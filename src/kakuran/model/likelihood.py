"""The likelihood of counts, and climbing it: EM (the iterative Bayesian technique) and the certified maximum."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kakuran.mechanism import UniformMixture
from kakuran.model.operator import Operator
from kakuran.typing import Array

Estimator: TypeAlias = Callable[[Array, Operator], tuple[Array, int]]
"""From counts to an estimate and the steps it took."""


def log_likelihood(counts: Array, estimate: Array, operator: Operator) -> float:
    """Σ y log(Ax/n), up to a constant."""
    expected = operator.forward(estimate)
    seen = counts > 0
    return float((counts[seen] * np.log(np.maximum(expected[seen], 1e-300) / expected.sum())).sum())


def em_step(estimate: Array, counts: Array, operator: Operator) -> Array:
    """x ← x ∘ Aᵀ(y / Ax) (S4 eq. 10; eq. 14 when one axis is a class of many values)."""
    return estimate * operator.adjoint(_ratio(counts, operator.forward(estimate)))


def _ratio(counts: Array, expected: Array) -> Array:
    """Nothing for cells that no record can reach."""
    return np.divide(counts, expected, out=np.zeros(expected.shape), where=expected > 0)


def uniform(counts: Array, operator: Operator) -> Array:
    """The same count in every cell of the true table."""
    shape = operator.true_shape(counts)
    return np.full(shape, counts.sum() / math.prod(shape))


def ibt(counts: Array, operator: Operator, *, tolerance: float = 1e-3, most_steps: int = 10_000) -> tuple[Array, int]:
    """S4's own estimator: start from the perturbed counts, stop when a step moves less than this share of them."""
    # Perturbed cells that are no true ones come last along an axis; whoever is there may have been anywhere.
    estimate = counts[tuple(map(slice, operator.true_shape(counts)))]
    for step in range(1, most_steps + 1):
        previous, estimate = estimate, em_step(estimate, counts, operator)
        if np.abs(estimate - previous).sum() <= tolerance * counts.sum():
            return estimate, step
    return estimate, most_steps


def class_by_class(counts: Array, operator: Operator, axis: int = 0, *, run: Estimator = ibt) -> Array:
    """The conventional way S4 compares with: every value of the class against all others, one run each.

    Each run sees the class axis as two cells and gives the counts of one value; the runs need not add up.
    """
    transition = operator.transitions[axis]
    assert isinstance(transition, UniformMixture)  # noqa: S101
    front = np.moveaxis(counts, axis, 0)
    others = [other for place, other in enumerate(operator.transitions) if place != axis]
    estimates = []
    for value, share in enumerate(transition.shares):
        two = Operator([UniformMixture(transition.retention, np.array([1 - share, share])), *others])
        table = np.stack([front.sum(axis=0) - front[value], front[value]])
        estimates.append(run(table, two)[0][1])
    return np.moveaxis(np.stack(estimates), 0, axis)


def duality_gap(counts: Array, estimate: Array, operator: Operator) -> float:
    """How far, at most, the log-likelihood is below its maximum: n(max g − 1) with g = Aᵀ(y/Ax)/n (maths §3)."""
    total = counts.sum()
    if total == 0:
        return 0.0
    ratio = _ratio(counts, operator.forward(estimate))
    return float(max(operator.adjoint(ratio).max() * estimate.sum() / total - 1, 0.0) * total)


def water_filling(counts: Array, transition: UniformMixture) -> Array:
    """The exact maximum for one attribute: x = max(0, y/λ − (1−ρ)nb/ρ), λ by one sort."""
    total = counts.sum()
    if total == 0 or transition.retention == 1:
        return counts.astype(float)
    level = (1 - transition.retention) * total * transition.shares / transition.retention
    order = np.argsort(-counts / level, kind="stable")
    rates = np.cumsum(counts[order]) / (total + np.cumsum(level[order]))
    filled = np.flatnonzero(counts[order] > rates * level[order])[-1]
    return np.maximum(counts / rates[filled] - level, 0.0)


def maximum_likelihood(
    counts: Array, operator: Operator, *, gap: float = 1e-9, most_steps: int = 20_000
) -> tuple[Array, int]:
    """The maximum of the likelihood, certified to `gap` a record, and how many passes it took, each as dear as EM's.

    In closed form for one attribute. Else by a primal–dual interior point: as a perturbed record is still one record,
    Σx − Σ y log(Ax) over x ≥ 0 has the same optimum, which is where Aᵀ(y/Ax) + s = 1, s ≥ 0 and xs = 0. Newton steps
    lead there along xs = μ for falling μ and need nothing of A but products; a step of EM from there makes known
    totals exact. If `most_steps` passes do not reach the certificate, `duality_gap` says how far they got.
    """
    only, total = operator.alone(0), counts.sum()
    if counts.ndim == 1 and isinstance(only, UniformMixture):
        return water_filling(counts, only), 0
    if total == 0:
        return np.zeros(operator.true_shape(counts)), 0
    interior, steps = uniform(counts, operator), 0
    slack = np.ones_like(interior)
    while True:
        expected = operator.forward(interior)
        ratio = _ratio(counts, expected)
        gradient = operator.adjoint(ratio)
        estimate, steps = interior * gradient, steps + 1
        if steps >= most_steps or duality_gap(counts, estimate, operator) <= gap * total:
            return estimate, steps
        target = max(_FALL * float((interior * slack).mean()), _LEAST * total / interior.size)
        hessian = _Hessian(operator, _ratio(ratio, expected), slack / interior)
        step, products = hessian.solve(gradient - 1 + target / interior, most_steps - steps - 1)
        change = (target - slack * step) / interior - slack
        interior = interior + _stride(interior, step) * step
        slack = slack + _stride(slack, change) * change
        steps += products


_FALL = 0.1
"""What μ is multiplied with at every Newton step."""
_LEAST = 1e-20
"""μ stays above this part of the mean count, so that nothing underflows while an unreachable gap is sought."""
_ACCURACY = 1e-2
"""How well a Newton step is solved for: better costs more passes than it saves."""
_MOST_PRODUCTS = 1000
"""For one Newton step; where the operator is nearly singular a rough step now beats a good one later."""


@dataclass(frozen=True)
class _Hessian:
    """Aᵀ diag(weights) A + diag(ridge), by its products alone."""

    operator: Operator
    weights: Array
    ridge: Array

    def times(self, vector: Array) -> Array:
        return self.operator.adjoint(self.weights * self.operator.forward(vector)) + self.ridge * vector

    def solve(self, values: Array, most: int) -> tuple[Array, int]:
        """Roughly, by conjugate gradients scaled by the diagonal; and how many products it took."""
        scale = 1 / (self.operator.squared_adjoint(self.weights) + self.ridge)
        solution, residual = np.zeros_like(values), values
        direction = scale * residual
        size = float((residual * direction).sum())
        goal, products = _ACCURACY**2 * size, 0
        while size > goal and products < min(most, _MOST_PRODUCTS):
            image = self.times(direction)
            stride = size / float((direction * image).sum())
            solution = solution + stride * direction
            residual = residual - stride * image
            previous, size = size, float((residual**2 * scale).sum())
            direction = scale * residual + size / previous * direction
            products += 1
        return solution, products


def _stride(positive: Array, change: Array) -> float:
    """The largest part of a change, up to all of it, that leaves everything well above zero."""
    return min(1.0, 0.99 / max(float((-change / positive).max()), 1e-300))
