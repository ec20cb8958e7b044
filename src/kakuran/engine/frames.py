"""Perturbed records in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kakuran.calibration import Plan
from kakuran.counts import Cells, Progress, Tally, count_codes
from kakuran.schema.codes import Codes
from kakuran.schema.frames import to_arrow


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
