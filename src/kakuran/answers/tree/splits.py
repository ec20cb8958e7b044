"""The best way to cut one attribute in two, from counts of class × cell, and what a cut gains: entropy, Gini or χ²."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.typing import Array

SplitCriterion: TypeAlias = Literal["entropy", "gini", "chi2"]


@dataclass(frozen=True, eq=False)
class Split:
    """Cells of an axis that go left, and what it gains a record."""

    axis: int
    left: NDArray[np.bool_]
    gain: float


def entropy(counts: Array) -> Array:
    """|S|·H(S) along the last axis."""
    shares = _shares(counts)
    return -(counts * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=-1)


def gini(counts: Array) -> Array:
    """|S|·G(S) along the last axis."""
    return counts.sum(axis=-1) - (counts * _shares(counts)).sum(axis=-1)


def _shares(counts: Array) -> Array:
    total = counts.sum(axis=-1, keepdims=True)
    return np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)


def chi2(whole: Array, parts: tuple[Array, Array]) -> Array:
    """Σ_i |S_i| Σ_j (p_j(S_i) − p_j(S))²/p_j(S); S4's Table 2 leaves out |S_i|, without which tiny parts win."""
    expected = _shares(whole)
    safe = np.where(expected > 0, expected, 1.0)
    return np.sum([part.sum(axis=-1) * ((_shares(part) - expected) ** 2 / safe).sum(axis=-1) for part in parts], axis=0)


CRITERIA: Mapping[SplitCriterion, Callable[[Array, tuple[Array, Array]], Array]] = {
    "entropy": lambda whole, parts: entropy(whole) - entropy(parts[0]) - entropy(parts[1]),
    "gini": lambda whole, parts: gini(whole) - gini(parts[0]) - gini(parts[1]),
    "chi2": chi2,
}
"""What a split gains (S4 Table 2), times the number of records."""


def best_split(
    table: Array, axis: int, allowed: NDArray[np.bool_], criterion: SplitCriterion, *, is_ordered: bool, support: float
) -> Split | None:
    """The cut with the largest gain that leaves more than `support` records on both sides.

    Numbers are cut at a threshold. Categories are put in order first: by the probability of the class if there are
    two, which makes the best threshold the best subset (Breiman et al. 1984), else along the main direction in which
    class probabilities differ (Coppersmith et al. 1999).
    """
    order = np.flatnonzero(allowed)
    if len(order) < 2:
        return None
    if not is_ordered:
        order = order[np.argsort(_position(table[:, order]), kind="stable")]
    whole = table[:, order].sum(axis=1)
    left = np.cumsum(table[:, order], axis=1).T[:-1]
    right = whole - left
    gains = CRITERIA[criterion](whole, (left, np.maximum(right, 0.0)))
    gains[(left.sum(axis=1) <= support) | (right.sum(axis=1) <= support)] = -np.inf
    best = int(np.argmax(gains))
    if not gains[best] > 1e-9 * whole.sum():
        return None
    return Split(axis, np.isin(np.arange(table.shape[1]), order[: best + 1]), float(gains[best] / whole.sum()))


def _position(table: Array) -> Array:
    """Where each cell stands along the line on which class probabilities differ most."""
    shares = _shares(table.T)
    weights = table.sum(axis=0)
    centred = shares - np.average(shares, axis=0, weights=np.maximum(weights, 1e-9))
    covariance = (centred * weights[:, None]).T @ centred
    return centred @ np.linalg.eigh(covariance)[1][:, -1]
