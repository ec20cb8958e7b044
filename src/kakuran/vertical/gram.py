"""One exchange of encrypted cross-products, by a seed both sides tossed for; every model can then be fitted.

The owner of the key tells the multiplier every sum it reads, so a multiplier who returned what it liked would be told
what it liked, the key among it. The owner therefore sends one column more, the sum of the others times secret weights,
and tells nothing unless the sums with that column are the sums of the other sums times the same weights.

Neither side may choose what the sums come to. Each therefore sends the other random columns, its decoys, hidden under
secret combinations of its own columns, and sees from the sums with them how long the columns are that were multiplied.

Everybody's moments with everybody's: encrypted between each pair, then told to all.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

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
    centred,
    combined,
    precision,
    secret_weights,
)
from kakuran.vertical.messages import (
    Columns,
    Commitment,
    CrossMoments,
    CrossSums,
    EncryptionKey,
    OwnMoments,
    Products,
    TossShare,
)
from kakuran.vertical.own import Standardised
from kakuran.vertical.plan import VerticalPlan
from kakuran.vertical.polynomials import DEGREE
from kakuran.vertical.regression import Moments
from kakuran.vertical.transport import Link, with_each
from kakuran.words import Phrase

Integers: TypeAlias = NDArray[np.int64]
_SIDE_BY_SIDE = 16
"""Most columns in one ciphertext; every sum a reply opens is a hint at what hides its other half, and 16 are few."""
_LARGEST_MOMENT = 1.01
"""Correlations are at most 1, but for rounding."""
DECOYS = 16
"""Secret random columns by which a party sees how long the others' are."""
DECOY_SUMS = 2
"""What the sums with decoys tell of a column, counted as whole sums: 16 times 7 bits are fewer than 2 times 58."""
_STANDARD = 32
"""A decoy's sum with a standardised column has a standard deviation of t over this, so that any other fills t."""
_NOISE = (_STANDARD / 256) ** 2 / 3
"""The variance of the noise the other side adds, uniform on ±t/256, as a part of that of such a sum."""
_SURPRISE = 12 * np.log(10)
"""Honest columns look too long once in 10¹² times."""


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


def cross_moments_as_owner(
    link: Link, columns: Integers, their_columns: int, bits: int, decoys: Integers
) -> tuple[Array, Array]:
    """Encrypt our columns, read the sums of products, tell the peer: their columns × ours, and theirs with decoys."""
    weights, groups = secret_weights(columns.shape[1], 1), SlotLayout(len(columns)).groups(columns.shape[1] + 1)
    owner = _key_sent(link)
    found = _read_sums(link, owner, np.column_stack([columns, combined(columns, weights)]), their_columns)
    sums = found[:, :-1]
    if ((sums @ weights.astype(object))[:, 0] % PLAIN_MODULUS != found[:, -1] % PLAIN_MODULUS).any():
        raise ProtocolError(
            Phrase("the products that {peer} returned are not those of one table; it was told nothing", peer=link.peer)
        )
    moments = _moments_from(sums, len(columns), bits)
    if np.abs(moments).max() > _LARGEST_MOMENT:
        raise ProtocolError(
            Phrase("the products that {peer} returned make no sense; are both kakurans the same?", peer=link.peer)
        )
    projections = _projections(link, owner, columns, decoys, sums, groups)
    link.send(CrossSums(sums.astype(np.int64)))
    multiplier = _key_received(link)
    _reply(link, multiplier, _prepared(columns), len(columns), decoys.shape[1], is_coarse=True)
    return moments, projections


def cross_moments_as_multiplier(
    link: Link, columns: Integers, their_columns: int, bits: int, decoys: Integers
) -> tuple[Array, Array]:
    """Multiply the peer's encrypted columns with ours and learn the sums from it: our columns × theirs, and decoys."""
    multiplier, ours, records = _key_received(link), _prepared(columns), len(columns)
    groups = _reply(link, multiplier, ours, records, their_columns + 1)
    _reply(link, multiplier, ours, records, decoys.shape[1], groups, is_coarse=True)
    sums = link.receive(CrossSums).sums.astype(object)
    if (
        sums.shape != (columns.shape[1], their_columns)
        or np.abs(moments := _moments_from(sums, records, bits)).max() > _LARGEST_MOMENT
    ):
        raise ProtocolError(Phrase("{peer} sent moments that no columns of the plan have", peer=link.peer))
    return moments, _projections(link, _key_sent(link), columns, decoys, sums.T)


