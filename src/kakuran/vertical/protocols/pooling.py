"""Everybody's moments with everybody's: encrypted between each pair, then told to all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

import numpy as np

from kakuran.errors import ProtocolError
from kakuran.vertical.checkpoints import Checkpoints
from kakuran.vertical.messages import CrossMoments, OwnMoments
from kakuran.vertical.own import Standardised
from kakuran.vertical.plan import VerticalPlan
from kakuran.vertical.protocols.encryption import precision
from kakuran.vertical.protocols.gram import (
    cross_moments_as_multiplier,
    cross_moments_as_owner,
    moments_of,
    rounded,
)
from kakuran.vertical.regression.moments import Array, Moments
from kakuran.vertical.transport import Link, with_each

_SMALLEST_SCALE = 1e-100


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
    crossed = [_expect(link.receive(CrossMoments), peer, third) for third in expected]
    if not speaks_first:
        tell()
    return their_own, crossed


def _expect(message: CrossMoments, rows: str, columns: str) -> CrossMoments:
    if (message.rows, message.columns) != (rows, columns):
        raise ProtocolError(f"{rows} sent other moments than those with {columns}")
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
                raise ProtocolError(f"the moments between {one} and {other} have another shape than the plan's columns")
        rows.append(row)
    matrix = np.block(rows)
    order = sorted(range(len(everything)), key=lambda place: everything[place][1] == plan.target)
    if not _SMALLEST_SCALE < target_scale < 1 / _SMALLEST_SCALE:
        raise ProtocolError(f"{plan.holder} did not tell a scale of the target that can be computed with")
    matrix = matrix[np.ix_(order, order)]
    return Moments(plan.columns, plan.owners, (matrix + matrix.T) / 2, records, plan.intercept, target_scale, bits)
