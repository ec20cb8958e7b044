"""Any frame in, the same kind out; and the columns of whatever holds records: frames, arrays, plain lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from narwhals.dependencies import is_pandas_dataframe, is_polars_dataframe, is_polars_lazyframe

from kakuran.errors import DataError
from kakuran.schema.codes import check_columns_are_unique, family_of, half_characters, is_text
from kakuran.typing import Array, Indices
from kakuran.words import Phrase, which_there_are

_NO_COLUMN = (pa.ArrowException, UnicodeEncodeError, OverflowError)
"""As what it shows that arrow cannot hold a column."""


def to_arrow(frame: Any) -> pa.Table:
    """An arrow table of any frame: pandas, polars, arrow, Modin, cuDF, …; a lazy one of polars is collected."""
    if is_polars_lazyframe(frame):
        frame = frame.collect()
    if isinstance(frame, pa.Table):
        table = _checked(frame)
    elif isinstance(frame, pa.RecordBatch):
        table = _checked(pa.Table.from_batches([frame]))
    else:
        table = _wrapped_to_arrow(frame)
    check_columns_are_unique(table.column_names)
    return table.replace_schema_metadata(None)


def _wrapped_to_arrow(frame: Any) -> pa.Table:
    if is_pandas_dataframe(frame):
        check_columns_are_unique([str(column) for column in frame.columns])
        frame = _densified(frame)
    try:
        wrapped = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        way = "; read the file into one first (perturb_file takes its name)" if isinstance(frame, str | Path) else ""
        raise TypeError(f"expected a table (pandas, polars or arrow), got {type(frame).__name__}{way}") from error
    names = [str(column) for column in wrapped.columns]
    try:
        # An index comes last and is not a column: it may well be an identifier.
        return wrapped.to_arrow().select(range(len(names))).rename_columns(names)
    except _NO_COLUMN:
        for name, column in zip(names, wrapped.iter_columns(), strict=True):
            _check_column(name, column)
        raise


def _checked(table: pa.Table) -> pa.Table:
    """An arrow table, refused where its bytes are not what its types say, as text that is none."""
    try:
        table.validate(full=True)
    except pa.ArrowInvalid:
        for name, column in zip(table.column_names, table.columns, strict=True):
            try:
                column.validate(full=True)
            except pa.ArrowInvalid as error:
                raise DataError(
                    name,
                    Phrase("is damaged ({error})", error=str(error)),
                    Phrase("Read the table again from where it came."),
                ) from None
        raise
    return table


def _densified(frame: Any) -> Any:
    """A pandas frame whose sparse columns are plain ones, which arrow has no others of."""
    sparse = {name: kind.subtype for name, kind in frame.dtypes.items() if hasattr(kind, "fill_value")}
    return frame.astype(sparse) if sparse else frame


def _check_column(name: str, column: nw.Series[Any]) -> None:
    """Say what is wrong with a column that arrow cannot hold, if this is one."""
    try:
        column.to_arrow()
    except UnicodeEncodeError as error:
        raise half_characters(name, error.object) from None
    except OverflowError:
        huge = next(value for value in column.to_list() if isinstance(value, int) and not -(2**63) <= value < 2**63)
        problem = Phrase("holds whole numbers of more than 64 bits")
        raise DataError(name, problem, Phrase("Make them text, or give them in another unit."), example=huge) from None
    except _NO_COLUMN as error:
        if column.dtype == nw.Object:
            problem, way = Phrase("holds values of several kinds"), Phrase("Make them all text or all numbers.")
        else:
            way = Phrase("Make it text or numbers, or leave it out.")
            problem = Phrase("holds {kind}, which tables have no column for", kind=column.to_native().dtype)
        raise DataError(name, problem, way) from error


def with_types(released: pa.Table, types: pa.Schema) -> pa.Table:
    """Give columns their original types where every released value fits; dates that were text stay dates."""
    for place, name in enumerate(released.column_names):
        if name not in types.names:  # what says which columns a record tells
            continue
        column = released.column(name)
        if pa.types.is_date(column.type) and not pa.types.is_temporal(types.field(name).type):
            continue
        if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(types.field(name).type):
            column = column.cast(column.type.value_type)
        try:
            given = column.cast(types.field(name).type)
            fits = not pa.types.is_floating(given.type) or given.cast(column.type).equals(column)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
        if fits:
            released = released.set_column(place, name, given)
    return released


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
    for name in released.columns.intersection(before.names):
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


def columns_of(data: Any) -> dict[str, Any]:
    """Columns by name; those of an array are named by their place, a list or one-dimensional array is one column."""
    if isinstance(data, np.ndarray):
        table = data if data.ndim == 2 else data.reshape(-1, 1)
        return {str(place): table[:, place] for place in range(table.shape[1])}
    if isinstance(data, list | tuple):
        return {"0": data}
    table = to_arrow(data)
    return {name: table.column(name) for name in table.column_names}


def check_there(names: Iterable[str], columns: Collection[str], where: str = Phrase("the table")) -> None:
    """Raise a `DataError` unless all these columns are there."""
    for name in names:
        if name not in columns:
            raise DataError(name, Phrase("is not in {where}", where=where), which_there_are(name, columns))


def is_numeric(column: Any) -> bool:
    """Whether a column holds numbers, true/false not among them."""
    return family_of(_arrow(column).type) == "numbers"


def numbers_of(name: str, column: Any) -> Array:
    """A column of finite numbers, or a `DataError`."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
        numbers = column.astype(np.float64, copy=False)
    elif is_numeric(column) or not len(column):
        numbers = _arrow(column).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    else:
        raise DataError(
            name, Phrase("does not hold numbers"), Phrase("Use a distance for categories: discrete, a tree or a graph.")
        )
    is_odd = ~np.isfinite(numbers)
    if is_odd.any():
        example = float(numbers[is_odd][0])
        raise DataError(
            name,
            Phrase("{count:,} missing or infinite", count=int(is_odd.sum())),
            Phrase("Fill them in first."),
            example=example,
        )
    return numbers


def distinct_of(name: str, column: Any, *, missing_is_value: bool = False) -> tuple[list[Any], Indices]:
    """The distinct values of a column and, for every record, the place of its value among them."""
    array = _arrow(column)
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    # A dictionary may list values that no record has.
    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    try:
        encoded = plain.dictionary_encode()
    except pa.ArrowNotImplementedError:
        way = Phrase("Make it text or numbers, or leave it out.")
        raise DataError(
            name, Phrase("holds {kind}, whose values cannot be compared", kind=str(array.type)), way
        ) from None
    values = encoded.dictionary.to_pylist()
    indices = encoded.indices
    if indices.null_count:
        if not missing_is_value:
            raise DataError(name, Phrase("{count:,} missing", count=indices.null_count), Phrase("Fill them in first."))
        indices = indices.cast(pa.int64()).fill_null(len(values))
        values.append(None)
    return values, indices.to_numpy(zero_copy_only=False).astype(np.intp, copy=False)


def _arrow(column: Any) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks()
    return column if isinstance(column, pa.Array) else pa.array(column)
