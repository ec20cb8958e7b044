"""Pictures beside the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Series: TypeAlias = Mapping[str, tuple[Sequence[float], Sequence[float]]]

COLOURS = ("#d1603d", "#8a8478", "#e8a33d", "#3b6ea5", "#5b8c5a", "#7d5ba6", "#b3261e", "#1b1b1b")


@dataclass(frozen=True)
class Picture:
    """A picture to keep, drawn only when it is: matplotlib need not be there for a quick run."""

    name: str
    text: str
    draw: Callable[[], Any]


def lines(panels: Sequence[tuple[str, Series, Mapping[str, Any]]], x_label: str) -> Any:
    """Panels side by side with one legend; x is logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(4.8 * len(panels), 7.2), 4.6), layout="constrained")
    for axes, (label, series, setting) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for (name, (x, y)), colour in zip(series.items(), COLOURS, strict=False):
            axes.plot(x, y, "o-", color=colour, label=name, linewidth=1.6, markersize=4)
        axes.set(xscale="log", xlabel=x_label, ylabel=label, **setting)
        axes.grid(alpha=0.25)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure
