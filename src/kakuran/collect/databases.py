"""Where a store lies, SQLite or PostgreSQL; and backups, all of a database as one SQLite file, whichever it came from.

SQLite is one file and one server: a write-ahead log, synced to disk before any answer. SQLite puts a record where a
page has room, so pages show the order of arrival, and its log which invitation came with which record. The log is
emptied after every transaction of a survey with invitations; when a server starts or stops and after an export the file
is written anew, in the order of its keys.

PostgreSQL is one database and any number of servers, which tell each other nothing; each reads what the others have
added. Transactions become visible in another order than they began, so a number that counts up would let a reader pass
a record by. Instead every record carries the number of its transaction, and a reader asks for just those that its last
snapshot of the database did not show.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import repeat
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Table,
    create_engine,
    event,
    func,
    insert,
    inspect,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from kakuran.collect.messages import Submission
from kakuran.collect.store import (
    Exported,
    Mark,
    News,
    Store,
    StoreError,
    StoreOutcome,
    cohorts,
    invitations,
    metadata,
    records,
    store_errors,
    surveys,
)
from kakuran.collect.survey import Survey
from kakuran.errors import CollectError
from kakuran.words import Phrase
from kakuran.writing import whole_or_nothing

log = logging.getLogger(__name__)

_PATIENCE = 10
_ASKED_AT_A_TIME = 500
_COPIED_AT_A_TIME = 10_000
_ROOM = 1 << 20
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "secure_delete=ON",
    "foreign_keys=ON",
    "temp_store=MEMORY",  # a file that is written anew leaves no copy of itself in a temporary folder
)


class SQLiteStore(Store):
    """A store in a file.

    Only this process adds records while it runs, so what is new to a reader is what it has added itself.
    """

    def __init__(self, path: Path, survey: Survey) -> None:
        self.path = path
        self._turn = threading.Lock()
        self._unread: list[bytes] = []
        self._age = 0
        self._claim: sqlite3.Connection | None = None
        self._shows_order = False
        super().__init__(sqlite_engine(path), survey)

    def _make_tables(self, connection: Connection) -> None:
        super()._make_tables(connection)
        if "cohort" not in {row[1] for row in connection.exec_driver_sql("PRAGMA table_info(records)")}:
            connection.exec_driver_sql("ALTER TABLE records ADD COLUMN cohort INTEGER")

    def add(self, submissions: Sequence[Submission]) -> list[StoreOutcome]:
        """Store submissions in one transaction."""
        with self._turn:
            self._inserted: Sequence[bytes] = ()
            try:
                outcomes = super().add(submissions)
            except StoreError:
                self._age += 1  # what failed may still have been stored: readers start over
                raise
            self._unread += self._inserted
            if self.survey.invitations:
                with suppress(StoreError), self._reading() as connection:
                    _empty_log(connection)
            return outcomes

    def _begin(self, connection: Connection) -> None:
        # Reading first and writing later could otherwise find that another process has written in between.
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def _kept(self, connection: Connection, keys: Sequence[bytes]) -> dict[bytes, tuple[int, bytes]]:
        # Said to the driver itself: going through SQLAlchemy's expressions costs several times as much as SQLite does.
        found: dict[bytes, tuple[int, bytes]] = {}
        for start in range(0, len(keys), _ASKED_AT_A_TIME):
            some = tuple(keys[start : start + _ASKED_AT_A_TIME])
            asked = f"SELECT id, survey, codes FROM records WHERE id IN ({','.join('?' * len(some))})"  # noqa: S608
            rows = connection.exec_driver_sql(asked, some)
            found |= {key: (survey, codes) for key, survey, codes in rows}
        return found

    def _insert(self, connection: Connection, keys: Sequence[bytes], rows: Sequence[bytes]) -> bool:
        if keys:
            statement = "INSERT INTO records (id, survey, codes) VALUES (?, ?, ?)"
            connection.exec_driver_sql(statement, list(zip(keys, repeat(self.number), rows, strict=False)))
            self._shows_order = True
        self._inserted = rows
        return True

    def export(self) -> Exported:
        """All cohorts, as of any store; afterwards the file shows no order."""
        exported = super().export()
        self._forget_order()
        return exported

    def _forget_order(self) -> None:
        """Write the file anew, so that it is a function of what its tables hold.

        A file that cannot be written anew, because the disk has no room for a second one, is as good as before: nobody
        is refused for that.
        """
        with self._turn:
            try:
                with self._reading() as connection:
                    connection.exec_driver_sql("VACUUM")
                    _empty_log(connection)
                    self._shows_order = False
            except StoreError as error:
                log.warning("%s still shows the order in which answers came: %s", self.path, error)

    def claim(self) -> None:
        """Refused while another process adds records, for neither would see the other's."""
        _make_private(Path(f"{self.path}-serving"))
        claim = sqlite3.connect(f"{self.path}-serving", timeout=0, isolation_level=None, check_same_thread=False)
        try:
            claim.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            claim.close()
            raise CollectError(
                Phrase(
                    "{path} is in use by another server; stop that one, or use PostgreSQL for several", path=self.path
                )
            ) from None
        self._claim = claim
        self._forget_order()  # of a server that crashed

    def check(self) -> None:
        """Raise a `StoreError` unless the file can be read and the disk has room."""
        super().check()
        if shutil.disk_usage(self.path.parent).free < _ROOM:
            raise StoreError(f"the disk of {self.path} is full")

    def close(self) -> None:
        """Let go of the file, which then shows no order."""
        if self._shows_order:
            self._forget_order()
        super().close()
        if self._claim is not None:
            self._claim.close()

    @contextmanager
    def reading_at_once(self) -> Iterator[Connection]:
        """A connection to which nothing changes any more."""
        with self._reading() as connection:
            connection.exec_driver_sql("BEGIN")
            yield connection
            connection.rollback()

    def read_new(self, mark: Mark) -> News:
        """The rows stored since a mark, which says since when nothing has gone wrong."""
        with self._turn:
            if mark == self._age:
                unread, self._unread = self._unread, []
                return News(unread, mark, is_all=False)
            with self._reading() as connection:
                rows = connection.scalars(select(records.c.codes).where(records.c.survey == self.number))
                news = News([bytes(codes) for codes in rows], self._age, is_all=True)
            self._unread = []
            return news


