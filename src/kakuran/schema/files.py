"""Tables on disk: CSV with a header, or Parquet."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from kakuran.errors import SchemaError

PARQUET = (".parquet", ".pq")
CSV = (".csv",)
ARROW = (".arrow", ".feather", ".ipc")
DUCKDB = (".duckdb", ".ddb")


def is_parquet(path: Path) -> bool:
    """Whether a table is Parquet rather than CSV; refuses what is neither, or not there."""
    if path.suffix not in PARQUET + CSV:
        raise SchemaError(f"{path}: expected a .csv or .parquet file")
    if path.is_dir():
        raise SchemaError(f"{path}: is a folder; name a file")
    if not path.exists():
        raise SchemaError(f"{path}: no such file")
    return path.suffix in PARQUET


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Blame what goes wrong inside on this file."""
    try:
        yield
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError, csv.Error) as error:
        problem = re.sub(r"(got \d+):.*", r"\1", str(error), flags=re.DOTALL)
        raise SchemaError(f"{path}: cannot be read: {problem}") from None


def column_names(path: Path) -> list[str]:
    """The names of the columns."""
    with reading(path):
        if is_parquet(path):
            return list(pq.read_schema(path).names)
        with path.open(newline="", encoding="utf-8-sig") as lines:
            names = next(csv.reader(lines), None)
    if not names:
        raise SchemaError(f"{path}: is empty; a CSV file starts with the names of its columns")
    if len(names) == 1 and (";" in names[0] or "\t" in names[0]):
        raise SchemaError(f"{path}: has one column only, {names[0]!r}; separate columns by commas")
    return names


def csv_options(
    path: Path, types: Mapping[str, pa.DataType] | None = None
) -> dict[str, pa.csv.ParseOptions | pa.csv.ConvertOptions]:
    """How CSV is read: cells may span lines; in a file of one column an empty line is a missing value."""
    parse = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(column_names(path)) > 1)
    convert = pa.csv.ConvertOptions(column_types=types, include_columns=None if types is None else list(types))
    return {"parse_options": parse, "convert_options": convert}
