"""The options that say how a CSV file is written; a command takes them as one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from kakuran.cli.console import say

if TYPE_CHECKING:
    from pyarrow import Table

Written: TypeAlias = Mapping[str, str | None]
"""What `kakuran.open_source` is to be told of a CSV file."""
AS_FOUND: Written = {}

_OPTIONS = {
    "delimiter": "What separates the columns of a CSV file, if not a comma, semicolon or tab.",
    "encoding": "Of a CSV file that is not UTF-8, such as cp932 (Shift-JIS).",
    "decimal": 'What stands before decimals in a CSV file: "." or ",".',
    "thousands": "What stands between thousands in a CSV file: a comma, point, space or apostrophe.",
}


def reads_csv(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command be called with these options; it takes them as its parameter ``written``."""
    signature = inspect.signature(command, eval_str=True)

    @wraps(command)
    def collected(**options: Any) -> None:
        command(written={name: options.pop(name) for name in _OPTIONS}, **options)

    parameters = [
        option
        for parameter in signature.parameters.values()
        for option in (_parameters() if parameter.name == "written" else [parameter])
    ]
    collected.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    collected.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return collected


def tell_written_numbers(table: Table) -> None:
    """Warn of numbers that are taken for text, where no schema says that they are numbers."""
    from kakuran.schema.written_numbers import say_how, way_to_read

    for name in table.column_names:
        if asked := way_to_read(table.column(name)):
            say(f"column {name!r} is taken for text. {say_how(asked)}", "warning")


def _parameters() -> list[inspect.Parameter]:
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=None,
            annotation=Annotated[str | None, typer.Option(f"--{name}", help=told)],
        )
        for name, told in _OPTIONS.items()
    ]
