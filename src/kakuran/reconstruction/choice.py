"""The right amount of trust: estimators of growing roughness, weighed by what they predict of held-out counts.

The maximum of the likelihood overfits: it explains the noise. Counts can be split as if some records had not been seen
(binomial thinning), so an estimate from one part can be judged by the likelihood of the other. Candidates are whole
families, each a path of EM steps: from a uniform table, from the product of the marginals (shrinking towards
independence), with a prior for empty cells (for sparse tables); and the projected inverse.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kakuran.mechanism import DenseTransition, UniformMixture
from kakuran.mechanism.base import Array
from kakuran.randomness import Randomness
from kakuran.reconstruction.likelihood import em_step, log_likelihood, uniform, water_filling
from kakuran.reconstruction.linear import simplex
from kakuran.reconstruction.operator import Operator

HELD_OUT = 0.1
FOLDS = 3
STOPS = (0, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512)
PATIENCE = 4
"""Stops without a better prediction after which a path is given up."""

_MARGINAL_STEPS = 64
_NEGLIGIBLE = 1e-3


@dataclass(frozen=True)
class Candidate:
    """A family of estimates and how far along its path to go."""

    name: str
    start: str
    sparsity: float = 0.0
    steps: int = 0

    def __str__(self) -> str:
        return f"{self.name}, {self.steps} steps" if self.start != "simplex" else self.name


FAMILIES = (
    Candidate("EM from the product of the marginals", "product"),
    Candidate("EM from a uniform table", "uniform"),
    Candidate("EM with a mild prior for empty cells", "product", 0.3),
    Candidate("EM with a strong prior for empty cells", "product", 1.0),
)
SIMPLEX = Candidate("inverse projected on the simplex", "simplex")


def auto(counts: Array, operator: Operator) -> tuple[Array, dict[Candidate, float]]:
    """An average of estimates by how well each predicts held-out counts; a function of the counts alone.

    Averaging rather than picking the best: where the data cannot tell candidates apart, no luck decides.
    """
    weights = weigh(counts, operator)
    estimate = np.zeros_like(counts)
    for candidate, share in weights.items():
        if candidate.start == "simplex":
            estimate += share * simplex(counts, operator)
    for family in FAMILIES:
        stops = {candidate.steps: share for candidate, share in weights.items() if candidate.name == family.name}
        for step, current in enumerate(_path(family, counts, operator, max(stops, default=-1))):
            estimate += stops.get(step, 0.0) * current
    return estimate, weights


def weigh(counts: Array, operator: Operator) -> dict[Candidate, float]:
    """The share of each candidate: its held-out likelihood over a few thinnings, negligible ones left out."""
    folds = list(thinned(counts))
    scores: dict[Candidate, float] = {}
    if _is_invertible(operator):
        scores[SIMPLEX] = sum(log_likelihood(held, simplex(kept, operator), operator) for kept, held in folds)
    for family in FAMILIES:
        scores |= _scores_along(family, folds, operator)
    highest = max(scores.values())
    likely = {candidate: math.exp(score - highest) for candidate, score in scores.items()}
    kept = {candidate: value for candidate, value in likely.items() if value > _NEGLIGIBLE}
    return {candidate: value / sum(kept.values()) for candidate, value in kept.items()}


def thinned(counts: Array) -> Iterator[tuple[Array, Array]]:
    """Splits of the counts into kept and held out, the same for the same counts."""
    digest = hashlib.sha256(np.ascontiguousarray(counts).tobytes()).digest()
    dice = Randomness.seeded(int.from_bytes(digest[:8], "big")).generator()
    whole = np.rint(counts).astype(np.int64)
    for _ in range(FOLDS):
        held = dice.binomial(whole, HELD_OUT).astype(float)
        yield whole - held, held


def _path(family: Candidate, counts: Array, operator: Operator, steps: int) -> Iterator[Array]:
    """The estimates of a family, step by step; none for a negative number of steps."""
    if steps < 0:
        return
    estimate = _start(family, counts, operator)
    yield estimate
    for _ in range(steps):
        estimate = _step(family, estimate, counts, operator)
        yield estimate


def _scores_along(family: Candidate, folds: list[tuple[Array, Array]], operator: Operator) -> dict[Candidate, float]:
    estimates = [_start(family, kept, operator) for kept, _ in folds]
    scores: dict[Candidate, float] = {}
    done = 0
    for stop in STOPS:
        for _ in range(stop - done):
            estimates = [
                _step(family, estimate, kept, operator) for estimate, (kept, _) in zip(estimates, folds, strict=True)
            ]
        done = stop
        candidate = Candidate(family.name, family.start, family.sparsity, stop)
        scores[candidate] = sum(
            log_likelihood(held, estimate, operator) for estimate, (_, held) in zip(estimates, folds, strict=True)
        )
        best = max(scores, key=lambda candidate: scores[candidate])
        if STOPS.index(stop) - STOPS.index(best.steps) >= PATIENCE:
            break
    return scores


def _start(family: Candidate, counts: Array, operator: Operator) -> Array:
    return uniform(counts) if family.start == "uniform" else product_of_marginals(counts, operator)


def _step(family: Candidate, estimate: Array, counts: Array, operator: Operator) -> Array:
    """An EM step; a Dirichlet prior below one takes the same from every cell and leaves none below zero."""
    updated = em_step(estimate, counts, operator)
    if not family.sparsity:
        return updated
    sparse = np.maximum(updated - family.sparsity, 0.0)
    left = sparse.sum()
    return sparse * (counts.sum() / left) if left > 0 else updated


def product_of_marginals(counts: Array, operator: Operator) -> Array:
    """The table that has the estimated marginals and no dependence."""
    total = counts.sum()
    if total == 0:
        return np.zeros_like(counts)
    product = np.full((1,) * counts.ndim, total)
    for axis in range(counts.ndim):
        marginal = counts.sum(axis=tuple(other for other in range(counts.ndim) if other != axis))
        shape = [1] * counts.ndim
        shape[axis] = -1
        product = product * (_marginal(marginal, Operator([operator.transitions[axis]])) / total).reshape(shape)
    return product


def _marginal(counts: Array, operator: Operator) -> Array:
    only = operator.transitions[0]
    if only is None:
        return counts
    if isinstance(only, UniformMixture):
        return water_filling(counts, only)
    estimate = uniform(counts)
    for _ in range(_MARGINAL_STEPS):
        estimate = em_step(estimate, counts, operator)
    return estimate


def _is_invertible(operator: Operator) -> bool:
    """Whether solving is worth trying: noise on numbers is all but singular."""
    return not any(
        isinstance(transition, DenseTransition) and np.linalg.cond(transition.entries) > 1e6
        for transition in operator.transitions
    )
