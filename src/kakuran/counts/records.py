"""Where the counts of a release come from: a frame in memory, files, a table on a cluster.

Perturbed records in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from kakuran.counts.cells import Cells
from kakuran.counts.tally import Tally, count_codes
from kakuran.design import Plan
from kakuran.schema import to_arrow
from kakuran.typing import Codes, Progress


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


@dataclass(frozen=True, eq=False)
class FrameRecords:
    """A frame of perturbed records, countable."""

    given: Any
    plan: Plan

    def tallies(self, tables: Sequence[Sequence[Cells]], progress: Progress = int) -> list[Tally]:
        """Count the records in the cells that the axes of each table span."""
        tallies = count_codes(self.codes([axis.name for axes in tables for axis in axes]), tables)
        progress(tallies[0].n)
        return tallies

    def codes(self, columns: Sequence[str]) -> dict[str, Codes]:
        """The codes of some columns; noise without bounds reaches beyond the domain's."""
        return self.plan.encode(to_arrow(self.given), columns)

    def frame(self) -> Any:
        """As it was given."""
        return self.given
