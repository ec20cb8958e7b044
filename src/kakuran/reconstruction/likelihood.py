"""The likelihood of counts, and climbing it: EM (the iterative Bayesian technique), plain and accelerated."""

from __future__ import annotations

import numpy as np

from kakuran.mechanism import UniformMixture
from kakuran.mechanism.base import Array
from kakuran.reconstruction.operator import Operator


def log_likelihood(counts: Array, estimate: Array, operator: Operator) -> float:
    """Σ y log(Ax/n), up to a constant."""
    expected = operator.forward(estimate)
    seen = counts > 0
    return float((counts[seen] * np.log(np.maximum(expected[seen], 1e-300) / expected.sum())).sum())


def em_step(estimate: Array, counts: Array, operator: Operator) -> Array:
    """x ← x ∘ Aᵀ(y / Ax) (S4 eq. 10; eq. 14 when one axis is a class of many values)."""
    expected = operator.forward(estimate)
    ratio = np.divide(counts, expected, out=np.zeros_like(counts), where=expected > 0)
    return estimate * operator.adjoint(ratio)


def uniform(counts: Array) -> Array:
    """The same count in every cell."""
    return np.full(counts.shape, counts.sum() / counts.size)


def ibt(counts: Array, operator: Operator, *, tolerance: float = 1e-3, most_steps: int = 10_000) -> tuple[Array, int]:
    """S4's own estimator: start from the perturbed counts, stop when a step moves less than this share of them."""
    estimate = counts
    for step in range(1, most_steps + 1):
        previous, estimate = estimate, em_step(estimate, counts, operator)
        if np.abs(estimate - previous).sum() <= tolerance * counts.sum():
            return estimate, step
    return estimate, most_steps


def class_by_class(counts: Array, operator: Operator, axis: int = 0, *, tolerance: float = 1e-3) -> Array:
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
        estimates.append(ibt(table, two, tolerance=tolerance)[0][1])
    return np.moveaxis(np.stack(estimates), 0, axis)


def duality_gap(counts: Array, estimate: Array, operator: Operator) -> float:
    """How far, at most, the log-likelihood is below its maximum: n(max g − 1) with g = Aᵀ(y/Ax)/n (maths §3)."""
    total = counts.sum()
    if total == 0:
        return 0.0
    expected = operator.forward(estimate)
    ratio = np.divide(counts, expected, out=np.zeros_like(counts), where=expected > 0)
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
    """The maximum of the likelihood, certified to `gap` a record: in closed form for one attribute, else by SQUAREM.

    Squared extrapolation (Varadhan & Roland 2008) with non-positive cells sent to a tenth of the last iterate;
    a step that lowers the likelihood is taken back and the longest permitted step halved.
    """
    only = operator.transitions[0]
    if counts.ndim == 1 and isinstance(only, UniformMixture):
        return water_filling(counts, only), 0
    estimate, longest, steps = uniform(counts), 1.0, 0
    height = log_likelihood(counts, estimate, operator)
    while steps < most_steps and duality_gap(counts, estimate, operator) > gap * counts.sum():
        once = em_step(estimate, counts, operator)
        twice = em_step(once, counts, operator)
        change, bend = once - estimate, twice - 2 * once + estimate
        ideal = float(np.linalg.norm(change)) / max(float(np.linalg.norm(bend)), 1e-300)
        stride = min(max(ideal, 1.0), longest)
        leap = estimate + 2 * stride * change + stride**2 * bend
        leap = np.where(leap > 0, leap, 0.1 * twice)
        leap = em_step(leap * counts.sum() / leap.sum(), counts, operator)
        steps += 3
        reached = log_likelihood(counts, leap, operator)
        if reached >= height:
            longest = longest * 4 if stride == longest else longest
            estimate, height = leap, reached
        else:
            longest = max(longest / 2, 1.0)
            estimate, height = twice, log_likelihood(counts, twice, operator)
    return estimate, steps
