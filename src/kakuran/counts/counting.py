"""Counting as a map over record batches: a batch in, a tally of each table out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from kakuran.calibration import Plan
from kakuran.counts.cells import Cells
from kakuran.counts.tally import Places, Tally
from kakuran.schema import Categorical, Numeric
from kakuran.schema.codes import encode_columns


@dataclass(frozen=True, eq=False)
class Counting:
    """Counts batches in the cells of some tables; picklable, so that any engine can carry it to its workers.

    Attributes
    ----------
    plan : of the release
    tables : the axes of each table
    """

    plan: Plan
    tables: Sequence[Sequence[Cells]]

    @cached_property
    def attributes(self) -> tuple[Categorical | Numeric, ...]:
        """The columns that are counted, and so have to be read."""
        return self.plan.schema.some({axis.name for axes in self.tables for axis in axes})

    def zero(self) -> list[Tally]:
        """No records yet."""
        return [Tally.zero(axes) for axes in self.tables]

    def update(self, tallies: Sequence[Tally], batch: pa.RecordBatch) -> None:
        """Count a batch that has at least the counted columns."""
        records = Places(encode_columns(self.attributes, batch, self.plan.reach))
        for tally in tallies:
            tally.add(records)

    def __call__(self, batch: pa.RecordBatch) -> list[Tally]:
        """The tallies of a batch."""
        tallies = self.zero()
        self.update(tallies, batch)
        return tallies

    @staticmethod
    def merged(one: Sequence[Tally], other: Sequence[Tally]) -> list[Tally]:
        """The records of both, table by table."""
        return [left.merge(right) for left, right in zip(one, other, strict=True)]
