"""Draw which package imports which, from the code itself: docs/images/packages.svg."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import grimp

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/images/packages.svg"

Imports = Mapping[str, frozenset[str]]


@cache
def imports() -> Imports:
    """What each package of kakuran imports directly."""
    graph = grimp.build_graph("kakuran")
    found: dict[str, set[str]] = {name.split(".")[1]: set() for name in graph.modules if name.count(".") == 1}
    for module in graph.modules - {"kakuran"}:
        importer = module.split(".")[1]
        for other in graph.find_modules_directly_imported_by(module) - {"kakuran"}:
            found[importer].add(other.split(".")[1])
    return {name: frozenset(found[name] - {name}) for name in sorted(found)}


def layers() -> list[list[str]]:
    """The layers that the linter holds the code to, from the top, as far as the packages exist."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    declared = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    present = set(imports())
    rows = [[name.strip().removeprefix("kakuran.") for name in layer.split("|")] for layer in declared]
    return [kept for row in rows if (kept := [name for name in row if name in present])]


def without_shortcuts(found: Imports) -> Imports:
    """The imports that do not follow from others: if a imports b and b leads to c, a to c is not drawn."""
    reach: dict[str, frozenset[str]] = {}
    for name in reversed([name for row in layers() for name in row]):
        reach[name] = frozenset().union(found[name], *(reach[other] for other in found[name]))
    return {
        name: frozenset(one for one in others if not any(one in reach[other] for other in others))
        for name, others in found.items()
    }


def draw(found: Imports) -> Any:
    """Packages from top to bottom, those of a layer together, and an arc from each down to what it imports."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Arc

    rows = layers()
    names = [name for row in rows for name in row]
    depth = {name: place for place, name in enumerate(names)}
    figure = Figure(figsize=(7.5, 0.34 * len(names)), layout="constrained")
    axes = figure.subplots()
    for row in rows[::2]:
        axes.axhspan(depth[row[0]] - 0.5, depth[row[-1]] + 0.5, color="#f6f1e7", linewidth=0)
    for name, others in without_shortcuts(found).items():
        for other in sorted(others):
            top, bottom = depth[name] + 0.18, depth[other] - 0.18
            reach = 0.8 * (bottom - top) ** 0.75
            middle = (0, (top + bottom) / 2)
            axes.add_patch(Arc(middle, 2 * reach, bottom - top, theta1=-90, theta2=90, color="#8c8579", linewidth=1.1))
            axes.plot(0.06, bottom, marker="<", color="#d1603d", markersize=5)
    for name, place in depth.items():
        axes.text(-0.15, place, name, ha="right", va="center", fontsize=11, color="#1f2a44")
    axes.set_xlim(-4, 0.8 * len(names) ** 0.75)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.axis("off")
    return figure


def described(found: Imports) -> str:
    """All imports in one line, which the picture carries to say what it was drawn from."""
    return "; ".join(f"{name}: {', '.join(sorted(found[name]))}" for name in sorted(found))


def save(found: Imports) -> None:
    """Write the picture."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "kakuran"}):
        draw(found).savefig(PICTURE, metadata={"Date": None, "Description": described(found)})
