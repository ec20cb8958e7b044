"""How many factors? As many as guess entries best that were hidden from the fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.factorisation.bits import Words, pack_dense
from kakuran.factorisation.matrices import check_rank, some_rows

SHARE = 0.1
"""How many entries are hidden."""

ROWS, CELLS = 2000, 1 << 24
"""Rows on which ranks are compared, fewer where they are long."""

RANKS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50)
_PATIENCE = 3


@dataclass(frozen=True)
class Hidden:
    """Entries that were hidden, and what they are."""

    mask: NDArray[np.bool_]
    truth: NDArray[Any]

    def error(self, guess: Any) -> float:
        """The mean absolute error of a guess at them; of a table so small that none was hidden, 0."""
        return float(np.abs(guess.toarray()[self.mask] - self.truth).sum() / max(1, len(self.truth)))


def hide_bits(X: Any, dice: np.random.Generator) -> tuple[Hidden, Words, Any]:
    """Hide a share of the entries: those hidden, the words of those that are seen, and X without the hidden ones."""
    from scipy.sparse import csr_array

    X = some_rows(X, max(1, min(ROWS, CELLS // X.shape[1])), dice).toarray()
    mask = dice.random(X.shape) < SHARE
    return Hidden(mask, X[mask]), pack_dense(~mask), csr_array(np.where(mask, 0, X))


def best_rank(error: Callable[[int], float], shape: tuple[int, int]) -> int:
    """The rank with the least error; ranks grow until the error has not fallen for a while."""
    best, least, since = 1, np.inf, 0
    for rank in RANKS:
        if rank >= min(shape):
            break
        found = error(rank)
        if found < least:
            best, least, since = rank, found, 0
        else:
            since += 1
            if since == _PATIENCE:
                break
    return check_rank(best, shape)
