"""The cells of a column nobody declared: intervals of a number, or its frequent values.

The report of a microaggregated table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kakuran.audit import ColumnLoss
from kakuran.charts import bar_chart, heatmaps_to_compare
from kakuran.report.contents import MOST_PAIRED, most_telling
from kakuran.report.page import Html, beside, code, facts, page, paragraph, picture, points, section, series_of, table
from kakuran.schema import distinct_of, is_numeric, numbers_of, to_arrow
from kakuran.typing import Array
from kakuran.words import Phrase, Words, words_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 10
MOST_VALUES = 20


@dataclass(frozen=True, eq=False)
class Axis:
    """Where the records of a column are counted.

    Attributes
    ----------
    name : the column
    labels : of its cells
    inner : edges between the cells of a number; None for values
    values : what each cell stands for; one more cell, where it is needed, is for all others
    """

    name: str
    labels: Sequence[str]
    inner: Array | None
    values: Sequence[Any]

    @classmethod
    def of(cls, name: str, column: Any, compared: Any = None) -> Axis:
        """The cells that show a column best, and have a place for every value of another it is compared with."""
        if is_numeric(column) and not _has_gaps(column):
            numbers = numbers_of(name, column)
            edges = np.linspace(numbers.min(), numbers.max(), BINS + 1)
            labels = [f"{low:.4g}–{high:.4g}" for low, high in pairwise(edges)]
            return cls(name, labels, edges[1:-1], ())
        values, codes = distinct_of(name, column, missing_is_value=True)
        frequent = np.argsort(-np.bincount(codes, minlength=len(values)), kind="stable")[:MOST_VALUES]
        shown = [values[place] for place in np.sort(frequent)]
        known = values if compared is None else [*values, *distinct_of(name, compared, missing_is_value=True)[0]]
        unnamed = {None: Phrase("missing"), "": Phrase("(empty)")}
        labels = [unnamed.get(value, str(value)) for value in shown]
        return cls(name, [*labels, *([Phrase("others")] if set(known) > set(shown) else [])], None, shown)

    def places(self, column: Any) -> NDArray[np.intp]:
        """The cell of every record; numbers beyond the edges fall in the outermost."""
        if self.inner is not None:
            return np.searchsorted(self.inner, numbers_of(self.name, column), side="right").astype(np.intp)
        values, codes = distinct_of(self.name, column, missing_is_value=True)
        known = {value: place for place, value in enumerate(self.values)}
        return np.array([known.get(value, len(self.values)) for value in values], np.intp)[codes]


def count_over(axes: Sequence[Axis], columns: dict[str, Any]) -> Array:
    """The table of counts that some axes span."""
    shape = tuple(len(axis.labels) for axis in axes)
    cells = np.ravel_multi_index([axis.places(columns[axis.name]) for axis in axes], shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(float)


def _has_gaps(column: Any) -> bool:
    return bool(column.null_count) or not np.isfinite(np.asarray(column, float)).all()


def aggregated_report(
    released: Any,
    k: int,
    columns: Sequence[str],
    *,
    original: Any = None,
    losses: Sequence[ColumnLoss] = (),
    command: str | None = None,
    lang: str = "en",
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
    lang : ``"en"`` or ``"ja"``
    """
    say = words_in(lang)
    tables = {"original": original, "released": released}
    counted = {kind: _columns(frame) for kind, frame in tables.items() if frame is not None}
    before = counted.get("original", {})
    axes = [Axis.of(name, column, before.get(name)) for name, column in counted["released"].items()]
    records = to_arrow(released).num_rows
    is_internal = original is not None or bool(losses) or command is not None
    as_they_were = [axis.name for axis in axes if axis.name not in columns]
    return page(
        say("alike_title", records=records, k=k),
        *([paragraph(say("internal"), kind="internal")] if is_internal else []),
        facts([(say("records"), f"{records:,}"), (say("aggregated"), f"{len(columns)}"), ("k", f"{k:,}")]),
        section(say("promise"), *_promise(k, columns, as_they_were, say)),
        section(say("one_way"), *(_one_way(axis, counted, say) for axis in axes)),
        _two_way(axes[:MOST_PAIRED], counted, say),
        *([_losses(losses, say)] if losses else []),
        section(say("limits"), points(_limits(as_they_were, say))),
        *([section(say("command"), code(command))] if command is not None else []),
        lang=lang,
        footer=say("made", version=version("kakuran")),
    )


