"""A record of every message: who sent it, of what kind, how long, and its digest. Never what it said.

What every link does: send, receive what is expected, and write both down.

Links within one process: the same frames, through queues.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, Queue
from typing import Any, Literal, TypeAlias, TypeVar, cast

from kakuran.errors import ProtocolError
from kakuran.vertical.messages.codec import HEADER_SIZE, decode, encode, read_header
from kakuran.vertical.messages.types import Message, Refusal


@dataclass(frozen=True)
class Entry:
    """One message."""

    direction: Literal["sent", "received"]
    kind: str
    size: int
    digest: str


@dataclass
class Transcript:
    """All messages of one link, in order; the peer holds the same with the directions swapped."""

    peer: str
    entries: list[Entry] = field(default_factory=list)

    def note(self, direction: Literal["sent", "received"], kind: str, frame: bytes) -> None:
        """Write down a frame."""
        self.entries.append(Entry(direction, kind, len(frame), hashlib.sha256(frame).hexdigest()))

    def digest(self, *, we_first: bool) -> bytes:
        """A digest of all that was said, equal on both sides while no message is on its way."""
        sides = ("sent", "received") if we_first else ("received", "sent")
        said = ("".join(entry.digest for entry in self.entries if entry.direction == side) for side in sides)
        return hashlib.sha256("\0".join(said).encode()).digest()

    @property
    def bytes_sent(self) -> int:
        """Bytes that went out."""
        return sum(entry.size for entry in self.entries if entry.direction == "sent")

    @property
    def bytes_received(self) -> int:
        """Bytes that came in."""
        return sum(entry.size for entry in self.entries if entry.direction == "received")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "peer": self.peer,
            "bytes_sent": self.bytes_sent,
            "bytes_received": self.bytes_received,
            "messages": [[e.direction, e.kind, e.size, e.digest] for e in self.entries],
        }


M = TypeVar("M", bound=Message)
T = TypeVar("T")


class Link(ABC):
    """A two-way line to one peer; whoever waits longer than `timeout` seconds for a message gives up."""

    def __init__(self, peer: str, timeout: float) -> None:
        self.peer = peer
        self.timeout = timeout
        self.transcript = Transcript(peer)

    def send(self, message: Message) -> None:
        """Send a message, or fail within the time limit."""
        frame = encode(message)
        self._write(frame)
        self.transcript.note("sent", type(message).__name__, frame)

    def receive(self, kind: type[M], *, patience: float = 1, most: int | None = None) -> M:
        """The next message, which must be of this kind and at most so long; wait `patience` times as long as usual."""
        frame = self._read(self.timeout * patience, kind, most)
        message = decode(frame)
        self.transcript.note("received", type(message).__name__, frame)
        if isinstance(message, Refusal):
            raise ProtocolError(f"{self.peer} stopped: {message.reason[:200]}")
        return cast(M, message)

    def check_due(self, got: type[Message], size: int, expected: type[Message], most: int | None) -> None:
        """Refuse what is not due now, or longer than what is; whoever stops may say so at any time."""
        if got not in (expected, Refusal):
            raise ProtocolError(f"expected {expected.__name__} from {self.peer}, got {got.__name__}")
        if most is not None and got is expected and size > most:
            raise ProtocolError(f"{self.peer} sent {got.__name__} of {size:,} bytes where at most {most:,} are due")

    def swap(self, message: M, *, speaks_first: bool, patience: float = 1, most: int | None = None) -> M:
        """Send a message and receive the peer's of the same kind; in turns, so that neither blocks the other."""
        if speaks_first:
            self.send(message)
        theirs = self.receive(type(message), patience=patience, most=most)
        if not speaks_first:
            self.send(message)
        return theirs

    def refuse(self, reason: str) -> None:
        """Tell the peer that this is the end, if it still listens."""
        with suppress(ProtocolError):
            self.send(Refusal(reason[:1000]))

    def silent(self, seconds: float) -> ProtocolError:
        """The error for a peer that does not answer in time."""
        return ProtocolError(f"{self.peer} has been silent for {seconds:.3g} s; start all sides again to resume")

    def gone(self) -> ProtocolError:
        """The error for a peer that is no longer there."""
        return ProtocolError(f"{self.peer} closed the connection; start all sides again to resume")

    @abstractmethod
    def close(self) -> None:
        """Hang up."""

    @abstractmethod
    def _write(self, frame: bytes) -> None: ...

    @abstractmethod
    def _read(self, seconds: float, expected: type[Message], most: int | None) -> bytes: ...


def with_each(links: Mapping[str, Link], talk: Callable[[str], T]) -> dict[str, T]:
    """Talk to every peer at the same time; if one talk fails, hang up on all."""
    with ThreadPoolExecutor(max(1, len(links))) as pool:
        talks = {peer: pool.submit(talk, peer) for peer in links}
        done, _ = wait(talks.values(), return_when=FIRST_EXCEPTION)
        failed = next((future.exception() for future in done if future.exception() is not None), None)
        if failed is not None:
            for link in links.values():
                link.refuse("it cannot go on")
                link.close()
            raise failed
        return {peer: future.result() for peer, future in talks.items()}


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
