"""Where answers are kept: one file (SQLite) by default, PostgreSQL for more than one server."""

from kakuran.collect.store.opening import back_up, open_store, restore
from kakuran.collect.store.store import Store, StoreError, StoreOutcome, SurveyState

__all__ = [
    "Store",
    "StoreError",
    "StoreOutcome",
    "SurveyState",
    "back_up",
    "open_store",
    "restore",
]
