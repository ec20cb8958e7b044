"""What a column holds, in a word."""

from __future__ import annotations

from typing import Literal, TypeAlias

import pyarrow as pa

Family: TypeAlias = Literal["text", "true/false", "numbers", "nothing", "other"]


def family_of(kind: pa.DataType) -> Family:
    """What values of a type are."""
    if is_text(kind):
        return "text"
    if pa.types.is_boolean(kind):
        return "true/false"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numbers"
    return "nothing" if pa.types.is_null(kind) else "other"


def is_writable(text: str) -> bool:
    """Whether text can be written to a file: half of a character, such as U+D800, cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_text(kind: pa.DataType) -> bool:
    """Whether values of a type are text, however long it may be."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
