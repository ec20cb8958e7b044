"""From an address to a store."""

from __future__ import annotations

from pathlib import Path

from kakuran.collect.store.store import Store
from kakuran.collect.survey import Survey


def open_store(address: str | Path, survey: Survey) -> Store:
    """The store at an address, made if it is not there yet.

    Parameters
    ----------
    address : a file (SQLite), or ``postgresql://user:password@host/database``
    survey : the version whose answers are to be kept
    """
    if str(address).startswith(("postgresql://", "postgres://")):
        from kakuran.collect.store.postgres import PostgresStore

        return PostgresStore("postgresql+psycopg://" + str(address).split("://", 1)[1], survey)
    from kakuran.collect.store.sqlite import SQLiteStore

    return SQLiteStore(Path(address), survey)
