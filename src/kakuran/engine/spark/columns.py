"""The columns of a Spark DataFrame as batches a kernel can take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from pyspark.sql import DataFrame

from kakuran.errors import DataError
from kakuran.schema import Categorical, Numeric
from kakuran.schema.codes import declared_type

_ROWS_AT_ONCE = 1 << 16
"""Spark hands over 10,000 rows at a time; larger batches cost less a row."""
_MISSING = pa.array(pa.csv.ConvertOptions().null_values)


@dataclass(frozen=True)
class Columns:
    """Which columns are read, and whether they are text still, as in a CSV file; picklable, for the tasks.

    Spark gets to see numbered columns: it would take the name ``a.b`` for a field of a column ``a``.
    """

    attributes: Sequence[Categorical | Numeric]
    are_text: bool = False

    def select(self, frame: DataFrame) -> DataFrame:
        """These columns of a frame, numbered."""
        numbered = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
        return numbered.select([f"c{frame.columns.index(attribute.name)}" for attribute in self.attributes])

    def batches(self, given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What a task is given, in larger batches, with the names and the types of the attributes."""
        some: list[pa.RecordBatch] = []
        for batch in given:
            some.append(batch)
            if sum(len(one) for one in some) >= _ROWS_AT_ONCE:
                yield self._joined(some)
                some = []
        if some:
            yield self._joined(some)

    def _joined(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        joined = pa.concat_batches(batches)
        columns = [self.typed(attribute, joined.column(place)) for place, attribute in enumerate(self.attributes)]
        return pa.RecordBatch.from_arrays(columns, names=[attribute.name for attribute in self.attributes])

    def typed(self, attribute: Categorical | Numeric, column: pa.Array) -> pa.Array:
        """A column with the type its attribute asks for, by the rules by which CSV is read locally."""
        wanted = declared_type(attribute)
        if not self.are_text or pa.types.is_string(wanted):
            return column
        column = pc.if_else(pc.is_in(column, value_set=_MISSING), pa.scalar(None, pa.string()), column)
        try:
            return pc.utf8_trim_whitespace(column).cast(wanted)
        except pa.ArrowInvalid:
            raise DataError(
                attribute.name,
                f"at least one row is not a valid {wanted}",
                "Correct the data or its type in the schema.",
            ) from None
