"""The one catalogue of what is said to people: terminal, reports, charts, pages; and which name somebody meant.

What a report says is asked for by name; what the library says itself, by its English words (`Phrase`), and so is the
help of commands; what pages in a browser say, by a name of their own, with places that the browser fills in.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias
from unicodedata import east_asian_width

from kakuran.errors import ArgumentError, DataError, KakuranError, MissingExtraError, SchemaError, readable

Translate: TypeAlias = Callable[[str], str]
"""Given a text, tells what to write instead of it: something else for a phrase, any other text as it is."""


class Phrase(str):
    """A text in English that remembers what it was made of, so that it can be said again in another language.

    Parameters
    ----------
    template : str
        The text, with places to fill in, as for `str.format`.
    **values : Any
        What fills them; phrases among them are said in the other language, too.

    Examples
    --------
    >>> from kakuran.words import Phrase
    >>> found = Phrase("{steps} steps from {start}", steps=4, start=Phrase("the perturbed counts"))
    >>> found, found.said_with({"{steps} steps from {start}": "{start}から {steps} ステップ"})
    ('4 steps from the perturbed counts', 'the perturbed countsから 4 ステップ')
    """

    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, **values: Any) -> Phrase:
        """Fill in the values."""
        made = super().__new__(cls, template.format(**values))
        made.template, made.values = template, values
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.template,), self.values

    def refilled(self, **values: Any) -> Phrase:
        """The same words with other values."""
        return type(self)(self.template, **values)

    def said_with(self, templates: dict[str, str]) -> str:
        """The text with other words: by its template, or as it is where there are none."""
        values = {
            name: value.said_with(templates) if isinstance(value, Phrase) else value
            for name, value in self.values.items()
        }
        return templates.get(self.template, self.template).format(**values)


def width_of(text: str) -> int:
    """The columns that a text takes on a terminal: Chinese characters are twice as wide as letters."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def which_there_are(asked: object, names: Iterable[str]) -> Phrase:
    """The names there are, and before them the one that was probably meant."""
    from difflib import get_close_matches

    listed = list(names)
    alike = {name.strip().casefold(): name for name in listed[:_MOST_COMPARED]}
    typed = str(asked).strip().casefold()
    turned = [name for name in alike if sorted(name) == sorted(typed)]  # the same letters, as in "stpe"
    close = turned or get_close_matches(typed, alike, n=1, cutoff=0.5)
    there = ", ".join(map(repr, listed))
    if close:
        return Phrase("Did you mean {meant!r}? There are {listed}.", meant=alike[close[0]], listed=there)
    return Phrase("There are {listed}.", listed=there)


def so_many_rows(count: int) -> Phrase:
    """How many rows there are, in words that fit one, too."""
    return Phrase("1 row") if count == 1 else Phrase("{count:,} rows", count=count)


def so_many_records(count: int) -> Phrase:
    """How many records there are, in words that fit one, too."""
    return Phrase("1 record") if count == 1 else Phrase("{count:,} records", count=count)


def so_many_people(count: int) -> Phrase:
    """How many people there are, in words that fit one, too."""
    return Phrase("1 person") if count == 1 else Phrase("{count:,} people", count=count)


def so_many_values(count: int) -> Phrase:
    """How many values there are, in words that fit one, too."""
    return Phrase("1 value") if count == 1 else Phrase("{count:,} values", count=count)


_MOST_COMPARED = 5000
LANGUAGES = ("en", "ja")


@dataclass(frozen=True)
class Words:
    """What to say in a language."""

    lang: str
    named: Mapping[str, str]
    translated: dict[str, str]
    pages: Mapping[str, str]
    studio: Mapping[str, str]
    help: Mapping[str, str]

    def __call__(self, name: str, **values: Any) -> str:
        """What has this name, with values filled in, phrases among them in this language."""
        return self.named[name].format(**{one: self.of(value) for one, value in values.items()})

    def of(self, text: str) -> str:
        """What the library says, in this language; anything else as it is."""
        return text.said_with(self.translated) if isinstance(text, Phrase) else text

    def error(self, error: KakuranError) -> str:
        """What an error says, in this language."""
        return readable(self.of(_as_phrase(error)))

    def listed(self, parts: Iterable[str]) -> str:
        """One after the other."""
        return self("comma").join(map(self.of, parts))


def _as_phrase(error: KakuranError) -> str:
    """What an error says, in parts that are known in other languages."""
    if isinstance(error, MissingExtraError):
        return Phrase(
            "{what} needs an optional part: pip install 'kakuran[{extra}]', or '.[{extra}]' in the repository",
            what=error.what,
            extra=error.extra,
        )
    if not isinstance(error, DataError):
        return error.said
    if isinstance(error, ArgumentError):
        return Phrase(
            "{argument} {problem}{shown}. {remedy}",
            argument=error.column,
            problem=error.problem,
            shown="" if error.example is None else Phrase(", got {value!r}", value=error.example),
            remedy=error.remedy,
        )
    return Phrase(
        "column {column!r}: {problem}{shown}{where}. {remedy}",
        column=error.column,
        problem=error.problem,
        shown="" if error.example is None else Phrase(", for example {example!r}", example=error.example),
        where="" if error.place is None else Phrase(", in {place}", place=error.place),
        remedy=error.remedy,
    )


def words_in(lang: str) -> Words:
    """What to say in a language."""
    if lang not in LANGUAGES:
        raise SchemaError(f"a report is written in {' or '.join(LANGUAGES)}, got {lang!r}")
    return _read(lang)


@cache
def _read(lang: str) -> Words:
    named = tomllib.loads(files("kakuran.words").joinpath(f"{lang}.toml").read_text(encoding="utf-8"))
    translated, helped = named.pop("translated", {}), named.pop("help", {})
    return Words(lang, named, translated, named.pop("pages"), named.pop("studio"), helped)
