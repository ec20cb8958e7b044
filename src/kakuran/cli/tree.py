"""kakuran tree: what predicts a column, learned from a release."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kakuran.cli.console import answer_json, answer_text, check_picture, check_report, progress, say
from kakuran.cli.options import Force, Json, Lang, Language, Plot, ReleaseFile, Report, columns_of_release, one_of


def tree(
    release: ReleaseFile,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="The column to predict.", autocompletion=columns_of_release)
    ],
    features: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FEATURE",
            help="The columns to predict it from; all others by default.",
            autocompletion=columns_of_release,
        ),
    ] = None,
    criterion: Annotated[
        str,
        typer.Option("--criterion", help="entropy, gini or chi2.", autocompletion=one_of("entropy", "gini", "chi2")),
    ] = "entropy",
    max_depth: Annotated[int, typer.Option("--max-depth", min=1, help="The most splits on a path.")] = 5,
    min_support: Annotated[float, typer.Option("--min-support", help="Records every node must have.")] = 20,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="auto, or ibt, mle, inverse, simplex node by node.",
            autocompletion=one_of("auto", "ibt", "mle", "inverse", "simplex"),
        ),
    ] = "auto",
    plot: Plot = None,
    report: Report = None,
    lang: Lang = Language.en,
    force: Force = False,
    json: Json = False,
) -> None:
    """Grow a decision tree on reconstructed counts, pruned by what held-out records say."""
    from kakuran.answers import CRITERIA
    from kakuran.errors import SchemaError
    from kakuran.release import read_release

    if criterion not in CRITERIA:
        raise SchemaError(f"--criterion must be one of {', '.join(CRITERIA)}, got {criterion!r}")
    if plot is not None:
        check_picture(plot, force=force)
    check_report(report, force=force)
    opened = read_release(release)
    options: Any = {"criterion": criterion, "method": method}
    with progress("counting", None) as advance:
        found = opened.tree(
            target,
            features=features or None,
            max_depth=max_depth,
            min_support=min_support,
            progress=advance,
            **options,
        )
    if json:
        answer_json(found.to_dict())
    else:
        answer_text(str(found))
        ranked = sorted(found.importances.items(), key=lambda pair: -pair[1])
        matters = ", ".join(f"{name} {share:.0%}" for name, share in ranked if share > 0.005)
        say(f"what matters: {matters or 'nothing that this release shows reliably'}")
    if plot is None and report is None:
        return
    from kakuran.cli.reporting import leave_picture, report_answer
    from kakuran.report import tree_answer
    from kakuran.words import words_in

    words = words_in(lang)
    drawn = found.plot(words.of)
    if plot is not None:
        leave_picture(plot, drawn)
    if report is not None:
        told = tree_answer(target, found.text(words.of), drawn, found.importances, found.held_out, words)
        report_answer(report, release, told, lang)
