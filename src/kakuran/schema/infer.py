"""Propose a schema from data; only a draft, because the data is private and its domain should not be."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from kakuran.errors import DataError, InferredDomainWarning, SchemaError
from kakuran.schema.attribute import LARGEST_GRID, Attribute, Categorical, Dropped, Numeric
from kakuran.schema.files import csv_options, is_parquet, read_whole
from kakuran.schema.frames import to_arrow

MOST_CATEGORIES = 1000
"""A text column with more values than this is taken for an identifier and dropped."""


def infer_attributes(source: Any) -> list[Attribute]:
    """Propose an attribute for every column of a frame, or of a CSV or Parquet file."""
    table = _read(Path(source)) if isinstance(source, str | Path) else to_arrow(source)
    if not table.num_rows:
        where = f"{source}: " if isinstance(source, str | Path) else ""
        raise SchemaError(f"{where}cannot infer a schema from an empty table")
    attributes = [_infer_column(name, table.column(name)) for name in table.column_names]
    warnings.warn(_warning(attributes, table), InferredDomainWarning, stacklevel=3)
    return attributes


def _read(path: Path) -> pa.Table:
    """A whole file; columns of a CSV file with codes like 01 are text, which as numbers they would not come back as."""
    table = read_whole(path)
    numbers = [name for name in table.column_names if _is_number(table.schema.field(name).type)]
    if is_parquet(path) or not numbers:
        return table
    texts = pa.csv.read_csv(path, **csv_options(path, dict.fromkeys(numbers, pa.string())))
    for name in numbers:
        if pc.any(pc.match_substring_regex(texts[name], r"^\s*[+-]?0\d")).as_py():
            table = table.set_column(table.column_names.index(name), name, texts[name])
    return table


def _infer_column(name: str, column: pa.ChunkedArray) -> Attribute:
    column = _plain(column)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_boolean(kind):
        return _infer_categories(name, column)
    if _is_number(kind):
        return _infer_numbers(name, column.cast(pa.float64(), safe=False))
    return Dropped(name)


def _is_supported(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind) or _is_number(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without dictionary, and with one kind of text."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column


def _infer_categories(name: str, column: pa.ChunkedArray) -> Attribute:
    values = [value for value in pc.unique(column).drop_null().to_pylist() if value != ""]
    if not values or len(values) > MOST_CATEGORIES:
        return Dropped(name)
    return Categorical(name, sorted(values))


def _infer_numbers(name: str, column: pa.ChunkedArray) -> Attribute:
    numbers = column.drop_null().to_numpy()
    numbers = numbers[~_is_nan(numbers)]
    if not len(numbers):
        return Dropped(name)
    low, high = float(numbers.min()), float(numbers.max())
    if not math.isfinite(high - low):
        raise DataError(name, "holds infinite numbers", "Correct the data.", example=high if math.isinf(high) else low)
    exponent = _finest_exponent(numbers, low, high)
    first, last = math.floor(low / 10.0**exponent + 1e-6), math.ceil(high / 10.0**exponent - 1e-6)
    bounds = (_scaled(first, exponent), _scaled(max(last, first + 1), exponent))
    return Numeric(name, *bounds, step=_scaled(1, exponent))


def _is_nan(numbers: Any) -> Any:
    return numbers != numbers


def _finest_exponent(numbers: Any, low: float, high: float) -> int:
    """The coarsest power of ten on which all numbers lie, or the finest that keeps the grid small enough."""
    farthest = max(abs(low), abs(high), 1e-300)
    finest = math.ceil(math.log10(max((high - low) / (LARGEST_GRID - 2), farthest / 2**50, 1e-100)))
    for exponent in range(max(0, finest), finest, -1):
        steps = numbers / 10.0**exponent
        if np.isclose(steps, steps.round(), rtol=1e-9, atol=0).all():
            return exponent
    return finest


def _scaled(steps: int, exponent: int) -> float:
    """steps × 10^exponent, as the decimal fraction it is."""
    return float(f"{steps}e{exponent}")


def _warning(attributes: Sequence[Attribute], table: pa.Table) -> str:
    dropped = [attribute.name for attribute in attributes if isinstance(attribute, Dropped)]
    with_missing = [name for name in table.column_names if name not in dropped and _has_missing(table.column(name))]
    lines = [
        "These domains were read off private data: a bound or a rare value may point to one person.",
        "Replace them by what is public knowledge before you calibrate.",
    ]
    odd = [name for name in dropped if not _is_supported(_plain(table.column(name)).type)]
    rest = [name for name in dropped if name not in odd]
    if odd:
        lines.append(f"Dropped, as they are neither text, true/false nor numbers: {', '.join(odd)}.")
    if rest:
        lines.append(f"Dropped, as they look like identifiers or are empty: {', '.join(rest)}.")
    if with_missing:
        lines.append(f'Have missing values (fill them in, or set missing = "category"): {", ".join(with_missing)}.')
    return " ".join(lines)


def _has_missing(column: pa.ChunkedArray) -> bool:
    column = _plain(column)
    if column.null_count:
        return True
    if pa.types.is_string(column.type):
        return bool(pc.any(pc.equal(column, "")).as_py())
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())
