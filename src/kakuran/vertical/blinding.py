"""Ids as points of a curve that only two secrets together can compare (ECDH private set intersection).

The curve is P-256: its order is prime and the library refuses what is not on it, so no small subgroup and no twist has
to be thought of. Only x-coordinates travel; k·P and −k·P have the same one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from cryptography.hazmat.primitives.asymmetric import ec
from numpy.typing import NDArray

from kakuran.errors import ProtocolError

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
            raise ProtocolError("the peer sent a blinded id that is not a point of the curve") from None

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
