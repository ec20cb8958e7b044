"""From an address to a store."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from kakuran.collect.store.store import Store
from kakuran.collect.survey import Survey
from kakuran.errors import CollectError


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
