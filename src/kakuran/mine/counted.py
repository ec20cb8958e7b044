"""Perturbed records to learn from, by what is counted of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.counts import Cells, Tally
from kakuran.mechanism import Transition
from kakuran.mechanism.base import Array
from kakuran.reconstruction.latent import Records, Table

Tallies: TypeAlias = Callable[[Sequence[Sequence[Cells]]], list[Tally]]
"""Counts the records of a release in some tables, all in one pass (`kakuran.counts.Countable`)."""


class Counted(Protocol):
    """Records with the class on the first axis: distinct ones in memory, or any number that can be counted anew."""

    @property
    def transitions(self) -> tuple[Transition | None, ...]:
        """How each axis was perturbed."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each axis."""

    def tables(self, asked: Sequence[Table]) -> list[Array]:
        """The perturbed counts of some tables, all in one pass."""

    def occupied(self, table: Table) -> tuple[tuple[NDArray[np.intp], ...], Array]:
        """The place along each axis of a table of every cell that somebody is in, and how many are."""

    def distinct(self) -> Records:
        """The distinct records over all axes; they have to fit in memory."""


@dataclass(frozen=True, eq=False)
class Passes:
    """Records that are not held: every call is one pass over them, and its memory follows the tables it asks for."""

    axes: tuple[Cells, ...]
    transitions: tuple[Transition | None, ...]
    tallies: Tallies

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each axis."""
        return tuple(axis.size for axis in self.axes)

    def tables(self, asked: Sequence[Table]) -> list[Array]:
        """The perturbed counts of some tables, all in one pass."""
        return [tally.counts for tally in self._counted(asked)]

    def occupied(self, table: Table) -> tuple[tuple[NDArray[np.intp], ...], Array]:
        """The place along each axis of a table of every cell that somebody is in, and how many are."""
        return self._counted([table])[0].occupied()

    def distinct(self) -> Records:
        """The distinct records over all axes; they have to fit in memory."""
        places, weights = self.occupied(dict.fromkeys(range(len(self.axes))))
        return Records(places, weights, self.transitions, self.sizes)

    def _counted(self, asked: Sequence[Table]) -> list[Tally]:
        lumped: dict[tuple[int, bytes], Cells] = {}  # one object a lump, so that an engine places records in it once

        def cells(axis: int, parts: NDArray[np.intp] | None) -> Cells:
            if parts is None:
                return self.axes[axis]
            return lumped.setdefault((axis, parts.tobytes()), self.axes[axis].lumped(parts))

        return self.tallies([[cells(axis, parts) for axis, parts in table.items()] for table in asked])
