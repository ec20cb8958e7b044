"""S2, figure 1: the error of predictions with all variables and with selected ones."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kakuran.charts import ESTIMATE, INK, Curve, new_plot, put_curves
from kakuran.errors import LeakageWarning
from kakuran.randomness import Randomness
from kakuran.reproduction.findings import Finding, Reproduced
from kakuran.typing import Array
from kakuran.vertical import Limits, Moments, Rules, VerticalPlan, fit_vertically, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (100, 200, 300, 400, 500)
_EACH, _TRUE, _TEST = 20, 10, 1000
_NAMES = tuple(f"{party}{j}" for party in "ab" for j in range(_EACH))
_OWNERS = ("alice",) * _EACH + ("bob",) * _EACH
METHODS: Mapping[str, Rules] = {
    "all variables": Rules(search="none"),
    "S2: AIC, S2's ranking": Rules(ranking="s2"),
    "AIC, exact ranking": Rules(),
    "AICc, exact ranking": Rules(criterion="aicc"),
    "BIC, exact ranking": Rules(criterion="bic"),
}
_STYLES = (("#9b948a", "o-"), (INK, "s-"), ("#5b7db1", "^--"), (ESTIMATE, "v--"), ("#7a9e5f", "D--"))


@dataclass(frozen=True)
class Draw:
    """One table of S2 §4.1, and records to test predictions on."""

    X: Array
    y: Array
    unseen: Array
    unseen_y: Array


def draw(records: int, dice: np.random.Generator) -> Draw:
    """Normal columns, of which ten of each party's twenty matter, with N(0, 1) coefficients and errors."""
    matters = np.tile(np.arange(_EACH) < _TRUE, 2)
    coefficients = np.where(matters, dice.normal(size=2 * _EACH), 0)
    X, unseen = dice.normal(size=(records, 2 * _EACH)), dice.normal(size=(_TEST, 2 * _EACH))
    y, unseen_y = (design @ coefficients + dice.normal(size=len(design)) for design in (X, unseen))
    return Draw(X, y, unseen, unseen_y)


def error_on_test(drawn: Draw, rules: Rules) -> float:
    """Mean squared error on the test records of the model these rules choose."""
    moments = _moments(drawn)
    chosen = select(moments, rules).chosen
    at = moments.places(chosen)
    slopes = moments.fit(chosen).coefficients * moments.target_scale / drawn.X.std(axis=0)[at]
    predicted = drawn.y.mean() + (drawn.unseen - drawn.X.mean(axis=0))[:, at] @ slopes
    return float(((drawn.unseen_y - predicted) ** 2).mean())


def _moments(drawn: Draw) -> Moments:
    columns = np.column_stack([drawn.X, drawn.y])
    Z = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    return Moments(_NAMES, _OWNERS, Z.T @ Z / len(Z), len(Z), True, float(drawn.y.std()))


def errors(repeats: int, seed: int = 2) -> dict[str, Array]:
    """Mean test error of every method at every size; all methods see the same tables."""
    dice = Randomness.seeded(seed).generator()
    found = {name: np.zeros((len(SIZES), repeats)) for name in METHODS}
    for row, records in enumerate(SIZES):
        for repeat in range(repeats):
            drawn = draw(records, dice)
            for name, rules in METHODS.items():
                found[name][row, repeat] = error_on_test(drawn, rules)
    return {name: values.mean(axis=1) for name, values in found.items()}


def protocols_agree(runs: int, seed: int = 3) -> int:
    """How many of so many tables lead S2's own protocol, with its messages, to the model found from moments."""
    dice, agreed = Randomness.seeded(seed).generator(), 0
    plan = VerticalPlan.of(
        {"alice": list(_NAMES[:_EACH]), "bob": list(_NAMES[_EACH:])},
        target="y",
        holder="bob",
        protocol="residual",
        ranking="s2",
        limits=Limits(records_per_variable=2),
    )
    for _ in range(runs):
        drawn = draw(SIZES[0], dice)
        columns = {"alice": dict(zip(_NAMES[:_EACH], drawn.X[:, :_EACH].T, strict=True))}
        columns["bob"] = dict(zip(_NAMES[_EACH:], drawn.X[:, _EACH:].T, strict=True)) | {"y": drawn.y}
        tables = {party: pa.table({"id": range(SIZES[0])} | held) for party, held in columns.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakageWarning)
            fit = fit_vertically(tables, plan)["alice"]
        agreed += fit.chosen == select(_moments(drawn), plan.rules).chosen
    return agreed


def reproduce(folder: Path, *, quick: bool) -> Reproduced:
    """Redraw figure 1 in `folder` and report its numbers as Markdown."""
    repeats, runs = (5, 1) if quick else (200, 10)
    found = errors(repeats)
    _figure(found, repeats).savefig(folder / "s2-figure-1.png", dpi=144)
    header = ["mean squared test error", *(f"N={size}" for size in SIZES)]
    rows = [header, ["---"] * len(header), *([name, *(f"{v:.3f}" for v in values)] for name, values in found.items())]
    table = [f"| {' | '.join(row)} |" for row in rows]
    full, selected = found["all variables"], found["S2: AIC, S2's ranking"]
    gains = full - selected
    wins, agreed = int((gains > 0).sum()), protocols_agree(runs)
    text = "\n".join(
        [
            "# S2: variable selection in regression across two companies",
            "",
            f"20 + 20 variables, 10 + 10 in the true model, {_TEST:,} test records, {repeats} repeats (S2 has 1,000).",
            "S2 gives figure 1 without numbers and says: selected below full at every N, most so where N is small.",
            "",
            "![Figure 1](s2-figure-1.png)",
            "",
            *table,
            "",
            f"Selected is below full at {wins} of {len(SIZES)} sizes: by {gains[0]:.3f} at N={SIZES[0]}, "
            f"by {gains[-1]:.3f} at N={SIZES[-1]}. S2's protocol itself, message by message, chose the "
            f"same model in {agreed} of {runs} runs at N={SIZES[0]}.",
            "",
        ]
    )
    as_said = wins == len(SIZES) and gains[0] == gains.max()
    finding = Finding(
        "Figure 1",
        "test error with all and with selected variables",
        "yes" if as_said else "in part",
        f"no numbers in S2; as it says, selected is below full at {wins} of {len(SIZES)} sizes, by {gains[0]:.3f} at "
        f"N={SIZES[0]} and {gains[-1]:.3f} at N={SIZES[-1]}",
    )
    return Reproduced(text, (finding,))


def _figure(found: Mapping[str, Array], repeats: int) -> Figure:
    figure, plot = new_plot(6.5, 4, xlabel="shared records N", ylabel="mean squared test error")
    put_curves(plot, [Curve(name, SIZES, found[name], *style) for name, style in zip(found, _STYLES, strict=True)])
    plot.set_xticks(SIZES)
    plot.set_title(f"S2 figure 1, mean of {repeats} repeats", loc="left")
    plot.legend(frameon=False)
    return figure
