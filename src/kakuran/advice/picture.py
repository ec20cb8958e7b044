"""Expected error against k."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kakuran.advice.sentences import NAMES
from kakuran.colours import BLUE, ESTIMATE, INK, NAIVE
from kakuran.errors import needing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kakuran.advice.comparison import Advice

_STYLES = {
    "perturb": (ESTIMATE, "o"),
    "perturb-data-dependent": ("#8c3a1f", "s"),
    "microaggregate": (INK, "^"),
    "factorise": (BLUE, "D"),
}


def draw_errors(advice: Advice) -> Figure:
    """A line a method, the k that is wanted, and what guessing would get wrong."""
    with needing("a plot", "plot"):
        from kakuran.picture import Picture, without_frame
    figure = Picture(figsize=(7.6, 4.4), layout="constrained")
    axes = figure.subplots()
    for method, (colour, marker) in _STYLES.items():
        points = sorted((one.k, one.errors.both) for one in advice.curves if one.method == method and one.errors)
        if points:
            axes.plot(*zip(*points, strict=True), marker=marker, color=colour, label=NAMES[method], markersize=5)
    axes.axhline(advice.guess, color=NAIVE, linestyle="--", label="guessing without a release")
    axes.axvline(advice.k, color="#00000030", linestyle=":", label=f"k = {advice.k:g}")
    ks = sorted({one.k for one in advice.curves})
    axes.set_xscale("log")
    axes.set_xticks(ks, [f"{k:g}" for k in ks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.set_xlabel("k")
    axes.set_ylabel("people counted in the wrong cell")
    axes.set_title(f"Expected error of one- and two-way tables, n = {advice.n:,}", loc="left", fontsize=11)
    without_frame(axes)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure
