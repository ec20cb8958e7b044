"""One exchange of encrypted cross-products; afterwards every model can be fitted without another round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import ProtocolError
from kakuran.vertical.messages import Columns, CrossMoments, EncryptionKey, Products
from kakuran.vertical.protocols.encryption import SLOTS, KeyOwner, Multiplier, block_sum, centred
from kakuran.vertical.regression.moments import Array
from kakuran.vertical.transport import Link

Integers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """How columns lie in ciphertexts: several in one where records are few, several for one where they are many."""

    records: int

    @property
    def together(self) -> int:
        """Columns in one ciphertext."""
        return max(1, SLOTS // self.records)

    @property
    def chunks(self) -> int:
        """Ciphertexts for one column."""
        return -(-self.records // SLOTS)

    @property
    def length(self) -> int:
        """Slots one column takes in a ciphertext."""
        return min(self.records, SLOTS)

    def groups(self, columns: int) -> int:
        """Groups of columns that share ciphertexts."""
        return -(-columns // self.together)

    def side_by_side(self, columns: Integers, group: int, chunk: int) -> Integers:
        """The slots of one chunk of a group of columns."""
        rows = columns[chunk * SLOTS : (chunk + 1) * SLOTS, group * self.together : (group + 1) * self.together]
        return _padded(rows.T.ravel())

    def repeated(self, column: Integers, chunk: int) -> Integers:
        """The slots of one chunk of one column, once for each column it is to be multiplied with."""
        return _padded(np.tile(column[chunk * SLOTS : (chunk + 1) * SLOTS], self.together))


def _padded(slots: Integers) -> Integers:
    return np.pad(slots, (0, SLOTS - len(slots)))


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
    layout = Layout(len(columns))
    sums = np.zeros((their_columns, columns.shape[1]))
    owner = KeyOwner()
    link.send(EncryptionKey(owner.public_key()))
    for group in range(layout.groups(columns.shape[1])):
        for chunk in range(layout.chunks):
            link.send(Columns(group, owner.encrypt(layout.side_by_side(columns, group, chunk))))
        for theirs in range(their_columns):
            reply = _expect(link.receive(Products), theirs, link)
            slots = owner.decrypt(reply.ciphertext)
            for ours in range(group * layout.together, min((group + 1) * layout.together, columns.shape[1])):
                start = (ours - group * layout.together) * layout.length
                sums[theirs, ours] = centred(block_sum(slots[start : start + layout.length]))
    moments: Array = np.ldexp(sums, -2 * bits) / len(columns)
    if np.abs(moments).max() > 1.01:
        raise ProtocolError(f"the products that {link.peer} returned make no sense; are both kakurans the same?")
    link.send(CrossMoments("", "", moments))
    return moments


def cross_moments_as_multiplier(link: Link, columns: Integers, their_columns: int) -> Array:
    """Multiply the peer's encrypted columns with ours and learn the sums from it: our columns × theirs."""
    layout = Layout(len(columns))
    multiplier = Multiplier(link.receive(EncryptionKey).key)
    ours = [
        [multiplier.prepare(layout.repeated(column, chunk)) for chunk in range(layout.chunks)] for column in columns.T
    ]
    for group in range(layout.groups(their_columns)):
        totals: list[Any | None] = [None] * len(ours)
        for chunk in range(layout.chunks):
            received = multiplier.load(_expect(link.receive(Columns), group, link).ciphertext)
            for place, prepared in enumerate(ours):
                totals[place] = multiplier.add_product(totals[place], received, prepared[chunk])
        blocks = min(layout.together, their_columns - group * layout.together)
        for place, total in enumerate(totals):
            link.send(Products(place, multiplier.seal(total, blocks, layout.length)))
    moments = link.receive(CrossMoments).moments
    if moments.shape != (columns.shape[1], their_columns):
        raise ProtocolError(f"{link.peer} sent moments of another shape than the plan has")
    return moments


def _expect(message: Any, place: int, link: Link) -> Any:
    if message.place != place:
        raise ProtocolError(f"{link.peer} sent {type(message).__name__} {message.place} where {place} was due")
    return message
