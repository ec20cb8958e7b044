"""Where answers are kept: one file (SQLite) by default, PostgreSQL for more than one server."""

from kakuran.collect.store.opening import back_up, open_store, restore
from kakuran.collect.store.store import Outcome, State, Store, StoreError

__all__ = [
    "Outcome",
    "State",
    "Store",
    "StoreError",
    "back_up",
    "open_store",
    "restore",
]
