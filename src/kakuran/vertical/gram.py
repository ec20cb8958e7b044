"""One exchange of encrypted cross-products, by a seed both sides tossed for; every model can then be fitted.

The owner of the key tells the multiplier every sum it reads, so a multiplier who returned what it liked would be told
what it liked, the key among it. The owner therefore sends one column more, the sum of the others times secret weights,
and tells nothing unless the sums with that column are the sums of the other sums times the same weights.

Everybody's moments with everybody's: encrypted between each pair, then told to all.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import ProtocolError
from kakuran.randomness import Randomness
from kakuran.typing import Array
from kakuran.vertical.checkpoints import Checkpoints
from kakuran.vertical.encryption import (
    PLAIN_MODULUS,
    KeyOwner,
    Multiplier,
    Seed,
    SumOfProducts,
    combined,
    precision,
    secret_weights,
)
from kakuran.vertical.messages import Columns, Commitment, CrossMoments, EncryptionKey, OwnMoments, Products, TossShare
from kakuran.vertical.own import Standardised
from kakuran.vertical.plan import VerticalPlan
from kakuran.vertical.polynomials import DEGREE
from kakuran.vertical.regression import Moments
from kakuran.vertical.transport import Link, with_each
from kakuran.words import Phrase

Integers: TypeAlias = NDArray[np.int64]
_SIDE_BY_SIDE = 16
"""Most columns in one ciphertext; every sum a reply opens is a hint at what hides its other half, and 16 are few."""


@dataclass(frozen=True)
class SlotLayout:
    """How columns lie in polynomials: several in one where records are few, several for one where they are many."""

    records: int

    @property
    def together(self) -> int:
        """Columns in one polynomial."""
        return max(1, min(_SIDE_BY_SIDE, DEGREE // self.records))

    @property
    def chunks(self) -> int:
        """Polynomials for one column."""
        return -(-self.records // DEGREE)

    @property
    def length(self) -> int:
        """Coefficients one column takes in a polynomial."""
        return min(self.records, DEGREE)

    def groups(self, columns: int) -> int:
        """Groups of columns that share polynomials."""
        return -(-columns // self.together)

    def members(self, columns: int, group: int) -> range:
        """The columns of a group."""
        return range(group * self.together, min((group + 1) * self.together, columns))

    def places(self, columns: int, group: int) -> list[int]:
        """Where the sums of a group's columns are found: where the last of each is multiplied with the last of ours."""
        return [(at + 1) * self.length - 1 for at in range(len(self.members(columns, group)))]

    def side_by_side(self, columns: NDArray[Any], group: int, chunk: int) -> NDArray[Any]:
        """One chunk of a group of columns, one after the other."""
        members = self.members(columns.shape[1], group)
        laid = np.zeros((self.together, self.length), columns.dtype)
        rows = columns[chunk * DEGREE : (chunk + 1) * DEGREE, members.start : members.stop]
        laid[: len(members), : len(rows)] = rows.T
        return _padded(laid.ravel())

    def backwards(self, column: Integers, chunk: int) -> Integers:
        """One chunk of one column from its last record to its first, so that a product sums record by record."""
        laid = np.zeros(self.length, np.int64)
        rows = column[chunk * DEGREE : (chunk + 1) * DEGREE]
        laid[: len(rows)] = rows
        return _padded(laid[::-1])