def loss_report(losses: Sequence[ColumnLoss], figure: Figure, command: str, *, lang: str = "en") -> str:
    """One standalone HTML page about what a masked table has lost; it compares with originals, so it is internal."""
    say = words_in(lang)
    return page(
        say("lost_title"),
        paragraph(say("internal"), kind="internal"),
        picture(figure, say("lost_picture")),
        _losses(losses, say),
        section(say("command"), code(command)),
        lang=lang,
        footer=say("made", version=version("kakuran")),
    )


def _losses(losses: Sequence[ColumnLoss], say: Words) -> Html:
    """S3's ILD of every column and of the whole."""
    every = [*((one.name, one) for one in losses), (say("all"), ColumnLoss.of_all(losses))]
    rows = [[name, f"{one.before:.6g}", f"{one.after:.6g}", f"{one.lost:z.4f}"] for name, one in every]
    return section(
        say("loss"),
        paragraph(say("lost_why")),
        table(say("loss_caption"), [say("column"), say("before"), say("after"), "ILD"], rows),
    )


def _columns(frame: Any) -> dict[str, Any]:
    table = to_arrow(frame)
    return {name: table.column(name) for name in table.column_names}


def _promise(k: int, columns: Sequence[str], as_they_were: Sequence[str], say: Words) -> list[Html]:
    left = [paragraph(say("as_they_were", columns=say.listed(as_they_were)))] if as_they_were else []
    return [
        paragraph(say("alike", k=k, columns=say.listed(columns)), kind="lead"),
        paragraph(say("no_epsilon")),
        *left,
    ]


def _one_way(axis: Axis, counted: dict[str, dict[str, Any]], say: Words) -> Html:
    series = {kind: count_over([axis], columns) for kind, columns in counted.items()}
    names = {kind: say(kind) for kind in series}
    labels = [say.of(label) for label in axis.labels]
    rows = [[label, *(f"{values[row]:,.0f}" for values in series.values())] for row, label in enumerate(labels)]
    described = say("picture_of", series=say.listed(names.values()), column=axis.name)
    return section(
        axis.name,
        beside(
            picture(bar_chart(labels, series_of(series, say)), described),
            table(say("counts_of", column=axis.name), [say("value"), *names.values()], rows),
        ),
        level=3,
    )


def _two_way(axes: Sequence[Axis], counted: dict[str, dict[str, Any]], say: Words) -> Html:
    pairs = list(combinations(axes, 2))
    telling = most_telling([count_over(pair, counted["released"]) for pair in pairs])
    none = [] if telling else [paragraph(say("two_way_none"))]
    shown = [
        _pair(pairs[place], {kind: count_over(pairs[place], columns) for kind, columns in counted.items()}, say)
        for place in telling
    ]
    return section(say("two_way"), *none, *shown)


def _pair(pair: tuple[Axis, Axis], tables: dict[str, Array], say: Words) -> Html:
    down, across = pair
    named = {"one": down.name, "other": across.name}
    names = {kind: say(kind) for kind in tables}
    left, below = ([say.of(label) for label in axis.labels] for axis in pair)
    drawn = partial(
        heatmaps_to_compare,
        (down.name, left),
        (across.name, below),
        {say(kind): table for kind, table in tables.items()},
    )
    described = say("heatmap_of", series=say.listed(names.values()), **named)
    rows = [
        [one, other, *(f"{table[row, column]:,.0f}" for table in tables.values())]
        for row, one in enumerate(left)
        for column, other in enumerate(below)
        if any(table[row, column] for table in tables.values())
    ]
    return section(
        say("pair", **named),
        picture(drawn(), described, narrow=drawn(is_stacked=True)),
        table(say("pair_counts", **named), [down.name, across.name, *names.values()], rows, text_columns=2),
        level=3,
    )


def _limits(as_they_were: Sequence[str], say: Words) -> list[str]:
    return [
        say("limit_shared"),
        say("limit_knows_more"),
        *([say("limit_as_they_were", columns=say.listed(as_they_were))] if as_they_were else []),
        say("limit_overlap"),
    ]
