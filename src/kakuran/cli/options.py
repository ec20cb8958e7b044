"""Options that several commands take.

Options that go together are a group: a dataclass whose fields are options, with what can be done with them. A command
that is `grouped` has one parameter for each of its groups.
"""

from __future__ import annotations

import inspect
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, get_args, get_type_hints

import typer

from kakuran.cli.console import (
    STANDARD,
    answer_json,
    as_asked,
    check_picture,
    check_report,
    complain,
    progress,
    said,
    say,
    shown,
    speak,
)
from kakuran.errors import DataError, without_secrets
from kakuran.words import Phrase

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pyarrow import Table

    from kakuran.audit import Audit
    from kakuran.release import Release
    from kakuran.schema import Schema, Source
    from kakuran.words import Words


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Offer the options of every group that a command has a parameter for, and call it with the groups they make.

    ``Annotated[Group, "name", "name"]`` offers those options of a group only; the others keep their defaults. Typer
    asks `inspect.signature` what a command takes, so a signature is written for it, here and nowhere else.
    """
    taken = inspect.signature(command, eval_str=True).parameters
    groups = {name: offer for name, one in taken.items() if (offer := _Spread.of(one.annotation)) is not None}

    @wraps(command)
    def called(**given: Any) -> None:
        made = {name: offer.made_of(given) for name, offer in groups.items()}
        command(**given, **made)

    offered = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY)  # of those, one with a default may come first
        for name, parameter in taken.items()
        for one in (groups[name].parameters() if name in groups else [parameter])
    ]
    called.__signature__ = inspect.Signature(offered)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in offered}
    return called


@dataclass(frozen=True)
class _Spread:
    """A group, and the options of it that a command takes."""

    group: Any
    names: Sequence[str]

    @classmethod
    def of(cls, annotation: Any) -> _Spread | None:
        """What a parameter offers, if it is one for a group."""
        group, *names = get_args(annotation) or (annotation,)
        if not (isinstance(group, type) and is_dataclass(group)):
            return None
        return cls(group, names or [field.name for field in fields(group)])

    def parameters(self) -> list[inspect.Parameter]:
        """The options, as typer is to see them."""
        options = _options_of(self.group)
        return [options[name] for name in self.names]

    def made_of(self, given: dict[str, Any]) -> Any:
        """The group; what it is made of is taken from what was given."""
        return self.group(**{name: given.pop(name) for name in self.names})


@cache
def _options_of(group: Any) -> dict[str, inspect.Parameter]:
    types = get_type_hints(group, include_extras=True)
    defaults = {one.name: inspect.Parameter.empty if one.default is MISSING else one.default for one in fields(group)}
    return {
        name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types[name])
        for name, default in defaults.items()
    }


Place = TypeVar("Place", str, Path, str | None, Path | None)
_STORE = re.compile(r"(s3|gs|gcs|abfs|abfss):/+(.*)")


def _elsewhere(context: typer.Context, place: str | Path | None) -> str | None:
    """Where it is, if not on this machine; a path has lost one of the slashes."""
    if place is None or context.resilient_parsing:
        return None
    if str(place) == STANDARD:
        return STANDARD
    found = _STORE.fullmatch(str(place))
    return None if found is None else "{}://{}".format(*found.groups())


def to_read(context: typer.Context, place: Place) -> Place:
    """What is named, or a copy of it if it lies elsewhere."""
    if (address := _elsewhere(context, place)) is None:
        return place
    from kakuran.cli.places import copied

    return type(place)(copied(address))  # type: ignore[misc]


def to_write(ending: str) -> Callable[[typer.Context, Path | None], Path | None]:
    """Where to write, or a copy that will be sent there; what goes to the standard output ends so."""

    def placed(context: typer.Context, place: Path | None) -> Path | None:
        if (address := _elsewhere(context, place)) is None:
            return place
        from kakuran.cli.places import to_be_sent

        return to_be_sent(address, ending)

    return placed


def one_of(*words: str) -> Callable[[str], list[str]]:
    """What the shell offers when tab is pressed: the words that start with what was typed."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def columns_of_release(context: typer.Context, incomplete: str) -> list[str]:
    """What it offers for a column: those of the release on the command line that start with what was typed."""
    from kakuran.errors import KakuranError
    from kakuran.release import read_manifest

    release = context.params.get("release")
    try:
        names = [attribute.name for attribute in read_manifest(Path(release)).plan.schema.released] if release else []
    except KakuranError:
        names = []  # nothing to offer; the command itself will say what is wrong
    return [name for name in names if name.startswith(incomplete) and shown(name) == name]


