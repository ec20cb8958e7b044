"""Queries that a PostgreSQL server answers, streamed by DuckDB's extension for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from kakuran.errors import MissingExtraError, SchemaError
from kakuran.schema.kinds import is_text
from kakuran.schema.sources.base import Part, Source, Wanted
from kakuran.schema.sources.duck import IN_A_STREAM, arrow_parts
from kakuran.schema.sources.sql import literal, quoted

SCHEMES = ("postgresql", "postgres")

_SERVER = "server"
_WHEEL = "duckdb_extension_postgres_scanner"
_NUMBERS = {
    "BOOLEAN": "{}",
    "SMALLINT": "{}::int8",
    "INTEGER": "{}::int8",
    "BIGINT": "{}",
    # By way of its text, 1.1 stays 1.1 and does not become 1.10000002.
    "FLOAT": "{}::text::float8",
    "DOUBLE": "{}::float8",
    "DECIMAL": "{}::float8",
}
"""How the server is asked for true/false and numbers, by DuckDB's names for their types; all else it sends as text."""


class PostgresSource(Source):
    """The result of a query in the server's own dialect."""

    def __init__(self, address: str, sql: str) -> None:
        parts = urlsplit(address)
        self.described = f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
        self._address = address
        self._passwords = [parts.password or "", *parse_qs(parts.query).get("password", [])]
        self._query = sql.strip().rstrip(";")

    @property
    def names(self) -> list[str]:
        """The columns of the result."""
        with self._connection() as connection:
            return list(self._types(connection))

    @property
    def rows(self) -> int | None:
        """The server counts them."""
        with self._connection() as connection:
            return int(self._answer(connection, "count(*)").fetchall()[0][0])

    def parts(self, wanted: Wanted | None = None) -> Iterator[Part]:
        """As the server sends them."""
        with self._connection() as connection:
            types = self._types(connection)
            if wanted is not None:
                types = {name: "TEXT" if is_text(kind) else types[name] for name, kind in wanted.items()}
            columns = ", ".join(_column(name, kind) for name, kind in types.items())
            yield from arrow_parts(self._answer(connection, columns), self.described)

    def _types(self, connection: Any) -> dict[str, str]:
        """The columns of the result, with DuckDB's names for their types."""
        found = self._answer(connection, "*")
        return {name: str(kind) for name, kind in zip(found.columns, found.types, strict=True)}

    def _answer(self, connection: Any, columns: str) -> Any:
        """What the server answers, once it has read the query by itself: it cannot end the brackets it is put in.

        The server prepares what DuckDB hands it, so it is one statement, and answers in a transaction that only reads.
        """
        connection.sql(_asked(self._query))
        return connection.sql(_asked(f"select {columns} from (\n{self._query}\n) as selected"))  # noqa: S608

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        try:
            import duckdb
        except ImportError:
            raise MissingExtraError("a PostgreSQL source", "postgres") from None
        try:
            # Its answer is one stream: where it fails, a second thread could only tell that it was interrupted.
            with duckdb.connect(config={"threads": 1}) as connection:
                _load_extension(connection, duckdb)
                connection.execute(f"attach {literal(self._address)} as {_SERVER} (type postgres, read_only)")
                yield connection
        except (duckdb.Error, *IN_A_STREAM) as error:
            raise SchemaError(f"{self.described}: {self._without_passwords(str(error))}") from None

    def _without_passwords(self, told: str) -> str:
        """What the server complains of, or whoever did not reach it."""
        told = told.replace(self._address, self.described)
        for password in filter(None, self._passwords):
            told = told.replace(password, "…").replace(unquote(password), "…")
        return told.rpartition("ERROR:")[2].strip().splitlines()[0]


def _asked(query: str) -> str:
    """A query to the server, as DuckDB is asked to pass it on."""
    return f"from postgres_query('{_SERVER}', {literal(query)})"


def _column(name: str, kind: str) -> str:
    """A column as the server is asked for it."""
    form = _NUMBERS.get(kind.partition("(")[0], "{}::text")
    return f"{form.format(quoted(name))} as {quoted(name)}"


def _load_extension(connection: Any, duckdb: Any) -> None:
    """Load the extension from its package; where there is none, from where DuckDB keeps its own, or its makers do."""
    package = find_spec(_WHEEL)
    if package is not None and package.origin is not None:
        folder = Path(package.origin).parent / "extensions" / f"v{duckdb.__version__}"
        if (extension := folder / "postgres_scanner.duckdb_extension").exists():
            connection.execute(f"load {literal(str(extension))}")
            return
    try:
        connection.execute("install postgres; load postgres")
    except duckdb.Error:
        raise MissingExtraError("a PostgreSQL source", "postgres") from None
