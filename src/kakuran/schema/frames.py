"""Any frame in, the same kind out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import pyarrow as pa

from kakuran.errors import DataError


def to_arrow(frame: Any) -> pa.Table:
    """An arrow table of any eager frame: pandas, polars, arrow, Modin, cuDF, …"""
    if isinstance(frame, pa.Table):
        table = frame
    elif isinstance(frame, pa.RecordBatch):
        table = pa.Table.from_batches([frame])
    else:
        check_columns_are_unique([str(column) for column in getattr(frame, "columns", ())])
        try:
            wrapped = nw.from_native(frame, eager_only=True)
        except TypeError as error:
            raise TypeError(f"expected a table (pandas, polars or arrow), got {type(frame).__name__}") from error
        # An index is not a column: it may well be an identifier.
        table = wrapped.to_arrow().select(wrapped.columns)
    check_columns_are_unique(table.column_names)
    return table.replace_schema_metadata(None)


def check_columns_are_unique(names: Sequence[str]) -> None:
    """Refuse a table in which a column name stands twice."""
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(repeated[0], "the table has more than one column of this name", "Rename one of them.")


def like(table: pa.Table, frame: Any) -> Any:
    """The arrow table as the kind of frame that was given."""
    if isinstance(frame, pa.Table):
        return table
    if isinstance(frame, pa.RecordBatch):
        return table.combine_chunks().to_batches()[0] if table.num_rows else table.schema.empty_table()
    backend = nw.from_native(frame, eager_only=True).implementation
    return nw.from_arrow(table, backend=backend).to_native()