def _moments_from(sums: NDArray[np.object_], records: int, bits: int) -> Array:
    return np.asarray(np.ldexp(sums.astype(np.float64), -2 * bits) / records)


def _key_sent(link: Link) -> KeyOwner:
    owner = KeyOwner(_tossed_as_owner(link))
    link.send(EncryptionKey(owner.public_key()))
    return owner


def _key_received(link: Link) -> Multiplier:
    seed = _tossed_as_multiplier(link)
    return Multiplier(seed, link.receive(EncryptionKey).key)


def _read_sums(
    link: Link, owner: KeyOwner, columns: Integers, their_columns: int, start: int = 0
) -> NDArray[np.object_]:
    """Send columns modulo t encrypted, from group `start` on, and read their sums with the peer's: theirs × these."""
    layout, count = SlotLayout(len(columns)), columns.shape[1]
    sums = np.zeros((their_columns, count), object)
    for group in range(layout.groups(count)):
        label = start + group
        for chunk in range(layout.chunks):
            link.send(Columns(label, owner.encrypt(layout.side_by_side(columns, group, chunk), label, chunk)))
        members, places = layout.members(count, group), layout.places(count, group)
        for theirs in range(their_columns):
            reply = _expect(link.receive(Products), theirs, link)
            sums[theirs, members.start : members.stop] = owner.decrypt(reply.body, reply.sums, places)
    return sums


def _prepared(columns: Integers) -> list[list[NDArray[np.uint32]]]:
    """Our columns by their chunks, ready to multiply with."""
    layout = SlotLayout(len(columns))
    return [
        [Multiplier.prepare(layout.backwards(column, chunk)) for chunk in range(layout.chunks)] for column in columns.T
    ]


def _reply(
    link: Link,
    multiplier: Multiplier,
    ours: list[list[NDArray[np.uint32]]],
    records: int,
    their_columns: int,
    start: int = 0,
    *,
    is_coarse: bool = False,
) -> int:
    """The other side of `_read_sums`: multiply with our columns; the number of the group that is next."""
    layout = SlotLayout(records)
    for group in range(layout.groups(their_columns)):
        totals, label = [SumOfProducts() for _ in ours], start + group
        for chunk in range(layout.chunks):
            received = multiplier.load(_expect(link.receive(Columns), label, link).ciphertext, label, chunk)
            for total, prepared in zip(totals, ours, strict=True):
                total.add(received, prepared[chunk])
        places = layout.places(their_columns, group)
        for place, total in enumerate(totals):
            link.send(Products(place, *multiplier.seal(total.reduced(), places, is_coarse=is_coarse)))
    return start + layout.groups(their_columns)


def draw_decoys(records: int, bits: int, randomness: Randomness) -> Integers:
    """Normal columns whose sums with a standardised one have a standard deviation of t/32, secret and ours alone."""
    uniform = ((randomness.words(records * DECOYS) >> np.uint64(11)) + 0.5) * 2.0**-53
    size = PLAIN_MODULUS / _STANDARD / np.sqrt(records) * 2.0**-bits
    return np.rint(size * special.ndtri(uniform)).astype(np.int64).reshape(records, DECOYS)


def _projections(
    link: Link,
    owner: KeyOwner,
    columns: Integers,
    decoys: Integers,
    sums: NDArray[np.object_],
    start: int = 0,
) -> Array:
    """The peer's columns times our decoys, in standard deviations of a sum with a standardised column: decoys × theirs.

    A decoy is sent under the sum of our columns times weights that are secret and its own. Whoever multiplies it with
    another column than the one whose `sums` (theirs × ours) it told, or told others, leaves a number that is uniform.
    """
    weights = secret_weights(columns.shape[1], decoys.shape[1])
    masked = (decoys + combined(columns, weights)) % PLAIN_MODULUS
    read = _read_sums(link, owner, masked, len(sums), start) - sums @ weights.astype(object)
    projections = np.vectorize(centred, otypes=[np.float64])(read.T) / (PLAIN_MODULUS / _STANDARD)
    _check_projections(projections, link)
    return np.asarray(projections)


