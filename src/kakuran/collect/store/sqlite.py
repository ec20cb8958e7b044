"""SQLite: one file, one server. Write-ahead log, synced to disk before any answer."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import repeat
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, select
from sqlalchemy.pool import NullPool

from kakuran.collect.messages import Submission
from kakuran.collect.store.store import Mark, News, Store, StoreError, StoreOutcome, records
from kakuran.collect.survey import Survey
from kakuran.errors import CollectError

_PATIENCE = 10.0
_AT_A_TIME = 500
_ROOM = 1 << 20
# Said to the driver itself: going through SQLAlchemy's expressions costs several times as much as SQLite does.
_KEPT = "SELECT id, survey, codes FROM records WHERE id IN"
_INSERT = "INSERT INTO records (id, survey, codes) VALUES (?, ?, ?)"
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "foreign_keys=ON")


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
            return outcomes

    def _begin(self, connection: Connection) -> None:
        # Reading first and writing later could otherwise find that another process has written in between.
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def _kept(self, connection: Connection, keys: Sequence[bytes]) -> dict[bytes, tuple[int, bytes]]:
        found: dict[bytes, tuple[int, bytes]] = {}
        for start in range(0, len(keys), _AT_A_TIME):
            some = tuple(keys[start : start + _AT_A_TIME])
            rows = connection.exec_driver_sql(f"{_KEPT} ({','.join('?' * len(some))})", some)
            found |= {key: (survey, codes) for key, survey, codes in rows}
        return found

    def _insert(self, connection: Connection, keys: Sequence[bytes], rows: Sequence[bytes]) -> bool:
        if keys:
            connection.exec_driver_sql(_INSERT, list(zip(keys, repeat(self.number), rows, strict=False)))
        self._inserted = rows
        return True

    def claim(self) -> None:
        """Refused while another process adds records, for neither would see the other's."""
        _make_private(Path(f"{self.path}-serving"))
        claim = sqlite3.connect(f"{self.path}-serving", timeout=0, isolation_level=None, check_same_thread=False)
        try:
            claim.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            claim.close()
            raise CollectError(
                f"{self.path} is in use by another server; stop that one, or use PostgreSQL for several"
            ) from None
        self._claim = claim

    def check(self) -> None:
        """Raise a `StoreError` unless the file can be read and the disk has room."""
        super().check()
        if shutil.disk_usage(self.path.parent).free < _ROOM:
            raise StoreError(f"the disk of {self.path} is full")

    def close(self) -> None:
        """Let go of the file."""
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


def _make_private(path: Path) -> None:
    """Make a file for its owner alone, where there is none; SQLite gives its log and its index the same rights."""
    with suppress(OSError):  # what is wrong with it SQLite says better
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def read_only_engine(path: Path) -> Engine:
    """A file that is read as it is and stays so."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    return create_engine("sqlite://", creator=lambda: sqlite3.connect(address, uri=True), poolclass=NullPool)
