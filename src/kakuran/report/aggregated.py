"""The report of a microaggregated table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from itertools import combinations
from typing import TYPE_CHECKING, Any

from kakuran.measure import ColumnLoss
from kakuran.mechanism.base import Array
from kakuran.report.axes import Axis, count_over
from kakuran.report.contents import MOST_PAIRED, most_telling
from kakuran.report.page import Html, beside, code, facts, page, paragraph, picture, points, section, table
from kakuran.report.pictures import draw_bars, draw_heatmaps
from kakuran.report.words import words_in
from kakuran.schema.frames import to_arrow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"original": "original", "released": "released"}


def aggregated_report(
    released: Any,
    k: int,
    columns: Sequence[str],
    *,
    original: Any = None,
    losses: Sequence[ColumnLoss] = (),
    command: str | None = None,
) -> str:
    """One standalone HTML page about a k-anonymous table; with its original the steward's, marked as internal.

    Parameters
    ----------
    released : the table as it is published
    k : the fewest records that share their aggregated values
    columns : those that were aggregated
    original : the table before, to compare with
    losses : what each column lost, to show
    command : what was typed to make it, to show
    """
    say = words_in("en")
    tables = {"original": original, "released": released}
    counted = {kind: _columns(frame) for kind, frame in tables.items() if frame is not None}
    before = counted.get("original", {})
    axes = [Axis.of(name, column, before.get(name)) for name, column in counted["released"].items()]
    records = to_arrow(released).num_rows
    is_internal = original is not None or bool(losses) or command is not None
    as_they_were = [axis.name for axis in axes if axis.name not in columns]
    return page(
        f"A table of {records:,} records, at least {k:,} alike",
        *([paragraph(say("internal"), kind="internal")] if is_internal else []),
        facts([("records", f"{records:,}"), ("aggregated columns", f"{len(columns)}"), ("k", f"{k:,}")]),
        section(say("promise"), *_promise(k, columns, as_they_were)),
        section(say("one_way"), *(_one_way(axis, counted) for axis in axes)),
        _two_way(axes[:MOST_PAIRED], counted),
        *([_losses(losses)] if losses else []),
        section(say("limits"), points(_limits(as_they_were))),
        *([section(say("command"), code(command))] if command is not None else []),
        footer=f"Made by kakuran {version('kakuran')}.",
    )


def loss_report(losses: Sequence[ColumnLoss], figure: Figure, command: str) -> str:
    """One standalone HTML page about what a masked table has lost; it compares with originals, so it is internal."""
    say = words_in("en")
    return page(
        "Information lost",
        paragraph(say("internal"), kind="internal"),
        picture(figure, "Bars: the share lost in every column; the numbers are in the table below."),
        _losses(losses),
        section(say("command"), code(command)),
        footer=f"Made by kakuran {version('kakuran')}.",
    )


def _losses(losses: Sequence[ColumnLoss]) -> Html:
    """S3's ILD of every column and of the whole."""
    every = [*losses, ColumnLoss.of_all(losses)]
    rows = [[one.name, f"{one.before:.6g}", f"{one.after:.6g}", f"{one.lost:z.4f}"] for one in every]
    return section(
        "What was lost, column by column",
        paragraph(
            "ILD is the share of the distances between records that was lost: 0 if all are kept, 1 if all records have "
            "become the same, below 0 if they lie further apart than before."
        ),
        table("Information loss of every column, against the originals", ["column", "before", "after", "ILD"], rows),
    )


def _columns(frame: Any) -> dict[str, Any]:
    table = to_arrow(frame)
    return {name: table.column(name) for name in table.column_names}


def _promise(k: int, columns: Sequence[str], as_they_were: Sequence[str]) -> list[Html]:
    return [
        paragraph(
            f"k = {k:,}: every set of values of {', '.join(columns)} in this table is shared by at least {k:,} "
            f"records, so nobody who knows those values of a person can tell which of the {k:,} is theirs.",
            kind="lead",
        ),
        paragraph(
            "This is k-anonymity. There is no ε: the groups, and what stands for them, are computed from the records."
        ),
        *([paragraph(f"Released as they were: {', '.join(as_they_were)}.")] if as_they_were else []),
    ]


def _one_way(axis: Axis, counted: dict[str, dict[str, Any]]) -> Html:
    series = {kind: count_over([axis], columns) for kind, columns in counted.items()}
    rows = [[label, *(f"{values[row]:,.0f}" for values in series.values())] for row, label in enumerate(axis.labels)]
    described = f"Bars: {' and '.join(series)} counts of {axis.name}; the numbers are in the table beside."
    return section(
        axis.name,
        beside(
            picture(draw_bars(axis.labels, series, NAMES), described),
            table(f"Counts of {axis.name}", ["value", *series], rows),
        ),
        level=3,
    )


def _two_way(axes: Sequence[Axis], counted: dict[str, dict[str, Any]]) -> Html:
    say = words_in("en")
    pairs = list(combinations(axes, 2))
    telling = most_telling([count_over(pair, counted["released"]) for pair in pairs])
    none = [] if telling else [paragraph(say("two_way_none"))]
    shown = [
        _pair(pairs[place], {kind: count_over(pairs[place], columns) for kind, columns in counted.items()})
        for place in telling
    ]
    return section(say("two_way"), *none, *shown)


def _pair(pair: tuple[Axis, Axis], tables: dict[str, Array]) -> Html:
    down, across = pair
    title = f"{down.name} × {across.name}"
    drawn = partial(draw_heatmaps, (down.name, down.labels), (across.name, across.labels), tables, NAMES)
    described = f"Heatmaps: {' and '.join(tables)} counts of {title}; the numbers are in the table below."
    rows = [
        [one, other, *(f"{table[row, column]:,.0f}" for table in tables.values())]
        for row, one in enumerate(down.labels)
        for column, other in enumerate(across.labels)
        if any(table[row, column] for table in tables.values())
    ]
    return section(
        title,
        picture(drawn(), described, narrow=drawn(stacked=True)),
        table(f"Counts of {title}, where there are any", [down.name, across.name, *tables], rows, text_columns=2),
        level=3,
    )


def _limits(as_they_were: Sequence[str]) -> list[str]:
    kept = f"Columns released as they were ({', '.join(as_they_were)}): they may single people out."
    return [
        "What all records of a group share: whoever is known to be in it has that value; kakuran check measures this.",
        "Attackers who know more of a person than the aggregated columns.",
        *([kept] if as_they_were else []),
        "Several releases of the same people: groups that overlap give people away.",
    ]
