"""Propose a schema from data; only a draft, because the data is private and its domain should not be."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from kakuran.errors import DataError, InferredDomainWarning, SchemaError
from kakuran.schema.attribute import LARGEST_GRID, Attribute, Categorical, Dropped, Numeric
from kakuran.schema.frames import check_columns_are_unique, to_arrow

MOST_CATEGORIES = 1000
"""A text column with more values than this is taken for an identifier and dropped."""


def infer_attributes(source: Any) -> list[Attribute]:
    """Propose an attribute for every column of a frame, or of a CSV or Parquet file."""
    table = _read(Path(source)) if isinstance(source, str | Path) else to_arrow(source)
    if not table.num_rows:
        raise SchemaError("cannot infer a schema from an empty table")
    attributes = [_infer_column(name, table.column(name)) for name in table.column_names]
    warnings.warn(_warning(attributes, table), InferredDomainWarning, stacklevel=3)
    return attributes


def _read(path: Path) -> pa.Table:
    if not path.exists():
        raise SchemaError(f"{path}: no such file")
    if path.suffix == ".csv":
        check_columns_are_unique(pa.csv.open_csv(path).schema.names)
        return pa.csv.read_csv(path)
    if path.suffix in (".parquet", ".pq"):
        return pq.read_table(path)
    raise SchemaError(f"{path}: expected a .csv or .parquet file")


def _infer_column(name: str, column: pa.ChunkedArray) -> Attribute:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type):
        column = column.cast(pa.string())
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_boolean(kind):
        return _infer_categories(name, column)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _infer_numbers(name, column.cast(pa.float64(), safe=False))
    if pa.types.is_null(kind):
        return Dropped(name)
    raise DataError(
        name,
        f"columns of type {kind} are not supported",
        "Turn it into text, true/false or numbers first, or drop it.",
    )


def _infer_categories(name: str, column: pa.ChunkedArray) -> Attribute:
    values = pc.unique(column).drop_null().to_pylist()
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
    step = _finest_step(numbers, low, high)
    low, high = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    high = max(high, low + 1)
    return Numeric(name, _decimal(low * step, step), _decimal(high * step, step), step=_decimal(step, step))


def _is_nan(numbers: Any) -> Any:
    return numbers != numbers


def _finest_step(numbers: Any, low: float, high: float) -> float:
    """The power of ten on which all numbers lie, or the finest that keeps the grid small enough."""
    for exponent in range(0, -7, -1):
        step = 10.0**exponent
        if abs(numbers / step - (numbers / step).round()).max() < 1e-6:
            break
    while (high - low) / step >= LARGEST_GRID - 2:
        step *= 10
    return step


def _decimal(number: float, step: float) -> float:
    return round(number, max(0, -math.floor(math.log10(step))))


def _warning(attributes: Sequence[Attribute], table: pa.Table) -> str:
    dropped = [attribute.name for attribute in attributes if isinstance(attribute, Dropped)]
    with_missing = [name for name in table.column_names if name not in dropped and _has_missing(table.column(name))]
    lines = [
        "These domains were read off private data: a bound or a rare value may point to one person.",
        "Replace them by what is public knowledge before you calibrate.",
    ]
    if dropped:
        lines.append(f"Dropped, as they look like identifiers or are empty: {', '.join(dropped)}.")
    if with_missing:
        lines.append(f'Have missing values (fill them in, or set missing = "category"): {", ".join(with_missing)}.')
    return " ".join(lines)


def _has_missing(column: pa.ChunkedArray) -> bool:
    if column.null_count:
        return True
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())
