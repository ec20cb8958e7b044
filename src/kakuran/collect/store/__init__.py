"""Where answers are kept: one file (SQLite) by default, PostgreSQL for more than one server."""

from kakuran.collect.store.opening import open_store
from kakuran.collect.store.store import Outcome, State, Store, StoreError

__all__ = ["Outcome", "State", "Store", "StoreError", "open_store"]
