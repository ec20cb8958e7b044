"""A record of every message: who sent it, of what kind, how long, and its digest. Never what it said."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Literal


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
