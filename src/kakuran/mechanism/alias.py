"""Exact draws from any finite distribution, one 64-bit word each (Walker's alias method, in integers)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.typing import Array

ExactWeights: TypeAlias = NDArray[np.uint64]

TOTAL = 1 << 63
"""What the weights of one distribution add up to: an outcome of weight w has probability w / 2⁶³."""


def integer_weights(shape: Array, floor: int) -> ExactWeights:
    """ExactWeights in proportion to `shape`, at least `floor` where it is positive, adding up to 2⁶³ exactly.

    What rounding leaves over goes to the heaviest outcome (there are fewer than 2¹³ + len(shape) units of it).
    """
    weights = truncated_weights(shape, floor)
    weights[np.argmax(shape)] += np.uint64(TOTAL - int(weights.sum()))
    return weights


def truncated_weights(shape: Array, floor: int) -> ExactWeights:
    """The same without what rounding leaves over, so that equal shapes have equal weights."""
    is_possible = shape > 0
    spread = TOTAL - floor * int(is_possible.sum())
    ideal = shape / shape.sum() * spread * (1 - 2.0**-50)
    return np.floor(ideal).astype(np.uint64) + np.uint64(floor) * is_possible


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Columns of equal capacity, each shared by at most two outcomes.

    The high bits of a word choose the column; the word itself, against `cut`, chooses which of the two.
    """

    bits: int
    cut: ExactWeights
    jump: NDArray[np.int64]

    @classmethod
    def build(cls, weights: ExactWeights) -> AliasTable:
        """The table of weights that add up to 2⁶³.

        Instead of Vose's one-by-one pairing: outcomes below capacity have a deficit, those above an excess;
        running totals of the two say at once who tops up whom.
        """
        bits = max(1, (len(weights) - 1).bit_length())
        capacity = np.uint64(TOTAL >> bits)
        padded = np.zeros(1 << bits, np.uint64)
        padded[: len(weights)] = weights
        is_small = padded < capacity
        small, large = np.flatnonzero(is_small), np.flatnonzero(~is_small)
        deficit = np.cumsum(capacity - padded[small])
        excess = np.cumsum(padded[large] - capacity)

        threshold = padded.copy()
        other = np.arange(1 << bits)
        if len(small):
            before = deficit - (capacity - padded[small])
            other[small] = large[np.searchsorted(excess, before, side="right")]
            overdrawn = np.where(excess > 0, deficit[np.searchsorted(deficit, excess)] - excess, np.uint64(0))
            threshold[large] = capacity - overdrawn
            other[large[:-1]] = np.where(overdrawn[:-1] > 0, large[1:], large[:-1])
        columns = np.arange(1 << bits)
        threshold[other == columns] = 0
        cut = (columns.astype(np.uint64) * capacity + threshold) << np.uint64(1)
        return cls(bits, cut, other - columns)

    def draw(self, words: ExactWeights, rows: NDArray[np.integer] | None = None) -> NDArray[np.int64]:
        """One outcome per word; from the row-th of several tables laid end to end, where rows are given."""
        columns = (words >> np.uint64(64 - self.bits)).view(np.int64)
        places = columns if rows is None else columns + (rows.astype(np.int64) << self.bits)
        moved = self.jump.take(places)
        moved *= words >= self.cut.take(places)
        moved += columns
        return moved
