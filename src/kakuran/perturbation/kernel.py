"""The kernel: a record batch in, a perturbed record batch out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from kakuran.calibration import Plan
from kakuran.mechanism.base import Codes
from kakuran.randomness import Randomness
from kakuran.schema.codes import decode, narrowest_integer, released_type

Columns: TypeAlias = Mapping[str, Codes]


@dataclass(frozen=True)
class Kernel:
    """Perturbs batches as a plan says; immutable and picklable, so that any engine can carry it to its workers.

    Only released columns come out, made anew from their codes: no metadata, no dropped column and no float of the
    original survives.
    """

    plan: Plan

    @property
    def schema(self) -> pa.Schema:
        """The arrow schema of what comes out."""
        return pa.schema([(attribute.name, released_type(attribute)) for attribute in self.plan.schema.released])

    def __call__(self, batch: pa.RecordBatch, randomness: Randomness | None = None) -> pa.RecordBatch:
        """Perturb a batch, from a stream of its own unless one is given."""
        codes = self.plan.schema.encode(batch)
        return self.decode(self.sample(codes, randomness or Randomness.secure()))

    def sample(self, codes: Columns, randomness: Randomness) -> dict[str, Codes]:
        """Perturb the codes of the perturbed columns; kept ones pass."""
        return {
            attribute.name: codes[attribute.name]
            if attribute.role == "keep"
            else self.plan[attribute.name].sample(codes[attribute.name], randomness)
            for attribute in self.plan.schema.released
        }

    def decode(self, codes: Columns) -> pa.RecordBatch:
        """The batch that has these codes."""
        arrays = [decode(attribute, codes[attribute.name]) for attribute in self.plan.schema.released]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    @property
    def row_type(self) -> np.dtype[np.void]:
        """A packed row of released codes, each column as narrow as its domain allows."""
        return np.dtype(
            [
                (f"f{place}", narrowest_integer(attribute.size + self.plan.reach(attribute.name)))
                for place, attribute in enumerate(self.plan.schema.released)
            ]
        )

    def pack(self, codes: Columns) -> np.ndarray[tuple[int], np.dtype[np.void]]:
        """Codes as packed rows, which shuffle and spill to disk as one array.

        Opaque ones: numpy moves a row that it knows the fields of field by field, ten times as slowly.
        """
        columns = [codes[attribute.name] for attribute in self.plan.schema.released]
        rows = np.empty(len(columns[0]), self.row_type)
        for place, column in enumerate(columns):
            rows[f"f{place}"] = column
        return rows.view(np.dtype((np.void, rows.itemsize)))

    def unpack(self, rows: np.ndarray[tuple[int], np.dtype[np.void]]) -> dict[str, Codes]:
        """The inverse of `pack`; rows whose fields are known do too."""
        fields = rows.view(self.row_type) if rows.dtype.names is None else rows
        return {
            attribute.name: fields[f"f{place}"].astype(np.int32)
            for place, attribute in enumerate(self.plan.schema.released)
        }
