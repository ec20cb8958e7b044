"""What is said of commands and options that were mistyped, in the language that is spoken: typer speaks English."""

from __future__ import annotations

import re
from typing import Any

from kakuran.cli.console import say
from kakuran.words import Phrase

_SOMETHING = "…"
_TYPER_SAYS = (
    Phrase("No such option: {what} (Possible options: {others})", what=_SOMETHING, others=_SOMETHING),
    Phrase("No such option: {what}", what=_SOMETHING),
    Phrase("No such command {what}. Did you mean {others}?", what=_SOMETHING, others=_SOMETHING),
    Phrase("No such command {what}. {why}", what=_SOMETHING, why=_SOMETHING),
    Phrase("No such command {what}.", what=_SOMETHING),
    Phrase("{what} is given twice: {one} and {other}", what=_SOMETHING, one=_SOMETHING, other=_SOMETHING),
    Phrase("Missing argument {what}.", what=_SOMETHING),
    Phrase("Missing option {what}.", what=_SOMETHING),
    Phrase("Missing command."),
    Phrase("Got unexpected extra argument(s) ({what})", what=_SOMETHING),
    Phrase("Option {what} requires an argument.", what=_SOMETHING),
    Phrase("Option {what} does not take a value.", what=_SOMETHING),
    Phrase("Invalid value for {what}: {why}", what=_SOMETHING, why=_SOMETHING),
    Phrase("Invalid value: {why}", why=_SOMETHING),
    Phrase("Value error, {what} is not one of {others}.", what=_SOMETHING, others=_SOMETHING),
    Phrase("Input should be a valid number, unable to parse string as a number"),
    Phrase("Input should be a valid integer, unable to parse string as an integer"),
    Phrase("Input should be greater than or equal to {what}", what=_SOMETHING),
    Phrase("Input should be less than or equal to {what}", what=_SOMETHING),
    Phrase("Input should be greater than {what}", what=_SOMETHING),
    Phrase("Input should be less than {what}", what=_SOMETHING),
)
"""The sentences of typer, and of what checks values for it, each before those that it would fit, too."""


def told(error: Any) -> bool:
    """Tell what typer complains about in the language that is spoken, unless nobody foresaw it."""
    found = heard(error.format_message())
    if not isinstance(found, Phrase):
        return False
    if error.ctx is not None:
        say(error.ctx.get_usage())
        say(Phrase("Try '{command} --help' for help.", command=error.ctx.command_path))
    say(found, "error")
    return True


def heard(message: str) -> str:
    """A message of typer, in parts that are known in other languages; one that nobody foresaw as it is."""
    for saying in _TYPER_SAYS:
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(saying.template))
        if found := re.fullmatch(pattern, message, re.DOTALL):
            return saying.refilled(**{name: heard(part) for name, part in found.groupdict().items()})
    return message
