"""kakuran crosstab and kakuran count: the true numbers behind a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import typer

from kakuran.cli.console import answer_json, answer_table, answer_text, check_picture, check_report, progress, say
from kakuran.cli.options import (
    Force,
    Json,
    Lang,
    Language,
    Plot,
    ReleaseFile,
    Report,
    columns_of_release,
    one_of,
    pairs,
)

if TYPE_CHECKING:
    from kakuran.answers import Estimate
    from kakuran.model import About

Where: TypeAlias = Annotated[
    str | None, typer.Option("--where", help='Count only records that fulfil this, as "25 <= age <= 40".')
]


def _known_method(method: str) -> str:
    from kakuran.model import Method

    if method not in get_args(Method):
        raise typer.BadParameter(f"choose one of {', '.join(get_args(Method))}, got {method!r}")
    return method


MethodOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--method",
        help="The estimator: auto, ibt, mle, inverse, simplex or shrink.",
        callback=_known_method,
        autocompletion=one_of("auto", "ibt", "mle", "inverse", "simplex", "shrink"),
    ),
]
Level: TypeAlias = Annotated[
    float, typer.Option("--level", min=0, max=1, help="How often an interval should hold the truth.")
]
Population: TypeAlias = Annotated[
    bool,
    typer.Option("--population", help="Intervals for the population the records were drawn from, not for this table."),
]


def _share(text: str) -> float:
    """A share, as 1% or 0.01."""
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise typer.BadParameter(f"give a share of the records, as 1% or 0.01; got {text!r}") from None


Fakes: TypeAlias = Annotated[
    str,
    typer.Option(
        "--assume-fakes",
        metavar="SHARE",
        help="Make intervals wide enough to hold even if this share of the records is made up, as 1%.",
    ),
]


def crosstab(
    release: ReleaseFile,
    columns: Annotated[
        list[str], typer.Argument(metavar="COLUMN", help="Columns to tabulate.", autocompletion=columns_of_release)
    ],
    bins: Annotated[
        list[str] | None,
        typer.Option(
            "--bins", metavar="COLUMN=CELLS", help="Into how many cells to cut a number, as age=12. Repeatable."
        ),
    ] = None,
    where: Where = None,
    method: MethodOption = "auto",
    level: Level = 0.9,
    population: Population = False,
    assume_fakes: Fakes = "0%",
    plot: Plot = None,
    report: Report = None,
    lang: Lang = Language.en,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Table to write (.csv or .parquet).")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Estimate the true counts over one or more columns, with intervals, beside the uncorrected ones."""
    _check_targets(release, plot, report, output, force=force)
    estimate = _ask(release, columns, _whole(bins), where, method, level, population, _share(assume_fakes))
    _draw(estimate, plot, lang)
    if output is not None:
        _write(estimate, output)
    _report(estimate, where, release, report, lang)
    if json:
        answer_json(_described(estimate) | {"cells": estimate.to_arrow().to_pylist()})
        return
    names = [axis.name for axis in estimate.axes]
    cells = zip(*(column.to_pylist() for column in estimate.to_arrow().columns), strict=True)
    rows = zip(cells, estimate.unclear.ravel(), strict=True)
    answer_table(
        f"{' × '.join(names)}: {estimate.caption}",
        [*names, "count", "low", "high", "naive", ""],
        [
            [*labels, *(f"{value:,.0f}" for value in (count, low, high, naive)), "unclear" if is_unclear else ""]
            for (*labels, count, low, high, naive), is_unclear in rows
        ],
        text_columns=len(names),
    )
    say(f"estimator: {estimate.reason}")


def count(
    release: ReleaseFile,
    where: Annotated[
        str, typer.Argument(metavar="CONDITION", help="A condition, as \"25 <= age <= 40 and job == 'nurse'\".")
    ],
    method: MethodOption = "auto",
    level: Level = 0.9,
    population: Population = False,
    assume_fakes: Fakes = "0%",
    plot: Plot = None,
    report: Report = None,
    lang: Lang = Language.en,
    force: Force = False,
    json: Json = False,
) -> None:
    """Estimate how many records truly fulfil a condition."""
    _check_targets(release, plot, report, None, force=force)
    estimate = _ask(release, (), {}, where, method, level, population, _share(assume_fakes))
    _draw(estimate, plot, lang)
    _report(estimate, where, release, report, lang)
    if json:
        answer_json(_described(estimate) | estimate.to_arrow().to_pylist()[0])
        return
    answer_text(str(estimate))
    say(f"estimator: {estimate.reason}")


def _ask(
    path: Path,
    columns: Sequence[str],
    bins: dict[str, int],
    where: str | None,
    method: Any,
    level: float,
    population: bool,
    fakes: float,
) -> Estimate:
    """Count the release in one pass over the columns asked for, and estimate."""
    from kakuran.answers import answer, ask
    from kakuran.release import read_release

    release = read_release(path)
    question = ask(release.plan, columns, bins, where)
    with progress("counting", release.n) as advance:
        tally = release.tally(question.axes, advance)
    about: About = "population" if population else "table"
    return answer(question, tally, release.plan, method=method, level=level, about=about, fakes=fakes)


def _described(estimate: Estimate) -> dict[str, Any]:
    return {
        "method": estimate.method,
        "reason": estimate.reason,
        "gap": estimate.gap,
        "level": estimate.level,
        "about": estimate.about,
        "fakes": estimate.fakes,
    }


def _check_targets(release: Path, plot: Path | None, report: Path | None, output: Path | None, *, force: bool) -> None:
    from kakuran.release import check_table
    from kakuran.writing import check_apart

    check_picture(plot, force=force)
    check_report(report, force=force)
    if output is not None:
        check_table(output, force=force)
        check_apart(output, [release])


def _write(estimate: Estimate, path: Path) -> None:
    from kakuran.release import write_table

    write_table(path, estimate.to_arrow())
    say(f"wrote {path}")


def _draw(estimate: Estimate, plot: Path | None, lang: str) -> None:
    if plot is not None:
        from kakuran.answers import draw
        from kakuran.cli.reporting import leave_picture
        from kakuran.words import words_in

        leave_picture(plot, draw(estimate, words_in(lang).of))


def _report(estimate: Estimate, where: str | None, release: Path, report: Path | None, lang: str) -> None:
    if report is not None:
        from kakuran.cli.reporting import report_answer
        from kakuran.report import estimate_answer
        from kakuran.words import words_in

        report_answer(report, release, estimate_answer(estimate, where, words_in(lang)), lang)


def _whole(bins: Sequence[str] | None) -> dict[str, int]:
    try:
        return {name: int(value) for name, value in pairs("--bins", bins).items()}
    except ValueError as error:
        raise typer.BadParameter(f"--bins is given as COLUMN=NUMBER: {error}") from error
