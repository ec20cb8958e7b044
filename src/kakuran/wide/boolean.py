"""Boolean factorisation: X ≈ U ∘ Vᵀ with 1 + 1 = 1, all bits (S1 eq. 7).

Real factors come first (non-negative, from a start by singular vectors), are balanced and cut to bits; then rows of U
are solved given V and rows of V given U until no bit wants to change. On large tables V is found on some rows only, and
then all rows are solved.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kakuran.randomness import Randomness
from kakuran.typing import Array
from kakuran.wide.matrices import (
    BitWords,
    best_rank,
    binary_matrix,
    check_columns,
    check_rank,
    full,
    hamming,
    hide_bits,
    leading,
    pack,
    pack_dense,
    popcount,
    some_rows,
    unpack,
)

_ITERATIONS = 25


def real_factors(X: Any, rank: int) -> tuple[Array, Array]:
    """U, V ≥ 0 with small ‖X − UVᵀ‖², by coordinate descent over columns from NNDSVD (Boutsidis & Gallopoulos 2008)."""
    U, V = _start(X, rank)
    transposed = X.T.tocsr()
    for _ in range(_ITERATIONS):
        _descend(U, X @ V, V.T @ V)
        _descend(V, transposed @ U, U.T @ U)
    return U, V


def _descend(factor: Array, target: Array, gram: Array) -> None:
    for r in range(len(gram)):
        step = (target[:, r] - factor @ gram[:, r]) / max(gram[r, r], 1e-12)
        np.maximum(factor[:, r] + step, 0.0, out=factor[:, r])


def _start(X: Any, rank: int) -> tuple[Array, Array]:
    left, strengths, right = leading(X, rank)
    U, V = np.empty((X.shape[0], rank)), np.empty((X.shape[1], rank))
    for place in range(rank):
        u, v = left[:, place], right[place]
        sides = [(np.maximum(sign * u, 0), np.maximum(sign * v, 0)) for sign in (1, -1)]
        u, v = max(sides, key=lambda side: np.linalg.norm(side[0]) * np.linalg.norm(side[1]))
        norms = np.linalg.norm(u) + 1e-12, np.linalg.norm(v) + 1e-12
        height = np.sqrt(strengths[place] * norms[0] * norms[1])
        U[:, place], V[:, place] = height * u / norms[0], height * v / norms[1]
    # A zero would stay one for ever.
    floor = X.mean() / 100
    return np.maximum(U, floor), np.maximum(V, floor)


SAMPLE = 10_000
"""Rows on which V is found."""
_ROWS_A_TASK = 1 << 15
_ROUNDS = 50
_SWEEPS = 8


@dataclass(frozen=True)
class BooleanFactors:
    """X ≈ U ∘ Vᵀ.

    Attributes
    ----------
    U : NDArray
        Rows × rank, of 0 and 1.
    V : NDArray
        Columns × rank, of 0 and 1.
    """

    U: NDArray[np.uint8]
    V: NDArray[np.uint8]

    @property
    def rank(self) -> int:
        """How many patterns there are."""
        return self.V.shape[1]

    def product(self) -> Any:
        """U ∘ Vᵀ as a sparse matrix of 0 and 1."""
        return boolean_product(self.U, self.V)


def boolean_product(U: NDArray[np.uint8], V: NDArray[np.uint8]) -> Any:
    """U ∘ Vᵀ as a sparse matrix of 0 and 1."""
    from scipy.sparse import csr_array

    product = csr_array(U.astype(np.int32)) @ csr_array(V.T.astype(np.int32))
    product.data[:] = 1
    return product.astype(np.int8)


def factorise_boolean(X: Any, rank: int | Literal["auto"] = "auto", *, seed: int = 0) -> BooleanFactors:
    """The bits U and V whose Boolean product is nearest to X.

    Parameters
    ----------
    X : Any
        A binary matrix, dense or sparse.
    rank : int | Literal["auto"]
        How many patterns; ``"auto"`` takes the one that guesses hidden entries best.
    seed : int
        Decides which rows V is found on, when not all are needed.
    """
    X = binary_matrix(X)
    dice = Randomness.seeded(seed).generator()
    sample = some_rows(X, SAMPLE, dice)
    rank = _rank_by_hidden_entries(sample, dice) if rank == "auto" else check_rank(rank, X.shape)
    V = fit_patterns(sample, rank)
    return BooleanFactors(encode_rows(X, V), V)


def encode_rows(X: Any, V: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """For every row of X the patterns that rebuild it best."""
    check_columns(X, V)
    rows, U = pack(X), np.zeros((X.shape[0], V.shape[1]), np.uint8)
    seen, patterns = full(1, X.shape[1]), pack_dense(V.T)
    with ThreadPoolExecutor() as pool:
        parts = [slice(start, start + _ROWS_A_TASK) for start in range(0, len(rows), _ROWS_A_TASK)]
        list(pool.map(lambda part: _solve(rows[part], seen, patterns, U[part], True), parts))
    return U


def fit_patterns(X: Any, rank: int, observed: BitWords | None = None) -> NDArray[np.uint8]:
    """V for all rows of X, whose bits may be partly hidden."""
    U, V = _cut_to_bits(*real_factors(X.astype(np.float64), rank))
    by_row, by_column = pack(X), pack(X.T.tocsr())
    if observed is None:
        seen_by_row, seen_by_column = full(1, X.shape[1]), full(1, X.shape[0])
    else:
        seen_by_row, seen_by_column = observed, pack_dense(unpack(observed, X.shape[1]).T)
    _solve(by_row, seen_by_row, pack_dense(V.T), U, True)
    for _ in range(_ROUNDS):
        changed = _solve(by_column, seen_by_column, pack_dense(U.T), V, False)
        changed += _solve(by_row, seen_by_row, pack_dense(V.T), U, False)
        if not changed:
            break
    return V


def _cut_to_bits(U: Array, V: Array) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Give both sides of every factor the same height, then cut at the half."""
    heights = U.max(axis=0) + 1e-12, V.max(axis=0) + 1e-12
    level = 0.5 / np.sqrt(heights[0] * heights[1])
    return (heights[0] * level < U).astype(np.uint8), (heights[1] * level < V).astype(np.uint8)


