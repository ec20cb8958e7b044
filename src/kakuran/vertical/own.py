"""A party's own columns: read, checked, put in the common order, standardised."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kakuran.errors import DataError
from kakuran.schema import Source, read_all, say_how, way_to_read
from kakuran.typing import Array
from kakuran.words import Phrase


def read_own(source: Source, ids: str) -> pa.Table:
    """Our own table; ids are read as text where that is open, so that 007 stays 007."""
    return read_all(source, texts=[ids])


@dataclass(frozen=True)
class OwnColumns:
    """Columns of one party over some records; the target, where it is held, is one of them."""

    names: tuple[str, ...]
    values: Array

    @classmethod
    def read(cls, table: pa.Table, names: Sequence[str]) -> OwnColumns:
        """The named columns as numbers; refuses text, gaps and infinities."""
        values = [_numbers(table, name) for name in names]
        return cls(tuple(names), np.column_stack(values) if values else np.empty((table.num_rows, 0)))

    def at(self, rows: NDArray[np.int64]) -> OwnColumns:
        """The columns over these records, in this order."""
        return OwnColumns(self.names, self.values[rows])

    def only(self, names: Sequence[str]) -> OwnColumns:
        """Some of the columns."""
        places = [self.names.index(name) for name in names]
        return OwnColumns(tuple(names), self.values[:, places])

    def standardised(self, *, intercept: bool) -> Standardised:
        """The columns about their means (if there is an intercept) in units of their spread."""
        means = self.values.mean(axis=0) if intercept else np.zeros(len(self.names))
        centred = self.values - means
        scales = np.sqrt((centred**2).mean(axis=0))
        tiny = scales <= 1e-12 * np.maximum(np.abs(self.values).max(axis=0), np.finfo(float).tiny)
        if tiny.any():
            name = self.names[int(tiny.argmax())]
            raise DataError(name, Phrase("is the same for all shared records"), Phrase("Leave it out of the plan."))
        return Standardised(self.names, centred / scales, means, scales)

    def digest(self) -> str:
        """A digest by which a later run knows that the data is still the same."""
        content = "\0".join(self.names).encode() + np.ascontiguousarray(self.values).tobytes()
        return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Standardised:
    """Columns of mean 0 (with an intercept) and mean square 1, and the way back to their own units."""

    names: tuple[str, ...]
    values: Array
    means: Array
    scales: Array

    def only(self, names: Sequence[str]) -> Standardised:
        """Some of the columns."""
        places = [self.names.index(name) for name in names]
        return Standardised(tuple(names), self.values[:, places], self.means[places], self.scales[places])


def _numbers(table: pa.Table, name: str) -> Array:
    if name not in table.column_names:
        raise DataError(name, Phrase("is in the plan but not in the data"), Phrase("Rename it, or make the plan anew."))
    column = table.column(name)
    if column.null_count:
        raise DataError(
            name,
            Phrase("missing values: {count:,}", count=column.null_count),
            Phrase("Fill them in or leave the records out."),
        )
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        asked = way_to_read(column)
        remedy = (
            say_how(asked)
            if asked
            else Phrase(
                "Code categories as yes/no columns first, or leave it out: --column names the columns to bring."
            )
        )
        raise DataError(name, Phrase("is {kind}, not numbers", kind=kind), remedy)
    values = pc.cast(column.combine_chunks(), pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if not np.isfinite(values).all():
        raise DataError(
            name, Phrase("has values that are infinite or not a number"), Phrase("Mend them or leave the records out.")
        )
    return np.asarray(values, np.float64)
