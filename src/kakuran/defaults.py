"""The level of intervals, wherever nothing else is asked for; light, so that the command can show it at once."""

from __future__ import annotations

from kakuran.errors import ArgumentError, is_real
from kakuran.words import Phrase

DEFAULT_LEVEL = 0.9
"""How often intervals hold the truth."""


def check_level(level: float) -> float:
    """A level of intervals, refused if it is none."""
    if not is_real(level) or not 0 < level < 1:
        raise ArgumentError(
            "level", Phrase("must lie between 0 and 1"), Phrase("Take 0.9 for a 90 % interval."), example=level
        )
    return float(level)
