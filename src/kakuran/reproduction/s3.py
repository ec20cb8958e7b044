"""S3: the information-loss index ILD on data that are not numbers, and its figures of two trees and two graphs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kakuran.audit import Distance, Graph, information_capacity, information_loss
from kakuran.charts import ESTIMATE, INK, NAIVE, Series, column_chart, new_figure
from kakuran.reproduction.findings import Finding, Reproduced
from kakuran.schema import Tree

_STROKES: Mapping[int, tuple[Any, float]] = {6: ("-", 2.6), 4: ("--", 2.6), 2: ("-", 1.0), 1: ("--", 1.0)}
"""How S3 draws an edge of each weight: thick or thin, whole or dashed."""


def draw(symbols: Tree, japan: Tree, roads: Graph, prefectures: Sequence[str], regions: Sequence[str]) -> Any:
    """The four figures side by side."""
    from matplotlib.lines import Line2D

    figure = new_figure(10, 7)
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


PREFECTURES = ["Nagano", "Niigata", "Tokyo", "Kanagawa", "Osaka", "Nara", "Fukuoka", "Kumamoto"]
REGIONS = ["Koshinetsu", "Kanto", "Kansai", "Kyushu"]
_BETWEEN_REGIONS = (2, 2, 6, 2, 4, 4)
_SYMBOLS = ["a11", "a12", "a21", "a22"]


@dataclass(frozen=True)
class _Line:
    """A number of the paper: what was masked, by which distance, and what it printed."""

    where: str
    before: Sequence[Any]
    after: Sequence[Any]
    distance: Distance
    p: float
    printed: tuple[float, float, float]

    def found(self) -> tuple[float, float, float]:
        """Our three numbers."""
        capacities = (information_capacity(table, self.distance, self.p) for table in (self.before, self.after))
        return *capacities, information_loss(self.before, self.after, self.distance, self.p)  # type: ignore[return-value]

    @property
    def agrees(self) -> bool:
        """Whether ours is what is printed; the paper cuts 0.142857 to 0.14285."""
        return all(abs(mine - number) < 1e-4 for number, mine in zip(self.printed, self.found(), strict=True))

    def __str__(self) -> str:
        cells = [f"{number:g} / {mine:.5g}" for number, mine in zip(self.printed, self.found(), strict=True)]
        return f"| {self.where} | {self.p:g} | {' | '.join(cells)} | {'yes' if self.agrees else '**no**'} |"


def japan() -> Tree:
    """Eight prefectures in four regions in two halves (S3 figure 2)."""
    groups = {region: PREFECTURES[2 * place : 2 * place + 2] for place, region in enumerate(REGIONS)}
    return Tree({"Japan": ["east", "west"], "east": REGIONS[:2], "west": REGIONS[2:], **groups})


def roads() -> Graph:
    """1 inside a region and 6, 4, 4, 2, 2, 2 between regions, for prefectures and regions (S3 figures 3 and 4)."""
    between = dict(zip(itertools.combinations(REGIONS, 2), _BETWEEN_REGIONS, strict=True))
    members = {region: PREFECTURES[2 * place : 2 * place + 2] for place, region in enumerate(REGIONS)}
    weights: dict[tuple[str, str], float] = {**between}
    for one, other in members.values():
        weights[one, other] = 1
    for (a, b), weight in between.items():
        weights |= dict.fromkeys(itertools.product(members[a], members[b]), weight)
    return Graph(weights)


def symbols() -> Tree:
    """Four symbols in two groups (S3 figure 1)."""
    return Tree({"a": ["a1", "a2"], "a1": _SYMBOLS[:2], "a2": _SYMBOLS[2:]})


def reproduce(folder: Path, *, quick: bool) -> Reproduced:
    """Every number S3 prints beside ours, and its figures. Quick or not makes no difference."""
    del quick
    lines = _lines()
    _draw(lines).savefig(folder / "s3-ild.png", dpi=144)
    draw(symbols(), japan(), roads(), PREFECTURES, REGIONS).savefig(folder / "s3-figures.png", dpi=120)
    text = "\n".join(
        [
            "# S3: an information-loss index for data that are not numbers",
            "",
            "Paper / ours. I is the sum of d^p over all pairs of records, ILD the share of it that is lost.",
            "",
            "| data and distance | p | I before | I after | ILD | same? |",
            "|---|---|---|---|---|---|",
            *map(str, lines),
            "",
            "![ILD by distance](s3-ild.png)",
            "",
            "All numbers reproduce. The tree has a level between regions and country that the text does not mention:",
            "only with it are the sums 1440 and 272.",
            "",
            "![Figures 1 to 4](s3-figures.png)",
            "",
            "Figures 1 to 4. Between which regions each weight lies cannot be told from the text, only that they are",
            "6, 4, 4, 2, 2 and 2; the sums do not depend on it.",
            "",
        ]
    )
    return Reproduced(text, _findings(lines))


def _findings(lines: Sequence[_Line]) -> tuple[Finding, ...]:
    parts = {
        "Examples 2.1, 2.2": ("I and ILD of numbers and symbols", lines[:3]),
        "Table 1": ("I and ILD by three distances, p = 2", lines[3:6]),
        "Table 2": ("the same with p = 1", lines[6:]),
    }
    return (
        Finding("Figure 1", "a tree of symbols", "yes", "as the text has it"),
        Finding("Figure 2", "the tree of prefectures", "yes", "with the level that the sums need"),
        Finding("Figure 3", "a weighted graph of prefectures", "in part", "which edge has which weight is a guess"),
        Finding("Figure 4", "a weighted graph of regions", "in part", "which edge has which weight is a guess"),
        *(
            Finding(
                item,
                shows,
                "yes" if all(line.agrees for line in part) else "no",
                f"{3 * sum(line.agrees for line in part)} of {3 * len(part)} numbers the same",
            )
            for item, (shows, part) in parts.items()
        ),
    )


def _lines() -> list[_Line]:
    released = [region for region in REGIONS for _ in range(2)]
    tables: list[tuple[str, Distance, tuple[float, float, float], tuple[float, float, float]]] = [
        ("prefectures, discrete", "discrete", (56, 48, 0.14285), (56, 48, 0.14285)),
        ("prefectures, tree", japan(), (1440, 576, 0.6), (272, 160, 0.41176)),
        ("prefectures, graph", roads(), (648, 640, 0.01234), (168, 160, 0.04762)),
    ]
    return [
        _Line("numbers (example 2.1)", [1, 2, 3, 4], [1.5, 1.5, 3.5, 3.5], "euclidean", 2, (40, 32, 0.2)),
        _Line("symbols, tree (example 2.2)", _SYMBOLS, ["a1", "a1", "a2", "a2"], symbols(), 2, (144, 32, 0.7778)),
        _Line("symbols, at the root", _SYMBOLS, ["a"] * 4, symbols(), 2, (144, 0, 1.0)),
        *(_Line(where, PREFECTURES, released, how, 2, squared) for where, how, squared, _ in tables),
        *(_Line(where, PREFECTURES, released, how, 1, plain) for where, how, _, plain in tables),
    ]


def _draw(lines: Sequence[_Line]) -> Any:
    chosen = [line for line in lines if line.where.startswith("prefectures")]
    names = list(dict.fromkeys(line.where.removeprefix("prefectures, ") for line in chosen))
    series = [
        Series(f"p = {p}", np.array([line.found()[2] for line in chosen if line.p == p]), colour)
        for p, colour in ((2, INK), (1, ESTIMATE))
    ]
    title = "Eight prefectures become four regions"
    return column_chart(names, {title: series}, width=6, up="ILD", numbers="%.3f")
