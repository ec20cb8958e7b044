"""Schemas as TOML a person can read and edit."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kakuran.errors import CalibrationError, SchemaError
from kakuran.writing import write_text

_LONG_KEY = re.compile(r"""(?<![\w.-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")
"""The time that Python takes to read a.b.c grows with the square of its parts."""
_HEADER = """\
# What each column may hold and what is done with it.
#   role     "perturb" (default), "keep" (public anyway, released as it is), "drop" (never released)
#   missing  "error" (default) or "category" (missing is a value of its own)
# Bounds and values should be public knowledge, not read off the data.
"""


def load(path: Path) -> Mapping[str, Mapping[str, Any]]:
    """The settings of every column in a schema file."""
    document = read_document(path, "schema", "kakuran schema infer")
    columns = document.get("columns")
    if not isinstance(columns, dict) or set(document) != {"columns"}:
        found = ", ".join(document) or "nothing"
        raise SchemaError(f"{path}: expected tables named [columns.NAME] and nothing else, got {found}")
    return columns


def read_tables(path: Path) -> dict[str, Any]:
    """What a TOML file says; a `ValueError` or `OSError` where that cannot be read."""
    text = path.read_text(encoding="utf-8")
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


def read_document(path: Path, kind: str, made_by: str) -> dict[str, Any]:
    """What a TOML file says, or how to come by one of its kind."""
    try:
        return read_tables(path)
    except FileNotFoundError:
        raise SchemaError(f"{path}: no such {kind} file; make one with `{made_by}`") from None
    except IsADirectoryError:
        raise SchemaError(f"{path}: is a folder; name a {kind} file") from None
    except (ValueError, OSError) as error:
        raise SchemaError(f"{path}: not a TOML file that can be read: {error}") from error


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name a file in what is wrong with what it says."""
    try:
        yield
    except (SchemaError, CalibrationError) as error:
        raise type(error)(f"{path}: {error}") from error


def save(columns: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Write the settings of every column."""
    text = tables_of({f"columns.{literal(name)}": fields for name, fields in columns.items()})
    write_text(path, f"{_HEADER}\n{text}")


def tables_of(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Tables of settings as TOML writes them, each under its heading."""
    return "\n".join(
        f"[{heading}]\n" + "".join(f"{key} = {literal(value)}\n" for key, value in settings.items())
        for heading, settings in tables.items()
    )


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def literal(value: Any) -> str:
    """A plain value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_text(str(key))} = {literal(item)}" for key, item in value.items()) + " }"
    return repr(value)
