"""Every kind of chart, bars and heatmaps with intervals among them, a function each, in one set of colours.

Charts know nothing of answers: they take labels, numbers and phrases, and say phrases in the language they are given.
matplotlib is loaded when something is drawn, not before.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kakuran.errors import MissingLettersWarning, needing
from kakuran.typing import Array
from kakuran.words import Phrase, Translate, width_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = threading.Lock()
"""For whoever draws, as matplotlib has one style for all threads."""
INK = "#1f2a44"
"""The truth where it is known, and whatever is neither estimated nor naive."""
ESTIMATE = "#d1603d"
NAIVE = "#c9c4ba"
"""What was counted as it is; also what is there to compare with."""
BLUE = "#3b6ea5"
"""One more, to tell from the others. The collector's pages have the same colours (collect/static/style.css)."""
COLOUR_OF = {"original": INK, "naive": NAIVE, "reconstructed": ESTIMATE, "released": ESTIMATE}
_BRANCH = "#9a958a"
_PROMISED, _BEFORE = "#b3261e", "#8a6d00"
_MOST_NUMBERS = 160
_MOST_DECIMALS = 7
_LETTERS = 14
"""In an inch of a chart, about."""
_BESIDE, _UP = 0.7, 2.0
"""Inches left of columns, and along which they stand."""
_NARROW = 4.4
"""Inches of a chart for a narrow screen."""


Labelled: TypeAlias = tuple[str, Sequence[str]]
"""The name of a column and what its cells are called."""


@dataclass(frozen=True)
class Series:
    """Bars of one kind: what the legend calls them, a value a label, a colour for all or for each, intervals."""

    name: str
    values: Array
    colour: str | Sequence[str]
    interval: tuple[Array, Array] | None = None


@dataclass(frozen=True)
class Curve:
    """A line through points; its style is matplotlib's, as ``"o-"``."""

    name: str
    x: ArrayLike
    y: ArrayLike
    colour: str
    style: str = "-"
    size: float = 5


@dataclass(frozen=True)
class TreeBox:
    """A node of a tree: what led there, what it says, the shares of the classes in it, and what follows."""

    condition: str
    said: str
    shares: Array
    children: tuple[TreeBox, ...] = ()

    def leaves(self) -> int:
        """How many boxes nothing follows."""
        return sum(child.leaves() for child in self.children) or 1

    def depth(self) -> int:
        """How many boxes follow each other, at most, after this one."""
        return max((1 + child.depth() for child in self.children), default=0)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    with needing(Phrase("a plot"), "plot"):
        from kakuran.charts.fonts import Picture
    return Picture(figsize=(width, height), layout="constrained")


def new_plot(width: float, height: float, **axes: Any) -> tuple[Figure, Any]:
    """An empty figure, in inches, and its one plot, which has no box around it and what `Axes.set` was given."""
    figure = new_figure(width, height)
    plot = figure.subplots()
    plot.set(**axes)
    unbox(plot)
    return figure, plot


