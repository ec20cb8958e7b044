"""A hook of the documentation's build: it warns, and so fails, where the reference does not say what a parameter is.

A parameter, attribute or returned value is written as numpydoc has it, ``name : type`` and below it, indented, the
description. Written in one line, the description would stand in the column of types.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

from griffe import Alias, Docstring, DocstringSectionKind, Object

ENTRY = re.compile(r"^::: (\S+)$", re.MULTILINE)
"""How a page names what it shows."""
MIDST = re.compile(r"[a-z]{2}")
"""How a description goes on whose first line was taken for the type."""
SECTIONS = {
    DocstringSectionKind.parameters,
    DocstringSectionKind.other_parameters,
    DocstringSectionKind.attributes,
    DocstringSectionKind.returns,
}

log = logging.getLogger("mkdocs.hooks.reference")


def on_page_content(html: str, *, page: Any, config: Any, **_: Any) -> str:
    """Look at everything a page has shown."""
    for identifier in ENTRY.findall(page.markdown):
        handler = config.plugins["mkdocstrings"].get_handler("python")
        for problem in problems(handler.collect(identifier, handler.get_options({}))):
            log.warning("%s", problem)
    return html


def problems(shown: Object | Alias) -> Iterator[str]:
    """What lacks a type or a description, in an object of the reference and in all of its public members."""
    target = shown.final_target if isinstance(shown, Alias) else shown
    if target.docstring is not None:
        yield from (f"{target.path}: {problem}" for problem in _problems_in(target.docstring))
    for name, member in target.members.items():
        if not name.startswith("_") and isinstance(member, Object):
            yield from problems(member)


def _problems_in(docstring: Docstring) -> Iterator[str]:
    for section in docstring.parsed:
        for item in section.value if section.kind in SECTIONS else ():
            told = item.name or "what is returned"
            if not item.description.strip():
                yield f"{told} has no description; write `name : type`, and the description below it, indented"
            if item.annotation is None:
                yield f"{told} has no type; write `name : type`"
            if MIDST.match(item.description):
                yield f"{told} is described from the middle of a sentence on; does its type stand where it should?"
