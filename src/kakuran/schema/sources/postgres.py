"""Queries that a PostgreSQL server answers, streamed by COPY."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.csv

from kakuran.errors import MissingExtraError, SchemaError
from kakuran.schema.sources.base import Part, Source, Wanted
from kakuran.schema.sources.delimited import csv_parts, heed_quotes
from kakuran.schema.sources.sql import bare, counted, selected

SCHEMES = ("postgresql", "postgres")

_KINDS = {16: pa.bool_(), 20: pa.int64(), 21: pa.int64(), 23: pa.int64(), 700: pa.float64(), 701: pa.float64()}
_KINDS[1700] = pa.float64()
"""Arrow's types of true/false and numbers, by PostgreSQL's numbers for its own; everything else is text."""


class PostgresSource(Source):
    """The result of a query."""

    def __init__(self, address: str, sql: str) -> None:
        parts = urlsplit(address)
        # A password may stand in the address, and must not in an error.
        self.described = f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
        self._address = address
        self._query = bare(sql)

    @property
    def names(self) -> list[str]:
        """The columns of the result."""
        return list(self._types())

    @property
    def rows(self) -> int | None:
        """The server counts them."""
        with self._cursor() as cursor:
            cursor.execute(counted(self._query))
            return int(cursor.fetchone()[0])

    def parts(self, wanted: Wanted | None = None) -> Iterator[Part]:
        """As the server sends them, as CSV: missing values are empty, empty text is quoted."""
        types = self._types() if wanted is None else wanted
        convert = pa.csv.ConvertOptions(column_types=types, true_values=["t"], false_values=["f"])
        heed_quotes(convert)
        parse = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(types) > 1)
        options = {"parse_options": parse, "convert_options": convert}
        with self._cursor() as cursor:
            query = f"copy ({selected(wanted, self._query)}) to stdout (format csv, header)"
            with cursor.copy(query) as copy, _Stream(copy) as stream:
                yield from csv_parts(stream, options, list(types), self.described)

    def _types(self) -> dict[str, pa.DataType]:
        with self._cursor() as cursor:
            cursor.execute(selected(None, self._query) + " limit 0")
            return {column.name: _KINDS.get(column.type_code, pa.string()) for column in cursor.description}

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("a PostgreSQL source", "postgres") from None
        try:
            with psycopg.connect(self._address) as connection, connection.cursor() as cursor:
                connection.read_only = True
                yield cursor
        except psycopg.Error as error:
            raise SchemaError(f"{self.described}: {str(error).splitlines()[0]}") from None


class _Stream(io.RawIOBase):
    """What COPY sends, as a file."""

    def __init__(self, copy: Any) -> None:
        self._chunks = iter(copy)
        self._left = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        chunks = [self._left]
        while size < 0 or sum(map(len, chunks)) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            chunks.append(bytes(chunk))
        joined = b"".join(chunks)
        taken = len(joined) if size < 0 else size
        self._left = joined[taken:]
        return joined[:taken]
