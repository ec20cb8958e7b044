"""The columns of whatever holds records: frames, arrays, plain lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kakuran.errors import DataError, which_there_are
from kakuran.schema.frames import to_arrow
from kakuran.schema.kinds import family_of


def columns_of(data: Any) -> dict[str, Any]:
    """Columns by name; those of an array are named by their place, a list or one-dimensional array is one column."""
    if isinstance(data, np.ndarray):
        table = data if data.ndim == 2 else data.reshape(-1, 1)
        return {str(place): table[:, place] for place in range(table.shape[1])}
    if isinstance(data, list | tuple):
        return {"0": data}
    table = to_arrow(data)
    return {name: table.column(name) for name in table.column_names}


def check_there(names: Iterable[str], columns: Collection[str], where: str = "the table") -> None:
    """Raise a `DataError` unless all these columns are there."""
    for name in names:
        if name not in columns:
            raise DataError(name, f"is not in {where}", which_there_are(name, columns))


def is_numeric(column: Any) -> bool:
    """Whether a column holds numbers, true/false not among them."""
    return family_of(_arrow(column).type) == "numbers"


def numbers_of(name: str, column: Any) -> NDArray[np.float64]:
    """A column of finite numbers, or a `DataError`."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
        numbers = column.astype(np.float64, copy=False)
    elif is_numeric(column) or not len(column):
        numbers = _arrow(column).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    else:
        raise DataError(name, "does not hold numbers", "Use a distance for categories: discrete, a tree or a graph.")
    is_odd = ~np.isfinite(numbers)
    if is_odd.any():
        example = float(numbers[is_odd][0])
        raise DataError(name, f"{int(is_odd.sum()):,} missing or infinite", "Fill them in first.", example=example)
    return numbers


def distinct_of(name: str, column: Any, *, missing_is_value: bool = False) -> tuple[list[Any], NDArray[np.intp]]:
    """The distinct values of a column and, for every record, the place of its value among them."""
    array = _arrow(column)
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    # A dictionary may list values that no record has.
    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    try:
        encoded = plain.dictionary_encode()
    except pa.ArrowNotImplementedError:
        way = "Make it text or numbers, or leave it out."
        raise DataError(name, f"holds {array.type}, whose values cannot be compared", way) from None
    values = encoded.dictionary.to_pylist()
    indices = encoded.indices
    if indices.null_count:
        if not missing_is_value:
            raise DataError(name, f"{indices.null_count:,} missing", "Fill them in first.")
        indices = indices.cast(pa.int64()).fill_null(len(values))
        values.append(None)
    return values, indices.to_numpy(zero_copy_only=False).astype(np.intp, copy=False)


def joint_codes(columns: Sequence[NDArray[np.integer]]) -> tuple[NDArray[np.intp], int]:
    """One code a record for several columns of codes together, numbered without gaps, and how many there are."""
    codes, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        lowest, highest = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        width = highest - lowest + 1
        if size * width > max(4 * len(codes), 1 << 16):
            codes, size = _without_gaps(codes, size)
        codes = codes * width + (column - lowest)
        size *= width
    return _without_gaps(codes, size)


def _without_gaps(codes: NDArray[np.int64], size: int) -> tuple[NDArray[np.intp], int]:
    if size > max(8 * len(codes), 1 << 20):
        found, places = np.unique(codes, return_inverse=True)
        return places, len(found)
    is_used = np.zeros(size, bool)
    is_used[codes] = True
    return (np.cumsum(is_used) - 1)[codes], int(is_used.sum())


def _arrow(column: Any) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks()
    return column if isinstance(column, pa.Array) else pa.array(column)
