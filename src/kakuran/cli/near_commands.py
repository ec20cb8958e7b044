"""Which command somebody may have meant who typed another word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

_CLOSE = 0.7


def near_commands(word: str, commands: Mapping[str, Any]) -> list[str]:
    """Those spelled alike, be they commands of a group; else those whose line in the help speaks of it."""
    spelled: dict[str, list[str]] = {}
    for path in _paths(commands):
        for spelling in {path, path.replace(" ", "-"), path.split()[-1]}:
            spelled.setdefault(spelling, []).append(path)
    close = [path for spelling in get_close_matches(word, spelled, cutoff=_CLOSE) for path in spelled[spelling]]
    spoken = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
    return [*dict.fromkeys(close)] or [name for name, one in commands.items() if spoken.search(one.short_help or "")]


def _paths(commands: Mapping[str, Any]) -> Iterator[str]:
    for name, command in commands.items():
        yield name
        yield from (f"{name} {inner}" for inner in getattr(command, "commands", {}))
