"""What can be wrong with a database, told without the values of any statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from kakuran.errors import CollectError


class StoreError(CollectError):
    """A database that cannot be reached or written to; what was sent may be sent again."""


@contextmanager
def store_errors(engine: Engine) -> Iterator[None]:
    """Turn errors of a database into ours, and start afresh the next time."""
    try:
        yield
    except SQLAlchemyError as error:
        engine.dispose()
        reason = str(error.orig).partition("\n")[0] if isinstance(error, DBAPIError) else type(error).__name__
        raise StoreError(f"the database cannot be used: {reason}") from None