def as_svg(figure: Figure) -> str:
    """The figure as SVG: the same figure is always the same text, and its words stay words, in the reader's fonts."""
    from matplotlib import rc_context

    for axis in (one for plot in figure.axes for one in (plot.xaxis, plot.yaxis) if not one.get_label_text()):
        axis.set_label_coords(0, 0)  # anywhere: to find a place for no words, matplotlib measures all numbers again
    content = io.StringIO()
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": "kakuran", "font.family": "sans-serif"}
    with _STYLE, rc_context(style), warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingLettersWarning)  # missing here, where letters are only measured
        figure.savefig(content, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    drawn = content.getvalue()
    return drawn[drawn.index("<svg") :]


def plain(label: str) -> str:
    """A label as it is: a dollar sign in it does not begin a formula."""
    return label.replace("$", r"\$")


def _write_numbers(axis: Any, written: str) -> None:
    """Numbers along an axis, with as many decimals as it takes to tell them apart: never 0 %, 1 %, 1 %."""
    at = axis.get_major_locator().tick_values(*axis.get_view_interval())
    tried = (re.sub(r"\.\d", f".{decimals}", written) for decimals in range(_MOST_DECIMALS))
    axis.set_major_formatter(next((one for one in tried if len({one.format(x=x) for x in at}) == len(at)), written))


def bar_chart(
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    title: str = "",
    along: str = "",
    written: str = "{x:,.0f}",
    numbers: str = "",
) -> Figure:
    """Bars from the top down, a group a label, a bar a series; `numbers` is how to write a bar's number beside it."""
    figure, plot = new_plot(5.2, 0.9 + len(labels) * (0.1 + 0.14 * max(len(series), 2)))
    _put_bars(plot, labels, series, is_lying=True, numbers=numbers)
    plot.set_title(title, loc="left")
    plot.set_xlabel(along)
    plot.locator_params(axis="x", nbins=4)
    _write_numbers(plot.xaxis, written)
    plot.tick_params(axis="x", labelsize=8)
    if len(series) > 1 or series[0].name:
        figure.legend(loc="outside upper left", ncols=len(series), frameon=False, fontsize=9, handlelength=1.1)
    return figure


def loss_chart(title: str, losses: Mapping[str, float], along: str, chosen: str | None = None) -> Figure:
    """A bar and a number for each name; one of them may stand out."""
    colours = [ESTIMATE if name == chosen else INK for name in losses]
    bars = Series("", np.array([*losses.values()]), colours)
    return bar_chart([*losses], [bars], title=title, along=along, written="{x:g}", numbers="%.4g")


def column_chart(
    labels: Sequence[str],
    panels: Mapping[str, Sequence[Series]],
    *,
    width: float,
    along: str = "",
    up: str = "",
    numbers: str = "",
) -> Figure:
    """Columns from left to right, a group a label and a column a series; a panel a title, all with the same series."""
    figure, wide = new_figure(width, 3.6), (width - _BESIDE) / len(panels)
    plots = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for plot, (title, series) in zip(plots, panels.items(), strict=True):
        _put_bars(plot, labels, series, is_lying=False, numbers=numbers)
        plot.set_title(_in_lines(title, wide), loc="left", fontsize=9)
        plot.set_xlabel(_in_lines(along, wide))
        unbox(plot)
    plots[0].set_ylabel(_in_lines(up, _UP))
    handles, names = plots[0].get_legend_handles_labels()
    beside = len(names) if width > 5 else 1
    figure.legend(handles, names, loc="outside lower left", ncols=beside, frameon=False, fontsize=8)
    return figure


def _in_lines(words: str, inches: float) -> str:
    """Words in as many lines as they need; Chinese characters are about twice as wide as letters."""
    most = int(_LETTERS * inches * len(words) / max(width_of(words), 1))
    return "\n".join(textwrap.fill(line, max(most, 8)) for line in words.splitlines())


def _put_bars(plot: Any, labels: Sequence[str], series: Sequence[Series], *, is_lying: bool, numbers: str) -> None:
    """Groups of bars beside each other, lying or standing."""
    at, thick = np.arange(len(labels)), 0.8 / len(series)
    draw, error = (plot.barh, "xerr") if is_lying else (plot.bar, "yerr")
    for place, one in enumerate(series):
        middle = at + (place - (len(series) - 1) / 2) * thick
        reach = None if one.interval is None else _reach(one.values, *one.interval)
        style = {"ecolor": INK, "capsize": 2, "elinewidth": 0.9}
        drawn = draw(
            middle, one.values, 0.92 * thick, color=one.colour, label=one.name, error_kw=style, **{error: reach}
        )
        if numbers:
            plot.bar_label(drawn, fmt=numbers, padding=3)
    if is_lying:
        plot.set_yticks(at, [_short(label) for label in labels], fontsize=9)
        plot.set_ylim(len(labels) - 0.45, -0.55)
        plot.tick_params(axis="y", length=0)
    else:
        is_long = max(map(len, labels)) > 4
        plot.set_xticks(at, [plain(label) for label in labels], **({"rotation": 30, "ha": "right"} if is_long else {}))
    if numbers:
        plot.margins(**({"x": 0.25} if is_lying else {"y": 0.1}))
    elif is_lying:
        drawn_from = [np.asarray(some) for one in series for some in (one.values, *(one.interval or ()))]
        if not any((some < 0).any() for some in drawn_from):
            plot.set_xlim(left=0)


def _reach(values: Array, low: Array, high: Array) -> list[Array]:
    return [np.maximum(values - low, 0), np.maximum(high - values, 0)]


def heatmaps_to_compare(
    down: Labelled,
    across: Labelled,
    tables: Mapping[str, Array],
    unclear: NDArray[np.bool_] | None = None,
    *,
    is_stacked: bool = False,
) -> Figure:
    """Tables in one scale, side by side or, for a narrow screen, stacked; unclear cells of the last hatched."""
    height = 1.25 + max(0.27 * len(down[1]), 0.9) + 0.05 * max(map(len, across[1]))
    figure = new_figure(_NARROW, height * len(tables)) if is_stacked else new_figure(10.2, height)
    highest = _highest(*tables.values())
    grid = (len(tables), 1) if is_stacked else (1, len(tables))
    plots = figure.subplots(*grid, sharey=True, squeeze=False).ravel()
    for plot, (name, table) in zip(plots, tables.items(), strict=True):
        is_written = table.size * len(tables) <= _MOST_NUMBERS
        hatched = unclear if plot is plots[-1] else None
        said = np.vectorize("{:,.0f}".format)(table) if is_written else None
        _put_heatmap(plot, down, across, table, highest, said, hatched)
        plot.set_title(name, loc="left", y=1, fontsize=10)
        plot.set_ylabel(_short(down[0]) if is_stacked or plot is plots[0] else "", fontsize=9)
    return figure


def estimate_heatmaps(
    down: Labelled,
    across: Labelled,
    counts: Array,
    interval: tuple[Array, Array],
    unclear: NDArray[np.bool_],
    titles: Sequence[str],
    caption: str,
) -> Figure:
    """Estimates with intervals, a heatmap and a title for each cell of the further axes; unclear cells hatched."""
    beside = min(len(titles), 3)
    below = math.ceil(len(titles) / beside)
    width, height = 1.8 + 0.9 * len(across[1]), 1.2 + 0.42 * len(down[1])
    figure = new_figure(max(4.5, beside * width), 0.3 + below * height)
    plots = figure.subplots(below, beside, squeeze=False).ravel()
    panels = (_panels(values) for values in (counts, *interval, unclear))
    highest = _highest(counts)
    for plot, title, *(table, low, high, hatched) in zip(plots, titles, *panels, strict=False):
        said = np.vectorize("{:,.0f}\n{:,.0f}–{:,.0f}".format)(table, low, high)
        _put_heatmap(plot, down, across, table, highest, said, hatched)
        plot.set_title(plain(title), y=1, fontsize=8)
        plot.set_ylabel(_short(down[0]))
    for plot in plots[len(titles) :]:
        plot.set_visible(False)
    figure.suptitle(caption, x=0.01, ha="left", fontsize=9)
    return figure


def _panels(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The two-way tables along all further axes."""
    yield from np.moveaxis(values.reshape(*values.shape[:2], -1), -1, 0)


def _highest(*tables: Array) -> float:
    return max(1.0, *(float(np.max(table)) for table in tables))


def _put_heatmap(
    plot: Any,
    down: Labelled,
    across: Labelled,
    table: Array,
    highest: float,
    said: NDArray[np.str_] | None,
    unclear: NDArray[np.bool_] | None,
) -> None:
    """A table in colours, its numbers on them, the unclear hatched; nothing of it stands in the way of a title."""
    from matplotlib.patches import Rectangle

    plot.imshow(np.maximum(table, 0), cmap="OrRd", vmin=0, vmax=highest, aspect="auto")
    for (row, column), number in np.ndenumerate(said if said is not None else np.empty((0, 0), str)):
        colour = "white" if table[row, column] > 0.6 * highest else INK
        is_last = column == table.shape[1] - 1  # others never reach beyond the plot, so that nobody need measure them
        plot.text(column, row, number, ha="center", va="center", fontsize=7, color=colour, in_layout=is_last)
    for row, column in np.argwhere(unclear) if unclear is not None else ():
        corner = (column - 0.5, row - 0.5)
        plot.add_patch(Rectangle(corner, 1, 1, fill=False, hatch="////", edgecolor="#00000028", lw=0))
    plot.set_xticks(range(len(across[1])), [_short(label) for label in across[1]], rotation=40, ha="right", fontsize=8)
    plot.set_yticks(range(len(down[1])), [_short(label) for label in down[1]], fontsize=8)
    plot.set_xlabel(_short(across[0]), fontsize=9)
    plot.tick_params(length=0)
    plot.spines[:].set_visible(False)


def density_chart(
    name: str,
    edges: Array,
    shares: Array,
    interval: tuple[Array, Array, float],
    naive: Array,
    translate: Translate = str,
    written: Callable[[float], str] | None = None,
) -> Figure:
    """The estimated density of a number, or of dates as they are written, with intervals and the uncorrected one.

    An interval is its low and its high ends, and its level.
    """
    figure, plot = new_plot(8, 3.6, xlabel=plain(name), ylabel=translate(Phrase("density")))
    if written is not None:
        plot.xaxis.set_major_formatter(lambda number, _: written(number))
    *ends, level = interval
    low, high = (end / np.diff(edges) for end in ends)
    counted = Phrase("naive: counted in the release")
    estimated = Phrase("reconstructed, with {level:g} % interval", level=100 * level)
    plot.stairs(naive / np.diff(edges), edges, fill=True, color=NAIVE, label=translate(counted))
    plot.stairs(high, edges, baseline=low, fill=True, color=ESTIMATE, alpha=0.25)
    plot.stairs(shares / np.diff(edges), edges, color=ESTIMATE, linewidth=1.6, label=translate(estimated))
    figure.legend(loc="outside upper left", ncols=2, frameon=False)
    return figure


def component_chart(points: Array, parts: Sequence[Array], whole: Array, name: str) -> Figure:
    """A density and the components it is the sum of, at the same points."""
    figure, plot = new_plot(8, 3.6, xlabel=plain(name), ylabel="density")
    for part in parts:
        plot.fill_between(points, part, color=NAIVE, alpha=0.6, linewidth=0)
    plot.plot(points, whole, color=ESTIMATE, linewidth=1.6)
    return figure


def cluster_chart(
    names: Sequence[str], records: Array, means: Array, covariances: Array, translate: Translate = str
) -> Figure:
    """Two columns: clusters as ellipses over the perturbed records."""
    spread = 4 * np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    limits = np.stack([(means - spread).min(axis=0), (means + spread).max(axis=0)])
    across, up = map(plain, names)
    figure, plot = new_plot(5.5, 5, xlim=limits[:, 0], ylim=limits[:, 1], xlabel=across, ylabel=up)
    perturbed, clusters = Phrase("perturbed records"), Phrase("reconstructed clusters, 2 deviations")
    plot.plot(*records.T, ".", color=NAIVE, markersize=2, label=translate(perturbed))
    around = np.linspace(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(around), np.sin(around)])
    for place, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        outline = mean[:, None] + 2 * np.linalg.cholesky(covariance) @ circle
        plot.plot(*outline, color=ESTIMATE, label=None if place else translate(clusters))
    figure.legend(loc="outside upper left", ncols=2, markerscale=4, frameon=False)
    return figure


def put_curves(plot: Any, curves: Sequence[Curve], **style: Any) -> None:
    """Lines in a plot, each with its name in the legend."""
    for one in curves:
        plot.plot(one.x, one.y, one.style, color=one.colour, label=one.name, markersize=one.size, **style)


def error_chart(
    curves: Sequence[Curve], k: float, guess: float, title: str, translate: Translate = str, *, narrow: bool = False
) -> Figure:
    """Errors against k, the k that is wanted, and what guessing would get wrong; perhaps for a narrow screen."""
    wrong = translate(Phrase("people counted in the wrong cell"))
    size = (_NARROW, 4.8) if narrow else (7.6, 4.4)
    figure, plot = new_plot(*size, xlabel="k", ylabel=wrong, xscale="log")
    put_curves(plot, curves)
    plot.axhline(guess, color=NAIVE, linestyle="--", label=translate(Phrase("guessing without a release")))
    plot.axvline(k, color="#00000030", linestyle=":", label=f"k = {k:g}")
    ks = np.unique(np.concatenate([np.asarray(curve.x, float) for curve in curves]))
    plot.set_xticks(ks, [f"{one:g}" for one in ks])
    plot.minorticks_off()
    plot.set_ylim(bottom=0)
    _write_numbers(plot.yaxis, "{x:.0%}")
    plot.set_title(translate(title), loc="left", fontsize=11)
    figure.legend(loc="outside lower center", ncols=1 if narrow else 3, frameon=False, fontsize=9)
    return figure


def path_chart(steps: Sequence[str], scores: Sequence[float], last: int, said: Mapping[str, str]) -> Figure:
    """A score step by step, up to the `last`, which was chosen, then dashed to one that was refused."""
    figure, plot = new_plot(max(5.0, 0.45 * len(steps) + 2.5), 3.8, ylabel=said["score"])
    plot.plot(range(last + 1), scores[: last + 1], "-o", color=INK, markersize=4)
    if last + 1 < len(steps):
        put_curves(plot, [Curve(said["refused"], [last, last + 1], scores[last : last + 2], NAIVE, "--o", 4)])
    put_curves(plot, [Curve(said["chosen"], [last], [scores[last]], ESTIMATE, "o", 9)])
    plot.set_xticks(range(len(steps)), [plain(step) for step in steps], rotation=45, ha="right")
    plot.ticklabel_format(axis="y", useOffset=False)
    plot.set_title(said["title"], loc="left")
    plot.legend(frameon=False)
    return figure


def risk_chart(
    posteriors: Array,
    lowest: float,
    after: Mapping[Phrase, float],
    before: Mapping[Phrase, float],
    title: str,
    translate: Translate = str,
    *,
    narrow: bool = False,
) -> Figure:
    """How sure an attacker is of each link, and named lines for risks after the release and before."""
    sure, count = Phrase("probability that the link is right"), Phrase("released records")
    size = (_NARROW, 4.6) if narrow else (7.2, 4.2)
    figure, plot = new_plot(*size, xlabel=translate(sure), ylabel=translate(count), xscale="log")
    counts, edges = np.histogram(posteriors, np.geomspace(0.8 * min(posteriors.min(), lowest), 1.05, 80))
    surest = translate(Phrase("after: surest link of each released record"))
    plot.stairs(counts, edges, fill=True, color=BLUE, label=surest)
    plot.xaxis.set_major_formatter(lambda number, _: np.format_float_positional(number, trim="-"))  # 0.01, not 10⁻²
    for risks, colour, styles in ((after, _PROMISED, ("-", ":")), (before, _BEFORE, ("--", "-."))):
        for (name, risk), style in zip(risks.items(), styles, strict=True):
            plot.axvline(risk, linestyle=style, color=colour, label=translate(name), linewidth=1.8)
    plot.set_title(translate(title), loc="left")
    plot.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=1 if narrow else 2, frameon=False, fontsize=9)
    return figure


def tree_chart(root: TreeBox, target: str, classes: Sequence[str]) -> Figure:
    """Boxes from left to right; the bar in each shows the shares of the classes."""
    width = 3.4 * (root.depth() + 1)
    ncols = min(len(classes), max(1, int(width / (0.6 + 0.11 * max(map(len, classes))))))  # of a mark, of a wide letter
    figure = new_figure(width, 0.9 + 0.2 * math.ceil(len(classes) / ncols) + 0.75 * root.leaves())
    plot = figure.subplots()
    plot.set_axis_off()
    colours = _class_colours(len(classes))
    _put_box(plot, root, colours, 0, 0)
    for name, colour in zip(classes, colours, strict=True):
        plot.bar([0], [0], color=colour, label=plain(name))
    figure.legend(title=plain(target), frameon=False, fontsize=8, loc="outside upper left", ncols=ncols)
    plot.set_xlim(-0.1, root.depth() + 0.75)
    return figure


def _put_box(plot: Any, box: TreeBox, colours: Sequence[Any], depth: int, first: int) -> float:
    """Draw a box between those that follow it, whose leaves stand from `first` on downwards; its height."""
    heights: list[float] = []
    for child in box.children:
        heights.append(_put_box(plot, child, colours, depth + 1, first))
        first -= child.leaves()
    height = sum(heights) / len(heights) if heights else float(first)
    for child, at in zip(box.children, heights, strict=True):
        plot.plot([depth + 0.62, depth + 0.98], [height, at], color=_BRANCH, lw=0.8, zorder=0)
        plot.text(depth + 1, at + 0.2, plain(child.condition), fontsize=7, va="bottom", style="italic")
    starts = depth + 0.6 * (np.cumsum(box.shares) - box.shares)
    plot.barh([height] * len(colours), 0.6 * box.shares, left=starts, height=0.3, color=colours)
    plot.text(depth, height - 0.2, plain(box.said), fontsize=7, va="top")
    return height


def _class_colours(count: int) -> Sequence[Any]:
    from matplotlib import colormaps

    return [NAIVE, ESTIMATE] if count == 2 else [colormaps["viridis"](place) for place in np.linspace(0.1, 0.9, count)]


def unbox(plot: Any) -> None:
    """Leave a plot its two axes and take away the box around it."""
    plot.spines[["top", "right"]].set_visible(False)


def _short(label: str) -> str:
    return plain(label if len(label) <= 22 else label[:21] + "…")
