"""What the shell offers when tab is pressed: the words of an option, the columns of the release that was named.

The options that say how a CSV file is written; a command takes them as one.

Options that several commands take, and the plan they add up to.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from kakuran.cli.console import progress, say, shown
from kakuran.errors import CalibrationError

if TYPE_CHECKING:
    from pyarrow import Table

    from kakuran.counts import Tally
    from kakuran.design import Plan
    from kakuran.engine import Originals
    from kakuran.mechanism import Mechanism
    from kakuran.schema import Categorical, Numeric, Schema, Source


def one_of(*words: str) -> Callable[[str], list[str]]:
    """The words that start with what was typed."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def columns_of_release(context: typer.Context, incomplete: str) -> list[str]:
    """The columns of the release on the command line that start with what was typed."""
    from kakuran.errors import KakuranError
    from kakuran.release import released_source

    release = context.params.get("release")
    try:
        names = released_source(Path(release)).names if release else []
    except KakuranError:
        names = []  # nothing to offer; the command itself will say what is wrong
    return [name for name in names if name.startswith(incomplete) and shown(name) == name]


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
    from kakuran.schema import say_how, way_to_read

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


class Language(StrEnum):
    """What a report may be written in."""

    en = "en"
    ja = "ja"


SchemaFile: TypeAlias = Annotated[Path, typer.Option("--schema", "-s", help="Schema file (TOML).")]
Data: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A Parquet, CSV or Arrow file; a folder or a quoted pattern of such; a DuckDB file; postgresql://…",
        show_default=False,
    ),
]
Sql: TypeAlias = Annotated[
    str | None,
    typer.Option("--sql", help="A query to the database, or to the files, which are called data in it (needs DuckDB)."),
]
K: TypeAlias = Annotated[float, typer.Option("--k", help="Nobody can be linked with probability above 1/k.")]
DataDependent: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--data-dependent",
        help="Calibrate to this very table: less noise, but the published parameters then depend on the data.",
    ),
]
Weights: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--weight",
        metavar="COLUMN=SHARE",
        help="A column's share of the budget, as age=0.5; all must add up to 1. Repeatable.",
    ),
]
Mechanisms: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--mechanism",
        metavar="COLUMN=MECHANISM",
        help="A column's mechanism, as age=laplace: retention, laplace, bounded-laplace, bounded-gaussian, "
        "or pram:FILE with a row-stochastic matrix as CSV without header. Repeatable.",
    ),
]
ReleaseFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="RELEASE", help="A release: .parquet, .csv with its manifest, or a folder.")
]
Plot: TypeAlias = Annotated[Path | None, typer.Option("--plot", help="Picture to write (.png, .svg or .pdf).")]
Report: TypeAlias = Annotated[
    Path | None, typer.Option("--report", help="Report to write: one .html file for screen and paper.")
]
Public: TypeAlias = Annotated[
    bool, typer.Option("--public", help="Leave out of the report all that needs the originals, and what was typed.")
]
Lang: TypeAlias = Annotated[
    Language, typer.Option("--lang", envvar="KAKURAN_LANG", help="Language of the report and of pictures.")
]
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
LAST_PORT = 65_535
Host: TypeAlias = Annotated[str, typer.Option("--host", help="Address to listen on.")]
Port: TypeAlias = Annotated[
    int, typer.Option("--port", min=0, max=LAST_PORT, help="Port to listen on; 0 takes a free one.")
]

Importance: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--weight", metavar="COLUMN=NUMBER", help="How much a column counts, as age=2; 1 by default. Repeatable."
    ),
]
Distances: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--distance",
        metavar="COLUMN=DISTANCE",
        help="How far values of a column lie apart, as job=discrete: euclidean, discrete. Repeatable.",
    ),
]


def make_plan(
    schema: Schema,
    data: Source | Originals | None,
    *,
    k: float,
    n: int | None,
    data_dependent: bool,
    weights: Sequence[str] | None,
    mechanisms: Sequence[str] | None,
) -> Plan:
    """The plan the options of a command ask for."""
    from kakuran.design import calibrate

    shares = numbers("--weight", weights) if weights else None
    chosen = {name: _mechanism(value) for name, value in pairs("--mechanism", mechanisms).items()}
    if data_dependent:
        if data is None or n is not None:
            raise CalibrationError("--data-dependent needs the data and not --n")
        tally = _counted(schema, data, schema.released)
        return calibrate(schema, k=k, data=tally, weights=shares, mechanisms=chosen)
    n = smallest_group(schema, data) if n is None else n
    return calibrate(schema, k=k, n=n, weights=shares, mechanisms=chosen)


def smallest_group(schema: Schema, data: Source | Originals | None) -> int:
    """The records of a source, or, where columns are kept, of the smallest group that shares their values."""
    from kakuran.schema import Source

    if not schema.perturbed:
        raise CalibrationError("the schema has no column to perturb")
    if data is None:
        raise CalibrationError("how many records? name the data file or give --n")
    if isinstance(data, Source) and not schema.kept and (rows := data.rows) is not None:
        return rows
    tally = _counted(schema, data, schema.kept)
    return tally.fewest if tally.n else 0


def _counted(schema: Schema, data: Source | Originals, attributes: Sequence[Categorical | Numeric]) -> Tally:
    from kakuran.engine import count_columns
    from kakuran.schema import Source

    if not isinstance(data, Source):
        return data.count_columns(attributes)
    with progress("counting", None) as advance:
        return count_columns(data, schema, attributes, advance)


def pairs(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    """What a repeatable option says column by column."""
    pairs = {}
    for text in texts or ():
        name, sign, value = text.rpartition("=")
        if not sign:
            raise typer.BadParameter(f"{option} is given as COLUMN=VALUE, got {text!r}")
        pairs[name] = value
    return pairs


def numbers(option: str, texts: Sequence[str] | None) -> dict[str, float]:
    """What a repeatable option says column by column, in numbers."""
    try:
        return {name: float(value) for name, value in pairs(option, texts).items()}
    except ValueError as error:
        raise typer.BadParameter(f"{option} is given as COLUMN=NUMBER: {error}") from error


def whole_or_auto(option: str, text: str) -> int | Literal["auto"]:
    """How many, or that the data are to tell."""
    if text == "auto":
        return "auto"
    if not text.isdecimal() or not int(text):
        raise typer.BadParameter(f"{option} is a whole number from 1 on, or auto, got {text!r}")
    return int(text)


def table_distances(table: Any, schema: Path | None, distances: Sequence[str] | None) -> dict[str, Any]:
    """A distance for every column: as asked for, by the tree in the schema, or by what the column holds."""
    from kakuran.schema import Categorical, Schema
    from kakuran.wide import default_distance

    asked = pairs("--distance", distances)
    declared = Schema.load(schema).attributes if schema is not None else ()
    trees = {one.name: one.tree for one in declared if isinstance(one, Categorical) and one.tree is not None}
    return {
        name: asked.get(name) or trees.get(name) or default_distance(table.column(name)) for name in table.column_names
    }


def _mechanism(value: str) -> str | Mechanism:
    kind, sign, path = value.partition(":")
    if not sign:
        return kind
    from kakuran.mechanism import PRAM

    if kind != PRAM.kind:
        raise typer.BadParameter(f"only pram takes a file, got {value!r}")
    import numpy as np

    try:
        return PRAM(np.loadtxt(path, delimiter=",", ndmin=2))
    except (OSError, ValueError) as error:
        raise CalibrationError(f"{path}: not a matrix in CSV: {error}") from error
