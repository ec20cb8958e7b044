"""What a report says: by name, in a file a language; what the library says itself, by its English words."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from kakuran.errors import SchemaError
from kakuran.phrases import Phrase

LANGUAGES = ("en", "ja")


@dataclass(frozen=True)
class Words:
    """What to say in a language."""

    named: Mapping[str, str]
    translated: dict[str, str]

    def __call__(self, name: str, **values: Any) -> str:
        """What has this name, with values filled in, phrases among them in this language."""
        return self.named[name].format(**{one: self.of(value) for one, value in values.items()})

    def of(self, text: str) -> str:
        """What the library says, in this language; anything else as it is."""
        return text.said_with(self.translated) if isinstance(text, Phrase) else text

    def listed(self, parts: Iterable[str]) -> str:
        """One after the other."""
        return self("comma").join(map(self.of, parts))


def words_in(lang: str) -> Words:
    """What to say in a language."""
    if lang not in LANGUAGES:
        raise SchemaError(f"a report is written in {' or '.join(LANGUAGES)}, got {lang!r}")
    named = tomllib.loads(files("kakuran.report").joinpath(f"words.{lang}.toml").read_text(encoding="utf-8"))
    return Words(named, named.pop("translated", {}))
