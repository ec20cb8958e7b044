"""How the columns of a release are coded: how far noise reaches, and which columns a record tells at all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kakuran.errors import DataError, counted
from kakuran.schema.attribute import Categorical, Numeric
from kakuran.schema.codes import decode, encode, encode_columns, released_type
from kakuran.schema.schema import Schema
from kakuran.typing import Codes


@dataclass(frozen=True)
class Layout:
    """The columns of a release and what their codes may be.

    Where records tell only some of their columns, the first column says which, and those that a record does not tell
    are empty. Their code is one below all that may be released.

    Attributes
    ----------
    schema : Schema
        The columns as they are released.
    reaches : Mapping[str, int]
        How many codes beyond its domain a released value of each column may lie; none where a column is not named.
    told : tuple[frozenset[str], ...]
        The columns of every tell, in the order of the values of the first column; nothing where all tell everything.
    """

    schema: Schema
    reaches: Mapping[str, int] = field(default_factory=dict)
    told: tuple[frozenset[str], ...] = ()

    @property
    def attributes(self) -> tuple[Categorical | Numeric, ...]:
        """Of all columns."""
        return self.schema.released

    @property
    def telling(self) -> tuple[str, ...]:
        """The column that says what a record tells, if there is one."""
        return (self.attributes[0].name,) if self.told else ()

    def reach(self, column: str) -> int:
        """How many codes beyond its domain a released value of a column may lie."""
        return self.reaches.get(column, 0)

    def untold(self, column: str) -> int:
        """The code of a column that a record does not tell."""
        return -1 - self.reach(column)

    def settled(self, column: str, codes: Codes) -> Codes:
        """Released codes as original ones: numbers beyond the bounds at the bounds, missing where originals have it."""
        attribute, reach = self.schema[column], self.reach(column)
        if not reach or not isinstance(attribute, Numeric):
            return codes
        numbers = np.clip(codes, 0, attribute.points - 1)
        if attribute.missing == "error":
            return numbers
        return np.where(codes == attribute.points + reach, np.int32(attribute.points), numbers)

    @cached_property
    def arrow(self) -> pa.Schema:
        """The arrow schema."""
        return pa.schema([(attribute.name, released_type(attribute)) for attribute in self.attributes])

    def decode(self, codes: Mapping[str, Codes]) -> pa.RecordBatch:
        """The batch that has these codes."""
        return pa.record_batch({one.name: self._decoded(one, codes[one.name]) for one in self.attributes})

    def _decoded(self, attribute: Categorical | Numeric, codes: Codes) -> pa.Array:
        if not self.told or attribute.role == "keep":
            return decode(attribute, codes, self.reach(attribute.name))
        is_told = codes != self.untold(attribute.name)
        values = decode(attribute, codes[is_told], self.reach(attribute.name))
        places = np.cumsum(is_told, dtype=np.int64) - 1
        return values.take(pa.array(places, mask=~is_told))

    def encode(self, table: pa.Table | pa.RecordBatch, columns: Collection[str]) -> dict[str, Codes]:
        """The codes of some columns of a release, or a `DataError` where it is not as the layout says."""
        attributes = self.schema.some(columns)
        if not self.told:
            return encode_columns(attributes, table, self.reach)
        (telling,) = encode_columns(self.attributes[:1], table).values()
        return {
            one.name: encode(one, table.column(one.name))
            if one.role == "keep"
            else self._encode_told(one, table.column(one.name), telling)
            for one in attributes
        }

    def _encode_told(
        self, attribute: Categorical | Numeric, column: pa.Array | pa.ChunkedArray, telling: Codes
    ) -> Codes:
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        is_told: NDArray[np.bool_] = np.array([attribute.name in columns for columns in self.told])[telling]
        unasked = len(column) - column.filter(pa.array(~is_told)).null_count - int(is_told.sum())
        if unasked:
            raise DataError(
                attribute.name,
                f"{counted(unasked, 'row')} with a value that {self.telling[0]!r} says is not told",
                "Read the release as it was written.",
            )
        codes = np.full(len(column), self.untold(attribute.name), np.int32)
        codes[is_told] = encode(attribute, column.filter(pa.array(is_told)), self.reach(attribute.name))
        return codes
