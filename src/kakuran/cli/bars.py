"""Bars with names, as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kakuran.colours import ESTIMATE, INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_bars(title: str, values: Mapping[str, float], label: str, highlight: str | None = None) -> Figure:
    """One horizontal bar a name, from the top down; one of them may stand out."""
    from kakuran.picture import Picture, without_frame

    figure = Picture(figsize=(7, 0.9 + 0.4 * len(values)), layout="constrained")
    axes = figure.subplots()
    colours = [ESTIMATE if name == highlight else INK for name in values]
    drawn = axes.barh(list(values), list(values.values()), color=colours, height=0.6)
    axes.bar_label(drawn, fmt="%.4g", padding=3)
    axes.margins(x=0.25)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.set_title(title, loc="left")
    without_frame(axes)
    return figure
