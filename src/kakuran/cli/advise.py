"""kakuran advise: which method for a table, and why."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kakuran.cli.console import answer_table, answer_text, in_words, say, working
from kakuran.cli.options import (
    AboutOption,
    AnswerResults,
    CertaintyOption,
    CsvOptions,
    K,
    PurposeOption,
    Sql,
    TellOption,
    check_fits,
    grouped,
    say_drafted,
    to_read,
    to_tell,
    typed,
)
from kakuran.errors import without_secrets
from kakuran.words import Phrase

if TYPE_CHECKING:
    from kakuran.advice import Advice
    from kakuran.words import Words


@grouped
def advise(
    k: K,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="Table to try methods on, as for perturb, if it may be looked at; or give --n.",
            callback=to_read,
        ),
    ] = None,
    sql: Sql = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema", "-s", help="Schema file (TOML); without it, a wide table of 0 and 1.", callback=to_read
        ),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option("--n", help="People in the table; with kept columns, in the smallest group sharing their values."),
    ] = None,
    certainty: CertaintyOption = None,
    tell: TellOption = None,
    about: AboutOption = None,
    purpose: PurposeOption = None,
    *,
    csv: CsvOptions,
    results: AnswerResults,
) -> None:
    """Compare perturbation, microaggregation and factorisation by expected error, and say which to use."""
    from kakuran.advice import advise as compare
    from kakuran.report import advice_report
    from kakuran.schema import Schema

    results.check()
    declared = None if schema is None else Schema.load(schema)
    if declared is not None:
        say_drafted(declared)
    with working(Phrase("comparing")) as at:
        at(Phrase("reading"))
        source = None if data is None else csv.open(data, sql)
        if source is not None and declared is not None:
            check_fits(source, declared)
        wishes: Any = {"certainty": certainty, "tell": to_tell(tell), "about": about, "purpose": purpose}
        advice = compare(declared, k=k, n=n, data=source, progress=at, **wishes)
    results.answer(advice.to_dict(), lambda: _show(advice, results.words))
    if schema is not None and not results.json:
        address = without_secrets(in_words(data or "DATA"), data or "")
        given = shlex.join([address, *csv.typed(sql), "-s", in_words(str(schema)), "--k", f"{k:g}"])
        made = advice.perturbation.command.replace("perturb", f"perturb {given}", 1) + " -o release.parquet"
        if advice.best.method == "microaggregate":
            grouped = f"{advice.best.command} {given} -o groups.parquet"
            say(Phrase("to make the release: {command}", command=grouped))
            say(
                Phrase(
                    "any program reads it as it is; its k is shown by {command}", command="kakuran check groups.parquet"
                )
            )
            say(Phrase("or, to hide the values themselves: {command}", command=made))
        else:
            say(Phrase("to make the release: {command}", command=made))
    public = not advice.from_data
    results.draw(lambda words: advice.plot(words.of), public=public)
    results.tell(lambda: advice_report(advice, typed(), lang=results.lang), public=public)


def _show(advice: Advice, words: Words) -> None:
    from kakuran.report import outlook_rows

    first, *others = map(words.of, advice.sentences)
    answer_text(first)
    title = f"{words('wrong_cell')}: k = {advice.k:g}, n = {advice.n:,}"
    answer_table(title, *outlook_rows(advice.outlooks, words), text_columns=2)
    for sentence in others:
        answer_text(f"- {sentence}")
