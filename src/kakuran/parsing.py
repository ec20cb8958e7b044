"""Text that people write, read and checked: the TOML of schemas, surveys and plans, word by word."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any

from kakuran.errors import CalibrationError, KakuranError, ProtocolError, SchemaError
from kakuran.words import Phrase, which_there_are

ALONE = RLock()
"""Held while Python parses its own language; by a thread that has it already, too, as what it lets go may parse.

In Python 3.11 all threads share the depth that the parser counts, and two that parse at once may both fail with
"AST constructor recursion depth mismatch".
"""
_LONG_KEY = re.compile(r"""(?<![\w.-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")
"""The time that Python takes to read a.b.c grows with the square of its parts."""

_FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.,]*(?:[eE][+-]?\d+)?\s?%?$)(?![+-]*$)")
"""How a text starts that spreadsheets compute when they open a CSV file; numbers and mere signs they leave alone."""


@dataclass(frozen=True)
class SettingKind:
    """What a setting may be: in words, and whether a value is that."""

    described: str
    fits: Callable[[Any], bool]


ANYTHING = SettingKind(Phrase("anything"), lambda _: True)
"""Of settings that are checked elsewhere."""
TEXT = SettingKind(Phrase("a text"), lambda value: isinstance(value, str))
NAMES = SettingKind(
    Phrase("a list of names"), lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value)
)
WHOLE = SettingKind(Phrase("a whole number"), lambda value: type(value) is int)
NUMBER = SettingKind(Phrase("a number"), lambda value: type(value) in (int, float))
YES_OR_NO = SettingKind(Phrase("true or false"), lambda value: isinstance(value, bool))


def is_writable(text: str) -> bool:
    """Whether text can be written to a file: half of a character, such as U+D800, cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def would_run(text: str) -> bool:
    """Whether a spreadsheet that opens a CSV file would take a text for a formula and run it."""
    return _FORMULA.match(text) is not None


def check_table(where: str, given: Any) -> Mapping[str, Any]:
    """A table, and nothing else."""
    if not isinstance(given, Mapping):
        got = Phrase("nothing") if given is None else repr(given)
        raise SchemaError(Phrase("{where}: expected a table of settings, got {got}", where=where, got=got))
    return given


def check_settings(
    where: str, given: Any, known: Mapping[str, SettingKind], needed: Collection[str] = ()
) -> dict[str, Any]:
    """A table of settings, refused unless all of them are known and of their kind, and those needed are there."""
    check_table(where, given)
    for name, value in given.items():
        if name not in known:
            raise SchemaError(
                Phrase(
                    "{where}: unknown setting {name!r}. {others}",
                    where=where,
                    name=name,
                    others=which_there_are(name, known),
                )
            )
        if not known[name].fits(value):
            raise SchemaError(
                Phrase(
                    "{where}: {name} must be {described}, got {value!r}",
                    where=where,
                    name=name,
                    described=known[name].described,
                    value=value,
                )
            )
    for name in needed:
        if name not in given:
            raise SchemaError(Phrase("{where} does not say {name}", where=where, name=name))
    return dict(given)


@contextmanager
def naming(path: Path, kind: type[KakuranError] | None = None) -> Iterator[None]:
    """Name a file in what is wrong with what it says, in an error of some kind or of the same."""
    try:
        yield
    except (SchemaError, CalibrationError, ProtocolError) as error:
        raise (kind or type(error))(Phrase("{path}: {error}", path=path, error=error.said)) from error


def read_document(path: Path, kind: str, way: str) -> dict[str, Any]:
    """What a TOML file says, or the way to one of its kind."""
    try:
        return _tables_in(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SchemaError(Phrase("no such {kind}; {way}", kind=kind, way=way)) from None
    except IsADirectoryError:
        raise SchemaError(Phrase("is a folder; name a {kind}", kind=kind)) from None
    except (ValueError, OSError) as error:
        raise SchemaError(Phrase("not a TOML file that can be read: {error}", error=str(error))) from error


def parse_document(text: str) -> dict[str, Any]:
    """What TOML says."""
    try:
        return _tables_in(text)
    except ValueError as error:
        raise SchemaError(Phrase("not TOML that can be read: {error}", error=str(error))) from error


def _tables_in(text: str) -> dict[str, Any]:
    if _LONG_KEY.search(text):
        raise ValueError("a key has more than 100 parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError("a value is nested too deep") from None
    except ValueError:
        raise ValueError("a number has too many digits") from None


def tables_of(tables: Mapping[str, Mapping[str, Any]], comments: Mapping[tuple[str, str], str] | None = None) -> str:
    """Tables of settings as TOML writes them, each under its heading; comments by heading and setting."""
    ends = {place: f"  # {comment}" for place, comment in (comments or {}).items()}
    return "\n".join(
        f"[{heading}]\n"
        + "".join(f"{key} = {toml_of(value)}{ends.get((heading, key), '')}\n" for key, value in settings.items())
        for heading, settings in tables.items()
    )


def toml_of(value: Any) -> str:
    """A plain value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_of(str(key))} = {toml_of(item)}" for key, item in value.items()) + " }"
    return repr(value)
