"""What commands share: where they write, how they show progress, how they fail.

Answers go to stdout, everything else to stderr. All of it passes through here, and nothing that names, labels or paths
hold reaches the terminal as a command to it. Exit codes:

    0  done                                  5  a file cannot be written, a release not read or trusted
    1  the audit or the check failed         6  an optional part of kakuran is not installed
    2  the command was called wrongly        7  the parties cannot go on together
    3  the schema or the data is wrong       8  the guard refuses to reveal so much
    4  the promise cannot be kept            9  the survey's database or server is in the way
  130  interrupted                         141  whoever read the answer stopped before its end
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import signal
import sys
import time
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias

import typer
from typer.main import get_command

from kakuran import errors
from kakuran.words import LANGUAGES, Phrase, Words, words_in

_EXIT_CODES: Sequence[tuple[type[errors.KakuranError], int]] = (
    (errors.SchemaError, 3),
    (errors.DataError, 3),
    (errors.CalibrationError, 4),
    (errors.ReleaseError, 5),
    (errors.MissingExtraError, 6),
    (errors.ProtocolError, 7),
    (errors.GuardError, 8),
    (errors.CollectError, 9),
)

_NO_READER = 141
"""As other programs end that SIGPIPE ends."""
STANDARD = "-"
"""The standard input or output."""
CALLED: dict[str, str] = {}
"""Where copies are from that a command works on, by their own names."""
AT_THE_END: list[Callable[[bool], object]] = []
"""What is due when a command has ended."""
_BETWEEN_LINES = 3
"""What a cell takes beside its text: a line, and a space at both ends."""
_BETWEEN_WORDS = 2
_PLAIN = "\n\u200c\u200d"
"""What is no letter but belongs to text: the end of a line, and what parts and joins letters of Persian or Hindi."""

_PATIENCE = 5
"""Seconds after which somebody wonders, even where nothing can move, whether anything happens."""

Tone: TypeAlias = Literal["error", "failed", "warning", "note", "passed"]
_COLOURS: Mapping[Tone, str] = {
    "error": "red",
    "failed": "red",
    "warning": "yellow",
    "note": "yellow",
    "passed": "green",
}


_TONES: Mapping[Tone, Phrase] = {
    "error": Phrase("error"),
    "failed": Phrase("failed"),
    "warning": Phrase("warning"),
    "note": Phrase("note"),
    "passed": Phrase("passed"),
}


def run(app: typer.Typer) -> NoReturn:
    """Run the command line; turn known errors into one clear sentence and an exit code."""
    speak(as_asked())
    _let_signals_interrupt()
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", errors.InferredDomainWarning)
    warnings.simplefilter("always", errors.LeakageWarning)
    warnings.simplefilter("once", errors.ScatteredNumbersWarning)
    for word in sys.argv[1:]:
        if word.startswith("-") and shown(name := word.partition("=")[0]) != name:
            say(Phrase("No such option: {what}", what=name), "error")  # which typer would repeat as it is
            sys.exit(2)
    code = _code_of(app)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = code or _NO_READER
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
    sys.exit(code)


def _code_of(app: typer.Typer) -> Any:
    """Run it; how it ended. Where nobody reads on, typer and rich end with 1, which means something else here."""
    try:
        try:
            _run(app)
        except errors.KakuranError as error:
            complain(error)
            return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 3)
    except BrokenPipeError:
        return _NO_READER
    except SystemExit as ended:
        return _NO_READER if isinstance(ended.__context__, BrokenPipeError) else ended.code
    return 0


def _run(app: typer.Typer) -> None:
    """Run it, and do what is due at the end, knowing whether it ended well."""
    AT_THE_END.clear()
    CALLED.clear()
    is_well = False
    try:
        _commands(app, _lang)()
    except SystemExit as ended:
        is_well = not ended.code
        raise
    finally:
        for end in AT_THE_END:
            end(is_well)


@cache
def _commands(app: typer.Typer, _spoken: str) -> Callable[[], object]:
    """The commands of a command line, made once for each language, as their help is put into it."""
    return get_command(app)


def in_words(text: str) -> str:
    """A text with the addresses of copies in the place of their names."""
    for name, address in CALLED.items():
        text = text.replace(name, address)
    return text


def shown(text: str) -> str:
    """Text as it may be shown: what would colour, hide, turn round or move what is on a terminal comes as an escape.

    Those are control and format characters, such as ESC and the overrides of writing direction; lines stay lines.
    """
    text = in_words(text)
    if text.isprintable():
        return text
    return "".join(sign.encode("unicode_escape").decode() if _is_unseen(sign) else sign for sign in text)


def _is_unseen(sign: str) -> bool:
    return sign not in _PLAIN and unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def by_locale() -> str:
    """The language to speak where nobody says which: as KAKURAN_LANG or the system has it, if we know it."""
    told = (os.environ.get(name) for name in ("KAKURAN_LANG", "LC_ALL", "LC_MESSAGES", "LANG"))
    first = next((one for one in told if one), "en")[:2]
    return first if first in LANGUAGES else "en"


def as_asked() -> str:
    """The language that was typed, before the command or after it, or else that of the system."""
    return _asked_in(sys.argv) or by_locale()


def _asked_in(words: Sequence[str]) -> str | None:
    """The language that is among words, read before options are: help is told in it, and that they cannot be."""
    typed = [word.removeprefix("--lang=") for word in words if word.startswith("--lang=")]
    typed += [word for option, word in itertools.pairwise(words) if option == "--lang"]
    return next((one for one in typed if one in LANGUAGES), None)


def speak(lang: str) -> None:
    """Say everything from now on in a language."""
    global _lang  # noqa: PLW0603 - there is one terminal
    _lang = lang


def speaking() -> Words:
    """What to say in the language that is spoken."""
    return words_in(_lang)


def is_english() -> bool:
    """Whether what is said needs no translation."""
    return _lang == "en"


def help_spoken() -> Mapping[str, str]:
    """What to say for the help of commands; in English as it stands there, for which no catalogue has to be read."""
    return {} if is_english() else speaking().help


_lang = "en"


def said(text: str) -> str:
    """A text in the language that is spoken, if it is a phrase."""
    return text if is_english() else speaking().of(text)


def say(message: str, kind: Tone | None = None, **values: Any) -> None:
    """Tell the person at the terminal something that is not the answer; brackets in it are just brackets.

    With values, the message is a template that they fill, which is translated as a phrase is.
    """
    from rich.console import Console
    from rich.text import Text

    if values:
        template = message if is_english() else speaking().translated.get(message, message)
        message = template.format(**values)
    label = Text() if kind is None else Text.assemble((f"{said(_TONES[kind])}:", f"bold {_COLOURS[kind]}"), " ")
    text = said(message)
    text = shown(errors.without_secrets(text))
    Console(stderr=True, soft_wrap=True, highlight=False).print(label.append(text))


def complain(error: errors.KakuranError) -> None:
    """Tell what went wrong, in one sentence."""
    say(str(error) if is_english() else speaking().error(error), "error")


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


def say_mistyped(error: Any) -> bool:
    """Tell what typer complains about in the language that is spoken, unless nobody foresaw it."""
    found = _heard(error.format_message())
    if not isinstance(found, Phrase):
        return False
    if error.ctx is not None:
        say(error.ctx.get_usage())
        say(Phrase("Try '{command} --help' for help.", command=error.ctx.command_path))
    say(found, "error")
    return True


def _heard(message: str) -> str:
    """A message of typer, in parts that are known in other languages; one that nobody foresaw as it is."""
    for saying in _TYPER_SAYS:
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(saying.template))
        if found := re.fullmatch(pattern, message, re.DOTALL):
            return saying.refilled(**{name: _heard(part) for name, part in found.groupdict().items()})
    return message


def answer_text(text: str) -> None:
    """The answer, for people, in words."""
    typer.echo(shown(text))


def answer_json(value: Any) -> None:
    """The answer, for programs; what JSON has no number for is text, as in a manifest: "inf"."""
    text = json.dumps(_finite(value), ensure_ascii=False, indent=2, allow_nan=False)
    typer.echo("".join(json.dumps(sign)[1:-1] if _is_unseen(sign) else sign for sign in text))


def answer_done(wanted: bool, **facts: Any) -> None:
    """What was done by a command that has no other answer, for programs that want one; paths by their names."""
    if wanted:
        told = {name: in_words(str(value)) if isinstance(value, Path) else value for name, value in facts.items()}
        answer_json(told)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def answer_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1) -> None:
    """The answer, for people: the first columns, which are text, left, numbers right; empty ones left out.

    Nothing is cut off: where a terminal is too narrow for the table, it comes without lines, and else runs over.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    title, header = said(title), [said(name) for name in header]
    header, rows = _in_one_line(header), [_in_one_line(row) for row in rows]
    filled = [place for place, name in enumerate(header) if name or any(row[place] for row in rows)]
    table = Table(header_style="bold", show_header=any(header))
    for place in filled:
        least, most = _widths(header[place], [row[place] for row in rows], is_text=place < text_columns)
        side: Literal["left", "right"] = "left" if place < text_columns else "right"
        table.add_column(Text(header[place]), justify=side, min_width=least, no_wrap=least == most, overflow="fold")
    for row in rows:
        table.add_row(*(Text(row[place]) for place in filled))
    console = Console(highlight=False)
    console.print(Text(shown(title), "bold"))
    needed = sum(column.min_width or 0 for column in table.columns)
    if 1 + needed + _BETWEEN_LINES * len(filled) > console.width:
        table.box, table.padding = None, (0, _BETWEEN_WORDS, 0, 0)
        console.width = max(console.width, needed + _BETWEEN_WORDS * len(filled))
    console.print(table, soft_wrap=True)