@dataclass(frozen=True)
class CsvOptions:
    """How a CSV file is written, and which sheet of an Excel file is meant."""

    delimiter: Annotated[
        str | None,
        typer.Option(
            "--delimiter",
            help="What separates the columns of a CSV file, if not a comma, semicolon or tab; ', ' if spaces stand "
            "after commas.",
        ),
    ] = None
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Of a CSV file that is not UTF-8, such as cp932 (Shift-JIS).")
    ] = None
    decimal: Annotated[
        str | None, typer.Option("--decimal", help='What stands before decimals in a CSV file: "." or ",".')
    ] = None
    thousands: Annotated[
        str | None,
        typer.Option(
            "--thousands",
            help="What stands between thousands in a CSV file: a comma, point, space or apostrophe.",
        ),
    ] = None
    names: Annotated[
        str | None,
        typer.Option(
            "--names", help="The columns, between commas, of a CSV file that does not start with their names."
        ),
    ] = None
    sheet: Annotated[
        str | None, typer.Option("--sheet", help="Which sheet of an Excel file, if several have anything in them.")
    ] = None

    def open(self, data: str | Path, sql: str | None = None) -> Source:
        """The table that was named."""
        from kakuran.schema import open_source

        return open_source(data, sql, **vars(self))

    def typed(self, sql: str | None = None) -> list[str]:
        """The same options for another command, as words to type."""
        given = {"sql": sql, **vars(self)}
        return [word for name, value in given.items() if value is not None for word in (f"--{name}", value)]

    def read(self, data: str | Path, sql: str | None = None, dropped: Sequence[str] = ()) -> Table:
        """All of the table that was named but what is dropped, with a warning of numbers that are taken for text."""
        from kakuran.schema import check_there, read_all, say_how, way_to_read

        table = read_all(self.open(data, sql))
        check_there(dropped, table.column_names)
        table = table.drop_columns(list(dropped))
        for name in table.column_names:
            if asked := way_to_read(table.column(name)):
                say(Phrase("column {name!r} is taken for text. {way}", name=name, way=say_how(asked)), "warning")
        return table


def say_wide_ends(schema: Schema) -> None:
    """Warn of bands at an end that are much wider than the others: where in them people lie is a guess."""
    from kakuran.schema import Numeric

    for column in schema.released:
        for band, times in column.wide_ends.items() if isinstance(column, Numeric) else ():
            wide = Phrase(
                "column {column!r}: the band {band} at an end is {times:.3g} times as wide as the one beside it, and "
                "where in it people lie is a guess on which means depend; end the bands sooner, or cut it in two where "
                "many people are",
                column=column.name,
                band=band,
                times=times,
            )
            say(wide, "warning")


def say_drafted(schema: Schema) -> None:
    """Say what has still to be confirmed before anything is released."""
    if schema.drafted:
        columns = ", ".join(schema.drafted)
        say(Phrase("drafted from the data, and to be confirmed before a release: {columns}", columns=columns), "note")


def say_formulas(schema: Schema) -> None:
    """Warn of values and names that a spreadsheet would run: a release has them as they are."""
    from kakuran.parsing import would_run
    from kakuran.schema import Categorical

    for column in schema.released:
        values = column.values if isinstance(column, Categorical) else ()
        found = next((text for text in (column.name, *values) if isinstance(text, str) and would_run(text)), None)
        if found is not None:
            running = Phrase(
                "column {column!r}: a spreadsheet would run {found!r} as a formula when it opens the release as .csv; "
                "call it something else, or release .xlsx or .parquet, where it is text",
                column=column.name,
                found=found,
            )
            say(running, "warning")


