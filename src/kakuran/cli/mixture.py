"""kakuran mixture: the distribution and the clusters behind perturbed numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kakuran.cli.console import answer_json, answer_table, check_picture, check_report, say
from kakuran.cli.options import (
    Force,
    Json,
    Lang,
    Language,
    Plot,
    ReleaseFile,
    Report,
    columns_of_release,
    whole_or_auto,
)

if TYPE_CHECKING:
    from kakuran.answers import Density, MixtureEstimate


def mixture(
    release: ReleaseFile,
    columns: Annotated[
        list[str],
        typer.Argument(metavar="COLUMN", help="One or more numbers of it.", autocompletion=columns_of_release),
    ],
    components: Annotated[str, typer.Option("--components", help="How many clusters, or auto.")] = "auto",
    covariance: Annotated[
        str, typer.Option("--covariance", help="Shape of clusters of several columns: diag, rotated or full.")
    ] = "diag",
    bins: Annotated[int | None, typer.Option("--bins", help="Bins of the density of one column.")] = None,
    draws: Annotated[int, typer.Option("--draws", help="Refits behind the intervals.")] = 50,
    plot: Plot = None,
    report: Report = None,
    lang: Lang = Language.en,
    force: Force = False,
    json: Json = False,
) -> None:
    """Reconstruct the clusters of true numbers from a release, and the density of one."""
    from kakuran.answers import draw_clusters, draw_density
    from kakuran.cli.reporting import leave_picture, report_answer
    from kakuran.release import read_release
    from kakuran.words import words_in

    check_picture(plot, force=force)
    check_report(report, force=force)
    opened = read_release(release)
    found = opened.mixture(
        *columns,
        n_components=whole_or_auto("--components", components),
        covariance=covariance,  # type: ignore[arg-type]
        draws=draws,
    )
    density = opened.density(columns[0], bins=bins) if len(columns) == 1 else None
    if json:
        answer_json(found.to_dict() | ({} if density is None else {"density": density.to_dict()}))
    else:
        _show(found, density)
    if not found.mixture.converged:
        say("the fit has not settled; the noise hides much of these clusters", "warning")
    words = words_in(lang)
    if plot is not None:
        figure = draw_clusters(found, words.of) if density is None else draw_density(density, words.of)
        leave_picture(plot, figure)
    if report is not None:
        from kakuran.report import mixture_answer

        report_answer(report, release, mixture_answer(found, density, words), lang)


def _show(found: MixtureEstimate, density: Density | None) -> None:
    from kakuran.report import cluster_rows, quantile_row
    from kakuran.words import words_in

    words = words_in("en")
    answer_table(words("clusters_caption"), *cluster_rows(found, words))
    if density is not None:
        header, row = quantile_row(density)
        answer_table(f"{words('quantiles', column=density.name)} ({density.reason})", header, [row])
