"""S3's Figures 1 to 4: two trees and two weighted graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kakuran.colours import INK, NAIVE
from kakuran.measure import Graph
from kakuran.schema import Tree

_STROKES: Mapping[int, tuple[Any, float]] = {6: ("-", 2.6), 4: ("--", 2.6), 2: ("-", 1.0), 1: ("--", 1.0)}
"""How S3 draws an edge of each weight: thick or thin, whole or dashed."""


def draw(symbols: Tree, japan: Tree, roads: Graph, prefectures: Sequence[str], regions: Sequence[str]) -> Any:
    """The four figures side by side."""
    from matplotlib.lines import Line2D

    from kakuran.picture import Picture

    figure = Picture(figsize=(10, 7), layout="constrained")
    axes = figure.subplots(2, 2).flat
    _draw_tree(axes[0], symbols, "a")
    _draw_tree(axes[1], japan, "Japan")
    _draw_graph(axes[2], roads, prefectures)
    _draw_graph(axes[3], roads, regions)
    titles = ("a tree of symbols", "the tree of prefectures", "the graph of prefectures", "the graph of regions")
    for number, (one, title) in enumerate(zip(axes, titles, strict=True), start=1):
        one.set_title(f"Figure {number}: {title}", loc="left", fontsize=11)
        one.axis("off")
        one.margins(0.16)
    strokes = [
        Line2D([], [], color=INK, linestyle=line, linewidth=width, label=f"weight {weight}")
        for weight, (line, width) in _STROKES.items()
    ]
    figure.legend(handles=strokes, loc="outside lower center", ncols=len(strokes), frameon=False)
    return figure


def _draw_tree(axes: Any, tree: Tree, root: str) -> None:
    """Leaves side by side at the bottom, every group above the middle of its own."""
    places: dict[Any, tuple[float, float]] = {}

    def settle(node: Any, depth: int) -> float:
        below = [settle(child, depth + 1) for child in tree.children.get(node, ())]
        across = float(np.mean(below)) if below else float(sum(name not in tree.children for name in places))
        places[node] = across, -depth
        return across

    settle(root, 0)
    for child, parent in tree.parents.items():
        axes.plot(*zip(places[child], places[parent], strict=True), color=INK, linewidth=1, zorder=1)
    _write_names(axes, places, steep=len(tree.leaves) > 4)


def _draw_graph(axes: Any, graph: Graph, nodes: Sequence[str]) -> None:
    """Nodes on a circle, edges in the stroke of their weight."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(nodes)) / len(nodes)
    places = {node: (float(np.cos(angle)), float(np.sin(angle))) for node, angle in zip(nodes, angles, strict=True)}
    for (one, other), weight in graph.weights.items():
        if one in places and other in places:
            line, width = _STROKES[int(weight)]
            pair = zip(places[one], places[other], strict=True)
            axes.plot(*pair, color=INK, linestyle=line, linewidth=width, alpha=0.75, zorder=1)
    _write_names(axes, places)


def _write_names(axes: Any, places: dict[Any, tuple[float, float]], *, steep: bool = False) -> None:
    lowest = min(y for _, y in places.values())
    for name, (x, y) in places.items():
        is_crowded = steep and y == lowest
        box = {"boxstyle": "round,pad=0.3", "facecolor": "#f6f1e7", "edgecolor": NAIVE}
        axes.text(x, y, name, ha="center", va="center", fontsize=8, bbox=box, rotation=45 if is_crowded else 0)
