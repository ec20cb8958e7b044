"""From what somebody types to a source: a file, a pattern, a folder, a database, a frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kakuran.errors import SchemaError
from kakuran.schema.csv_format import AS_FOUND, CsvFormat
from kakuran.schema.files import ARROW, CSV, DUCKDB, PARQUET
from kakuran.schema.sources.base import Source
from kakuran.schema.sources.delimited import CsvSource
from kakuran.schema.sources.duck import DuckSource
from kakuran.schema.sources.frames import frame_source
from kakuran.schema.sources.ipc import IpcSource
from kakuran.schema.sources.many import ManySource, Member, folders_between
from kakuran.schema.sources.parquet import ParquetSource
from kakuran.schema.sources.postgres import SCHEMES, PostgresSource

_KINDS = (PARQUET, CSV, ARROW)
_FILES = PARQUET + CSV + ARROW
_NO_CSV = (
    "--delimiter, --encoding, --decimal and --thousands (delimiter=…, encoding=…, decimal=…, thousands=…) "
    "are for CSV files that no query is asked of"
)


def open_source(
    data: Any,
    sql: str | None = None,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
) -> Source:
    """The source that something is.

    Parameters
    ----------
    data : a Parquet, CSV or Arrow file; a folder of such, also with folders named ``column=value`` in it; a pattern
        such as ``data/*.parquet``; a DuckDB database; the address of a PostgreSQL database, as
        ``postgresql://host/name``; or any frame, a polars LazyFrame too
    sql : a query to the database; or, for files, a query that DuckDB answers, in which they are called ``data``
    delimiter : what separates the columns of a CSV file; a comma, semicolon or tab is found by itself
    encoding : of a CSV file that is not UTF-8, such as ``cp932`` (Shift-JIS)
    decimal : what stands before decimals in a CSV file, ``"."`` or ``","``
    thousands : what stands between groups of three digits in a CSV file: ``","``, ``"."``, ``" "`` or ``"'"``

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> kk.open_source(pa.table({"age": [30, 40]})).names
    ['age']
    """
    written = CsvFormat(delimiter, encoding, decimal, thousands)
    is_named = isinstance(data, str | Path)
    if written.is_told and (not is_named or sql is not None or Path(data).suffix in DUCKDB):
        raise SchemaError(_NO_CSV)
    if isinstance(data, Source):
        return data
    if not is_named:
        return frame_source(data)
    if str(data).partition("://")[0] in SCHEMES and "://" in str(data):
        if sql is None:
            raise SchemaError("a PostgreSQL source needs a query; say which with --sql (sql=…)")
        return PostgresSource(str(data), sql)
    path = Path(data)
    if path.suffix in DUCKDB:
        if not path.is_file():
            raise SchemaError(f"{path}: no such file")
        return DuckSource(str(path), database=path, sql=sql)
    if sql is not None:
        return DuckSource(str(path), files=[found for _, found in _found(path)], sql=sql)
    if path.is_file() or (not path.is_dir() and not _is_pattern(path)):
        return _file(path, written)
    members = [Member(_file(found, written), folders_between(root, found)) for root, found in _found(path)]
    return ManySource(str(path), members)


def _file(path: Path, written: CsvFormat = AS_FOUND) -> Source:
    if path.suffix not in _FILES:
        raise SchemaError(
            f"{path}: expected a .csv or .parquet file (or .arrow, .feather, .ipc, .duckdb), its ending in small "
            "letters; save a sheet as CSV, and call text with tabs or semicolons .csv, too"
        )
    if not path.is_file():
        raise SchemaError(f"{path}: no such file")
    if path.suffix in CSV:
        return CsvSource(path, written)
    if written.is_told:
        raise SchemaError(_NO_CSV)
    return ParquetSource(path) if path.suffix in PARQUET else IpcSource(path)


def _is_pattern(path: Path) -> bool:
    return any(sign in str(path) for sign in "*?[")


def _found(path: Path) -> list[tuple[Path, Path]]:
    """The files that a path means, each with the folder below which folders tell columns."""
    if path.is_dir():
        found = [(path, file) for file in sorted(path.rglob("*")) if _is_data(file, path)]
    elif _is_pattern(path) and not path.exists():
        fixed = next(parent for parent in path.parents if not _is_pattern(parent))
        pattern = str(path.relative_to(fixed))
        found = [(fixed, file) for file in sorted(fixed.glob(pattern)) if _is_data(file, fixed)]
    else:
        _file(path)
        found = [(path.parent, path)]
    kinds = {next(suffixes for suffixes in _KINDS if file.suffix in suffixes) for _, file in found}
    if not found:
        raise SchemaError(f"{path}: no .csv, .parquet or .arrow file there")
    if len(kinds) > 1:
        raise SchemaError(f"{path}: has files of several kinds; name those you mean, as in '{path}/*.parquet'")
    return found


def _is_data(path: Path, root: Path) -> bool:
    """Not what is hidden, nor what a cluster leaves beside its files."""
    inside = path.relative_to(root).parts
    return path.suffix in _FILES and path.is_file() and not any(part.startswith(("_", ".")) for part in inside)
