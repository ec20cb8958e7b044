"""Backups: all of a database as one SQLite file, whichever kind it came from or goes to.

From an address to a store.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, func, insert, inspect, make_url, select, update
from sqlalchemy.exc import ArgumentError

from kakuran.collect.store.sqlite import read_only_engine, sqlite_engine
from kakuran.collect.store.store import Store, cohorts, invitations, metadata, records, store_errors, surveys
from kakuran.collect.survey import Survey
from kakuran.errors import CollectError
from kakuran.writing import whole_or_nothing

_AT_A_TIME = 10_000


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
        raise CollectError(f"{path}: no such backup")
    copy = read_only_engine(path)
    try:
        with store_errors(copy), copy.connect() as source, store.writing() as target:
            for table in (records, invitations):
                if _count(target, table):
                    raise CollectError("the database is not empty; restore into a new one")
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
    rows = source.execute(wanted.order_by(*table.primary_key).execution_options(yield_per=_AT_A_TIME))
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
    address : a file (SQLite), or ``postgresql://user:password@host/database``
    survey : the version whose answers are to be kept
    """
    if str(address).startswith(("postgresql://", "postgres://")):
        from kakuran.collect.store.postgres import PostgresStore

        return PostgresStore(_url(str(address)), survey)
    from kakuran.collect.store.sqlite import SQLiteStore

    return SQLiteStore(Path(address), survey)


def _url(address: str) -> URL:
    """The address of a database server; one that cannot be read is not repeated, as it may hold a password."""
    try:
        return make_url("postgresql+psycopg://" + address.partition("://")[2])
    except (ValueError, ArgumentError):
        raise CollectError(
            "the address of the database cannot be read; it is written postgresql://user:password@host:port/name"
        ) from None
