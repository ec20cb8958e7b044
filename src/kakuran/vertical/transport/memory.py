"""Links within one process: the same frames, through queues."""

from __future__ import annotations

from queue import Empty, Queue
from typing import TypeAlias

from kakuran.vertical.messages import HEADER_SIZE, Message, read_header
from kakuran.vertical.transport.link import Link

Pipe: TypeAlias = "Queue[bytes | None]"


class MemoryLink(Link):
    """One end of a pair of queues."""

    def __init__(self, peer: str, timeout: float, incoming: Pipe, outgoing: Pipe) -> None:
        super().__init__(peer, timeout)
        self._incoming, self._outgoing = incoming, outgoing

    def close(self) -> None:
        """Hang up."""
        self._outgoing.put(None)

    def _write(self, frame: bytes) -> None:
        self._outgoing.put(frame)

    def _read(self, seconds: float, expected: type[Message], most: int | None) -> bytes:
        try:
            frame = self._incoming.get(timeout=seconds)
        except Empty:
            raise self.silent(seconds) from None
        if frame is None:
            self._incoming.put(None)
            raise self.gone()
        self.check_due(*read_header(frame[:HEADER_SIZE]), expected, most)
        return frame


def linked_pair(first: str, second: str, timeout: float = 60.0) -> tuple[Link, Link]:
    """A line between two parties: the first's end and the second's."""
    there: Pipe = Queue()
    back: Pipe = Queue()
    return MemoryLink(second, timeout, back, there), MemoryLink(first, timeout, there, back)
