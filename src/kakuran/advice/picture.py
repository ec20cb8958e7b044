"""Expected error against k."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kakuran.advice.sentences import NAMES
from kakuran.colours import BLUE, ESTIMATE, INK, NAIVE
from kakuran.errors import needing
from kakuran.phrases import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kakuran.advice.comparison import Advice

_STYLES = {
    "perturb": (ESTIMATE, "o"),
    "perturb-data-dependent": ("#8c3a1f", "s"),
    "microaggregate": (INK, "^"),
    "factorise": (BLUE, "D"),
}


def draw_errors(advice: Advice, translate: Translate = str, *, narrow: bool = False) -> Figure:
    """A line a method, the k that is wanted, and what guessing would get wrong; perhaps for a narrow screen."""
    with needing("a plot", "plot"):
        from kakuran.picture import Picture, without_frame
    figure = Picture(figsize=(4.4, 4.8) if narrow else (7.6, 4.4), layout="constrained")
    axes = figure.subplots()
    for method, (colour, marker) in _STYLES.items():
        points = sorted((one.k, one.errors.both) for one in advice.curves if one.method == method and one.errors)
        if points:
            name = translate(NAMES[method])
            axes.plot(*zip(*points, strict=True), marker=marker, color=colour, label=name, markersize=5)
    guess = translate(Phrase("guessing without a release"))
    axes.axhline(advice.guess, color=NAIVE, linestyle="--", label=guess)
    axes.axvline(advice.k, color="#00000030", linestyle=":", label=f"k = {advice.k:g}")
    ks = sorted({one.k for one in advice.curves})
    axes.set_xscale("log")
    axes.set_xticks(ks, [f"{k:g}" for k in ks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.set_xlabel("k")
    axes.set_ylabel(translate(Phrase("people counted in the wrong cell")))
    title = Phrase("Expected error of one- and two-way tables, n = {n:,}", n=advice.n)
    axes.set_title(translate(title), loc="left", fontsize=11)
    without_frame(axes)
    figure.legend(loc="outside lower center", ncols=1 if narrow else 3, frameon=False, fontsize=9)
    return figure
