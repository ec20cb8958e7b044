"""Binary matrices as rows of 64-bit words, so that 64 cells are compared at a time."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

BitWords: TypeAlias = NDArray[np.uint64]

_ODD, _PAIRS, _NIBBLES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_BYTES = np.uint64(0x0101010101010101)
_ONE, _TWO, _FOUR, _SIX, _FIFTY_SIX = (np.uint64(shift) for shift in (1, 2, 4, 6, 56))


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
    """Words whose bits are set in all columns that exist."""
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
