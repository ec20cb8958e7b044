"""Names and texts as SQL takes them."""

from __future__ import annotations


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL takes it, whatever is in it."""
    return "'" + text.replace("'", "''") + "'"
