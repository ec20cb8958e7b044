"""Matrices as they are given, checked and sparse; how many factors they have; and binary ones packed into words.

Rows of 64-bit words let 64 cells be compared at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kakuran.errors import ArgumentError, CalibrationError, is_real
from kakuran.randomness import Randomness
from kakuran.typing import Array
from kakuran.words import Phrase

_LARGEST = 1e100
"""Larger entries have no square, or no sum of squares."""

HIDDEN_SHARE = 0.1
"""How many entries are hidden: there are as many factors as guess them best."""

_ROWS, _CELLS = 2000, 1 << 24
"""Rows on which ranks are compared, fewer where they are long."""

_RANKS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50)
_PATIENCE = 3


def counts_matrix(X: Any) -> Any:
    """X as a CSR matrix of finite numbers of at least 0, without stored zeros; in 64 bits, where no sum runs over."""
    X = _checked(X)
    return _without_zeros(X.astype(np.float64 if X.dtype.kind == "f" else np.int64, copy=False))


def binary_matrix(X: Any) -> Any:
    """X as a CSR matrix of 0 and 1; anything else is refused."""
    X = _without_zeros(_checked(X))
    if X.nnz and not (X.data == 1).all():
        odd = X.data[X.data != 1][0].item()
        raise ArgumentError("matrix", Phrase("is not binary"), Phrase("Use kind='counts', or give X > 0."), example=odd)
    return X.astype(np.int8)


def _checked(X: Any) -> Any:
    from scipy.sparse import csr_array, issparse

    if not issparse(X):
        X = _numbers(X)
    if X.dtype.kind not in "biuf":
        raise ArgumentError(
            "matrix", Phrase("holds {kind} entries", kind=str(X.dtype)), Phrase("Give numbers of at least 0.")
        )
    if X.ndim != 2 or 0 in X.shape:
        raise ArgumentError(
            "matrix",
            Phrase("has shape {shape}", shape=X.shape),
            Phrase("Give a matrix of at least one row and one column."),
        )
    X = csr_array(X)
    if X.dtype.kind == "f" and not np.isfinite(X.data).all():
        raise ArgumentError(
            "matrix", Phrase("holds missing or infinite entries"), Phrase("Fill them in; zero stands for nothing.")
        )
    if X.nnz and float(X.data.max()) > _LARGEST:
        highest = X.data.max().item()
        raise ArgumentError(
            "matrix",
            Phrase("holds entries above {most:g}", most=_LARGEST),
            Phrase("Use another unit."),
            example=highest,
        )
    if X.dtype.kind in "if" and X.nnz and X.data.min() < 0:
        lowest = X.data.min().item()
        raise ArgumentError(
            "matrix", Phrase("holds negative entries"), Phrase("Drop returns, or net them."), example=lowest
        )
    return X


def _numbers(X: Any) -> NDArray[Any]:
    try:
        X = np.asarray(X)
        return X.astype(np.float64) if X.dtype.kind in "biufOUS" else X
    except Exception as error:  # whatever a frame of somebody else's raises
        raise ArgumentError(
            "matrix", Phrase("does not hold numbers ({error})", error=str(error)), Phrase("Give numbers of at least 0.")
        ) from error


def _without_zeros(X: Any) -> Any:
    """X with one stored entry a cell, and none for nothing."""
    if X.has_canonical_format is False:
        X = X.copy()
        X.sum_duplicates()
    if not X.data.all():
        X = X.copy()
        X.eliminate_zeros()
    return X


def check_rank(rank: int, shape: tuple[int, int]) -> int:
    """A rank below both sides of the matrix, or an error."""
    if min(shape) < 2:
        raise CalibrationError(
            Phrase(
                "a {rows:,} × {columns:,} matrix has no factors, which need two rows and two columns at least; "
                "release a single column with perturb or microaggregate",
                rows=shape[0],
                columns=shape[1],
            )
        )
    if not is_real(rank) or not float(rank).is_integer() or not 1 <= rank < min(shape):
        raise CalibrationError(
            Phrase(
                "the rank must be a whole number from 1 to {most}, below both sides of a {rows:,} × "
                "{columns:,} matrix, got {rank!r}",
                most=min(shape) - 1,
                rows=shape[0],
                columns=shape[1],
                rank=rank,
            )
        )
    return int(rank)


def check_columns(X: Any, V: NDArray[Any]) -> None:
    """Refuse rows of another length than those the factors were found on."""
    if X.shape[1] != len(V):
        raise ArgumentError(
            "matrix",
            Phrase("has {columns:,} columns, its factors {factors:,}", columns=X.shape[1], factors=len(V)),
            Phrase("Give the columns that were factorised."),
        )


def some_rows(X: Any, most: int, dice: np.random.Generator) -> Any:
    """All rows, or as many as wanted at random."""
    if X.shape[0] <= most:
        return X
    return X[np.sort(dice.choice(X.shape[0], most, replace=False))]


def leading(X: Any, count: int) -> tuple[Array, Array, Array]:
    """Left vectors in columns, strengths, right vectors in rows; the strongest first."""
    if not X.nnz:
        return np.zeros((X.shape[0], count)), np.zeros(count), np.zeros((count, X.shape[1]))
    from scipy.sparse.linalg import svds

    start = Randomness.seeded(0).generator().normal(size=min(X.shape))
    found: Any = svds(X.astype(np.float64), count, v0=start)
    left, strengths, right = found
    return left[:, ::-1], strengths[::-1], right[::-1]


BitWords: TypeAlias = NDArray[np.uint64]

_ODD, _PAIRS, _NIBBLES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_BYTES = np.uint64(0x0101010101010101)
_ONE, _TWO, _FOUR, _SIX, _FIFTY_SIX = (np.uint64(shift) for shift in (1, 2, 4, 6, 56))


@dataclass(frozen=True)
class Hidden:
    """Entries that were hidden, and what they are."""

    mask: NDArray[np.bool_]
    truth: NDArray[Any]

    def error(self, guess: Any) -> float:
        """The mean absolute error of a guess at them; of a table so small that none was hidden, 0."""
        return float(np.abs(guess.toarray()[self.mask] - self.truth).sum() / max(1, len(self.truth)))


def hide_bits(X: Any, dice: np.random.Generator) -> tuple[Hidden, BitWords, Any]:
    """Hide a share of the entries: those hidden, the words of those that are seen, and X without the hidden ones."""
    from scipy.sparse import csr_array

    X = some_rows(X, max(1, min(_ROWS, _CELLS // X.shape[1])), dice).toarray()
    mask = dice.random(X.shape) < HIDDEN_SHARE
    return Hidden(mask, X[mask]), pack_dense(~mask), csr_array(np.where(mask, 0, X))


def best_rank(error: Callable[[int], float], shape: tuple[int, int]) -> int:
    """The rank with the least error; ranks grow until the error has not fallen for a while."""
    best, least, since = 1, np.inf, 0
    for rank in _RANKS:
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


def pack(matrix: Any) -> BitWords:
    """The non-zero cells of a CSR matrix, a bit a cell."""
    rows, columns = matrix.shape
    return _pack(matrix.indptr, matrix.indices, rows, max(1, -(-columns // 64)))


def pack_dense(matrix: NDArray[Any]) -> BitWords:
    """The non-zero cells of an array, a bit a cell."""
    rows, columns = matrix.shape
    padded = np.zeros((rows, max(1, -(-columns // 64)) * 64), np.uint8)
    padded[:, :columns] = matrix != 0
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def unpack(words: BitWords, columns: int) -> NDArray[np.uint8]:
    """The bits as an array of 0 and 1."""
    return np.unpackbits(words.view(np.uint8), axis=1, count=columns, bitorder="little")


def full(rows: int, columns: int) -> BitWords:
    """BitWords whose bits are set in all columns that exist."""
    return np.repeat(pack_dense(np.ones((1, columns))), rows, axis=0)


@njit(cache=True, nogil=True)
def popcount(word: np.uint64) -> int:  # pragma: no cover - compiled
    """How many bits are set."""
    word -= (word >> _ONE) & _ODD
    word = (word & _PAIRS) + ((word >> _TWO) & _PAIRS)
    word = (word + (word >> _FOUR)) & _NIBBLES
    return int((word * _BYTES) >> _FIFTY_SIX)


@njit(cache=True, nogil=True)
def hamming(a: BitWords, b: BitWords) -> int:  # pragma: no cover - compiled
    """In how many cells two rows differ."""
    total = 0
    for w in range(len(a)):
        total += popcount(a[w] ^ b[w])
    return total


@njit(cache=True, nogil=True)
def _pack(
    indptr: NDArray[Any], indices: NDArray[Any], rows: int, words: int
) -> BitWords:  # pragma: no cover - compiled
    packed = np.zeros((rows, words), np.uint64)
    for i in range(rows):
        for place in range(indptr[i], indptr[i + 1]):
            j = np.uint64(indices[place])
            packed[i, j >> _SIX] |= _ONE << (j & np.uint64(63))
    return packed
