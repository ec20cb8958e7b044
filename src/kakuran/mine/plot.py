"""Estimates as pictures: bars with intervals for one column, heatmaps for more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from kakuran.colours import ESTIMATE, INK, NAIVE
from kakuran.errors import SchemaError, needing
from kakuran.phrases import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kakuran.mine.estimate import Estimate

MOST_PANELS = 12
MOST_BARS = 100
MOST_CELLS = 1_000


def draw(estimate: Estimate, translate: Translate = str) -> Figure:
    """One column: bars with intervals. Two: a heatmap. More: one heatmap a value of the others."""
    with needing("a plot", "plot"):
        from kakuran.picture import Picture
    _check_size(estimate)
    if len(estimate.axes) <= 1:
        figure = Picture(figsize=(max(4.0, 1.5 + 0.45 * estimate.counts.size), 3.6), layout="constrained")
        _bars(figure.subplots(), estimate, translate)
        return figure
    panels = math.prod(estimate.counts.shape[2:])
    rows, columns = (axis.size for axis in estimate.axes[:2])
    across = min(panels, 3)
    down = math.ceil(panels / across)
    size = (max(4.5, across * (1.8 + 0.9 * columns)), 0.3 + down * (1.2 + 0.42 * rows))
    figure = Picture(figsize=size, layout="constrained")
    grids = figure.subplots(down, across, squeeze=False).ravel()
    for axes, place in zip(grids, np.ndindex(*estimate.counts.shape[2:]), strict=False):
        _heatmap(axes, estimate, place, translate)
    for axes in grids[panels:]:
        axes.set_visible(False)
    hatched = [Phrase("hatched: cannot be told from noise")] if estimate.unclear.any() else []
    figure.suptitle("\n".join(map(translate, [estimate.caption, *hatched])), x=0.01, ha="left", fontsize=9)
    return figure


def _check_size(estimate: Estimate) -> None:
    """Refuse a picture that nobody could read."""
    most, cells = MOST_BARS if len(estimate.axes) <= 1 else MOST_CELLS, estimate.counts.size
    if cells > most:
        raise SchemaError(f"{cells:,} cells are too many to look at; ask for fewer columns or bins")
    if (panels := math.prod(estimate.counts.shape[2:])) > MOST_PANELS:
        raise SchemaError(f"{panels} heatmaps are too many to look at; ask for fewer columns")


def _bars(axes: Any, estimate: Estimate, translate: Translate) -> None:
    from kakuran.picture import without_frame

    counts, low, high, naive = (
        np.atleast_1d(values) for values in (estimate.counts, estimate.low, estimate.high, estimate.naive)
    )
    labels = [plain(translate(label)) for label in estimate.axes[0].labels] if estimate.axes else [""]
    at = np.arange(len(counts))
    axes.bar(at + 0.2, counts, 0.38, color=ESTIMATE, label=translate(Phrase("estimated")))
    axes.bar(at - 0.2, naive, 0.38, color=NAIVE, label=translate(Phrase("naive: counted in the release")))
    axes.errorbar(at + 0.2, counts, [counts - low, high - counts], fmt="none", ecolor=INK, capsize=3, lw=1)
    turned = {"rotation": 30, "ha": "right"} if max(map(len, labels)) > 4 else {}
    axes.set_xticks(at, labels, **turned)
    axes.set_xlabel(plain(estimate.axes[0].name) if estimate.axes else "")
    axes.set_ylabel(translate(Phrase("records")))
    axes.set_title(translate(estimate.caption), loc="left", fontsize=9)
    beside = axes.figure.get_figwidth() > 5
    axes.figure.legend(loc="outside lower left", ncols=1 + beside, frameon=False, fontsize=8)
    without_frame(axes)


def _heatmap(axes: Any, estimate: Estimate, place: tuple[int, ...], translate: Translate) -> None:
    down, across = estimate.axes[:2]
    below, left = ([plain(translate(label)) for label in axis.labels] for axis in (across, down))
    counts, unclear = _panel(estimate.counts, place), _panel(estimate.unclear, place)
    low, high = _panel(estimate.low, place), _panel(estimate.high, place)
    highest = max(float(estimate.counts.max()), 1.0)
    axes.imshow(counts, cmap="Oranges", vmin=0, vmax=highest, aspect="auto")
    for row, column in np.ndindex(counts.shape):
        colour = "white" if counts[row, column] > 0.6 * highest else INK
        words = f"{counts[row, column]:,.0f}\n{low[row, column]:,.0f}–{high[row, column]:,.0f}"
        axes.text(column, row, words, ha="center", va="center", fontsize=7, color=colour)
        if unclear[row, column]:
            axes.add_patch(_hatched(column, row))
    axes.set_xticks(range(across.size), below, rotation=30, ha="right", fontsize=8)
    axes.set_yticks(range(down.size), left, fontsize=8)
    axes.set_xlabel(plain(across.name))
    axes.set_ylabel(plain(down.name))
    others = zip(estimate.axes[2:], place, strict=True)
    axes.set_title(", ".join(plain(f"{axis.name} = {translate(axis.labels[at])}") for axis, at in others), fontsize=8)


def plain(label: str) -> str:
    """A label as it is: a dollar sign in it does not begin a formula."""
    return label.replace("$", r"\$")


def _panel(values: Any, place: tuple[int, ...]) -> Any:
    """The two-way table at a place along the further axes."""
    for at in reversed(place):
        values = values[..., at]
    return values


def _hatched(column: int, row: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="///", edgecolor="#00000030", lw=0)
