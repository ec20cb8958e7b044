"""What was asked of a release, as a section of its report: the numbers, their picture, and how they were found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kakuran.errors import SchemaError
from kakuran.mine import Density, Estimate, MixtureEstimate
from kakuran.report.page import Html, code, paragraph, picture, section, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 400


def estimate_answer(estimate: Estimate, where: str | None) -> Html:
    """Estimated counts with intervals, beside the uncorrected ones."""
    names = [axis.name for axis in estimate.axes]
    asked = " × ".join(names) or "How many records?"
    condition = [paragraph(f"Of the records that fulfil: {where}")] if where else []
    found = estimate.to_arrow().slice(0, MOST_ROWS)
    unclear = estimate.unclear.ravel()
    rows = [
        [*labels, *(f"{value:,.0f}" for value in (count, low, high, naive)), "unclear" if unclear[place] else ""]
        for place, (*labels, count, low, high, naive) in enumerate(
            zip(*(column.to_pylist() for column in found.columns), strict=True)
        )
    ]
    left_out = estimate.counts.size - len(rows)
    return section(
        asked,
        *condition,
        *_picture_of(estimate, asked),
        table(estimate.caption, [*names, "estimated", "low", "high", "naive", ""], rows, text_columns=len(names)),
        *([paragraph(f"{left_out:,} more cells are not listed.", kind="note")] if left_out else []),
        paragraph(f"Estimator: {estimate.reason}.", kind="note"),
    )


def _picture_of(estimate: Estimate, asked: str) -> list[Html]:
    """The picture, unless there are more cells than anybody could look at."""
    try:
        figure = estimate.plot()
    except SchemaError:
        return []
    return [picture(figure, f"{asked}: {estimate.caption}; the numbers are in the table below.")]


def tree_answer(target: str, tree: str, drawn: Figure, importances: Mapping[str, float], held_out: float) -> Html:
    """A decision tree: drawn, in words, and what matters in it."""
    ranked = sorted(importances.items(), key=lambda pair: -pair[1])
    return section(
        f"What predicts {target}",
        picture(drawn, f"A decision tree for {target}; its words are below."),
        code(tree),
        table("What matters", ["column", "share of the gain"], [[name, f"{share:.1%}"] for name, share in ranked]),
        paragraph(
            f"Grown on reconstructed counts, pruned by held-out records (log-likelihood {held_out:,.4g}).", kind="note"
        ),
    )


def mixture_answer(found: MixtureEstimate, density: Density | None) -> Html:
    """Clusters with intervals, and the density of a single number."""
    header, rows = cluster_rows(found)
    columns = ", ".join(found.columns)
    drawn = [picture(found.plot(), f"The clusters of {columns}; their numbers are in the table below.")]
    parts = []
    if density is not None:
        drawn = [picture(density.plot(), f"The density of {columns}, naive and reconstructed with its interval.")]
        quantiles, row = quantile_row(density)
        parts = [
            table(f"Quantiles of {density.name}", quantiles, [row], text_columns=0),
            paragraph(f"Estimator: {density.reason}.", kind="note"),
        ]
    settled = [] if found.mixture.converged else ["The fit has not settled; the noise hides much of these clusters."]
    return section(
        f"Clusters of {columns}",
        *(paragraph(said, kind="warning") for said in settled),
        *drawn,
        table("Clusters of the true records, with 95 % intervals", header, rows),
        *parts,
    )


def cluster_rows(found: MixtureEstimate) -> tuple[list[str], list[list[str]]]:
    """The clusters as a header and rows of text."""
    header = ["cluster", "share"]
    for name in found.columns:
        header += [f"{name}: mean", f"{name}: deviation"]
    deviations = found.mixture.columns.sigmas
    rows = []
    for place, weight in enumerate(found.mixture.weights):
        row = [str(place + 1), f"{weight:.1%} ({found.weights[0][place]:.1%}–{found.weights[1][place]:.1%})"]
        for column in range(len(found.columns)):
            for values, (low, high) in ((found.mixture.means, found.means), (deviations, found.deviations)):
                row.append(f"{values[place, column]:.4g} ({low[place, column]:.4g}–{high[place, column]:.4g})")
        rows.append(row)
    return header, rows


def quantile_row(density: Density) -> tuple[list[str], list[str]]:
    """A few quantiles as a header and a row of text."""
    shares = [0.1, 0.25, 0.5, 0.75, 0.9]
    return [f"{100 * share:g} %" for share in shares], [f"{value:.4g}" for value in density.quantile(shares)]
