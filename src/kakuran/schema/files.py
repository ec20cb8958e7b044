"""Files that hold tables: what they are called, and whom to blame when one cannot be read."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kakuran.errors import SchemaError

PARQUET = (".parquet", ".pq")
CSV = (".csv",)
ARROW = (".arrow", ".feather", ".ipc")
UNREADABLE = (pa.ArrowException, OSError)
"""As what it shows that a file is not what it says it is."""
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
    except (*UNREADABLE, UnicodeDecodeError, csv.Error) as error:
        raise SchemaError(f"{path}: cannot be read: {without_row(error)}") from None


def without_row(error: Exception) -> str:
    """What arrow complains of, without the row it quotes, dropped columns and all."""
    return re.sub(r"(got \d+):.*", r"\1", str(error), flags=re.DOTALL)


def column_names(path: Path) -> list[str]:
    """The names of the columns of a Parquet file."""
    with reading(path):
        return list(pq.read_schema(path).names)
