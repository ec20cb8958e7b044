"""Any frame in, the same kind out; and the columns of whatever holds records: frames, arrays, plain lists."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from narwhals.dependencies import (
    is_pandas_dataframe,
    is_pandas_like_dataframe,
    is_polars_dataframe,
    is_polars_lazyframe,
)

from kakuran.errors import DataError
from kakuran.schema.codes import LABELS, check_columns_are_unique, family_of, half_characters, is_text, notes
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


def columns_of_objects(frame: Any) -> list[str]:
    """The columns of a pandas frame whose type does not say what is in them."""
    kinds = frame.dtypes.items() if is_pandas_like_dataframe(frame) else ()
    return [str(name) for name, kind in kinds if kind == "object"]


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


def framed(table: pa.Table, frame: Any, may_lack: Collection[str] = ()) -> Any:
    """A table as the kind of frame that was given, of types that follow from its own and from what may lack values.

    The types that were given would tell of values: pandas takes fractions for whole numbers if one is missing.
    """
    for place, column in enumerate(table.columns):
        kind = column.type
        if pa.types.is_dictionary(kind) and not (kind.ordered and is_text(kind.value_type)):
            field = table.field(place).with_type(kind.value_type)
            table = table.set_column(place, field, column.cast(kind.value_type))
    if is_polars_lazyframe(frame):
        return framed(table, frame.clear().collect(), may_lack).lazy()
    if is_pandas_dataframe(frame):
        return _pandas(table, may_lack)
    return _with_enums(native, table) if is_polars_dataframe(native := like(table, frame)) else native


def _pandas(table: pa.Table, may_lack: Collection[str]) -> Any:
    released = table.to_pandas(date_as_object=False)
    for name in may_lack:
        kind = table.schema.field(name).type
        if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
            # Numpy's own whole numbers and true/false have nothing for missing.
            nullable = table.column(name).slice(0, 0).to_pandas().convert_dtypes().dtype
            released[name] = table.column(name).to_pandas(types_mapper=lambda _, kind=nullable: kind)
    return released


def _with_enums(released: Any, table: pa.Table, given: Mapping[str, Any] | None = None) -> Any:
    """With categories of polars that list all values: the columns that were given so, or all that are dictionaries."""
    import polars as pl

    for field in table.schema:
        if pa.types.is_dictionary(field.type) and (given is None or isinstance(given.get(field.name), pl.Enum)):
            names = table.column(field.name).combine_chunks().dictionary.to_pylist()
            released = released.with_columns(pl.col(field.name).cast(pl.String).cast(pl.Enum(names)))
    return released


def told_by_values(table: pa.Table, without_labels: Collection[str] = ()) -> pa.Table:
    """A table with nothing beside its values but what these tell: no metadata, labels and categories of theirs alone.

    The order of categories without one would be that of their appearance in the original, so it is that of values.
    """
    columns = [_of_present(one) if pa.types.is_dictionary(one.type) else one for one in table.columns]
    fields = []
    for field, column in zip(table.schema, columns, strict=True):
        told = field.metadata or {}
        has_labels = LABELS in told and field.name not in without_labels
        present = set(column.unique().to_pylist()) if has_labels else set()
        labels = {code: label for code, label in json.loads(told.get(LABELS, b"[]")) if {code, label} & present}
        fields.append(pa.field(field.name, column.type, field.nullable, notes(labels)))
    return pa.table(columns, schema=pa.schema(fields))


def _of_present(column: pa.ChunkedArray) -> pa.DictionaryArray:
    whole = column.unify_dictionaries().combine_chunks()
    used = whole.indices.unique().drop_null().sort()
    if not whole.type.ordered:
        used = used.take(pc.sort_indices(whole.dictionary.take(used)))
    indices = pc.index_in(whole.indices, value_set=used)
    return pa.DictionaryArray.from_arrays(indices, whole.dictionary.take(used), ordered=whole.type.ordered)


def like(table: pa.Table, frame: Any) -> Any:
    """The arrow table as the kind of frame that was given, with the types of that where it can."""
    if is_polars_lazyframe(frame):
        return like(table, frame.clear().collect()).lazy()
    if isinstance(frame, pa.Table):
        return table
    if isinstance(frame, pa.RecordBatch):
        arrays = [column.combine_chunks() for column in table.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=table.schema)
    native = nw.from_arrow(table, backend=nw.from_native(frame, eager_only=True).implementation).to_native()
    if is_pandas_dataframe(native):
        return _with_pandas_types(native, table, frame)
    return _with_enums(native, table, frame.schema) if is_polars_dataframe(native) else native


def _with_pandas_types(released: Any, table: pa.Table, frame: Any) -> Any:
    """Arrow knows one integer and one text; pandas has several of each."""
    before = to_arrow(frame).schema
    given = {str(column): kind for column, kind in frame.dtypes.items()}
    for name in released.columns.intersection(before.names):
        was, now, kind = before.field(name).type, table.schema.field(name).type, given[name]
        is_same = was == now or (is_text(was) and is_text(now))
        if is_same and not pa.types.is_dictionary(now) and kind != released[name].dtype:
            mapped = (lambda _, kind=kind: kind) if hasattr(kind, "__from_arrow__") else None
            released[name] = table.column(name).to_pandas(types_mapper=mapped, integer_object_nulls=True).astype(kind)
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