def sqlite_engine(path: Path) -> Engine:
    """A file, with every promise of durability asked for."""
    _make_private(path)
    place = URL.create("sqlite", database=str(path))
    engine = create_engine(place, connect_args={"timeout": _PATIENCE, "isolation_level": None})

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _: Any) -> None:
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    return engine


def _empty_log(connection: Connection) -> None:
    """Write the log back into the file and cut it off; while somebody reads, the next transaction does it."""
    connection.exec_driver_sql("PRAGMA busy_timeout=0")
    connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.exec_driver_sql(f"PRAGMA busy_timeout={1000 * _PATIENCE}")


def _make_private(path: Path) -> None:
    """Make a file for its owner alone, where there is none; SQLite gives its log and its index the same rights."""
    with suppress(OSError):  # what is wrong with it SQLite says better
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def read_only_engine(path: Path) -> Engine:
    """A file that is read as it is and stays so."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    return create_engine("sqlite://", creator=lambda: sqlite3.connect(address, uri=True), poolclass=NullPool)


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
            url, pool_pre_ping=True, connect_args={"connect_timeout": _PATIENCE, "options": "-c synchronous_commit=on"}
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


def back_up(store: Store, path: Path) -> int:
    """Write everything a database holds at one moment to a new file; how many records that is."""
    with whole_or_nothing(path) as folder:
        copy = sqlite_engine(folder / path.name)
        try:
            with store_errors(copy), store.reading_at_once() as source, copy.begin() as target:
                metadata.create_all(target)
                for table in (surveys, records, invitations, cohorts):
                    _copy(source, target, table)
                count = _count(target, records)
            _settle(copy)
        finally:
            copy.dispose()
    return count


def restore(store: Store, path: Path) -> int:
    """Fill an empty database from a backup, all or nothing; how many records that is."""
    if not path.is_file():
        raise CollectError(Phrase("{path}: no such backup", path=path))
    copy = read_only_engine(path)
    try:
        with store_errors(copy), copy.connect() as source, store.writing() as target:
            for table in (records, invitations):
                if _count(target, table):
                    raise CollectError(Phrase("the database is not empty; restore into a new one"))
            numbers = {row.number: _register(target, row) for row in source.execute(select(surveys))}
            for table in (records, cohorts):
                _copy(source, target, table, lambda row: row | {"survey": numbers[row["survey"]]})
            _copy(source, target, invitations)
            return _count(target, records)
    finally:
        copy.dispose()


def _register(target: Connection, row: Any) -> int:
    """The number under which the target knows a version; its state is that of the backup."""
    known = select(surveys.c.number).where(surveys.c.version == row.version)
    if target.scalar(known) is None:
        target.execute(insert(surveys).values(version=row.version, definition=row.definition, state=row.state))
    target.execute(update(surveys).where(surveys.c.version == row.version).values(state=row.state))
    return int(target.scalar(known) or 0)


def _copy(source: Connection, target: Connection, table: Table, change: Any = dict) -> None:
    """Rows in the order of their keys: a backup tells no more than the database. Old ones know of no cohorts."""
    is_old = not inspect(source).has_table(cohorts.name)
    if is_old and table is cohorts:
        return
    wanted = select(*(column for column in table.columns if not is_old or column is not records.c.cohort))
    rows = source.execute(wanted.order_by(*table.primary_key).execution_options(yield_per=_COPIED_AT_A_TIME))
    for part in rows.mappings().partitions():
        target.execute(insert(table), [change(dict(row)) for row in part])


def _count(connection: Connection, table: Table) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0


def _settle(copy: Engine) -> None:
    """One file, without a log beside it."""
    with copy.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=DELETE")


def open_store(address: str | Path, survey: Survey) -> Store:
    """The store at an address, made if it is not there yet.

    Parameters
    ----------
    address : str | Path
        A file (SQLite), or ``postgresql://user:password@host/database``.
    survey : Survey
        The version whose answers are to be kept.
    """
    if str(address).startswith(("postgresql://", "postgres://")):
        return PostgresStore(_url(str(address)), survey)
    return SQLiteStore(Path(address), survey)


def _url(address: str) -> URL:
    """The address of a database server; one that cannot be read is not repeated, as it may hold a password."""
    try:
        return make_url("postgresql+psycopg://" + address.partition("://")[2])
    except (ValueError, ArgumentError):
        raise CollectError(
            Phrase(
                "the address of the database cannot be read; it is written postgresql://user@host:port/name, with the "
                "password in PGPASSWORD"
            )
        ) from None
