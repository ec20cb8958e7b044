"""Where the counts of a release come from: a frame in memory, files, a table on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from kakuran.counts.cells import Cells
from kakuran.counts.tally import Tally
from kakuran.schema.codes import Codes

Progress: TypeAlias = Callable[[int], object]
"""Told how many more records are done."""


@runtime_checkable
class Countable(Protocol):
    """Perturbed records that can be counted.

    Every answer but those that look at single records is made from `tallies`, so whoever can count can be asked
    everything: an engine needs to know nothing of estimation.
    """

    def tallies(self, tables: Sequence[Sequence[Cells]], progress: Progress = int) -> list[Tally]:
        """Count the records in the cells that the axes of each table span, all tables in one pass."""

    def codes(self, columns: Sequence[str]) -> dict[str, Codes]:
        """The codes of some columns, record by record; they have to fit in memory."""

    def frame(self) -> Any:
        """The records as a frame."""