def check_fits(source: Source, schema: Schema) -> int:
    """How many records a table has, all of which fit its schema; else all that is wrong is said, column by column."""
    from kakuran.engine import check_values
    from kakuran.schema import ONE_VALUE, problems_of

    for attribute in schema.perturbed:
        if attribute.size == 1:
            say(Phrase("column {name!r} has {one_value}", name=attribute.name, one_value=ONE_VALUE), "warning")
    try:
        with progress("checking", source.rows) as advance:
            return check_values(source, schema, advance)
    except DataError as first:
        problems = [*problems_of(source, schema)]
        for problem in problems[:-1]:
            complain(problem)
        raise (problems or [first])[-1] from None


LANGUAGE_HELP = "Language of what is said, of the report and of pictures; as the system has it by default."


class Language(StrEnum):
    """What a report may be written in."""

    en = "en"
    ja = "ja"


def _spoken(context: typer.Context, lang: Language) -> Language:
    """The language that was asked for, or else that of the system; everything is said in it from now on."""
    source = context.get_parameter_source("lang")
    if source is not None and source.name == "DEFAULT":
        lang = Language(as_asked())
    speak(lang)
    return lang


Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


@dataclass(frozen=True)
class Results:
    """What becomes of that which a command finds."""

    plot: Annotated[
        Path | None, typer.Option("--plot", help="Picture to write (.png, .svg or .pdf).", callback=to_write(".png"))
    ] = None
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", help="Report to write: one .html file for screen and paper.", callback=to_write(".html")
        ),
    ] = None
    public: Annotated[
        bool, typer.Option("--public", help="Leave out of the report all that needs the originals, and what was typed.")
    ] = False
    lang: Annotated[
        Language,
        typer.Option(
            "--lang",
            envvar="KAKURAN_LANG",
            help=LANGUAGE_HELP,
            callback=_spoken,
            show_default=False,
        ),
    ] = Language.en
    force: Force = False
    json: Json = False

    def check(self) -> None:
        """Refuse a picture or a report that could not be written, before the work it is to show."""
        check_picture(self.plot, force=self.force)
        check_report(self.report, public=self.public, force=self.force)

    @property
    def words(self) -> Words:
        """What to say in the language of the report."""
        from kakuran.words import words_in

        return words_in(self.lang)

    def answer(self, described: Any, show: Callable[[], object]) -> None:
        """Give the answer: to programs as it is described, to people as it is shown."""
        if self.json:
            answer_json(described)
        else:
            show()

    def draw(self, figure: Callable[[Words], Figure], *, public: bool = True) -> None:
        """Write the picture, if one is wanted, and say where it is; what no release shows is for its owner alone."""
        from kakuran.writing import whole_or_nothing

        if self.plot is not None:
            drawn = figure(self.words)
            with whole_or_nothing(self.plot, is_private=not public) as folder:
                undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(self.plot.suffix)
                drawn.savefig(folder / self.plot.name, dpi=144, metadata=undated)
            say(Phrase("drew {file}", file=self.plot))

    def tell(self, page: Callable[[], str], *, public: bool) -> None:
        """Write the report, if one is wanted, and say where it is and who may see it."""
        from kakuran.writing import write_text

        if self.report is not None:
            write_text(self.report, page(), is_private=not public)
            if public:
                say(Phrase("wrote {file}", file=self.report))
            else:
                say(Phrase("wrote {file}: internal, not for publication", file=self.report))

    def tell_release(self, release: Path, original: Callable[[], Source], audit: Audit | None = None) -> None:
        """Write the report of a release: for everybody, or for its steward, with an audit and what was typed."""
        compared: Any = {}
        if self.report is not None and not self.public:
            compared = {"original": (truth := original()), "audit": audit or _quick_audit(truth, release)}
            compared["command"] = typed()
        self.tell(lambda: self._page(release, **compared), public=self.public)

    def tell_answer(self, release: Path, section: Callable[[Words], str]) -> None:
        """Write what was asked of a release, and the release's own report after it."""
        self.tell(lambda: self._page(release, answer=[section(self.words)]), public=True)

    def _page(self, release: Path, **options: Any) -> str:
        from kakuran.release import read_manifest
        from kakuran.report import release_report

        reads = 2 if "original" in options else 1
        with progress("reporting", reads * read_manifest(release).records) as advance:
            return release_report(release, lang=self.lang, progress=advance, **options)


