"""Coded records, wherever they lie: in memory, in files, on a cluster, in the store of a survey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from kakuran.counts.cells import Cells
from kakuran.counts.tally import Tally, count_codes
from kakuran.schema import Schema, decode_columns, encode_columns, to_arrow
from kakuran.typing import Codes, Progress, Reach


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
    schema : Schema
        Of the release.
    reach : Reach
        How far beyond its domain each column was released.
    given : Any
        The frame; made of the codes when it is asked for if there is none.
    known : dict[str, Codes]
        The codes of columns that are encoded already.
    """

    schema: Schema
    reach: Reach
    given: Any = None
    known: dict[str, Codes] = field(default_factory=dict)

    def tallies(self, tables: Sequence[Sequence[Cells]], progress: Progress = int) -> list[Tally]:
        """Count the records in the cells that the axes of each table span."""
        codes = self.codes([axis.name for axes in tables for axis in axes])
        tallies = count_codes(codes, tables, reach=self.reach)
        progress(tallies[0].n)
        return tallies

    def codes(self, columns: Sequence[str]) -> dict[str, Codes]:
        """The codes of some columns; noise without bounds reaches beyond the domain's."""
        attributes = self.schema.some(columns)
        unknown = [attribute for attribute in attributes if attribute.name not in self.known]
        if unknown:
            self.known.update(encode_columns(unknown, to_arrow(self.given), self.reach))
        return {attribute.name: self.known[attribute.name] for attribute in attributes}

    def frame(self) -> Any:
        """As it was given, or an arrow table of all codes."""
        if self.given is not None:
            return self.given
        return pa.Table.from_batches([decode_columns(self.schema.released, self.known, self.reach)])