def _rank_by_hidden_entries(X: Any, dice: np.random.Generator) -> int:
    hidden, observed, shown = hide_bits(X, dice)

    def error(rank: int) -> float:
        V = fit_patterns(shown, rank, observed)
        U = np.zeros((shown.shape[0], rank), np.uint8)
        _solve(pack(shown), observed, pack_dense(V.T), U, True)
        return hidden.error(boolean_product(U, V))

    return best_rank(error, shown.shape)


@njit(cache=True, nogil=True)
def count_differences(
    rows: BitWords, patterns: BitWords, chosen: NDArray[np.uint8]
) -> int:  # pragma: no cover - compiled
    """In how many cells the unions of the chosen patterns differ from the rows."""
    union = np.empty(rows.shape[1], np.uint64)
    total = 0
    for i in range(len(rows)):
        union[:] = 0
        for r in range(len(patterns)):
            if chosen[i, r]:
                union |= patterns[r]
        total += hamming(rows[i], union)
    return total


@njit(cache=True, nogil=True)
def _solve(
    rows: BitWords, observed: BitWords, patterns: BitWords, chosen: NDArray[np.uint8], is_new: bool
) -> int:  # pragma: no cover - compiled
    """Choose for every row the patterns whose union differs least from it; how many rows changed.

    New rows start from nothing and add the pattern that gains most; then any single pattern is put in or taken out
    while that gains. A pattern gains the ones and loses the zeros it covers and no other chosen one does.
    """
    n, words = rows.shape
    rank = len(patterns)
    others = np.empty(words, np.uint64)
    changed = 0
    for i in range(n):
        seen = observed[i if len(observed) > 1 else 0]
        before = chosen[i].copy()
        if is_new:
            _add_greedily(rows[i], seen, patterns, chosen[i], others)
        for _ in range(_SWEEPS):
            is_settled = True
            for r in range(rank):
                others[:] = 0
                for s in range(rank):
                    if s != r and chosen[i, s]:
                        others |= patterns[s]
                wanted = 1 if _gain(rows[i], seen, patterns[r], others) > 0 else 0
                if wanted != chosen[i, r]:
                    chosen[i, r] = wanted
                    is_settled = False
            if is_settled:
                break
        if (chosen[i] != before).any():
            changed += 1
    return changed


@njit(cache=True, nogil=True)
def _add_greedily(
    row: BitWords, seen: BitWords, patterns: BitWords, chosen: NDArray[np.uint8], covered: BitWords
) -> None:  # pragma: no cover - compiled
    chosen[:] = 0
    covered[:] = 0
    while True:
        best, best_pattern = 0, -1
        for r in range(len(patterns)):
            if not chosen[r]:
                gain = _gain(row, seen, patterns[r], covered)
                if gain > best:
                    best, best_pattern = gain, r
        if best_pattern < 0:
            return
        chosen[best_pattern] = 1
        covered |= patterns[best_pattern]


@njit(cache=True, nogil=True)
def _gain(row: BitWords, seen: BitWords, pattern: BitWords, covered: BitWords) -> int:  # pragma: no cover - compiled
    """Ones less zeros, among the seen cells the pattern covers and nothing else does."""
    gain = 0
    for w in range(len(row)):
        free = pattern[w] & ~covered[w] & seen[w]
        if free:
            gain += 2 * popcount(free & row[w]) - popcount(free)
    return gain