AnswerResults: TypeAlias = Annotated[Results, "plot", "report", "lang", "force", "json"]
ReleaseResults: TypeAlias = Annotated[Results, "report", "public", "lang", "force", "json"]


def _quick_audit(original: Source, release: Path) -> Audit | None:
    from kakuran.audit import quick_audit

    with progress("attacking", None) as advance:
        found = quick_audit(original, release, advance)
    if found is None:
        say(Phrase("the report has no audit: the table is large; play it with kakuran audit"))
    return found


def open_release(release: Path) -> Release:
    """A release that something is asked of; says what is counted in it, where that is not records."""
    from kakuran.release import read_release

    found = read_release(release)
    if found.unit is not None:
        say(f"counted are {found.unit}", "note")
    return found


Level: TypeAlias = Annotated[
    float, typer.Option("--level", min=0, max=1, help="How often an interval should hold the truth.")
]
Weights: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="COLUMN",
        help="A kept column that weighs the records, as the schema says by default; none to count each once.",
    ),
]


def weighing(weights: str | None) -> str | Literal[False] | None:
    """The same, as a release is asked."""
    return False if weights == "none" else weights


def typed() -> str:
    """The command as it was typed, but for passwords and keys."""
    return shlex.join(["kakuran", *(without_secrets(word, word) for word in sys.argv[1:])])


SchemaFile: TypeAlias = Annotated[Path, typer.Option("--schema", "-s", help="Schema file (TOML).", callback=to_read)]
Data: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file of Parquet, CSV, Arrow, Excel, SPSS, Stata or SAS; a folder or a quoted pattern of such; a DuckDB "
        "file; postgresql://… Or - or s3://…, gs://…, abfs://…",
        show_default=False,
        callback=to_read,
    ),
]
Sql: TypeAlias = Annotated[
    str | None,
    typer.Option("--sql", help="A query to the database, or to the files, which are called data in it (needs DuckDB)."),
]
K: TypeAlias = Annotated[float, typer.Option("--k", help="Nobody can be linked with probability above 1/k.")]
TellOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--tell",
        metavar="WHAT",
        help="What each record tells: all (whole records), a number of columns, sets of columns as "
        "'age+job,age+sex', or auto (what is expected to lose least), unless the schema says something.",
    ),
]
AboutOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--about", metavar="COLUMN", help="A column that every record tells, as questions are about it."),
]
CertaintyOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--certainty",
        help="The probability over the draw with which k holds for everybody, as 0.999999: less noise. In every draw "
        "without.",
    ),
]
PurposeOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--purpose", metavar="WAYS", help="Tables that auto should lose least of: one-, two-, three-way."),
]


def to_tell(value: str | None) -> Any:
    """What --tell asks for: a number of columns, sets of them, or a word."""
    if value is None or value in ("all", "auto"):
        return value
    return int(value) if value.isdecimal() else [columns.split("+") for columns in value.split(",")]


