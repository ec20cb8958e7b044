"""Random names: of answer sheets (UUID version 4), of invitations and tokens."""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
from typing import Any

from kakuran.randomness import Randomness

UUID4 = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_PATTERN = re.compile(UUID4)


def new_ids(count: int) -> list[str]:
    """Ids for so many answer sheets."""
    words = Randomness.secure().words(2 * count).tobytes()
    return [str(uuid.UUID(bytes=words[start : start + 16], version=4)) for start in range(0, len(words), 16)]


def id_bytes(text: Any) -> bytes | None:
    """The bytes of an id, or nothing if it is not one."""
    if type(text) is not str or not _PATTERN.fullmatch(text):
        return None
    return bytes.fromhex(text.replace("-", ""))


def id_text(key: bytes) -> str:
    """The inverse of `id_bytes`."""
    text = key.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_secret() -> str:
    """128 random bits that fit in an address."""
    return base64.urlsafe_b64encode(Randomness.secure().words(2).tobytes()).decode().rstrip("=")


def secret_hash(secret: str) -> bytes:
    """What is kept of a secret to recognise it."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
