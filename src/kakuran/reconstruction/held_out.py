"""Records an estimate has not seen, to judge it by: counts split as if some had been held out (binomial thinning)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from kakuran.mechanism.base import Array

Split: TypeAlias = tuple[Array, Array]
"""Counts of the records that were kept, and of those that were held out."""


def splits(counts: Array, parts: int, dice: np.random.Generator) -> Iterator[Split]:
    """As many splits as there are parts; every record is held out in one of them. Drawn as they are asked for."""
    whole = left = np.rint(counts).astype(np.int64)
    for remaining in range(parts, 0, -1):
        held = dice.binomial(left, 1 / remaining)
        left = left - held
        yield (whole - held).astype(float), held.astype(float)
