"""The records all parties share, in one order, while nobody learns the others' ids; ids handed back are refused.

Ids become points of a curve that only two secrets together can compare (ECDH private set intersection). The curve is
P-256: its order is prime and the library refuses what is not on it, so no small subgroup and no twist has to be thought
of. Only x-coordinates travel; k·P and −k·P have the same one.

A peer that holds none of our ids must not be able to pass for one that does. So both are bound to all their points
before either shows one, in both rounds: what it sends cannot be made from what we sent. And every id travels twice,
under two secrets whose quotient only its owner knows, all in a random order: a peer that does not treat all our points
alike must know which belong together.

Two parties learn which of their records they share and how many the other has. With more, neighbours in the plan's
order intersect one after the other, so that an early party may also learn what it shares with its neighbour alone.
"""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.asymmetric import ec
from numpy.typing import NDArray

from kakuran.errors import DataError, ProtocolError
from kakuran.randomness import Randomness
from kakuran.vertical.earlier import EarlierRuns
from kakuran.vertical.messages import AlignmentCheck, Blinded, Commitment, Kept, Opening, Reblinded, SetSize
from kakuran.vertical.plan import VerticalPlan
from kakuran.vertical.transport import Link
from kakuran.words import Phrase


def read_ids(table: pa.Table, name: str) -> list[bytes]:
    """The ids of a table, in its column of this name."""
    if name not in table.column_names:
        raise DataError(name, Phrase("is the column of ids in the plan but not in the data"), Phrase("Rename it."))
    return canonical_ids(table.column(name), name)


def canonical_ids(column: pa.ChunkedArray, name: str) -> list[bytes]:
    """The ids as bytes: whole numbers in decimal, text without surrounding blanks, in Unicode's composed form.

    Problems are reported by what is wrong, never by whose record it is.
    """
    if column.null_count:
        raise DataError(
            name, Phrase("missing ids: {count:,}", count=column.null_count), Phrase("Every record needs an id.")
        )
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise DataError(
            name,
            Phrase("ids are {kind}, which two tables may write differently", kind=kind),
            Phrase("Make them text or integers."),
        )
    texts = [unicodedata.normalize("NFC", text).strip() for text in pc.cast(column, pa.string()).to_pylist()]
    if "" in texts:
        raise DataError(
            name, Phrase("blank ids: {count:,}", count=texts.count("")), Phrase("Every record needs an id.")
        )
    repeated = len(texts) - len(set(texts))
    if repeated:
        raise DataError(
            name,
            Phrase("records that repeat an id: {repeated:,}", repeated=repeated),
            Phrase("Give each person one record."),
        )
    return [text.encode() for text in texts]


POINT_SIZE = 32
Points: TypeAlias = NDArray[np.bytes_]
"""Points by their x-coordinates, 32 bytes each."""
_CURVE = ec.SECP256R1()
_EXCHANGE = ec.ECDH()


class Blinding:
    """A secret for one run; blinding by two parties gives the same in either order."""

    def __init__(self) -> None:
        self._secret = ec.generate_private_key(_CURVE)

    def hide(self, identifiers: Iterable[bytes], salt: bytes) -> Points:
        """Ids, blinded."""
        return self._multiplied(_point_of(identifier, salt) for identifier in identifiers)

    def hide_again(self, points: Points) -> Points:
        """What somebody else blinded, blinded by us as well."""
        content = memoryview(points.tobytes())
        starts = range(0, len(content), POINT_SIZE)
        try:
            return self._multiplied(_decode(bytes(content[start : start + POINT_SIZE])) for start in starts)
        except ValueError:
            raise ProtocolError(Phrase("the peer sent a blinded id that is not a point of the curve")) from None

    def _multiplied(self, points: Iterable[ec.EllipticCurvePublicKey]) -> Points:
        out = bytearray()
        for point in points:
            out += self._secret.exchange(_EXCHANGE, point)
        return as_points(bytes(out))


