"""The iterative Bayesian technique (S4 eq. 10, after Agrawal et al. 2005): EM on the counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kakuran.mechanism import Transition
from kakuran.mechanism.base import Array


def ibt(
    counts: Array,
    transitions: Sequence[Transition | None],
    *,
    tolerance: float = 1e-3,
    most_steps: int = 1000,
) -> Array:
    """The counts x that make the perturbed counts y likely: x ← x ∘ Aᵀ(y / Ax), from a uniform start.

    Parameters
    ----------
    counts : perturbed counts
    transitions : one per axis; None for an axis that was not perturbed
    tolerance : stop once a step moves less than this share of the records
    most_steps : stop after this many steps all the same
    """
    estimate = np.full(counts.shape, counts.sum() / counts.size)
    for _ in range(most_steps):
        expected = _forward(estimate, transitions)
        ratio = np.divide(counts, expected, out=np.zeros_like(counts), where=expected > 0)
        updated = estimate * _adjoint(ratio, transitions)
        moved = np.abs(updated - estimate).sum()
        estimate = updated
        if moved <= tolerance * counts.sum():
            break
    return estimate


def _forward(values: Array, transitions: Sequence[Transition | None]) -> Array:
    for axis, transition in enumerate(transitions):
        values = values if transition is None else transition.forward(values, axis)
    return values


def _adjoint(values: Array, transitions: Sequence[Transition | None]) -> Array:
    for axis, transition in enumerate(transitions):
        values = values if transition is None else transition.adjoint(values, axis)
    return values
