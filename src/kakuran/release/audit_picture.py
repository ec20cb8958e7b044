"""The picture of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kakuran.colours import BLUE
from kakuran.errors import needing
from kakuran.phrases import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kakuran.release.linkage_audit import Audit


def draw_audit(audit: Audit, translate: Translate = str, *, narrow: bool = False) -> Figure:
    """How sure the attacker is of each link, against the promise and the risk before.

    Parameters
    ----------
    translate : what to write for every label, a `kakuran.phrases.Phrase`
    narrow : whether it is for a narrow screen
    """
    with needing("a plot", "plot"):
        from kakuran.picture import Picture, without_frame
    figure = Picture(figsize=(4.4, 4.6) if narrow else (7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    low = min(audit.posteriors.min(), 1 / audit.n) * 0.8
    edges = np.geomspace(low, 1.05, 80).tolist()
    surest = translate(Phrase("after: surest link of each released record"))
    axes.hist(audit.posteriors, bins=edges, color=BLUE, label=surest)
    marks = [
        (audit.bound, "-", "#b3261e", Phrase("promised: 1/k = {risk:.3g}", risk=audit.bound)),
        (audit.certified, ":", "#b3261e", Phrase("proved for this table: {risk:.3g}", risk=audit.certified)),
        (
            audit.before.prosecutor,
            "--",
            "#8a6d00",
            Phrase("before, on average: {risk:.3g}", risk=audit.before.prosecutor),
        ),
        (audit.before.worst, "-.", "#8a6d00", Phrase("before, at worst: {risk:.3g}", risk=audit.before.worst)),
    ]
    for place, style, colour, label in marks:
        axes.axvline(place, linestyle=style, color=colour, label=translate(label), linewidth=1.8)
    axes.set_xscale("log")
    axes.set_xlabel(translate(Phrase("probability that the link is right")))
    axes.set_ylabel(translate(Phrase("released records")))
    verdict = Phrase("passed") if audit.passed else Phrase("FAILED")
    title = Phrase("Linkage audit {verdict}: n = {n:,}, k = {k:g}", verdict=verdict, n=audit.n, k=audit.k)
    axes.set_title(translate(title), loc="left")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=1 if narrow else 2, frameon=False, fontsize=9)
    without_frame(axes)
    return figure
