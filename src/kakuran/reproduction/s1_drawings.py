"""S1's Figures 1 to 5: what its drawings show, on a table small enough to see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.factorisation import factorise_boolean, factorise_masked
from kakuran.factorisation.perturbed import perturb_bits, perturb_counts
from kakuran.randomness import Randomness

Panel = tuple[str, NDArray[Any]]

_K, _RANK = 8, 3


def baskets() -> NDArray[np.int64]:
    """How often each of 24 people bought each of 12 items: three kinds of basket, some people with two (Figure 1)."""
    dice = Randomness.seeded(1).generator()
    kinds = np.repeat(np.eye(_RANK, dtype=bool), 4, axis=1)
    has = np.tile([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], (6, 1)).astype(bool)
    return (has @ kinds > 0) * dice.integers(1, 6, (24, 12))


def draw() -> Any:
    """Both algorithms from left to right: the table, its factors, the perturbed factor, the release."""
    from kakuran.picture import Picture

    figure = Picture(figsize=(11, 6.4), layout="constrained")
    counts = baskets()
    rows = [
        ("Figures 2b, 3, 4: bought or not, Algorithm 1", _steps_of_bits(counts > 0)),
        ("Figures 1, 2a, 5: how many, Algorithm 2", _steps_of_counts(counts)),
    ]
    parts: Any = figure.subfigures(2, 1)
    for part, (title, panels) in zip(parts, rows, strict=True):
        part.suptitle(title, x=0.01, ha="left", fontsize=11)
        axes = part.subplots(1, len(panels), width_ratios=[_width(cells) for _, cells in panels])
        for one, (name, cells) in zip(axes, panels, strict=True):
            one.imshow(cells, cmap="YlOrBr", vmin=0, aspect="auto", interpolation="nearest")
            one.set_title(name, fontsize=9)
            one.set_xticks([])
            one.set_yticks([])
    return figure


def _steps_of_bits(X: NDArray[np.bool_]) -> Sequence[Panel]:
    factors = factorise_boolean(X.astype(np.int8), _RANK)
    drawn = perturb_bits(factors, _K, "data-dependent", Randomness.seeded(0))
    return [("X", X), ("U", factors.U), ("Vᵀ", factors.V.T), ("U′", drawn.U), ("X′ = U′Vᵀ", drawn.matrix().toarray())]


def _steps_of_counts(X: NDArray[np.int64]) -> Sequence[Panel]:
    values, mask = factorise_masked(X, _RANK), factorise_boolean((X > 0).astype(np.int8), _RANK)
    drawn = perturb_counts(values, mask, _K, "data-dependent", Randomness.seeded(0))
    names = ("X", "U", "Vᵀ", "P", "Qᵀ", "U′", "P′", "X′, masked by P′Qᵀ")
    matrices = (X, values.U, values.V.T, mask.U, mask.V.T, drawn.U, drawn.mask.U, drawn.matrix().toarray())
    return [*zip(names, matrices, strict=True)]


def _width(cells: NDArray[Any]) -> int:
    return 2 + cells.shape[1]