ReleaseFile: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="RELEASE",
        help="A release: .parquet; .csv, .xlsx, .sav or .dta with its manifest; a folder; or -.",
        callback=to_read,
    ),
]
TableOutput: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Table to write: .csv, .parquet, .xlsx, .sav, .dta; - is CSV.", callback=to_write(".csv")
    ),
]
SeedOption: TypeAlias = Annotated[
    int | None, typer.Option("--seed", help="Insecure: a reproducible draw, marked as not for publication.")
]
KeepOrder: TypeAlias = Annotated[
    bool, typer.Option("--keep-order", help="Insecure: leave records in their order, by which they can be linked.")
]


def _sound_ledger(ledger: Path | None) -> Path | None:
    """Refuse a ledger that is not there or is damaged, before the work that it is to count."""
    if ledger is not None:
        from kakuran.design import Ledger

        Ledger(ledger).account()
    return ledger


LedgerFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        callback=_sound_ledger,
        help="Enter the release here before it is written; refused if more was promised to these people.",
    ),
]
LAST_PORT = 65_535
Host: TypeAlias = Annotated[str, typer.Option("--host", help="Address to listen on.")]
Port: TypeAlias = Annotated[
    int, typer.Option("--port", min=0, max=LAST_PORT, help="Port to listen on; 0 takes a free one.")
]


@dataclass(frozen=True)
class DistanceOptions:
    """How far records of a table lie apart."""

    distance: Annotated[
        list[str] | None,
        typer.Option(
            "--distance",
            metavar="COLUMN=DISTANCE",
            help="How far values of a column lie apart, as job=discrete: euclidean, discrete. Repeatable.",
        ),
    ] = None
    weight: Annotated[
        list[str] | None,
        typer.Option(
            "--weight", metavar="COLUMN=NUMBER", help="How much a column counts, as age=2; 1 by default. Repeatable."
        ),
    ] = None

    @property
    def weights(self) -> dict[str, float]:
        """How much columns count."""
        return numbers("--weight", self.weight)

    def of(self, table: Table, schema: Schema | None) -> dict[str, Any]:
        """A distance for every column."""
        from kakuran.wide import distances_for

        return distances_for(table, schema, pairs("--distance", self.distance))


def complete(table: Table) -> list[str]:
    """The columns of a table that lack no value; of the others it is said that nothing is measured."""
    lacking = [name for name in table.column_names if table.column(name).null_count]
    if lacking:
        say(f"what they lose is not measured, as they lack values: {', '.join(lacking)}", "note")
    return [name for name in table.column_names if name not in lacking]


def pairs(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    """What a repeatable option says column by column."""
    pairs: dict[str, str] = {}
    for text in texts or ():
        name, sign, value = text.rpartition("=")
        if not sign:
            raise typer.BadParameter(
                said(Phrase("{option} is given as COLUMN=VALUE, got {text!r}", option=option, text=text))
            )
        if name in pairs:
            raise typer.BadParameter(
                said(
                    Phrase(
                        "{option} is given twice for {name!r}: {first} and {value}",
                        option=option,
                        name=name,
                        first=pairs[name],
                        value=value,
                    )
                )
            )
        pairs[name] = value
    return pairs


def numbers(option: str, texts: Sequence[str] | None, kind: Callable[[str], Any] = float) -> dict[str, Any]:
    """What a repeatable option says column by column, in numbers."""
    try:
        return {name: kind(value) for name, value in pairs(option, texts).items()}
    except ValueError as error:
        raise typer.BadParameter(
            said(Phrase("{option} is given as COLUMN=NUMBER: {error}", option=option, error=str(error)))
        ) from error


def whole_or_listed(text: str) -> int | list[float | str]:
    """A whole number, or numbers or dates with commas between them."""
    return [one if one.count("-") > 1 else float(one) for one in text.split(",")] if "," in text else int(text)


def whole_or_auto(option: str, text: str) -> int | Literal["auto"]:
    """How many, or that the data are to tell."""
    if text == "auto":
        return "auto"
    if not text.isdecimal() or not int(text):
        raise typer.BadParameter(
            said(Phrase("{option} is a whole number from 1 on, or auto, got {text!r}", option=option, text=text))
        )
    return int(text)
