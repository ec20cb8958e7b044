"""Survey files: TOML that a survey owner writes, checked word by word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kakuran.errors import SchemaError
from kakuran.schema import Categorical, Dropped
from kakuran.schema.plain import attribute_of
from kakuran.schema.toml import read_document

MINIMUM_N = 50

_SETTINGS = {
    "id",
    "languages",
    "title",
    "introduction",
    "k",
    "expected_n",
    "epsilon",
    "minimum_n",
    "invitations",
    "questions",
}
_WORDING = {"text", "help", "labels", "unit", "mechanism"}
_DOMAIN = {"type", "values", "ordered", "low", "high", "step"}
_NUMBERS = {"k": (int, float), "epsilon": (int, float), "expected_n": (int,), "minimum_n": (int,)}
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def load(path: Path) -> dict[str, Any]:
    """What a survey file says."""
    return read_document(path, "survey", "kakuran collect init")


def check(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a survey, refused with a way out where one of them cannot be meant."""
    _only_known("the survey", fields, _SETTINGS)
    for needed in ("id", "languages", "title", "questions"):
        if needed not in fields:
            raise SchemaError(f"the survey has no {needed}")
    languages = _languages(fields["languages"])
    numbers = {name: _number(name, fields[name]) for name in _NUMBERS if name in fields}
    if type(fields.get("invitations", False)) is not bool:
        raise SchemaError(f"invitations must be true or false, got {fields['invitations']!r}")
    questions = fields["questions"]
    if not isinstance(questions, Mapping) or not questions:
        raise SchemaError("a survey needs questions, written as [questions.NAME]")
    return {
        "id": fields["id"],
        "languages": languages,
        "title": _texts("title", fields["title"], languages),
        "introduction": _texts("introduction", fields.get("introduction", {}), languages, optional=True),
        "invitations": fields.get("invitations", False),
        **numbers,
        "questions": [_question(name, question, languages) for name, question in questions.items()],
    }


def check_id(id_: Any) -> None:
    """Refuse a name that could not stand in files and addresses."""
    if not isinstance(id_, str) or not _ID.fullmatch(id_):
        raise SchemaError(f"id must be small letters, digits and hyphens, got {id_!r}")


def _question(name: str, fields: Any, languages: Sequence[str]) -> dict[str, Any]:
    where = f"question {name!r}"
    if not isinstance(fields, Mapping):
        raise SchemaError(f"{where}: expected a table of settings, got {fields!r}")
    _only_known(where, fields, _WORDING | _DOMAIN)
    attribute = attribute_of(name, {key: value for key, value in fields.items() if key in _DOMAIN})
    assert not isinstance(attribute, Dropped)  # noqa: S101 - a role is not among the settings
    mechanism = fields.get("mechanism")
    if mechanism is not None and not isinstance(mechanism, str):
        raise SchemaError(f"{where}: mechanism must be the name of one, got {mechanism!r}")
    return {
        "attribute": attribute,
        "text": _texts(f"{where}: text", fields.get("text", {}), languages),
        "help": _texts(f"{where}: help", fields.get("help", {}), languages, optional=True),
        "unit": _texts(f"{where}: unit", fields.get("unit", {}), languages, optional=True),
        "labels": _labels(where, fields.get("labels", {}), attribute, languages),
        "mechanism": mechanism,
    }


def _labels(where: str, labels: Any, attribute: Any, languages: Sequence[str]) -> dict[str, Any]:
    if not isinstance(labels, Mapping):
        raise SchemaError(f"{where}: labels must be a table of texts, one a value, got {labels!r}")
    values = [str(value) for value in attribute.values] if isinstance(attribute, Categorical) else []
    for value in labels:
        if value not in values:
            raise SchemaError(f"{where}: there is a label for {value!r}, which is not one of its values")
    return {value: _texts(f"{where}: label {value!r}", texts, languages) for value, texts in labels.items()}


def _texts(where: str, texts: Any, languages: Sequence[str], *, optional: bool = False) -> dict[str, str]:
    """A text in every language of the survey, or, where it is optional, in none."""
    if not isinstance(texts, Mapping) or not all(isinstance(text, str) for text in texts.values()):
        raise SchemaError(f'{where} must give a text a language, as {languages[0]} = "…", got {texts!r}')
    if optional and not texts:
        return {}
    for language in languages:
        if not texts.get(language, "").strip():
            raise SchemaError(f"{where} is not given in {language!r}")
    _only_known(where, texts, set(languages))
    return dict(texts)


def _languages(languages: Any) -> tuple[str, ...]:
    is_list = isinstance(languages, list) and languages and all(isinstance(code, str) for code in languages)
    if not is_list or len(set(languages)) < len(languages):
        raise SchemaError(f'languages must be a list of different codes, as ["en", "ja"], got {languages!r}')
    for code in languages:
        if not _LANGUAGE.fullmatch(code):
            raise SchemaError(f"{code!r} is not the code of a language, as en or ja")
    return tuple(languages)


def _number(name: str, value: Any) -> Any:
    if type(value) not in _NUMBERS[name]:
        raise SchemaError(f"{name} must be a {'whole ' if name.endswith('_n') else ''}number, got {value!r}")
    return value


def _only_known(where: str, fields: Mapping[str, Any], known: set[str]) -> None:
    for name in fields:
        if name not in known:
            raise SchemaError(f"{where}: unknown setting {name!r}; there are {', '.join(sorted(known))}")
