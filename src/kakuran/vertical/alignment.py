"""The records all parties share, in one order, while nobody learns the others' ids.

Two parties learn which of their records they share and how many the other has. With more, neighbours in the plan's
order intersect one after the other, so that an early party may also learn what it shares with its neighbour alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import ProtocolError
from kakuran.randomness import Randomness
from kakuran.vertical.blinding import POINT_SIZE, Blinding
from kakuran.vertical.messages import AlignmentCheck, Blinded, Kept, Reblinded
from kakuran.vertical.transport import Link

_CHUNK = 4096
_PATIENCE = 30
"""How many times longer we wait for a neighbour that may still be busy with another."""


@dataclass(frozen=True)
class Shared:
    """Records shared with one peer: our row of each, and the value both sides know it by, in the common order."""

    rows: NDArray[np.int64]
    values: list[bytes]

    def at(self, places: NDArray[np.int64]) -> Shared:
        """Some of the records, in this order."""
        return Shared(self.rows[places], [self.values[place] for place in places.tolist()])

    def digest(self) -> bytes:
        """A digest both sides can compare before any statistics."""
        return hashlib.sha256(b"kakuran order\0" + b"".join(self.values)).digest()


def align(
    links: Mapping[str, Link], names: tuple[str, ...], me: str, identifiers: list[bytes], salt: bytes
) -> NDArray[np.int64]:
    """Our rows of the records everybody shares, in the order everybody uses."""
    place = names.index(me)
    before = links[names[place - 1]] if place > 0 else None
    after = links[names[place + 1]] if place + 1 < len(names) else None
    if before is None and after is None:
        raise ProtocolError("a plan needs at least two parties")
    rows, patience = np.arange(len(identifiers)), 1 if len(names) == 2 else _PATIENCE
    if before is not None:
        with_before = intersect(before, identifiers, salt, speaks_first=False, patience=patience)
        rows = with_before.rows
    if after is not None:
        ours = [identifiers[row] for row in rows.tolist()]
        with_after = intersect(after, ours, salt, speaks_first=True, patience=patience)
        if place + 2 < len(names):
            with_after = with_after.at(_receive_places(after, len(with_after.rows)))
        if before is not None:
            _send_places(before, with_after.rows)
            with_before = with_before.at(with_after.rows)
        rows = rows[with_after.rows]
        _check(after, with_after, patience)
    if before is not None:
        _check(before, with_before, patience)
    return rows


def intersect(link: Link, identifiers: list[bytes], salt: bytes, *, speaks_first: bool, patience: float = 1) -> Shared:
    """Which of our ids the peer has as well; it learns the same of its own."""
    blinding, shuffled = Blinding(salt), Randomness.secure().permutation(len(identifiers))
    ours = (blinding.hide(identifiers[row]) for row in shuffled.tolist())
    theirs = _swap_points(link, Blinded, len(identifiers), ours, speaks_first, patience)
    theirs_twice: list[bytes] = []

    def hidden_again() -> Iterator[bytes]:
        for point in theirs:
            theirs_twice.append(blinding.hide_again(point))
            yield theirs_twice[-1]

    ours_twice = _swap_points(link, Reblinded, len(theirs), hidden_again(), speaks_first)
    if len(ours_twice) != len(identifiers):
        raise ProtocolError(f"{link.peer} returned {len(ours_twice):,} of our {len(identifiers):,} blinded ids")
    row_of = dict(zip(ours_twice, shuffled.tolist(), strict=True))
    common = sorted(row_of.keys() & set(theirs_twice))
    if not common:
        raise ProtocolError(f"no id is shared with {link.peer}; are they written alike on both sides?")
    return Shared(np.array([row_of[value] for value in common], np.int64), common)


def _swap_points(
    link: Link,
    kind: type[Blinded] | type[Reblinded],
    count: int,
    points: Iterator[bytes],
    speaks_first: bool,
    patience: float = 1,
) -> list[bytes]:
    """Send ours and receive theirs in turns, chunk by chunk, so that neither waits while the other computes."""
    received: list[bytes] = []
    ours_left, theirs_over = -(-max(count, 1) // _CHUNK), False
    while ours_left or not theirs_over:
        chunk = kind(b"".join(islice(points, _CHUNK)), last=ours_left == 1) if ours_left else None
        ours_left = max(ours_left - 1, 0)
        if chunk is not None and speaks_first:
            link.send(chunk)
        if not theirs_over:
            message = link.receive(kind, patience=1 if received else patience)
            theirs_over = message.last
            received += _points(message.points, link)
        if chunk is not None and not speaks_first:
            link.send(chunk)
    return received


def _points(content: bytes, link: Link) -> list[bytes]:
    if len(content) % POINT_SIZE:
        raise ProtocolError(f"{link.peer} sent blinded ids of a wrong length")
    return [content[start : start + POINT_SIZE] for start in range(0, len(content), POINT_SIZE)]


def _send_places(link: Link, places: NDArray[np.int64]) -> None:
    for start in range(0, len(places), _CHUNK):
        link.send(Kept(places[start : start + _CHUNK], last=start + _CHUNK >= len(places)))


def _receive_places(link: Link, shared: int) -> NDArray[np.int64]:
    chunks: list[Kept] = []
    while not chunks or (not chunks[-1].last and sum(chunk.places.size for chunk in chunks) <= shared):
        chunks.append(link.receive(Kept, patience=_PATIENCE))
    places = np.concatenate([chunk.places.ravel() for chunk in chunks])
    if len(np.unique(places)) < len(places) or not ((places >= 0) & (places < shared)).all():
        raise ProtocolError(f"{link.peer} kept records that we do not share")
    return places


def _check(link: Link, shared: Shared, patience: float) -> None:
    """Both sides must hold the same records in the same order before anything is computed from them."""
    link.send(AlignmentCheck(len(shared.rows), shared.digest()))
    theirs = link.receive(AlignmentCheck, patience=patience)
    if theirs.records != len(shared.rows) or theirs.digest != shared.digest():
        raise ProtocolError(f"our records are not in the order of {link.peer}'s; start both sides again")
