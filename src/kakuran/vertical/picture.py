"""The selection path as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kakuran.colours import ESTIMATE, INK, NAIVE
from kakuran.errors import needing
from kakuran.phrases import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kakuran.vertical.fit import VerticalFit

CRITERIA = {"aic": "AIC", "aicc": "AICc", "bic": "BIC"}


def draw_path(fit: VerticalFit, translate: Translate = str) -> Figure:
    """The criterion step by step; each step is named by the column that went (−) or came (+)."""
    with needing("a plot", "plot"):
        from kakuran.picture import Picture, without_frame
    steps = fit.selection.steps
    signs = {"drop": "−", "add": "+"}
    labels = [
        f"{signs[step.action]} {step.column}" if step.action in signs else translate(Phrase("start")) for step in steps
    ]
    scores = [step.score for step in steps]
    last = max(place for place, step in enumerate(steps) if step.accepted)
    figure = Picture(figsize=(max(5.0, 0.45 * len(steps) + 2.5), 3.8), layout="constrained")
    axes = figure.subplots()
    axes.plot(range(last + 1), scores[: last + 1], "-o", color=INK, markersize=4)
    if last + 1 < len(steps):
        refused = translate(Phrase("not taken"))
        axes.plot([last, last + 1], scores[last : last + 2], "--o", color=NAIVE, markersize=4, label=refused)
    chosen = translate(Phrase("chosen, with {count} in the model", count=steps[last].variables))
    axes.plot([last], [scores[last]], "o", color=ESTIMATE, markersize=9, label=chosen)
    axes.set_xticks(range(len(steps)), labels, rotation=45, ha="right")
    axes.set_ylabel(translate(Phrase("{criterion} (lower is better)", criterion=CRITERIA[fit.criterion])))
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.set_title(translate(Phrase("Selection path, {n:,} shared records", n=fit.quality.records)), loc="left")
    without_frame(axes)
    axes.legend(frameon=False)
    return figure
