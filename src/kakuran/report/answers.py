"""What was asked of a release, as a section of its report: the numbers, their picture, and how they were found."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, product
from typing import TYPE_CHECKING

from kakuran.answers import Density, Estimate, MixtureEstimate, draw, draw_clusters, draw_density
from kakuran.errors import SchemaError
from kakuran.report.page import Html, code, paragraph, picture, section, table
from kakuran.words import Words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 400


def estimate_answer(estimate: Estimate, where: str | None, say: Words) -> Html:
    """Estimated counts with intervals, beside the uncorrected ones."""
    names = [axis.name for axis in estimate.axes]
    asked = " × ".join(names) or say("how_many")
    condition = [paragraph(say("fulfilling", where=where))] if where else []
    cells = product(*(axis.labels for axis in estimate.axes))
    numbers = zip(
        *(values.ravel() for values in (estimate.counts, estimate.low, estimate.high, estimate.naive)), strict=True
    )
    unclear = estimate.unclear.ravel()
    rows = [
        [*map(say.of, labels), *(f"{value:,.0f}" for value in found), say("unclear") if is_unclear else ""]
        for labels, found, is_unclear in islice(zip(cells, numbers, unclear, strict=True), MOST_ROWS)
    ]
    header = [*names, say("estimated"), say("low"), say("high"), say("naive"), ""]
    left_out = estimate.counts.size - len(rows)
    return section(
        asked,
        *condition,
        *_picture_of(estimate, asked, say),
        table(say.of(estimate.caption), header, rows, text_columns=len(names)),
        *([paragraph(say("more_cells", count=left_out), kind="note")] if left_out else []),
        paragraph(say("estimator", reason=estimate.reason), kind="note"),
    )


def _picture_of(estimate: Estimate, asked: str, say: Words) -> list[Html]:
    """The picture, unless there are more cells than anybody could look at."""
    try:
        figure = draw(estimate, say.of)
    except SchemaError:
        return []
    return [picture(figure, say("answer_picture", asked=asked, caption=estimate.caption))]


def tree_answer(
    target: str, tree: str, drawn: Figure, importances: Mapping[str, float], held_out: float, say: Words
) -> Html:
    """A decision tree: drawn, in words, and what matters in it."""
    ranked = sorted(importances.items(), key=lambda pair: -pair[1])
    return section(
        say("predicts", target=target),
        picture(drawn, say("tree_picture", target=target)),
        code(tree),
        table(say("matters"), [say("column"), say("gain")], [[name, f"{share:.1%}"] for name, share in ranked]),
        paragraph(say("tree_how", likelihood=held_out), kind="note"),
    )


def mixture_answer(found: MixtureEstimate, density: Density | None, say: Words) -> Html:
    """Clusters with intervals, and the density of a single number."""
    columns = say.listed(found.columns)
    settled = [] if found.mixture.converged else [paragraph(say("unsettled"), kind="warning")]
    clusters = table(say("clusters_caption"), *cluster_rows(found, say))
    if density is None:
        drawn = picture(draw_clusters(found, say.of), say("clusters_picture", columns=columns))
        return section(say("clusters", columns=columns), *settled, drawn, clusters)
    drawn = picture(draw_density(density, say.of), say("density_picture", column=columns))
    quantiles, row = quantile_row(density)
    return section(
        say("clusters", columns=columns),
        *settled,
        drawn,
        clusters,
        table(say("quantiles", column=density.name), quantiles, [row], text_columns=0),
        paragraph(say("estimator", reason=density.reason), kind="note"),
    )


def cluster_rows(found: MixtureEstimate, say: Words) -> tuple[list[str], list[list[str]]]:
    """The clusters as a header and rows of text."""
    header = [say("cluster"), say("share")]
    for name in found.columns:
        header += [say("mean", column=name), say("deviation", column=name)]
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
