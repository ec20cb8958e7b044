"""Small matrices are for one thread: the others only wait for each other, at many times the cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """Have BLAS use one thread in here, and as many as before afterwards."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401 - brings a BLAS of its own, which has to be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
