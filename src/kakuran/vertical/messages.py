"""What parties say to each other: plain data without pickle; what is malformed or too large for its kind is refused.

    frame  = magic 4 · wire version 2 · kind 2 · length 4 · body · SHA-256 of all before
    body   = the fields in order: int64 or float64 little-endian, bool one byte, text and bytes with a 4-byte length,
             arrays with one byte for the kind, one for the number of axes, 8 bytes an axis, then the numbers

Decoding never runs anything the peer sent: a frame is a known kind with known fields of known types, or it is refused.
"""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import dataclass, fields
from typing import Any, ClassVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import ProtocolError
from kakuran.words import Phrase

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
class CrossSums(Message):
    """The sums of products the sender has read, our columns × theirs, as whole numbers: they are checked exactly."""

    code, limit = 24, 16 * MIB
    sums: NDArray[np.int64]


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
    spread: float
    """Standard deviation of its part of the fitted values, from which the step of predictions follows."""


WIRE_VERSION = 3
"""Raised whenever an older kakuran could misread a newer frame."""

_HEADER = struct.Struct("<4sHHI")
_MAGIC = b"KKRN"
_DIGEST_SIZE = 32
HEADER_SIZE = _HEADER.size
_FARTHEST = 1e100
"""Numbers larger than this come from no data, and their squares from no arithmetic."""

_KINDS = {kind.code: kind for kind in Message.__subclasses__()}
_ARRAY_TYPES = (np.dtype("<f8"), np.dtype("<i8"))
_HINTS = {kind: get_type_hints(kind) for kind in _KINDS.values()}


def numbers(count: int) -> int:
    """Most bytes of a message that holds so many numbers and little else."""
    return 8 * count + 256


def in_one_line(text: str, most: int) -> str:
    """The beginning of what a peer said, without lines by which it would seem that we said something."""
    return " ".join(text[:most].splitlines())


def encode(message: Message) -> bytes:
    """A message as one frame."""
    kind = type(message)
    body = b"".join(_encode_value(getattr(message, field.name)) for field in fields(message))  # type: ignore[arg-type]
    if len(body) > kind.limit:
        raise ProtocolError(
            Phrase(
                "a {kind} of {found:,} bytes is over its limit of {limit:,}",
                kind=kind.__name__,
                found=len(body),
                limit=kind.limit,
            )
        )
    frame = _HEADER.pack(_MAGIC, WIRE_VERSION, kind.code, len(body)) + body
    return frame + hashlib.sha256(frame).digest()


def read_header(header: bytes) -> tuple[type[Message], int]:
    """Which kind of message follows, and how many bytes; refuses what is no frame, of another version or too long."""
    if len(header) < HEADER_SIZE:
        raise ProtocolError(Phrase("a frame arrived cut short"))
    magic, version, code, length = _HEADER.unpack(header)
    if magic != _MAGIC:
        raise ProtocolError(Phrase("what arrived is no kakuran frame; is something else listening on that port?"))
    if version != WIRE_VERSION:
        raise ProtocolError(
            Phrase(
                "the peer speaks version {version} of the protocol, this kakuran version {own}; install the "
                "same kakuran on both sides",
                version=version,
                own=WIRE_VERSION,
            )
        )
    kind = _KINDS.get(code)
    if kind is None:
        raise ProtocolError(Phrase("the peer sent a message of unknown kind {code}", code=code))
    if length > kind.limit:
        raise ProtocolError(
            Phrase(
                "the peer announced a {kind} of {length:,} bytes; its limit is {limit:,}",
                kind=kind.__name__,
                length=length,
                limit=kind.limit,
            )
        )
    return kind, int(length) + _DIGEST_SIZE


def decode(frame: bytes) -> Message:
    """The message in a frame; refuses one that was damaged on the way."""
    kind, length = read_header(frame[:HEADER_SIZE])
    if len(frame) != HEADER_SIZE + length:
        raise ProtocolError(Phrase("a frame arrived cut short"))
    content, digest = frame[:-_DIGEST_SIZE], frame[-_DIGEST_SIZE:]
    if hashlib.sha256(content).digest() != digest:
        raise ProtocolError(Phrase("a frame arrived damaged: its digest does not match"))
    reader = _FrameReader(content[HEADER_SIZE:], kind)
    message = kind(**{field.name: reader.value(_HINTS[kind][field.name]) for field in fields(kind)})  # type: ignore[arg-type]
    reader.check_empty()
    return message


def _encode_value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<?", value)
    if isinstance(value, int):
        return struct.pack("<q", value)
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return struct.pack("<I", len(value)) + value
    array = np.ascontiguousarray(value)
    kind = _ARRAY_TYPES.index(array.dtype)
    return struct.pack(f"<BB{array.ndim}Q", kind, array.ndim, *array.shape) + array.tobytes()


class _FrameReader:
    """Takes fields off a body, and never more than is there."""

    def __init__(self, body: bytes, kind: type[Message]) -> None:
        self._rest = memoryview(body)
        self._kind = kind

    def value(self, hint: Any) -> Any:
        """The next field, of the declared type."""
        if hint is bool:
            return bool(self._unpack("<?"))
        if hint is int:
            return self._unpack("<q")
        if hint is float:
            return self._number()
        if hint is str:
            return self._text()
        if hint is bytes:
            return bytes(self._take(self._unpack("<I")))
        return self._array(_ARRAY_TYPES[0 if hint == NDArray[np.float64] else 1])

    def check_empty(self) -> None:
        """Refuse a body with something after its last field."""
        if len(self._rest):
            raise self._malformed()

    def _number(self) -> float:
        number: float = self._unpack("<d")
        if not (abs(number) < _FARTHEST or (self._kind.may_be_endless and math.isinf(number))):
            raise self._not_finite()
        return number

    def _text(self) -> str:
        try:
            return bytes(self._take(self._unpack("<I"))).decode()
        except UnicodeDecodeError:
            raise self._malformed() from None

    def _array(self, expected: np.dtype[Any]) -> Any:
        kind, axes = self._unpack("<B"), self._unpack("<B")
        if kind >= len(_ARRAY_TYPES) or _ARRAY_TYPES[kind] != expected or axes > 2:
            raise self._malformed()
        shape = [self._unpack("<Q") for _ in range(axes)]
        content = self._take(math.prod(shape) * expected.itemsize)
        try:
            array = np.frombuffer(content, expected).reshape(shape)
        except ValueError:  # no numbers at all, yet an axis longer than any array has
            raise self._malformed() from None
        if expected.kind == "f" and not (np.abs(array) < _FARTHEST).all():
            raise self._not_finite()
        return array

    def _unpack(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _take(self, count: int) -> memoryview:
        if count > len(self._rest):
            raise self._malformed()
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken

    def _not_finite(self) -> ProtocolError:
        return ProtocolError(
            Phrase("the peer sent a {kind} with numbers not finite or beyond all measure", kind=self._kind.__name__)
        )

    def _malformed(self) -> ProtocolError:
        return ProtocolError(Phrase("the peer sent a malformed {kind}", kind=self._kind.__name__))
