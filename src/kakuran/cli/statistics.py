"""kakuran estimate and regress: means, shares, correlations and regressions behind a release."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kakuran.cli.console import answer_table, answer_text, progress, said, say, speaking
from kakuran.cli.options import (
    AnswerResults,
    Level,
    ReleaseFile,
    TableOutput,
    Weights,
    grouped,
    numbers,
    one_of,
    open_release,
    weighing,
)
from kakuran.defaults import DEFAULT_LEVEL
from kakuran.words import Phrase

if TYPE_CHECKING:
    from kakuran.answers import Statistic

STATISTICS = {"mean": 1, "variance": 1, "quantile": 1, "share": 1, "correlation": 2}
"""What can be estimated, and of how many columns or conditions."""
FAMILIES = ("least squares", "logistic", "multinomial", "poisson")


@grouped
def estimate(
    release: ReleaseFile,
    statistic: Annotated[
        str,
        typer.Argument(
            metavar="STATISTIC",
            help="mean, variance, quantile, share or correlation.",
            autocompletion=one_of(*STATISTICS),
        ),
    ],
    of: Annotated[
        list[str] | None,
        typer.Argument(metavar="OF", help="A column; a condition for a share; two columns for a correlation."),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option("--by", metavar="COLUMN", help="Of each value of this column. Repeatable.")
    ] = None,
    where: Annotated[
        str | None, typer.Option("--where", help='Only of records that fulfil this, as "25 <= age <= 40".')
    ] = None,
    weights: Weights = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(
            "--bins", metavar="COLUMN=GROUPS", help="Into how many groups to cut a number of --by. Repeatable."
        ),
    ] = None,
    part: Annotated[float, typer.Option("--part", help="Which part of the records lies below a quantile.")] = 0.5,
    level: Level = DEFAULT_LEVEL,
    population: Annotated[
        bool,
        typer.Option(
            "--population", help="Intervals for the population the records were drawn from, not for this table."
        ),
    ] = False,
    ratios: Annotated[
        bool,
        typer.Option("--ratios", help="Show the risk and odds ratios of a share, too: of each group to the first."),
    ] = False,
    output: TableOutput = None,
    *,
    results: AnswerResults,
) -> None:
    """Estimate a statistic of the true records, with intervals, beside the uncorrected one."""
    from kakuran.release import check_table, write_answer
    from kakuran.report import statistic_answer
    from kakuran.writing import check_apart

    of = of or []
    _check_asked(release, statistic, of, by or [])
    results.check()
    if output is not None:
        check_table(output, force=results.force)
        check_apart(output, [release])
    asked: dict[str, Any] = {"by": by, "where": where, "bins": numbers("--bins", bins, int), "level": level}
    asked["about"] = "population" if population else "table"
    asked["weights"] = weighing(weights)
    if statistic == "quantile":
        asked["part"] = part
    opened = open_release(release)
    with progress("counting", opened.n) as advance:
        found = getattr(opened, statistic)(*of, progress=advance, **asked)
    results.draw(lambda words: found.plot(words.of))
    results.tell_answer(release, lambda words: statistic_answer(found, where, words))
    results.answer(found.to_dict(), lambda: _show(found, ratios=ratios))
    if output is not None:
        write_answer(output, found.to_arrow())
        say(Phrase("wrote {file}", file=output))


def _check_asked(release: Path, statistic: str, of: list[str], by: list[str]) -> None:
    if statistic not in STATISTICS:
        from difflib import get_close_matches

        words = [word for name in by for word in ("--by", name)]
        meant = next(iter(get_close_matches(statistic, STATISTICS, n=1)), "mean")
        typed = " ".join(map(_typed, ["kakuran", "estimate", str(release), meant, *(of or [statistic]), *words]))
        raise typer.BadParameter(
            said(
                Phrase(
                    "choose one of {listed}, got {statistic!r}; it comes first, and then the column or the "
                    "condition it is of, as in: {typed}",
                    listed=", ".join(STATISTICS),
                    statistic=statistic,
                    typed=typed,
                )
            )
        )
    if len(of) != STATISTICS[statistic]:
        raise typer.BadParameter(
            said(
                Phrase(
                    "{statistic} is of {wanted}, got {found}{listed}",
                    statistic=statistic,
                    wanted=STATISTICS[statistic],
                    found=len(of),
                    listed=": " * bool(of) + ", ".join(of),
                )
            )
        )


def _typed(word: str) -> str:
    """A word as one would type it: a condition has quotes of its own."""
    return f'"{word}"' if "'" in word and not set('"$`\\!') & set(word) else shlex.quote(word)


def _show(found: Statistic, *, ratios: bool) -> None:
    from kakuran.report import answer_headings

    if not ratios:
        found = replace(found, more={name: some for name, some in found.more.items() if "_ratio" not in name})
    if found.axes:
        headings = answer_headings(found, speaking())
        answer_table(found.caption, headings, [*found.rows(said)], text_columns=len(found.axes))
    else:
        answer_text(said(str(found)))
    say(Phrase("estimator: {reason}", reason=found.reason))


@grouped
def regress(
    release: ReleaseFile,
    formula: Annotated[
        str, typer.Argument(metavar="FORMULA", help='What is regressed on what, as "hours ~ age + sex".')
    ],
    family: Annotated[
        str | None,
        typer.Option(
            "--family",
            help="least squares, logistic, multinomial or poisson; as the column asks for by default.",
            autocompletion=one_of(*FAMILIES),
        ),
    ] = None,
    level: Level = DEFAULT_LEVEL,
    table: Annotated[
        bool, typer.Option("--table", help="Intervals for this table, not for the population it was drawn from.")
    ] = False,
    weights: Weights = None,
    *,
    results: AnswerResults,
) -> None:
    """Regress one column on others, with standard errors that include the perturbation."""
    from kakuran.report import regression_answer

    if family is not None and family not in FAMILIES:
        raise typer.BadParameter(
            said(Phrase("choose one of {listed}, got {family!r}", listed=", ".join(FAMILIES), family=family))
        )
    results.check()
    opened = open_release(release)
    asked: Any = {"family": family, "level": level, "about": "table" if table else "population"}
    asked["weights"] = weighing(weights)
    with progress("counting", opened.n) as advance:
        found = opened.regress(formula, progress=advance, **asked)
    results.draw(lambda words: found.plot(words.of))
    results.tell_answer(release, lambda words: regression_answer(found, words))
    results.answer(found.to_dict(), lambda: answer_text(found.summary(said)))
    say(Phrase("estimator: {reason}", reason=found.reason))
