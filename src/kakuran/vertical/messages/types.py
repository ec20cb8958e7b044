"""The kinds of messages: one frozen class each, with its number on the wire and the most bytes it may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

KIB, MIB = 1 << 10, 1 << 20


class Message:
    """Base of every message; fields are int, float, bool, str, bytes or arrays of float64 or int64."""

    code: ClassVar[int]
    limit: ClassVar[int]
    """Most bytes the encoded fields may take."""
    may_be_endless: ClassVar[bool] = False
    """Whether a number may be infinite."""


@dataclass(frozen=True, eq=False)
class Hello(Message):
    """The first message of both sides: who speaks, by which plan, and how far an earlier run got."""

    code, limit = 1, 64 * KIB
    party: str
    version: str
    fingerprint: str
    purpose: str
    """To fit, or for whom to predict with which model: all parties must mean the same."""
    nonce: bytes
    """Random; all nonces together name the run."""
    stages: str
    """Completed stages and their tags, as JSON."""


@dataclass(frozen=True, eq=False)
class Refusal(Message):
    """The sender stops; the reason holds nothing of its data."""

    code, limit = 2, 4 * KIB
    reason: str


@dataclass(frozen=True, eq=False)
class SetSize(Message):
    """How many ids the sender brings; it will send twice as many points."""

    code, limit = 22, KIB
    ids: int


@dataclass(frozen=True, eq=False)
class Blinded(Message):
    """Ids as points of a curve, blinded by the sender, 32 bytes each."""

    code, limit = 3, MIB
    points: bytes


@dataclass(frozen=True, eq=False)
class Reblinded(Message):
    """The receiver's points, in its order, blinded by the sender as well."""

    code, limit = 4, MIB
    points: bytes


@dataclass(frozen=True, eq=False)
class Kept(Message):
    """Which of the records shared by these two are shared by everybody, in the common order."""

    code, limit = 5, MIB
    places: NDArray[np.int64]
    last: bool


@dataclass(frozen=True, eq=False)
class AlignmentCheck(Message):
    """How many records are shared, and a digest of their order."""

    code, limit = 6, KIB
    records: int
    digest: bytes


@dataclass(frozen=True, eq=False)
class Commitment(Message):
    """Binds the sender to what it will show, before it sees what the other shows."""

    code, limit = 20, KIB
    digest: bytes


@dataclass(frozen=True, eq=False)
class Opening(Message):
    """The random number in a `Commitment`, once all that it binds to was shown."""

    code, limit = 23, KIB
    nonce: bytes


@dataclass(frozen=True, eq=False)
class TossShare(Message):
    """The sender's share of randomness that both will use."""

    code, limit = 21, KIB
    share: bytes


@dataclass(frozen=True, eq=False)
class EncryptionKey(Message):
    """The half of the public key that is not tossed."""

    code, limit = 7, MIB
    key: bytes


@dataclass(frozen=True, eq=False)
class Columns(Message):
    """The half of one ciphertext of the sender's columns that is not tossed."""

    code, limit = 8, MIB
    place: int
    ciphertext: bytes


@dataclass(frozen=True, eq=False)
class Products(Message):
    """The sums of products with one of the sender's columns: the half that hides them, and the hidden sums."""

    code, limit = 9, MIB
    place: int
    body: bytes
    sums: bytes


@dataclass(frozen=True, eq=False)
class CrossMoments(Message):
    """The moments between two parties' columns, told to one that does not know them yet."""

    code, limit = 10, 16 * MIB
    rows: str
    columns: str
    moments: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OwnMoments(Message):
    """The moments among the sender's own columns; the target's scale if it holds the target, else 0."""

    code, limit = 11, 16 * MIB
    moments: NDArray[np.float64]
    target_scale: float


@dataclass(frozen=True, eq=False)
class Target(Message):
    """The target, which S2's protocol needs both to know."""

    code, limit = 12, 256 * MIB
    values: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FittedPart(Message):
    """The sender's part of a fit, one number a record (S2 eq. 4); `settled` ends the rounds."""

    code, limit = 13, 256 * MIB
    values: NDArray[np.float64]
    settled: bool


@dataclass(frozen=True, eq=False)
class Offer(Message):
    """The sender's least useful column and RSS/N without it (S2 eq. 12, 13); infinite if it offers none."""

    code, limit = 14, KIB
    may_be_endless = True
    column: str
    variance: float


@dataclass(frozen=True, eq=False)
class Space(Message):
    """An orthonormal basis, turned at random, of the space the sender's columns span."""

    code, limit = 15, 1024 * MIB
    basis: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimates(Message):
    """The sender's coefficients in standardised units, their standard errors and variance inflation factors."""

    code, limit = 16, MIB
    coefficients: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    vif: NDArray[np.float64]
    condition: float


@dataclass(frozen=True, eq=False)
class Mask(Message):
    """Random numbers the sender adds to its part of a prediction and the receiver takes off its own."""

    code, limit = 18, 256 * MIB
    words: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MaskedPart(Message):
    """The sender's part of predictions, in whole steps modulo 2⁶⁴, under the masks it shares with others."""

    code, limit = 19, 256 * MIB
    words: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class InterceptPart(Message):
    """What the sender's columns take off the intercept: the sum of its coefficients times its means."""

    code, limit = 17, KIB
    value: float
