"""What a report says: phrases by name, in a file a language."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import Any, TypeAlias

from kakuran.errors import SchemaError

Words: TypeAlias = Callable[..., str]

LANGUAGES = ("en", "ja")


def words_in(lang: str) -> Words:
    """What to say in a language, by the name of the phrase and the values in it."""
    if lang not in LANGUAGES:
        raise SchemaError(f"a report is written in {' or '.join(LANGUAGES)}, got {lang!r}")
    phrases = tomllib.loads(files("kakuran.report").joinpath(f"words.{lang}.toml").read_text(encoding="utf-8"))

    def say(phrase: str, **values: Any) -> str:
        return str(phrases[phrase]).format(**values)

    return say
