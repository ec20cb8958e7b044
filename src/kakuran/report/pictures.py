"""The pictures of a report: counts side by side, as bars and as heatmaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kakuran.answers import plain
from kakuran.report.drawing import ESTIMATE, NAIVE, ORIGINAL, new_figure
from kakuran.typing import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {"original": ORIGINAL, "naive": NAIVE, "reconstructed": ESTIMATE, "released": ESTIMATE}
_MOST_NUMBERS = 160


def draw_bars(
    labels: Sequence[str],
    series: Mapping[str, Array],
    names: Mapping[str, str],
    *,
    interval: tuple[Array, Array] | None = None,
    percent: bool = False,
) -> Figure:
    """Horizontal bars, one group a label and one bar a series; the last series may have an interval.

    Parameters
    ----------
    series : original, naive, reconstructed or released values, in the order they are drawn
    names : what to call each
    interval : the ends of the interval of the last series
    percent : whether values are shares
    """
    figure = new_figure(5.2, 0.9 + len(labels) * (0.1 + 0.14 * len(series)))
    from kakuran.picture import without_frame

    axes = figure.subplots()
    at = np.arange(len(labels))
    height = 0.84 / len(series)
    for place, (kind, values) in enumerate(series.items()):
        offset = (place - (len(series) - 1) / 2) * height
        axes.barh(at + offset, values, 0.92 * height, color=COLOURS[kind], label=names[kind])
        if interval is not None and place == len(series) - 1:
            reach = [np.maximum(values - interval[0], 0), np.maximum(interval[1] - values, 0)]
            axes.errorbar(values, at + offset, xerr=reach, fmt="none", ecolor="#000000b0", capsize=2, elinewidth=0.9)
    axes.set_yticks(at, [_short(label) for label in labels], fontsize=9)
    axes.set_ylim(len(labels) - 0.45, -0.55)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter("{x:.0%}" if percent else "{x:,.0f}")
    axes.xaxis.set_major_locator(_few_ticks())
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", length=0)
    without_frame(axes)
    figure.legend(loc="outside upper left", ncols=len(series), frameon=False, fontsize=9, handlelength=1.1)
    return figure


def draw_heatmaps(
    down: tuple[str, Sequence[str]],
    across: tuple[str, Sequence[str]],
    tables: Mapping[str, Array],
    names: Mapping[str, str],
    unclear: NDArray[np.bool_] | None = None,
    *,
    stacked: bool = False,
) -> Figure:
    """Tables in one scale of colours, side by side, or stacked for a narrow screen; unclear cells of the last hatched.

    Parameters
    ----------
    down, across : the name of each column and its values
    tables : original, naive, reconstructed or released counts, in the order they are drawn
    names : what to call each
    unclear : cells of the last table that cannot be told from noise
    stacked : whether one stands below the other
    """
    rows, columns = len(down[1]), len(across[1])
    height = 1.25 + max(0.27 * rows, 0.9) + 0.05 * max(map(len, across[1]))
    figure = new_figure(4.4, height * len(tables)) if stacked else new_figure(10.2, height)
    highest = max(float(max(np.max(table) for table in tables.values())), 1.0)
    grid = (len(tables), 1) if stacked else (1, len(tables))
    panels = figure.subplots(*grid, sharey=True, squeeze=False).ravel()
    for axes, (kind, table) in zip(panels, tables.items(), strict=True):
        axes.imshow(np.maximum(table, 0), cmap="OrRd", vmin=0, vmax=highest, aspect="auto")
        if table.size * len(tables) <= _MOST_NUMBERS:
            _write_numbers(axes, table, highest)
        axes.set_title(names[kind], loc="left", fontsize=10)
        axes.set_xticks(range(columns), [_short(label) for label in across[1]], rotation=40, ha="right", fontsize=8)
        axes.set_yticks(range(rows), [_short(label) for label in down[1]], fontsize=8)
        axes.set_xlabel(_short(across[0]), fontsize=9)
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_visible(False)
    for axes in panels if stacked else panels[:1]:
        axes.set_ylabel(_short(down[0]), fontsize=9)
    if unclear is not None:
        for row, column in np.argwhere(unclear):
            panels[-1].add_patch(_hatched(column, row))
    return figure


def _write_numbers(axes: Any, table: Array, highest: float) -> None:
    for row, column in np.ndindex(table.shape):
        colour = "white" if table[row, column] > 0.6 * highest else ORIGINAL
        axes.text(column, row, f"{table[row, column]:,.0f}", ha="center", va="center", fontsize=7, color=colour)


def _hatched(column: int, row: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="////", edgecolor="#00000028", lw=0)


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4)


def _short(label: str) -> str:
    return plain(label if len(label) <= 22 else label[:21] + "…")