def as_points(content: bytes) -> Points:
    """Points as they travel."""
    return np.frombuffer(content, f"S{POINT_SIZE}")


def _point_of(identifier: bytes, salt: bytes) -> ec.EllipticCurvePublicKey:
    """Hash to the curve by trying: half of all numbers are x-coordinates of it."""
    attempt = 0
    while True:
        digest = hashlib.sha256(b"kakuran id\0%d\0%s\0%s" % (attempt, salt, identifier)).digest()
        try:
            return _decode(digest)
        except ValueError:
            attempt += 1


def _decode(x: bytes) -> ec.EllipticCurvePublicKey:
    return ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, b"\x02" + x)


_CHUNK = 4096
_PATIENCE = 30
"""How many times longer we wait for a neighbour that may still be busy with another."""
_POINTS_A_TURN = 20_000
"""Points for which we wait once longer: many times what computing them takes."""
_NOTHING = EarlierRuns(None)


@dataclass(frozen=True)
class Matching:
    """What holds for an intersection: salt of the ids, the peer's largest set, patience for the first word.

    And where it is remembered, how many ids may be tried a year, and who is told of it.
    """

    salt: bytes
    most_ids: float
    patience: float = 1
    earlier: EarlierRuns = _NOTHING
    ids_per_year: float = np.inf
    notify: Callable[[str], object] = lambda _: None


@dataclass(frozen=True)
class Shared:
    """Records shared with one peer: our row of each, and the value both sides know it by, in the common order."""

    rows: NDArray[np.int64]
    values: Points

    def at(self, places: NDArray[np.int64]) -> Shared:
        """Some of the records, in this order."""
        return Shared(self.rows[places], self.values[places])

    def digest(self) -> bytes:
        """A digest both sides can compare before any statistics."""
        return hashlib.sha256(b"kakuran order\0" + self.values.tobytes()).digest()


def align(
    links: Mapping[str, Link],
    plan: VerticalPlan,
    me: str,
    identifiers: list[bytes],
    earlier: EarlierRuns = _NOTHING,
    notify: Callable[[str], object] = lambda _: None,
) -> NDArray[np.int64]:
    """Our rows of the records everybody shares, in the order everybody uses."""
    names, salt = plan.names, plan.fingerprint.encode()
    place = names.index(me)
    before = links[names[place - 1]] if place > 0 else None
    after = links[names[place + 1]] if place + 1 < len(names) else None
    if before is None and after is None:
        raise ProtocolError(Phrase("a plan needs at least two parties"))
    _check_own_size(len(identifiers), plan.most_ids(me))
    patience = 1 if len(names) == 2 else _PATIENCE
    matching = Matching(salt, plan.limits.most_ids, patience, earlier, plan.limits.ids_per_year, notify)
    rows = np.arange(len(identifiers))
    if before is not None:
        allowed = replace(matching, most_ids=plan.most_ids(before.peer))
        with_before = intersect(before, identifiers, allowed, speaks_first=False)
        rows = with_before.rows
    if after is not None:
        ours, allowed = (
            [identifiers[row] for row in rows.tolist()],
            replace(matching, most_ids=plan.most_ids(after.peer)),
        )
        with_after = intersect(after, ours, allowed, speaks_first=True)
        if place + 2 < len(names):
            with_after = with_after.at(_receive_places(after, len(with_after.rows)))
        if before is not None:
            _send_places(before, with_after.rows)
            with_before = with_before.at(with_after.rows)
        rows = rows[with_after.rows]
        _check(after, with_after, matching.patience)
    if before is not None:
        _check(before, with_before, matching.patience)
    for peer in names:
        if abs(names.index(peer) - place) > 1:
            _check_without_neighbours(links[peer], [identifiers[row] for row in rows.tolist()], matching, place, names)
    return rows


