"""S3: the information-loss index ILD on data that are not numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kakuran.measure import Graph, information_capacity, information_loss
from kakuran.measure.distance import Distance
from kakuran.schema import Tree

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

    def __str__(self) -> str:
        ours = self.found()
        cells = [f"{number:g} / {mine:.5g}" for number, mine in zip(self.printed, ours, strict=True)]
        # The paper cuts 0.142857 to 0.14285.
        agrees = all(abs(mine - number) < 1e-4 for number, mine in zip(self.printed, ours, strict=True))
        return f"| {self.where} | {self.p:g} | {' | '.join(cells)} | {'yes' if agrees else '**no**'} |"


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


def reproduce(folder: Path, *, quick: bool) -> str:
    """Every number S3 prints beside ours; a picture of Tables 1 and 2. Quick or not makes no difference."""
    del quick
    lines = _lines()
    _draw(lines).savefig(folder / "s3-ild.png", dpi=144)
    return "\n".join(
        [
            "## S3: an information-loss index for data that are not numbers",
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
        ]
    )


def _lines() -> list[_Line]:
    symbols = Tree({"a": ["a1", "a2"], "a1": _SYMBOLS[:2], "a2": _SYMBOLS[2:]})
    released = [region for region in REGIONS for _ in range(2)]
    tables: list[tuple[str, Distance, tuple[float, float, float], tuple[float, float, float]]] = [
        ("prefectures, discrete", "discrete", (56, 48, 0.14285), (56, 48, 0.14285)),
        ("prefectures, tree", japan(), (1440, 576, 0.6), (272, 160, 0.41176)),
        ("prefectures, graph", roads(), (648, 640, 0.01234), (168, 160, 0.04762)),
    ]
    return [
        _Line("numbers (example 2.1)", [1, 2, 3, 4], [1.5, 1.5, 3.5, 3.5], "euclidean", 2, (40, 32, 0.2)),
        _Line("symbols, tree (example 2.2)", _SYMBOLS, ["a1", "a1", "a2", "a2"], symbols, 2, (144, 32, 0.7778)),
        _Line("symbols, at the root", _SYMBOLS, ["a"] * 4, symbols, 2, (144, 0, 1.0)),
        *(_Line(where, PREFECTURES, released, how, 2, squared) for where, how, squared, _ in tables),
        *(_Line(where, PREFECTURES, released, how, 1, plain) for where, how, _, plain in tables),
    ]


def _draw(lines: Sequence[_Line]) -> Any:
    from matplotlib.figure import Figure

    chosen = [line for line in lines if line.where.startswith("prefectures")]
    names = list(dict.fromkeys(line.where.removeprefix("prefectures, ") for line in chosen))
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    for offset, (p, colour) in enumerate(((2, "#1f2a44"), (1, "#d1603d"))):
        values = [line.found()[2] for line in chosen if line.p == p]
        bars = axes.bar(
            [place + 0.4 * (offset - 0.5) for place in range(3)], values, 0.36, color=colour, label=f"p = {p}"
        )
        axes.bar_label(bars, fmt="%.3f", padding=2)
    axes.margins(y=0.1)
    axes.set_xticks(range(len(names)), names)
    axes.set_ylabel("ILD")
    axes.set_title("Eight prefectures become four regions", loc="left")
    axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure
