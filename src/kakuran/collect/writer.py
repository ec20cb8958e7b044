"""Group commit: one thread stores whatever has gathered while the disk was busy, and answers only then."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from typing import TypeAlias

from kakuran.collect.limits import Metrics
from kakuran.collect.messages import Problem, Submission
from kakuran.collect.store import Store, StoreError, StoreOutcome

log = logging.getLogger(__name__)

_MOST_AT_ONCE = 20_000
_RETRY = 2

_Waiting: TypeAlias = tuple[Submission, "asyncio.Future[StoreOutcome]"]


class Writer:
    """Takes submissions from an event loop to a store; the only one who adds to it."""

    def __init__(self, store: Store, metrics: Metrics, most_waiting: int) -> None:
        self.failure: str | None = None
        self._store = store
        self._metrics = metrics
        self._most_waiting = most_waiting
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="kakuran-writer", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to work for the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Store what is waiting, then end."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    async def submit(self, submission: Submission) -> StoreOutcome:
        """Store a submission, durably, and say what became of it."""
        assert self._loop is not None  # noqa: S101
        if self._metrics.waiting + len(submission.ids) > self._most_waiting:
            raise Problem("busy", "more answers are waiting than can be stored", retry_after=_RETRY)
        stored = self._loop.create_future()
        self._metrics.waiting += len(submission.ids)
        self._queue.put((submission, stored))
        return await stored

    def _work(self) -> None:
        is_over = False
        while not is_over:
            batch, is_over = self._gather()
            if batch:
                self._store_and_tell(batch)

    def _gather(self) -> tuple[list[_Waiting], bool]:
        """Everything that waits, up to a limit; the first one is waited for."""
        batch: list[_Waiting] = []
        count = 0
        while count < _MOST_AT_ONCE:
            try:
                item = self._queue.get(block=not batch)
            except queue.Empty:
                break
            if item is None:
                return batch, True
            batch.append(item)
            count += len(item[0].ids)
        return batch, False

    def _store_and_tell(self, batch: list[_Waiting]) -> None:
        assert self._loop is not None  # noqa: S101
        start = time.monotonic()
        outcomes: list[StoreOutcome] | None = None
        try:
            outcomes = self._store.add([submission for submission, _ in batch])
            self.failure = None
        except StoreError as error:
            self.failure = str(error)
        except Exception as error:
            self.failure = f"unexpected {type(error).__name__}"
        if outcomes is None:
            log.error("%d submissions were not stored: %s", len(batch), self.failure)
        self._loop.call_soon_threadsafe(self._tell, batch, outcomes, time.monotonic() - start)

    def _tell(self, batch: list[_Waiting], outcomes: list[StoreOutcome] | None, seconds: float) -> None:
        self._metrics.waiting -= sum(len(submission.ids) for submission, _ in batch)
        self._metrics.committed(seconds)
        for place, (_, stored) in enumerate(batch):
            if stored.done():  # the client has gone
                continue
            if outcomes is None:
                stored.set_exception(Problem("not-kept", "the database cannot be written to", retry_after=_RETRY))
            else:
                stored.set_result(outcomes[place])