def _padded(laid: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([laid, np.zeros(DEGREE - len(laid), laid.dtype)])


def rounded(standardised: Array, bits: int) -> Integers:
    """Columns as whole numbers of `bits` binary digits.

    Both a party's own moments and those it shares are computed from these, so that together they are the moments of
    one real table: rounding then costs the condition number once, not twice.
    """
    return np.rint(np.ldexp(standardised, bits)).astype(np.int64)


def moments_of(columns: Integers, bits: int) -> Array:
    """The moments among rounded columns, in standardised units."""
    scaled = np.ldexp(columns.astype(np.float64), -bits)
    return np.asarray(scaled.T @ scaled / len(columns))


def cross_moments_as_owner(link: Link, columns: Integers, their_columns: int, bits: int) -> Array:
    """Encrypt our columns, read the sums of products, tell the peer: their columns × ours."""
    layout, weights = SlotLayout(len(columns)), secret_weights(columns.shape[1])
    owner = KeyOwner(_tossed_as_owner(link))
    link.send(EncryptionKey(owner.public_key()))
    checked = np.column_stack([columns.astype(object), combined(columns, weights)])
    sums = np.zeros((their_columns, checked.shape[1]), object)
    for group in range(layout.groups(checked.shape[1])):
        for chunk in range(layout.chunks):
            link.send(Columns(group, owner.encrypt(layout.side_by_side(checked, group, chunk), group, chunk)))
        members, places = layout.members(checked.shape[1], group), layout.places(checked.shape[1], group)
        for theirs in range(their_columns):
            reply = _expect(link.receive(Products), theirs, link)
            sums[theirs, members.start : members.stop] = owner.decrypt(reply.body, reply.sums, places)
    if ((sums[:, :-1] * weights).sum(axis=1) % PLAIN_MODULUS != sums[:, -1] % PLAIN_MODULUS).any():
        raise ProtocolError(
            Phrase("the products that {peer} returned are not those of one table; it was told nothing", peer=link.peer)
        )
    moments: Array = np.ldexp(sums[:, :-1].astype(np.float64), -2 * bits) / len(columns)
    if np.abs(moments).max() > 1.01:
        raise ProtocolError(
            Phrase("the products that {peer} returned make no sense; are both kakurans the same?", peer=link.peer)
        )
    link.send(CrossMoments("", "", moments))
    return moments


def cross_moments_as_multiplier(link: Link, columns: Integers, their_columns: int) -> Array:
    """Multiply the peer's encrypted columns with ours and learn the sums from it: our columns × theirs."""
    layout, checked = SlotLayout(len(columns)), their_columns + 1
    seed = _tossed_as_multiplier(link)
    multiplier = Multiplier(seed, link.receive(EncryptionKey).key)
    ours = [
        [multiplier.prepare(layout.backwards(column, chunk)) for chunk in range(layout.chunks)] for column in columns.T
    ]
    for group in range(layout.groups(checked)):
        totals = [SumOfProducts() for _ in ours]
        for chunk in range(layout.chunks):
            received = multiplier.load(_expect(link.receive(Columns), group, link).ciphertext, group, chunk)
            for total, prepared in zip(totals, ours, strict=True):
                total.add(received, prepared[chunk])
        for place, total in enumerate(totals):
            link.send(Products(place, *multiplier.seal(total.reduced(), layout.places(checked, group))))
    moments = link.receive(CrossMoments).moments
    if moments.shape != (columns.shape[1], their_columns) or np.abs(moments).max() > 1.01:
        raise ProtocolError(Phrase("{peer} sent moments that no columns of the plan have", peer=link.peer))
    return moments


def _tossed_as_owner(link: Link) -> Seed:
    """Toss the public randomness: we are bound to our share before we see the peer's."""
    ours = Randomness.secure().words(4).tobytes()
    link.send(Commitment(_commitment(ours)))
    theirs = link.receive(TossShare).share
    link.send(TossShare(ours))
    return _seed(link, ours, theirs, we_own=True)


def _tossed_as_multiplier(link: Link) -> Seed:
    """The other side of the toss: the peer is bound to its share before it sees ours."""
    bound = link.receive(Commitment).digest
    ours = Randomness.secure().words(4).tobytes()
    link.send(TossShare(ours))
    theirs = link.receive(TossShare).share
    if not hmac.compare_digest(bound, _commitment(theirs)):
        raise ProtocolError(Phrase("{peer} tossed another number than the one it was bound to", peer=link.peer))
    return _seed(link, theirs, ours, we_own=False)


def _commitment(share: bytes) -> bytes:
    return hashlib.sha256(b"kakuran toss\0" + share).digest()


def _seed(link: Link, owners: bytes, multipliers: bytes, *, we_own: bool) -> Seed:
    if len(owners) != len(multipliers):
        raise ProtocolError(Phrase("{peer} tossed a number of another length than ours", peer=link.peer))
    said = link.transcript.digest(we_first=we_own)
    return Seed(hashlib.sha256(b"kakuran seed\0" + owners + multipliers + said).digest())


def _expect(message: Any, place: int, link: Link) -> Any:
    if message.place != place:
        raise ProtocolError(
            Phrase(
                "{peer} sent {kind} {found} where {due} was due",
                peer=link.peer,
                kind=type(message).__name__,
                found=message.place,
                due=place,
            )
        )
    return message


_SMALLEST_SCALE = 1e-100


def check_scale(target_scale: float, holder: str) -> None:
    """Refuse a scale of the target whose square no number holds."""
    if not _SMALLEST_SCALE < target_scale < 1 / _SMALLEST_SCALE:
        raise ProtocolError(
            Phrase("{holder} did not tell a scale of the target that can be computed with", holder=holder)
        )


def pair_stage(names: tuple[str, ...], one: str, other: str) -> str:
    """The name of the stage at which two parties know the moments between them."""
    low, high = sorted((names.index(one), names.index(other)))
    return f"pair-{low}-{high}"


def pool_moments(
    links: Mapping[str, Link],
    plan: VerticalPlan,
    me: str,
    own: Standardised,
    checkpoints: Checkpoints,
    done: frozenset[str],
    notify: Callable[[str], object],
) -> Moments:
    """The moments of all parties' columns and the target; stages in `done` are taken from the checkpoints."""
    records, names = len(own.values), plan.names
    bits = precision(records)
    whole = rounded(own.values, bits)

    def with_peer(peer: str) -> Array:
        stage = pair_stage(names, me, peer)
        if stage in done:
            return checkpoints.load(stage)[1]["moments"]
        theirs = len(plan.held_by(peer))
        if plan.comes_before(me, peer):
            moments = cross_moments_as_multiplier(links[peer], whole, theirs)
        else:
            moments = cross_moments_as_owner(links[peer], whole, theirs, bits).T
        low_first = moments if plan.comes_before(me, peer) else moments.T
        tag = hashlib.sha256(np.ascontiguousarray(low_first).tobytes()).hexdigest()
        checkpoints.save(stage, tag, {}, moments=moments)
        notify(f"moments with {peer} are known")
        return moments

    blocks = {(me, peer): moments for peer, moments in with_each(links, with_peer).items()}
    scale = float(own.scales[-1]) if plan.holder == me else 0.0
    blocks[me, me] = moments_of(whole, bits)
    ours = OwnMoments(blocks[me, me], scale)
    scales = {me: scale}
    for peer, told in with_each(links, lambda peer: _tell_all(links, plan, me, peer, ours, blocks)).items():
        their_own, crossed = told
        blocks[peer, peer], scales[peer] = their_own.moments, their_own.target_scale
        for message in crossed:
            blocks[message.rows, message.columns] = message.moments
    return _assembled(plan, blocks, records, scales[plan.holder], bits)


def _tell_all(
    links: Mapping[str, Link],
    plan: VerticalPlan,
    me: str,
    peer: str,
    ours: OwnMoments,
    blocks: Mapping[tuple[str, str], Array],
) -> tuple[OwnMoments, list[CrossMoments]]:
    """Tell a peer our own moments and those we have with others; hear the same from it."""
    link, names = links[peer], plan.names
    speaks_first = plan.comes_before(me, peer)

    def tell() -> None:
        link.send(ours)
        for third in names[names.index(me) + 1 :]:
            if third != peer:
                link.send(CrossMoments(me, third, blocks[me, third]))

    if speaks_first:
        tell()
    their_own = link.receive(OwnMoments)
    expected = [third for third in names[names.index(peer) + 1 :] if third != me]
    crossed = [_expect_moments(link.receive(CrossMoments), peer, third) for third in expected]
    if not speaks_first:
        tell()
    return their_own, crossed


def _expect_moments(message: CrossMoments, rows: str, columns: str) -> CrossMoments:
    if (message.rows, message.columns) != (rows, columns):
        raise ProtocolError(Phrase("{rows} sent other moments than those with {columns}", rows=rows, columns=columns))
    return message


def _assembled(
    plan: VerticalPlan, blocks: dict[tuple[str, str], Array], records: int, target_scale: float, bits: int
) -> Moments:
    """One symmetric matrix over all columns in the plan's order, the target last."""
    everything = [(party, name) for party in plan.names for name in plan.held_by(party)]
    sizes = {party: len(plan.held_by(party)) for party in plan.names}
    rows = []
    for one in plan.names:
        row = [blocks[one, other] if (one, other) in blocks else blocks[other, one].T for other in plan.names]
        for other, block in zip(plan.names, row, strict=True):
            if block.shape != (sizes[one], sizes[other]):
                raise ProtocolError(
                    Phrase(
                        "the moments between {one} and {other} have another shape than the plan's columns",
                        one=one,
                        other=other,
                    )
                )
        rows.append(row)
    matrix = np.block(rows)
    order = sorted(range(len(everything)), key=lambda place: everything[place][1] == plan.target)
    check_scale(target_scale, plan.holder)
    matrix = matrix[np.ix_(order, order)]
    return Moments(plan.columns, plan.owners, (matrix + matrix.T) / 2, records, plan.intercept, target_scale, bits)
