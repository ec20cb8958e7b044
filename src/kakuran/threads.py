"""Small matrices are for one thread: the others only wait for each other, at many times the cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_lock = Lock()
_held: list[Any] = []
_users = 0


@contextmanager
def one_thread() -> Iterator[None]:
    """Have BLAS use one thread in here; as many as before once nobody is in here any more."""
    global _users
    with _lock:
        if not _users:
            _held.append(_libraries().limit(limits=1, user_api="blas"))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _held.pop().restore_original_limits()


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401 - brings a BLAS of its own, which has to be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