def _check_without_neighbours(
    link: Link, kept: list[bytes], matching: Matching, place: int, names: tuple[str, ...]
) -> None:
    """See for ourselves that a party with others between us has the same records in the same order."""
    matching = replace(matching, most_ids=len(kept))  # whoever brings more than all share brings guesses
    shared = intersect(link, kept, matching, speaks_first=place < names.index(link.peer))
    if len(shared.rows) < len(kept):
        raise ProtocolError(
            Phrase("{peer} does not hold all the records that are said to be shared by all", peer=link.peer)
        )
    in_order = np.empty_like(shared.values)
    in_order[shared.rows] = shared.values
    _check(link, Shared(np.arange(len(kept)), in_order), matching.patience)


def intersect(link: Link, identifiers: list[bytes], matching: Matching, *, speaks_first: bool) -> Shared:
    """Which of our ids the peer has as well; it learns the same of its own."""
    count = len(identifiers)
    theirs_count = _swap_sizes(link, count, matching, speaks_first)
    matching.notify(Phrase("{peer} brings {theirs:,} ids to compare with ours", peer=link.peer, theirs=theirs_count))
    matching.earlier.compare(link.peer, theirs_count, count, most=matching.ids_per_year)
    patience = 1 + (count + theirs_count) / _POINTS_A_TURN
    blinding, twin = Blinding(), Blinding()
    hidden = blinding.hide(identifiers, matching.salt)
    order = Randomness.secure().permutation(2 * count)
    ours = np.concatenate([hidden, twin.hide_again(hidden)])[order]
    theirs = _swap_points(link, Blinded, ours, 2 * theirs_count, speaks_first, patience)
    _check_set(link, theirs, ours)
    theirs_twice = blinding.hide_again(theirs)
    answers = _swap_points(link, Reblinded, theirs_twice, 2 * count, speaks_first, patience)
    ours_twice = np.empty_like(answers)
    ours_twice[order] = answers
    if (twin.hide_again(ours_twice[:count]) != ours_twice[count:]).any():
        raise ProtocolError(
            Phrase(
                "{peer} did not blind all our ids alike; it may be claiming records it does not have", peer=link.peer
            )
        )
    common, rows, _ = np.intersect1d(ours_twice[:count], theirs_twice, return_indices=True)
    if len(common) > theirs_count:
        raise ProtocolError(
            Phrase(
                "{peer} shares more ids than the {theirs_count:,} it said it brings",
                peer=link.peer,
                theirs_count=theirs_count,
            )
        )
    matching.earlier.compared(link.peer, len(common))
    if not len(common):
        raise ProtocolError(
            Phrase(
                "no id is shared with {peer}, which brought {theirs:,}; are they written alike on both sides, or is it "
                "guessing?",
                peer=link.peer,
                theirs=theirs_count,
            )
        )
    return Shared(rows.astype(np.int64), common)


def _check_own_size(count: int, most: float) -> None:
    if not 1 <= count <= most:
        raise ProtocolError(
            Phrase(
                "we bring {count:,} ids; the plan's most_ids is {most:,} for us: agree on another",
                count=count,
                most=most,
            )
        )


def _swap_sizes(link: Link, count: int, matching: Matching, speaks_first: bool) -> int:
    theirs = link.swap(SetSize(count), speaks_first=speaks_first, patience=matching.patience).ids
    if not 1 <= theirs <= matching.most_ids:
        raise ProtocolError(
            Phrase(
                "{peer} wants to bring {theirs:,} ids; the plan's most_ids is {most:,} for it",
                peer=link.peer,
                theirs=theirs,
                most=matching.most_ids,
            )
        )
    return theirs