def _in_one_line(cells: Sequence[str]) -> list[str]:
    return [shown(cell).replace("\n", "\\n") for cell in cells]


def _widths(name: str, cells: Sequence[str], *, is_text: bool) -> tuple[int, int]:
    """How narrow and how wide a column may be: words stay whole, and so do numbers."""
    from rich.cells import cell_len

    whole = [*name.split(), *(word for cell in cells for word in (cell.split() if is_text else [cell]))]
    return max(map(cell_len, whole), default=0), max(map(cell_len, [name, *cells]))


def check_picture(path: Path | None, *, force: bool) -> None:
    """Refuse a picture that could not be drawn, before the work it is to show."""
    if path is not None:
        _check_drawable(
            path, Phrase("a picture"), Phrase("a .png, .svg or .pdf file"), (".png", ".svg", ".pdf"), force=force
        )


def check_report(path: Path | None, *, public: bool = False, force: bool) -> None:
    """Refuse a report that could not be written, before the work it is to show."""
    if path is not None:
        _check_drawable(path, Phrase("a report"), Phrase("an .html file"), (".html",), force=force)
    elif public:
        raise typer.BadParameter(said(Phrase("--public says what a report leaves out; name one with --report")))


def _check_drawable(path: Path, what: str, kinds: str, suffixes: Sequence[str], *, force: bool) -> None:
    if path.suffix not in suffixes:
        raise errors.ReleaseError(Phrase("{path}: {what} is {kinds}", path=path, what=what, kinds=kinds))
    check_new(path, force=force)
    require_plots(what)


