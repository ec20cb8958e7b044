"""Any frame in, the same kind out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.dependencies import is_pandas_dataframe, is_polars_dataframe, is_polars_lazyframe

from kakuran.errors import DataError
from kakuran.schema.kinds import is_text


def to_arrow(frame: Any) -> pa.Table:
    """An arrow table of any frame: pandas, polars, arrow, Modin, cuDF, …; a lazy one of polars is collected."""
    if is_polars_lazyframe(frame):
        frame = frame.collect()
    if isinstance(frame, pa.Table):
        table = frame
    elif isinstance(frame, pa.RecordBatch):
        table = pa.Table.from_batches([frame])
    else:
        table = _wrapped_to_arrow(frame)
    check_columns_are_unique(table.column_names)
    return table.replace_schema_metadata(None)


def _wrapped_to_arrow(frame: Any) -> pa.Table:
    if is_pandas_dataframe(frame):
        check_columns_are_unique([str(column) for column in frame.columns])
    try:
        wrapped = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        way = "; read the file into one first (perturb_file takes its name)" if isinstance(frame, str | Path) else ""
        raise TypeError(f"expected a table (pandas, polars or arrow), got {type(frame).__name__}{way}") from error
    try:
        # An index is not a column: it may well be an identifier.
        return wrapped.to_arrow().select([str(column) for column in wrapped.columns])
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        found = re.search(r"Conversion failed for column (.*) with type", str(error))
        column = found.group(1) if found else "?"
        raise DataError(column, "holds values of several kinds", "Make them all text or all numbers.") from error


def check_columns_are_unique(names: Sequence[str]) -> None:
    """Refuse a table in which a column name stands twice."""
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(repeated[0], "the table has more than one column of this name", "Rename one of them.")


def like(table: pa.Table, frame: Any, may_lack: Collection[str] = ()) -> Any:
    """The arrow table as the kind of frame that was given; some columns may lack values that did not."""
    if is_polars_lazyframe(frame):
        return like(table, frame.clear().collect(), may_lack).lazy()
    if isinstance(frame, pa.Table):
        return table
    if isinstance(frame, pa.RecordBatch):
        arrays = [column.combine_chunks() for column in table.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=table.schema)
    native = nw.from_arrow(table, backend=nw.from_native(frame, eager_only=True).implementation).to_native()
    if is_pandas_dataframe(native):
        return _with_pandas_types(native, table, frame, may_lack)
    return _with_polars_types(native, table, frame) if is_polars_dataframe(native) else native


def _with_pandas_types(released: Any, table: pa.Table, frame: Any, may_lack: Collection[str]) -> Any:
    """Arrow knows one integer and one text; pandas has several of each. Categories stay those of the schema."""
    before = to_arrow(frame).schema
    given = {str(column): values for column, values in frame.iloc[:0].items()}
    for name in released.columns:
        was, now = before.field(name).type, table.schema.field(name).type
        is_same = was == now or (is_text(was) and is_text(now))
        if pa.types.is_dictionary(now) or not (is_same or name in may_lack):
            continue
        empty = given[name] if is_same else table.column(name).slice(0, 0).to_pandas()
        kind = empty.dtype
        if name in may_lack and isinstance(kind, np.dtype) and kind.kind in "biu":
            kind = empty.convert_dtypes().dtype  # numpy's own whole numbers and true/false have nothing for missing
        if kind != released[name].dtype:
            mapped = (lambda _, kind=kind: kind) if hasattr(kind, "__from_arrow__") else None
            released[name] = table.column(name).to_pandas(types_mapper=mapped, integer_object_nulls=True).astype(kind)
    return released


def _with_polars_types(released: Any, table: pa.Table, frame: Any) -> Any:
    """An Enum stays one if it lists just the declared values; others would tell of the originals."""
    import polars as pl

    for name, wanted in frame.schema.items():
        if isinstance(wanted, pl.Enum) and name in released.columns and pa.types.is_dictionary(table.field(name).type):
            declared = table.column(name).combine_chunks().dictionary.to_pylist()
            if set(declared) == set(wanted.categories):
                released = released.with_columns(pl.col(name).cast(pl.String).cast(wanted))
    return released