def _swap_points(
    link: Link, kind: type[Blinded] | type[Reblinded], ours: Points, due: int, speaks_first: bool, patience: float
) -> Points:
    """Show all our points and see all of theirs, both bound to them before the first is shown."""
    said, nonce = link.transcript.digest(we_first=speaks_first), Randomness.secure().words(4).tobytes()
    commitment = Commitment(_binding(said, nonce, ours, by_first=speaks_first))
    bound = link.swap(commitment, speaks_first=speaks_first, patience=patience).digest
    if speaks_first:
        _send_points(link, kind, ours, nonce)
    theirs, opening = _receive_points(link, kind, due), link.receive(Opening).nonce
    if not speaks_first:
        _send_points(link, kind, ours, nonce)
    if not hmac.compare_digest(bound, _binding(said, opening, theirs, by_first=not speaks_first)):
        raise ProtocolError(Phrase("{peer} sent other blinded ids than those it was bound to", peer=link.peer))
    return theirs


def _binding(said: bytes, nonce: bytes, points: Points, *, by_first: bool) -> bytes:
    """Who, after which words, is bound to what: so that nobody can be bound by handing back our own.

    Without the random number a peer could try which of our points gives the answers that we are bound to.
    """
    who = b"kakuran points\0%d\0%d\0" % (by_first, len(nonce))
    return hashlib.sha256(who + said + nonce + points.tobytes()).digest()


def _send_points(link: Link, kind: type[Blinded] | type[Reblinded], points: Points, nonce: bytes) -> None:
    for start in range(0, len(points), _CHUNK):
        link.send(kind(points[start : start + _CHUNK].tobytes()))
    link.send(Opening(nonce))


def _receive_points(link: Link, kind: type[Blinded] | type[Reblinded], due: int) -> Points:
    received = np.empty(due, f"S{POINT_SIZE}")
    for start in range(0, due, _CHUNK):
        chunk = received[start : start + _CHUNK]
        content = link.receive(kind).points
        if len(content) != chunk.nbytes:
            raise ProtocolError(
                Phrase(
                    "{peer} sent {found:,} bytes of blinded ids where {due:,} are due",
                    peer=link.peer,
                    found=len(content),
                    due=chunk.nbytes,
                )
            )
        chunk[:] = as_points(content)
    return received


def _check_set(link: Link, theirs: Points, ours: Points) -> None:
    """A set has no point twice, and none of those that only we can have made."""
    if len(np.unique(theirs)) < len(theirs):
        raise ProtocolError(Phrase("{peer} sent a blinded id twice", peer=link.peer))
    if np.isin(theirs, ours).any():
        raise ProtocolError(Phrase("{peer} handed our own blinded ids back to us", peer=link.peer))


def _send_places(link: Link, places: NDArray[np.int64]) -> None:
    for start in range(0, len(places), _CHUNK):
        link.send(Kept(places[start : start + _CHUNK], last=start + _CHUNK >= len(places)))


def _receive_places(link: Link, shared: int) -> NDArray[np.int64]:
    chunks: list[Kept] = []
    while not chunks or not chunks[-1].last:
        chunk = link.receive(Kept, patience=_PATIENCE)
        chunks.append(chunk)
        if (chunk.places.size != _CHUNK and not chunk.last) or sum(each.places.size for each in chunks) > shared:
            raise ProtocolError(Phrase("{peer} kept records that we do not share", peer=link.peer))
    places = np.concatenate([chunk.places.ravel() for chunk in chunks])
    if not len(places):
        raise ProtocolError(
            Phrase("no record is shared by all; are the ids written alike by {peer} and the others?", peer=link.peer)
        )
    if len(np.unique(places)) < len(places) or not ((places >= 0) & (places < shared)).all():
        raise ProtocolError(Phrase("{peer} kept records that we do not share", peer=link.peer))
    return places


def _check(link: Link, shared: Shared, patience: float) -> None:
    """Both sides must hold the same records in the same order before anything is computed from them."""
    link.send(AlignmentCheck(len(shared.rows), shared.digest()))
    theirs = link.receive(AlignmentCheck, patience=patience)
    if theirs.records != len(shared.rows) or theirs.digest != shared.digest():
        raise ProtocolError(
            Phrase("our records are not in the order of {peer}'s; start both sides again", peer=link.peer)
        )