def _check_projections(projections: Array, link: Link) -> None:
    most = DECOYS + 2 * np.sqrt(DECOYS * _SURPRISE) + 2 * _SURPRISE  # Laurent and Massart (2000), lemma 1
    if ((projections**2).sum(axis=0) > most * (1 + _NOISE)).any():
        raise ProtocolError(
            Phrase(
                "the sums with {peer}'s columns are not those of standardised columns: it told others than it read, or "
                "multiplied with other columns than the plan's. Nothing more is sent; ask how they were made",
                peer=link.peer,
            )
        )


def check_lengths(projections: Array, moments: Array) -> None:
    """Refuse moments of the others' columns by which a combination of these is shorter than our decoys show it to be.

    For normal decoys no combination is above the limit but once in 10¹² runs (Davidson and Szarek 2001, theorem II.13).
    """
    decoys, columns = projections.shape
    most = (np.sqrt(decoys) + np.sqrt(columns) + np.sqrt(2 * _SURPRISE)) ** 2
    if np.linalg.eigvalsh(most * (moments + _NOISE * np.eye(columns)) - projections.T @ projections)[0] < 0:
        raise ProtocolError(
            Phrase("the moments the others told of their own columns are not those of the columns they multiplied with")
        )


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
    # All peers are asked with the same decoys, also those of a run that was cut off.
    seed = checkpoints.load(min(done))[1]["seed"] if done else Randomness.secure().words(4)
    decoys = draw_decoys(records, bits, Randomness.derived(b"kakuran decoys\0" + seed.tobytes()))

    def with_peer(peer: str) -> tuple[Array, Array]:
        stage = pair_stage(names, me, peer)
        if stage in done:
            kept = checkpoints.load(stage)[1]
            return kept["moments"], kept["projections"]
        theirs, multiplies = len(plan.held_by(peer)), plan.comes_before(me, peer)
        exchange = cross_moments_as_multiplier if multiplies else cross_moments_as_owner
        low_first, projections = exchange(links[peer], whole, theirs, bits, decoys)
        tag = hashlib.sha256(np.ascontiguousarray(low_first).tobytes()).hexdigest()
        moments = low_first if multiplies else low_first.T
        checkpoints.save(stage, tag, {}, moments=moments, projections=projections, seed=seed)
        notify(f"moments with {peer} are known")
        return moments, projections

    known = with_each(links, with_peer)
    blocks = {(me, peer): moments for peer, (moments, _) in known.items()}
    scale = float(own.scales[-1]) if plan.holder == me else 0.0
    blocks[me, me] = moments_of(whole, bits)
    ours = OwnMoments(blocks[me, me], scale)
    scales = {me: scale}
    for peer, told in with_each(links, lambda peer: _tell_all(links, plan, me, peer, ours, blocks)).items():
        their_own, crossed = told
        blocks[peer, peer], scales[peer] = their_own.moments, their_own.target_scale
        for message in crossed:
            blocks[message.rows, message.columns] = message.moments
    moments = _as_first_told(
        _assembled(plan, blocks, records, scales[plan.holder], bits), checkpoints, is_over=len(done) == len(links)
    )
    seen = {name: column for peer in links for name, column in zip(plan.held_by(peer), known[peer][1].T, strict=True)}
    theirs = [name for name in (*plan.columns, plan.target) if name in seen]
    are_theirs = ~moments.are_of(own.names)
    check_lengths(np.column_stack([seen[name] for name in theirs]), moments.matrix[np.ix_(are_theirs, are_theirs)])
    return moments


def _as_first_told(moments: Moments, checkpoints: Checkpoints, *, is_over: bool) -> Moments:
    """The moments, or those of the run that goes on: others would be another model, with another part of the intercept.

    As many models as we have columns would tell all our means.
    """
    if is_over and "moments" in checkpoints.tags():
        kept = checkpoints.load("moments")[1]
        return replace(moments, matrix=kept["matrix"], target_scale=float(kept["target_scale"]))
    scale = np.array(moments.target_scale)
    checkpoints.save("moments", "", {}, matrix=moments.matrix, target_scale=scale)
    return moments


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
