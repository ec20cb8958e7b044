"""Coded records, wherever they lie: in memory, in files, on a cluster, in the store of a survey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from kakuran.counts.cells import Cells
from kakuran.counts.tally import Tally, count_codes
from kakuran.schema import Layout, to_arrow
from kakuran.typing import Codes, Progress


@runtime_checkable
class Records(Protocol):
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
class MemoryRecords:
    """Records in memory: a frame, or codes, or both; every column is encoded at most once.

    Attributes
    ----------
    layout : Layout
        Of the release.
    given : Any
        The frame; made of the codes when it is asked for if there is none.
    known : dict[str, Codes]
        The codes of columns that are encoded already.
    """

    layout: Layout
    given: Any = None
    known: dict[str, Codes] = field(default_factory=dict)

    def tallies(self, tables: Sequence[Sequence[Cells]], progress: Progress = int) -> list[Tally]:
        """Count the records in the cells that the axes of each table span."""
        codes = self.codes([axis.name for axes in tables for axis in axes])
        tallies = count_codes(codes, tables, reach=self.layout.reach)
        progress(tallies[0].n)
        return tallies

    def codes(self, columns: Sequence[str]) -> dict[str, Codes]:
        """The codes of some columns, as the layout has them."""
        unknown = [name for name in columns if name not in self.known]
        if unknown:
            self.known.update(self.layout.encode(to_arrow(self.given), unknown))
        return {attribute.name: self.known[attribute.name] for attribute in self.layout.schema.some(columns)}

    def frame(self) -> Any:
        """As it was given, or an arrow table of all codes."""
        if self.given is not None:
            return self.given
        return pa.Table.from_batches([self.layout.decode(self.known)])
