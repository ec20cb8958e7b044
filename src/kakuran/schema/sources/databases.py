"""Queries that DuckDB answers, over a database of its own or plain files, and those it passes on to PostgreSQL."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from kakuran.errors import MissingExtraError, SchemaError, without_secrets
from kakuran.schema.codes import is_text
from kakuran.schema.sources import base
from kakuran.schema.sources.base import ARROW, DELIMITED, Part, Source, Wanted, numbered
from kakuran.words import Phrase
from kakuran.writing import held_folder


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL takes it, whatever is in it."""
    return "'" + text.replace("'", "''") + "'"


VIEW = "data"
"""What plain files are called in a query over them."""
IN_A_STREAM = (pa.ArrowException, OSError)
"""As which errors of DuckDB arrive when a result is streamed."""

_INTERRUPTED = "INTERRUPT Error"


class DuckSource(Source):
    """The result of a query.

    Parameters
    ----------
    described : str
        What to call it.
    database : Path | None
        A database file, opened for reading only.
    files : Sequence[Path]
        Or plain files, which the query calls ``data``.
    sql : str | None
        The query; without one, the only table of the database.
    """

    def __init__(
        self, described: str, *, database: Path | None = None, files: Sequence[Path] = (), sql: str | None = None
    ) -> None:
        self.described = described
        self.paths = (database,) if database is not None else tuple(files)
        self._database = database
        self._query = sql if sql is not None else self._only_table()

    @property
    def names(self) -> list[str]:
        """The columns of the result."""
        with self._connection() as connection:
            return list(self._result(connection).columns)

    @property
    def rows(self) -> int | None:
        """DuckDB counts them."""
        with self._connection() as connection:
            return int(self._result(connection).count("*").fetchall()[0][0])

    def parts(self, wanted: Wanted | None = None) -> Iterator[Part]:
        """As DuckDB streams them."""
        try:
            with self._connection() as connection:
                yield from arrow_parts(self._result(connection, wanted), self.described)
        except SchemaError as error:
            if _INTERRUPTED in str(error):
                self._fail_in_one_thread(wanted)
            raise

    def _result(self, connection: Any, columns: Iterable[str] | None = None) -> Any:
        """Some columns of the answer, or all, once DuckDB has read the query as one that asks and does nothing else."""
        found = connection.extract_statements(self._query)
        kinds = [statement.type.name for statement in found]
        if kinds != ["SELECT"]:
            told = ", ".join(kinds) or Phrase("nothing")
            raise SchemaError(
                Phrase(
                    "{described}: a query is one SELECT, and this has {told}; ask for one table only",
                    described=self.described,
                    told=told,
                )
            )
        answer = connection.sql(found[0])
        return answer if columns is None else answer.project(", ".join(map(quoted, columns)))

    def _fail_in_one_thread(self, wanted: Wanted | None) -> None:
        """Ask again for what failed: the thread that fails stops others, and the one that streams may know no more."""
        with self._connection({"threads": 1}) as connection:
            for _ in self._result(connection, wanted).to_arrow_reader(base.BATCH):
                pass

    @contextmanager
    def _connection(self, settings: Mapping[str, Any] | None = None) -> Iterator[Any]:
        try:
            import duckdb
        except ImportError:
            raise MissingExtraError(Phrase("a query"), "duckdb") from None
        is_database = self._database is not None
        try:
            with (
                _scratch() as place,
                duckdb.connect(
                    self._database or ":memory:", read_only=is_database, config={**place, **(settings or {})}
                ) as connection,
            ):
                if not is_database:
                    _show_files(connection, self.paths)
                _lock(connection, self.paths)
                yield connection
        except (duckdb.Error, *IN_A_STREAM) as error:
            raise SchemaError(
                Phrase("{path}: {error}", path=self.described, error=str(error).splitlines()[0])
            ) from None

    def _only_table(self) -> str:
        with self._connection() as connection:
            found = connection.sql(
                "select schema_name, table_name from duckdb_tables() union all "
                "select schema_name, view_name from duckdb_views() where not internal order by all"
            ).fetchall()
        if len(found) != 1:
            told = ", ".join(name for _, name in found) or Phrase("none")
            raise SchemaError(
                Phrase(
                    "{described}: which table? it has {told}; say with a query (--sql)",
                    described=self.described,
                    told=told,
                )
            )
        return "from " + ".".join(quoted(name) for name in found[0])


@contextmanager
def _scratch() -> Iterator[dict[str, str]]:
    """Where DuckDB puts records for which it has no memory; by itself that is where anybody may read and find them."""
    with held_folder(Path(tempfile.gettempdir()), "kakuran") as folder:
        yield {"temp_directory": str(folder)}


def arrow_parts(result: Any, described: str) -> Iterator[Part]:
    """A result as DuckDB streams it."""
    return numbered(result.to_arrow_reader(base.BATCH), described)


def _show_files(connection: Any, paths: Sequence[Path]) -> None:
    """Make plain files known under one name; folders named column=value tell columns here too."""
    if paths[0].suffix in ARROW:
        from pyarrow import dataset

        connection.register(VIEW, dataset.dataset([str(path) for path in paths], format="ipc"))
        return
    listed = ", ".join(literal(str(path)) for path in paths)
    reader = "read_csv" if paths[0].suffix in DELIMITED else "read_parquet"
    connection.sql(f"create view {VIEW} as from {reader}([{listed}])")


def _lock(connection: Any, paths: Sequence[Path]) -> None:
    """Leave a query nothing to reach but what it is asked of: no other file, address, extension or Python variable."""
    listed = ", ".join(literal(str(path)) for path in paths)
    connection.execute(
        f"set allowed_paths = [{listed}]; set enable_external_access = false; "
        "set python_enable_replacements = false; set lock_configuration = true"
    )


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
        scheme, _, place = without_secrets(address, address).partition("?")[0].partition("://")
        self.described = f"{scheme}://{place.rpartition('@')[2]}"
        self._address = address
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
            raise MissingExtraError(Phrase("a PostgreSQL source"), "postgres") from None
        try:
            # Its answer is one stream: where it fails, a second thread could only tell that it was interrupted.
            with _scratch() as place, duckdb.connect(config={**place, "threads": 1}) as connection:
                _load_extension(connection, duckdb)
                connection.execute(f"attach {literal(self._address)} as {_SERVER} (type postgres, read_only)")
                yield connection
        except (duckdb.Error, *IN_A_STREAM) as error:
            raise SchemaError(
                Phrase("{path}: {error}", path=self.described, error=self._complaint(str(error)))
            ) from None

    def _complaint(self, told: str) -> str:
        """What the server complains of, or whoever did not reach it."""
        return without_secrets(told, self._address).rpartition("ERROR:")[2].strip().splitlines()[0]


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
        raise MissingExtraError(Phrase("a PostgreSQL source"), "postgres") from None
