"""How an answer is read off a finer table: which cells count, and which of them add up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kakuran.mechanism.base import Array

_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Reading:
    """Sums over the cells of a table.

    Attributes
    ----------
    shape : of the answer; its axes are the first axes of the table
    groups : for each axis of the answer, the place in it of every cell along the table's axis
    counted : which cells of the table count at all; all of them without it
    """

    shape: tuple[int, ...]
    groups: tuple[NDArray[np.intp], ...]
    counted: NDArray[np.bool_] | None = None

    @classmethod
    def all_of(cls, shape: tuple[int, ...]) -> Reading:
        """Every cell as it is."""
        return cls(shape, tuple(map(np.arange, shape)))

    @property
    def is_plain(self) -> bool:
        """Whether the answer is the table itself."""
        return self.counted is None and all(map(_is_identity, self.groups, self.shape))

    def of(self, table: Array) -> Array:
        """The answer."""
        if self.counted is not None:
            table = np.where(self.counted, table, 0.0)
        table = table.sum(axis=tuple(range(len(self.shape), table.ndim)))
        for axis, (group, size) in enumerate(zip(self.groups, self.shape, strict=True)):
            if not _is_identity(group, size):
                member = np.equal.outer(np.arange(size), group).astype(float)
                table = np.moveaxis(np.tensordot(member, table, axes=(1, axis)), 0, axis)
        return table

    def weights(self, shape: tuple[int, ...]) -> Iterator[Array]:
        """A table of ones and zeros for every cell of the answer, in order, some at a time."""
        answers = math.prod(self.shape)
        place = np.zeros(shape, np.int64)
        for axis, (group, size) in enumerate(zip(self.groups, self.shape, strict=True)):
            place = place * size + group.reshape([-1 if other == axis else 1 for other in range(len(shape))])
        if self.counted is not None:
            place = np.where(self.counted, place, -1)
        step = max(1, _AT_ONCE // place.size)
        for start in range(0, answers, step):
            some = np.arange(start, min(start + step, answers))
            yield (place == some.reshape(-1, *(1,) * len(shape))).astype(float)


def _is_identity(group: NDArray[np.intp], size: int) -> bool:
    return np.array_equal(group, np.arange(size))
