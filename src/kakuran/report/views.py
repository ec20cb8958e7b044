"""The sections of a report that show counts: column by column, and pair by pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from kakuran.mechanism.base import Array
from kakuran.report.contents import LEVEL, MOST_ACROSS, Contents, View
from kakuran.report.page import Html, beside, paragraph, picture, section, table
from kakuran.report.pictures import draw_bars, draw_heatmaps
from kakuran.report.words import Words

MOST_CELLS = 40
"""Cells of one column that are shown."""
MOST_ON_PAPER = 8
"""Columns of a table that fit on a sheet."""


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
    labels = [say.of(axis.labels[place]) for place in shown]
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
            picture(figure, say("picture_of", column=axis.name, series=say.listed(names.values()))),
            table(say("counts_of", column=axis.name), header, rows),
        )
    ]
    if len(shown) < axis.size:
        parts.append(paragraph(say("more", shown=len(shown), cells=axis.size), kind="note"))
    return section(axis.name, *parts, paragraph(say("estimator", reason=estimate.reason), kind="note"), level=3)


def _two_way(view: View, say: Words) -> Html:
    down, across = view.estimate.axes
    tables = series_of(view)
    names = {kind: say(kind) for kind in tables}
    pair = {"one": down.name, "other": across.name}
    left, below = ((axis.name, [say.of(label) for label in axis.labels]) for axis in (down, across))
    drawn = partial(draw_heatmaps, left, below, tables, names, unclear=view.estimate.unclear)
    return section(
        say("pair", **pair),
        picture(drawn(), say("heatmap_of", series=say.listed(names.values()), **pair), narrow=drawn(stacked=True)),
        *_pair_tables(view, say),
        level=3,
    )


def _pair_tables(view: View, say: Words) -> list[Html]:
    """The numbers of a heatmap, cut into tables that fit on paper."""
    down, across = view.estimate.axes
    also = "" if view.original is None else say("pair_original")
    caption = say("pair_caption", one=down.name, other=across.name, level=LEVEL, also=also)
    parts = np.array_split(np.arange(across.size), math.ceil(across.size / MOST_ON_PAPER))
    return [
        table(
            caption,
            [f"{down.name} ╲ {across.name}", *(say.of(across.labels[column]) for column in columns)],
            [
                [say.of(label), *(_cell(view, row, column, say) for column in columns)]
                for row, label in enumerate(down.labels)
            ],
            kind="compact",
        )
        for columns in parts
    ]


def _cell(view: View, row: int, column: int, say: Words) -> Html:
    estimate, place = view.estimate, (row, column)
    lines = [
        f"<strong>{estimate.counts[place]:,.0f}{' ?' if estimate.unclear[place] else ''}</strong>",
        f"{estimate.low[place]:,.0f}–{estimate.high[place]:,.0f}",
        *([] if view.original is None else [f"{say('original')} {view.original[place]:,.0f}"]),
    ]
    return Html("<br>".join(lines))


def _largest(counts: Array) -> list[int]:
    """The largest cells, in their own order."""
    if len(counts) <= MOST_CELLS:
        return list(range(len(counts)))
    return sorted(np.argsort(-counts, kind="stable")[:MOST_CELLS].tolist())
