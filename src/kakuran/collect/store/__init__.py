"""Where answers are kept: one file (SQLite) by default, PostgreSQL for more than one server."""

from kakuran.collect.store.backup import back_up, restore
from kakuran.collect.store.errors import StoreError
from kakuran.collect.store.opening import open_store
from kakuran.collect.store.store import Outcome, State, Store

__all__ = ["Outcome", "State", "Store", "StoreError", "back_up", "open_store", "restore"]
