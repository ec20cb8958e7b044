"""What a released table of people × items still says of items: how many people have each, and which go together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from kakuran.defaults import DEFAULT_LEVEL
from kakuran.typing import Array, Indices

MOST_ITEMS = 10
MOST_PAIRS = 20
_PAIRED = 200
"""Pairs are looked for among so many of the most frequent items: no pair is more frequent than its items."""
_USUAL, _OUTSIZED = 0.9, 10.0
"""Nine of ten people have no more items than is usual; who has so many times that is hardly one person."""


@dataclass(frozen=True, eq=False)
class Supports:
    """The share of people who have each item, corrected for the noise on their factors.

    Of the table that the patterns can express: what they cannot is lost before any noise. Of an item in no pattern they
    say nothing, and it has no numbers.

    Attributes
    ----------
    estimates : Array
        Unbiased, then cut to lie between 0 and 1; in the order of items.
    low : Array
        The lower ends of intervals.
    high : Array
        The upper ends.
    """

    estimates: Array
    low: Array
    high: Array

    @classmethod
    def of_bits(cls, bits: NDArray[np.uint8], patterns: NDArray[np.uint8], retention: Array) -> Supports:
        """From perturbed bits, people × patterns, and patterns, items × patterns: an item needs one of its patterns.

        Of a person, û = (u′ − (1−ρ)/2)/ρ expects the true bit, so that ∏(1−û) over the patterns of an item expects
        whether the person has none of them: bits are perturbed one by one.
        """
        absent = 1 - (bits - (1 - retention) / 2) / retention
        lacking = np.stack([absent[:, pattern > 0].prod(axis=1) for pattern in patterns], axis=1)
        means = np.where(patterns.any(axis=1), 1 - lacking.mean(axis=0), np.nan)
        half = float(ndtri((1 + DEFAULT_LEVEL) / 2)) * lacking.std(axis=0) / np.sqrt(len(bits))
        inside = np.clip(means, 0.0, 1.0)  # first, so that an interval is never cut off to a point
        return cls(inside, *(np.clip(some, 0.0, 1.0) for some in (inside - half, inside + half)))

    def to_dict(self) -> dict[str, list[float | None]]:
        """Plain values, in the order of items; None where there are none."""
        return {
            name: [None if math.isnan(value) else round(value, 6) for value in values.tolist()]
            for name, values in (("estimate", self.estimates), ("low", self.low), ("high", self.high))
        }


@dataclass(frozen=True, eq=False)
class ItemsKept:
    """What of the most frequent items is left; computed from the originals, so for the steward.

    Attributes
    ----------
    top : Indices
        The most frequent items of the original.
    before : Array
        The share of people who have each of these.
    after : Array
        The same in the release.
    pairs : int
        How many of the most frequent pairs of items were looked for.
    pairs_kept : int
        How many of them are as frequent as that in the release.
    lost : int
        Items that somebody has in the original and nobody in the release.
    held : int
        Items that somebody has in the original.
    """

    top: Indices
    before: Array
    after: Array
    pairs: int
    pairs_kept: int
    lost: int
    held: int

    @classmethod
    def of(cls, original: Any, released: Any) -> ItemsKept:
        """Compare a matrix with its release."""
        before, after = shares_of(original), shares_of(released)
        top = np.argsort(-before, kind="stable")[: min(MOST_ITEMS, int((before > 0).sum()))]
        frequent = np.sort(np.argsort(-before, kind="stable")[:_PAIRED])
        wanted, found = (_top_pairs(matrix, frequent) for matrix in (original, released))
        return cls(
            top,
            before[top],
            after[top],
            len(wanted),
            len(wanted & found),
            int(((before > 0) & (after == 0)).sum()),
            int((before > 0).sum()),
        )

    @property
    def support(self) -> float:
        """The support of the most frequent items in the release, as a share of what it was."""
        return float(self.after.sum() / self.before.sum()) if self.before.sum() else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs."""
        return {
            "top": self.top.tolist(),
            "before": self.before.tolist(),
            "after": self.after.tolist(),
            "support": self.support,
            **{name: getattr(self, name) for name in ("pairs", "pairs_kept", "lost", "held")},
        }


def shares_of(matrix: Any) -> Array:
    """The share of people who have each item."""
    return np.asarray((matrix != 0).sum(axis=0), float).ravel() / matrix.shape[0]


def outsized_rows(matrix: Any) -> list[tuple[int, int]]:
    """People with many times as many items as others, and how many: hardly people. The largest first."""
    items = np.diff(matrix.tocsr().indptr)
    usual = float(np.quantile(items, _USUAL)) if len(items) else 0.0
    found = np.flatnonzero(items > max(_OUTSIZED * usual, _PAIRED / 2))
    return [(int(row), int(items[row])) for row in found[np.argsort(-items[found], kind="stable")]]


def _top_pairs(matrix: Any, items: Indices) -> set[tuple[int, int]]:
    """The most frequent pairs among some items; ties at the end belong to them all, or would be decided by order."""
    has = (matrix != 0).tocsc()[:, items].astype(np.int64)
    together = np.triu((has.T @ has).toarray(), 1)
    least = max(1, int(np.sort(together, axis=None)[-MOST_PAIRS:][0])) if together.size >= MOST_PAIRS else 1
    return {(int(items[one]), int(items[other])) for one, other in np.argwhere(together >= least)}
