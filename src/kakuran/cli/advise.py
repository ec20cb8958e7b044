"""kakuran advise: which method for a table, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kakuran.cli.console import answer_json, answer_table, answer_text, check_picture, check_report, working
from kakuran.cli.options import AS_FOUND, Force, Json, K, Lang, Language, Plot, Report, Sql, Written, reads_csv

if TYPE_CHECKING:
    from kakuran.schema import Schema, Source


@reads_csv
def advise(
    k: K,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA", help="Table to try methods on, as for perturb, if it may be looked at; or give --n."
        ),
    ] = None,
    sql: Sql = None,
    written: Written = AS_FOUND,
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", help="Schema file (TOML); without it, a wide table of 0 and 1.")
    ] = None,
    n: Annotated[
        int | None,
        typer.Option("--n", help="People in the table; with kept columns, in the smallest group sharing their values."),
    ] = None,
    plot: Plot = None,
    report: Report = None,
    lang: Lang = Language.en,
    force: Force = False,
    json: Json = False,
) -> None:
    """Compare perturbation, microaggregation and factorisation by expected error, and say which to use."""
    from kakuran.advice import advise as compare
    from kakuran.advice import draw_errors
    from kakuran.cli.reporting import leave, leave_picture, typed
    from kakuran.report import outlook_rows
    from kakuran.schema import Schema, open_source
    from kakuran.words import words_in

    check_picture(plot, force=force)
    check_report(report, force=force)
    declared = None if schema is None else Schema.load(schema)
    with working("comparing") as tell:
        tell("reading")
        source = None if data is None else open_source(data, sql, **written)
        table = None if source is None else _read(source, declared)
        advice = compare(declared, k=k, n=n, data=table, progress=tell)
    if json:
        answer_json(advice.to_dict())
    else:
        title = f"People in the wrong cell at k = {advice.k:g}, n = {advice.n:,}"
        answer_table(title, *outlook_rows(advice.outlooks, words_in("en")), text_columns=2)
        for sentence in advice.sentences:
            answer_text(sentence)
    if plot is not None:
        leave_picture(plot, draw_errors(advice, words_in(lang).of))
    if report is not None:
        from kakuran.report import advice_report

        leave(report, advice_report(advice, typed(), lang=lang), public=not advice.from_data)


def _read(source: Source, schema: Schema | None) -> Any:
    """The columns that would be released."""
    from kakuran.schema import read_all, read_table

    return read_all(source) if schema is None else read_table(source, schema)
