"""kakuran mixture: the distribution and the clusters behind perturbed numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kakuran.cli.completion import columns_of_release
from kakuran.cli.console import answer_json, answer_table, check_picture, say
from kakuran.cli.options import Force, Json

if TYPE_CHECKING:
    from kakuran.mine import Density, MixtureEstimate


def mixture(
    release: Annotated[Path, typer.Argument(help="The release (.parquet or .csv).")],
    columns: Annotated[list[str], typer.Argument(help="One or more numbers of it.", autocompletion=columns_of_release)],
    components: Annotated[str, typer.Option("--components", help="How many clusters, or auto.")] = "auto",
    covariance: Annotated[
        str, typer.Option("--covariance", help="Shape of clusters of several columns: diag, rotated or full.")
    ] = "diag",
    bins: Annotated[int | None, typer.Option("--bins", help="Bins of the density of one column.")] = None,
    draws: Annotated[int, typer.Option("--draws", help="Refits behind the intervals.")] = 50,
    plot: Annotated[Path | None, typer.Option("--plot", help="Picture to write (.png, .svg or .pdf).")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Reconstruct the clusters of true numbers from a release, and the density of one."""
    from kakuran.release import read_release

    if plot is not None:
        check_picture(plot, force=force)
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
        say("[bold yellow]warning:[/] the fit has not settled; the noise hides much of these clusters")
    if plot is not None:
        (found if density is None else density).plot().savefig(plot, dpi=144)
        say(f"drew {plot}")


def _whole(text: str) -> int:
    if not text.isdigit():
        raise typer.BadParameter(f"--components is a whole number or auto, got {text!r}")
    return int(text)


def _show(found: MixtureEstimate, density: Density | None) -> None:
    header = ["cluster", "share"]
    for name in found.columns:
        header += [f"{name}: mean", f"{name}: deviation"]
    deviations = found.mixture.columns.sigmas
    rows = []
    for place, weight in enumerate(found.mixture.weights):
        row = [str(place + 1), _share(weight, found.weights[0][place], found.weights[1][place])]
        for column in range(len(found.columns)):
            for values, (low, high) in ((found.mixture.means, found.means), (deviations, found.deviations)):
                row.append(f"{values[place, column]:.4g} ({low[place, column]:.4g}–{high[place, column]:.4g})")
        rows.append(row)
    answer_table("Clusters of the true records, with 95 % intervals", header, rows)
    if density is not None:
        tenths = density.quantile([0.1, 0.25, 0.5, 0.75, 0.9])
        answer_table(
            f"Quantiles of {density.name} ({density.reason})",
            ["10 %", "25 %", "50 %", "75 %", "90 %"],
            [[f"{value:.4g}" for value in tenths]],
        )


def _share(weight: float, low: float, high: float) -> str:
    return f"{weight:.1%} ({low:.1%}–{high:.1%})"
