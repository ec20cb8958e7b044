"""Combinations of our own columns that are about few people, though no column is.

Whoever is told sums of columns is told those of every combination of them: of the difference of two columns that differ
in three people, of the level that yes/no columns leave out. Such a combination is a vector of the columns' span that is
zero for nearly everybody. The one with the smallest sum of absolute values, each column in turn held at weight 1, is
mostly the sparsest (Spielman, Wang and Wright, 2012); no method is known that always finds it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kakuran.typing import Array

_ROWS = 4_000
"""Records on which combinations are searched for; each found is computed for all of them."""
_STEPS = 200
_RELAXED = 1.6
"""Over-relaxation of the steps (Boyd et al. 2011, 3.4.3)."""
_BALANCED = 5.0
"""How many times one residual of the steps may exceed the other before their penalty is changed."""
_REPEATED = 1e-10
"""Directions of our columns that are weaker than this share of the strongest are none."""
_NEARLY_ZERO = 1e-2
"""In standard deviations of the column with weight 1: what most records have up to this, they are taken to share."""
_TAKES_PART = 1e-2
_DIGITS = 9


@dataclass(frozen=True)
class Combination:
    """What is left of a column once others are taken off it.

    Parameters
    ----------
    names : tuple[str, ...]
        The columns that take part, the one it is left of first.
    values : Array
        What is left, for each record, in standard deviations of that column.
    is_exact : bool
        Whether most records share one value, to the last digit that can be relied on.
    """

    names: tuple[str, ...]
    values: Array
    is_exact: bool


def sparse_combinations(names: tuple[str, ...], values: Array) -> list[Combination]:
    """For each column the combination with it that is zero for the most records, as far as it is found."""
    centred = values - values.mean(axis=0)
    largest = np.abs(centred).max(axis=0)
    varied = np.flatnonzero(largest > 0)
    centred = centred[:, varied] / largest[varied]  # squares of values as they are may be beyond all numbers
    design = np.column_stack([np.ones(len(values)), centred / np.sqrt((centred**2).mean(axis=0))])
    weights = _least_absolute(*_core(design))
    found = []
    for column, approximate in enumerate(weights.T, start=1):
        weight, is_exact = _exact(design, approximate, column)
        sizes = np.abs(weight[1:])
        taking_part = [names[varied[place]] for place in np.argsort(-sizes) if sizes[place] > _TAKES_PART]
        own = names[varied[column - 1]]
        others = tuple(name for name in taking_part if name != own)
        found.append(Combination((own, *others), np.round(design @ weight, _DIGITS) + 0.0, is_exact))
    return found


def _core(design: Array) -> tuple[Array, Array]:
    """Some thousand records that stand for all, and how many each stands for: more likely those of higher leverage.

    A level of 30 people among a million is in it, as nothing else says what its column weighs.
    """
    if len(design) <= _ROWS:
        return design, np.ones(len(design))
    basis, strengths, _ = np.linalg.svd(design, full_matrices=False)
    leverage = (basis[:, strengths > _REPEATED * strengths[0]] ** 2).sum(axis=1)
    share = np.minimum(1, _ROWS / 2 * (leverage / leverage.sum() + 1 / len(design)))
    # Every time the shares add up to a whole number; records stand in an order that says nothing of them.
    chosen = np.diff(np.floor(share.cumsum() + 1e-9), prepend=0) > 0
    return design[chosen], 1 / share[chosen]


def _least_absolute(design: Array, times: Array) -> Array:
    """For each column but the first the weights, 1 for it, with the least sum of absolute values (one a column).

    Alternating directions (Boyd et al. 2011, 6.1), for all columns at once, as they share one orthogonal basis.
    """
    basis, strengths, directions = np.linalg.svd(design * times[:, None], full_matrices=False)
    kept = strengths > _REPEATED * strengths[0]
    basis, back = basis[:, kept], directions[kept].T / strengths[kept]
    held = back[1:].T
    lengths = (held**2).sum(axis=0)
    split = basis @ (held / lengths)
    dual, penalty = np.zeros_like(split), 1 / np.abs(split).mean(axis=0)
    for step in range(_STEPS):
        place = basis.T @ (split - dual)
        place += held * ((1 - (held * place).sum(axis=0)) / lengths)
        fitted, before = basis @ place, split
        moved = _RELAXED * fitted + (1 - _RELAXED) * split + dual
        split = np.sign(moved) * np.maximum(np.abs(moved) - 1 / penalty, 0)
        dual = moved - split
        if step % 10 == 9 and step < 0.7 * _STEPS:  # a penalty that never stops changing never converges
            primal, change = np.linalg.norm(fitted - split, axis=0), np.linalg.norm(split - before, axis=0)
            factor = np.where(primal > _BALANCED * change, 2.0, np.where(change > _BALANCED * primal, 0.5, 1.0))
            penalty, dual = penalty * factor, dual / factor
    return np.asarray(back @ place)


def _exact(design: Array, weight: Array, column: int) -> tuple[Array, bool]:
    """The weights by which the records near zero are zero, if most are near it."""
    near = np.abs(design @ weight) < _NEARLY_ZERO
    if near.mean() < 0.5:
        return weight, False
    others = np.flatnonzero(np.arange(len(weight)) != column)
    gram = design[near].T @ design[near]
    fitted = np.linalg.lstsq(gram[np.ix_(others, others)], gram[others, column], rcond=_REPEATED**1.5)[0]
    exact = np.zeros_like(weight)
    exact[others], exact[column] = -fitted, 1.0
    if not np.round(design @ exact, _DIGITS).any():  # a combination that is zero for everybody tells of nobody
        return weight, False
    return exact, True
