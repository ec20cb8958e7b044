"""The sections of a report that show counts: column by column, and pair by pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kakuran.mechanism.base import Array
from kakuran.report.contents import LEVEL, MOST_ACROSS, Contents, View
from kakuran.report.page import Html, beside, paragraph, picture, section, table
from kakuran.report.pictures import draw_bars, draw_heatmaps
from kakuran.report.words import Words

MOST_CELLS = 40
"""Cells of one column that are shown."""


def one_way_section(contents: Contents, say: Words) -> Html:
    """Every column: the counts side by side, as bars and as a table."""
    untold = [paragraph(say("nothing", column=name), kind="note") for name in contents.untold]
    return section(say("one_way"), *(_one_way(view, say) for view in contents.columns), *untold)


def two_way_section(contents: Contents, say: Words) -> Html:
    """The pairs that belong together most: heatmaps and a table each."""
    words = [paragraph(say(_why(contents.pairs)))]
    if len(contents.paired) < len(contents.columns):
        words.append(paragraph(say("two_way_few", count=len(contents.paired), most=MOST_ACROSS), kind="note"))
    return section(say("two_way"), *words, *(_two_way(view, say) for view in contents.pairs))


def _why(pairs: Sequence[View]) -> str:
    if not pairs:
        return "two_way_none"
    return "two_way_why" if pairs[0].original is None else "two_way_true"


def series_of(view: View) -> dict[str, Array]:
    """The counts to compare, the truth first where it is known."""
    known = {} if view.original is None else {"original": view.original}
    return known | {"naive": view.estimate.naive, "reconstructed": view.estimate.counts}


def _one_way(view: View, say: Words) -> Html:
    estimate, axis = view.estimate, view.estimate.axes[0]
    shown = _largest(estimate.counts)
    series = {kind: values[shown] for kind, values in series_of(view).items()}
    names = {kind: say(kind) for kind in series}
    labels = [axis.labels[place] for place in shown]
    low, high = estimate.low[shown], estimate.high[shown]
    rows = [
        [
            labels[row],
            *(f"{values[row]:,.0f}" for values in series.values()),
            f"{low[row]:,.0f}–{high[row]:,.0f}",
            say("unclear") if estimate.unclear[shown[row]] else "",
        ]
        for row in range(len(shown))
    ]
    header = [say("value"), *names.values(), say("interval", level=LEVEL), ""]
    figure = draw_bars(labels, series, names, interval=(low, high))
    parts = [
        beside(
            picture(figure, say("picture_of", column=axis.name, series=", ".join(names.values()))),
            table(say("counts_of", column=axis.name), header, rows),
        )
    ]
    if len(shown) < axis.size:
        parts.append(paragraph(say("more", shown=len(shown), cells=axis.size), kind="note"))
    return section(axis.name, *parts, paragraph(estimate.reason, kind="note"), level=3)


def _two_way(view: View, say: Words) -> Html:
    estimate = view.estimate
    down, across = estimate.axes
    tables = series_of(view)
    names: Mapping[str, str] = {kind: say(kind) for kind in tables}
    pair = {"one": down.name, "other": across.name}
    figure = draw_heatmaps(
        (down.name, down.labels), (across.name, across.labels), tables, names, unclear=estimate.unclear
    )
    also = "" if view.original is None else say("pair_original")
    rows = [
        [down.labels[row], *(_cell(view, row, column, say) for column in range(across.size))]
        for row in range(down.size)
    ]
    return section(
        say("pair", **pair),
        picture(figure, say("heatmap_of", series=", ".join(names.values()), **pair)),
        table(
            say("pair_caption", level=LEVEL, also=also, **pair), [f"{down.name} ╲ {across.name}", *across.labels], rows
        ),
        level=3,
    )


def _cell(view: View, row: int, column: int, say: Words) -> Html:
    estimate, place = view.estimate, (row, column)
    lines = [
        f"<strong>{estimate.counts[place]:,.0f}</strong>",
        f"{estimate.low[place]:,.0f}–{estimate.high[place]:,.0f}",
        *([] if view.original is None else [f"{say('original')} {view.original[place]:,.0f}"]),
        *([say("unclear")] if estimate.unclear[place] else []),
    ]
    return Html("<br>".join(lines))


def _largest(counts: Array) -> list[int]:
    """The largest cells, in their own order."""
    if len(counts) <= MOST_CELLS:
        return list(range(len(counts)))
    return sorted(np.argsort(-counts, kind="stable")[:MOST_CELLS].tolist())
