"""Plan files: TOML that all parties hold, checked word by word."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kakuran.errors import ProtocolError, which_there_are
from kakuran.schema.toml import literal, read_tables, tables_of
from kakuran.writing import write_text

_FORMAT = 1
_HEADER = """\
# What the parties agree on. Compare the fingerprint (`kakuran vertical show`) by a way of your own, a telephone say,
# before anybody runs it. Whoever changes a word changes the fingerprint.
"""

_NAMES = "a list of names"
_TEXT = "a text"
_WHOLE = "a whole number"
_NUMBER = "a number"
_YES_OR_NO = "true or false"
_SETTINGS = {
    "target": _TEXT,
    "holder": _TEXT,
    "protocol": _TEXT,
    "intercept": _YES_OR_NO,
    "search": _TEXT,
    "criterion": _TEXT,
    "ranking": _TEXT,
    "forced": _NAMES,
    "least": _WHOLE,
    "accelerated": _YES_OR_NO,
}
_LIMITS = dict.fromkeys(
    (
        "records_per_variable",
        "smallest_group",
        "largest_leverage",
        "searchable_records",
        "most_ids",
        "exposed_directions",
    ),
    _NUMBER,
)
_TERMS = {"columns": _NAMES, "id": _TEXT, "certificate": _TEXT}
_FITS = {
    _NAMES: lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
    _TEXT: lambda value: isinstance(value, str),
    _WHOLE: lambda value: type(value) is int,
    _NUMBER: lambda value: type(value) in (int, float),
    _YES_OR_NO: lambda value: isinstance(value, bool),
}


def load(path: Path) -> dict[str, Any]:
    """The settings of a plan; `parties` and `limits` hold what each of them says."""
    try:
        document = read_tables(path)
    except FileNotFoundError:
        raise ProtocolError(f"{path}: no such plan; the first party makes it with `kakuran vertical init`") from None
    except (ValueError, OSError) as error:
        raise ProtocolError(f"{path}: not a plan that can be read: {error}") from error
    settings = _table(f"{path}: [plan]", document.get("plan"))
    found = settings.pop("format", None)
    if found != _FORMAT:
        raise ProtocolError(f"{path}: the plan has format {found}; this kakuran reads format {_FORMAT}")
    parties = _table(f"{path}: [parties.NAME], one for each party,", document.get("parties"))
    return {
        **_checked(f"{path}: [plan]", settings, _SETTINGS, needed=("target", "holder")),
        "limits": _checked(f"{path}: [limits]", document.get("limits", {}), _LIMITS),
        "parties": [
            {"name": name, **_checked(f"{path}: [parties.{name}]", terms, _TERMS, needed=("columns", "id"))}
            for name, terms in parties.items()
        ],
    }


def save(path: Path, plan: Mapping[str, Any]) -> None:
    """Write a plan, whole or not at all; the inverse of `load`."""
    settings = {"format": _FORMAT, **{name: plan[name] for name in _SETTINGS}}
    parties = {f"parties.{literal(terms['name'])}": {name: terms[name] for name in _TERMS} for terms in plan["parties"]}
    text = tables_of({"plan": settings, "limits": plan["limits"], **parties})
    write_text(path, f"{_HEADER}\n{text}")


def _checked(where: str, given: Any, known: Mapping[str, str], needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """Settings that are known and of their kind; lists of names as tuples."""
    settings = _table(where, given)
    for name in needed:
        if name not in settings:
            raise ProtocolError(f"{where} does not say {name}")
    for name, value in settings.items():
        if name not in known:
            raise ProtocolError(f"{where}: unknown setting {name!r}. {which_there_are(name, known)}")
        if not _FITS[known[name]](value):
            raise ProtocolError(f"{where}: {name} must be {known[name]}, got {value!r}")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}


def _table(where: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ProtocolError(f"{where} must be a table of settings, got {'nothing' if given is None else repr(given)}")
    return dict(given)