def check_new(path: Path, *, force: bool) -> None:
    """Refuse a file that exists already, or has nowhere to be."""
    from kakuran.writing import check_free

    check_free(path, force=force)


def require_plots(what: str) -> None:
    """Refuse to start what ends in a picture where none can be drawn."""
    if not can_draw():
        raise errors.MissingExtraError(what, "plot")


def can_draw() -> bool:
    """Whether pictures can be drawn."""
    return find_spec("matplotlib") is not None


@contextmanager
def progress(title: str, total: int | None) -> Iterator[Callable[[int], object]]:
    """A progress bar on stderr with records a second and time left."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Speed(ProgressColumn):
        """Records a second."""

        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:,.0f} records/s")

    columns = (TextColumn("{task.description}"), BarColumn(), Speed(), TimeRemainingColumn())
    console = Console(stderr=True)
    # Where nobody watches, not even the line is left in which it was.
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total)
        try:
            yield lambda records: bar.advance(task, records)
        except KeyboardInterrupt:
            say(Phrase("interrupted; nothing was written"))
            raise typer.Exit(130) from None


@contextmanager
def working(title: str) -> Iterator[Callable[[str], object]]:
    """A spinner on stderr for work in stages, which it is told the names of; lines, where nothing can spin."""
    from rich.console import Console
    from rich.markup import escape

    console, started = Console(stderr=True), time.monotonic()

    def at(stage: str) -> None:
        text = shown(f"{said(title)}: {said(stage)}")
        if console.is_terminal:
            status.update(escape(text))
        elif time.monotonic() - started > _PATIENCE:
            say(text)

    with console.status(said(title)) as status:
        try:
            yield at
        except KeyboardInterrupt:
            say(Phrase("interrupted; nothing was written"))
            raise typer.Exit(130) from None


def _let_signals_interrupt() -> None:
    """End in good order when asked to, or when the terminal is gone; with nohup a command goes on without one."""
    for name, ending in (("SIGTERM", _interrupt), ("SIGHUP", _terminate), ("SIGQUIT", _terminate)):
        number = getattr(signal, name, None)  # Windows has the first alone
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, ending)


def _interrupt(*_: object) -> NoReturn:
    """Ask only once: a second signal, as shells send, would stop what cleans up."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _terminate(*_: object) -> None:
    """As by SIGTERM, which servers answer by themselves."""
    signal.raise_signal(signal.SIGTERM)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    said_so = message.args[0] if isinstance(message, Warning) and message.args else message
    say(said_so if isinstance(said_so, Phrase) else str(message), "warning")
