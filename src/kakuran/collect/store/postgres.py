"""PostgreSQL: one database, any number of servers.

Servers tell each other nothing; each reads what the others have added. Transactions become visible in another order
than they began, so a number that counts up would let a reader pass a record by. Instead every record carries the number
of its transaction, and a reader asks for just those that its last snapshot of the database did not show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import URL, Connection, create_engine, text

from kakuran.collect.store.store import Mark, News, Store
from kakuran.collect.survey import Survey

_PATIENCE = 10
_LOCK = 0x6B616B75
"""Servers that start at the same time make the tables one after the other."""

_PREPARE = (
    "ALTER TABLE records ADD COLUMN IF NOT EXISTS cohort INTEGER",
    "ALTER TABLE records ADD COLUMN IF NOT EXISTS batch xid8 NOT NULL DEFAULT pg_current_xact_id()",
    "CREATE INDEX IF NOT EXISTS records_batch ON records (batch)",
    # A dump restored into another cluster brings numbers of transactions that are still to come there.
    "UPDATE records SET batch = DEFAULT WHERE batch >= pg_snapshot_xmax(pg_current_snapshot())",
)
_KEPT = "SELECT id, survey, codes FROM records WHERE id = ANY(%s)"
_INSERT = """INSERT INTO records (id, survey, codes)
    SELECT one.id, %s, one.codes FROM unnest(%s::bytea[], %s::bytea[]) AS one (id, codes) ON CONFLICT DO NOTHING"""
_ALL = "SELECT codes FROM records WHERE survey = :survey"
_UNSEEN = f"""{_ALL} AND batch >= pg_snapshot_xmin(CAST(:seen AS pg_snapshot))
    AND NOT pg_visible_in_snapshot(batch, CAST(:seen AS pg_snapshot))"""


class PostgresStore(Store):
    """A store on a database server."""

    def __init__(self, url: URL, survey: Survey) -> None:
        engine = create_engine(
            url,
            pool_pre_ping=True,
            connect_args={"connect_timeout": _PATIENCE, "options": "-c synchronous_commit=on"},
        )
        super().__init__(engine, survey)

    def claim(self) -> None:
        """Granted: any number of servers may add."""

    def _begin(self, connection: Connection) -> None:
        """Nothing: it has begun."""

    def _make_tables(self, connection: Connection) -> None:
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        super()._make_tables(connection)
        for statement in _PREPARE:
            connection.execute(text(statement))

    def _kept(self, connection: Connection, keys: Sequence[bytes]) -> dict[bytes, tuple[int, bytes]]:
        return {key: (survey, codes) for key, survey, codes in connection.exec_driver_sql(_KEPT, (list(keys),))}

    def _insert(self, connection: Connection, keys: Sequence[bytes], rows: Sequence[bytes]) -> bool:
        if not keys:
            return True
        return connection.exec_driver_sql(_INSERT, (self.number, list(keys), list(rows))).rowcount == len(keys)

    @contextmanager
    def reading_at_once(self) -> Iterator[Connection]:
        """A connection to which nothing changes any more."""
        with self._reading() as connection:
            connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    def read_new(self, mark: Mark) -> News:
        """The rows stored since a mark, which is a snapshot of the database."""
        with self.reading_at_once() as connection:
            seen = connection.scalar(text("SELECT CAST(pg_current_snapshot() AS text)"))
            wanted = text(_ALL if mark is None else _UNSEEN)
            values = {"survey": self.number} | ({} if mark is None else {"seen": mark})
            return News(connection.scalars(wanted, values).all(), seen, is_all=mark is None)
