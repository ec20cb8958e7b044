"""kakuran mixture: the distribution and the clusters behind perturbed numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kakuran.cli.completion import columns_of_release
from kakuran.cli.console import answer_json, answer_table, check_picture, check_report, say
from kakuran.cli.options import Force, Json, Plot, ReleaseFile, Report

if TYPE_CHECKING:
    from kakuran.mine import Density, MixtureEstimate


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
    force: Force = False,
    json: Json = False,
) -> None:
    """Reconstruct the clusters of true numbers from a release, and the density of one."""
    from kakuran.cli.reporting import leave_picture, report_answer
    from kakuran.release import read_release

    check_picture(plot, force=force)
    check_report(report, force=force)
    opened = read_release(release)
    found = opened.mixture(
        *columns,
        n_components="auto" if components == "auto" else _whole(components),
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
    if plot is not None:
        leave_picture(plot, (found if density is None else density).plot())
    if report is not None:
        from kakuran.report.answers import mixture_answer

        report_answer(report, release, mixture_answer(found, density))


def _whole(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise typer.BadParameter(f"--components is a whole number from 1 on, or auto, got {text!r}")
    return int(text)


def _show(found: MixtureEstimate, density: Density | None) -> None:
    from kakuran.report.answers import cluster_rows, quantile_row

    answer_table("Clusters of the true records, with 95 % intervals", *cluster_rows(found))
    if density is not None:
        header, row = quantile_row(density)
        answer_table(f"Quantiles of {density.name} ({density.reason})", header, [row])
