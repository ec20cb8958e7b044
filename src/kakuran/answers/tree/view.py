"""A tree in words and as a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from kakuran.answers.estimate import plain
from kakuran.answers.tree.growth import Node
from kakuran.answers.tree.splits import Split
from kakuran.colours import BRANCH, ESTIMATE, NAIVE
from kakuran.counts import Cells
from kakuran.errors import needing
from kakuran.typing import Array
from kakuran.words import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN_VALUES = 4


def tree_text(root: Node, axes: Sequence[Cells], is_ordered: Sequence[bool], translate: Translate = str) -> str:
    """The tree as indented text, one line a branch."""
    return "\n".join("    " * depth + translate(said) for depth, said in _lines(root, axes, is_ordered, 0))


def importances(root: Node, axes: int) -> Array:
    """The share of every axis but the first in all that the splits gain."""
    gains = np.zeros(axes)
    for node in root.nodes():
        if node.split is not None:
            gains[node.split.axis] += node.split.gain * node.counts.sum()
    return gains[1:] / gains.sum() if gains.sum() > 0 else gains[1:]


def condition(split: Split, axes: Sequence[Cells], is_ordered: Sequence[bool], *, is_left: bool, within: Any) -> str:
    """What holds on one side of a split, in words; `within` are the cells that get there."""
    axis = axes[split.axis]
    inside, other = (
        (within & split.left, within & ~split.left) if is_left else (within & ~split.left, within & split.left)
    )
    if is_ordered[split.axis]:
        last = int(np.flatnonzero(within & split.left)[-1])
        edge = axis.labels[last].split("–")[-1]
        return f"{axis.name} {'≤' if is_left else '>'} {edge}"
    if inside.sum() <= other.sum():
        return Phrase("{column} is {values}", column=axis.name, values=_either(axis, inside))
    return Phrase("{column} is not {values}", column=axis.name, values=_either(axis, other))


def _either(axis: Cells, cells: Any) -> str:
    """Some of the values, one or the other."""
    names = [axis.labels[cell] for cell in np.flatnonzero(cells)]
    shown = reduce(lambda one, other: Phrase("{one} or {other}", one=one, other=other), names[:_SHOWN_VALUES])
    more = len(names) - _SHOWN_VALUES
    return Phrase("{values} or {more} more", values=shown, more=more) if more > 0 else shown


def _lines(node: Node, axes: Sequence[Cells], is_ordered: Sequence[bool], depth: int) -> Iterator[tuple[int, str]]:
    """How deep every line stands, and what it says."""
    if node.split is None or node.children is None:
        yield depth, _summary(node, axes[0])
        return
    for child, is_left in zip(node.children, (True, False), strict=True):
        within = node.path[node.split.axis]
        said = condition(node.split, axes, is_ordered, is_left=is_left, within=within)
        if child.children is None:
            yield depth, Phrase("{condition}: {outcome}", condition=said, outcome=_summary(child, axes[0]))
        else:
            yield depth, said
            yield from _lines(child, axes, is_ordered, depth + 1)


def _summary(node: Node, target: Cells) -> str:
    total = max(float(node.counts.sum()), 1e-12)
    best = int(np.argmax(node.counts))
    return Phrase(
        "{value} ({share:.0%} of about {count:,.0f})",
        value=target.labels[best],
        share=node.counts[best] / total,
        count=node.counts.sum(),
    )


def draw_tree(root: Node, axes: Sequence[Cells], is_ordered: Sequence[bool], translate: Translate = str) -> Figure:
    """Boxes from left to right; the bar in each shows the shares of the classes."""
    with needing("a plot", "plot"):
        from kakuran.picture import Picture
    places = _places(root)
    deepest = max(depth for depth, _ in places.values())
    width, longest = 3.4 * (deepest + 1), max(map(len, axes[0].labels))
    across = min(axes[0].size, max(1, int(width / (0.6 + 0.11 * longest))))  # inches of a mark, and of a wide letter
    height = 0.9 + 0.2 * math.ceil(axes[0].size / across) + 0.75 * len(list(root.leaves()))
    figure = Picture(figsize=(width, height), layout="constrained")
    drawing = figure.subplots()
    drawing.set_axis_off()
    colours = _colours(axes[0].size)
    for node in root.nodes():
        depth, height = places[id(node)]
        if node.split is not None and node.children is not None:
            for child, is_left in zip(node.children, (True, False), strict=True):
                deeper, at = places[id(child)]
                drawing.plot([depth + 0.62, deeper - 0.02], [height, at], color=BRANCH, lw=0.8, zorder=0)
                said = condition(node.split, axes, is_ordered, is_left=is_left, within=node.path[node.split.axis])
                drawing.text(deeper, at + 0.2, plain(translate(said)), fontsize=7, va="bottom", style="italic")
        _draw_node(drawing, node, plain(translate(_summary(node, axes[0]))), depth, height, colours)
    for label, colour in zip(axes[0].labels, colours, strict=True):
        drawing.bar([0], [0], color=colour, label=plain(translate(label)))
    figure.legend(title=plain(axes[0].name), frameon=False, fontsize=8, loc="outside upper left", ncols=across)
    drawing.set_xlim(-0.1, deepest + 0.75)
    return figure


def _draw_node(drawing: Any, node: Node, said: str, depth: int, height: float, colours: Sequence[Any]) -> None:
    start, shares = float(depth), node.counts / max(float(node.counts.sum()), 1e-12)
    for share, colour in zip(shares, colours, strict=True):
        drawing.barh(height, 0.6 * share, left=start, height=0.3, color=colour)
        start += 0.6 * share
    drawing.text(depth, height - 0.2, said, fontsize=7, va="top")


def _places(root: Node) -> dict[int, tuple[int, float]]:
    """Depth and height of every node: leaves one below the other, parents between their children."""
    places: dict[int, tuple[int, float]] = {}
    leaves = iter(range(0, -(10**6), -1))

    def put(node: Node, depth: int) -> float:
        heights = [put(child, depth + 1) for child in node.children or ()]
        height = sum(heights) / len(heights) if heights else float(next(leaves))
        places[id(node)] = depth, height
        return height

    put(root, 0)
    return places


def _colours(count: int) -> Sequence[Any]:
    from matplotlib import colormaps

    return [NAIVE, ESTIMATE] if count == 2 else [colormaps["viridis"](place) for place in np.linspace(0.1, 0.9, count)]
