"""The reports of what `kakuran.wide` releases, k-anonymous tables and matrices, and of what any masked table lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kakuran.audit import ColumnLoss
from kakuran.defaults import DEFAULT_LEVEL
from kakuran.report.contents import MOST_SEARCHED, most_telling
from kakuran.report.page import Html, bars_beside_table, page, pair_section, paragraph, picture, section, table
from kakuran.report.rows import items_sentence, loss_table
from kakuran.schema import distinct_of, is_numeric, numbers_of, to_arrow
from kakuran.typing import Array
from kakuran.wide import ReleasedMatrix, shares_of
from kakuran.words import Phrase, Words, words_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 10
MOST_VALUES = 20
MOST_ITEMS = 25


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

    Every `k` records of `released` share the values of `columns`. `original` and `losses` are shown beside them.
    """
    say = words_in(lang)
    tables = {"original": original, "released": released}
    counted = {kind: _columns(frame) for kind, frame in tables.items() if frame is not None}
    before = counted.get("original", {})
    axes = [Axis.of(name, column, before.get(name)) for name, column in counted["released"].items()]
    records = to_arrow(released).num_rows
    is_internal = original is not None or bool(losses) or command is not None
    rest = say.listed(axis.name for axis in axes if axis.name not in columns)
    return page(
        say,
        say("alike_title", records=records, k=k),
        section(
            say("promise"),
            paragraph(say("alike", k=k, columns=say.listed(columns)), kind="lead"),
            paragraph(say("no_epsilon")),
            paragraph(say("as_they_were", columns=rest)) if rest else "",
        ),
        section(say("one_way"), *(_one_way(axis, counted, say) for axis in axes)),
        _two_way(axes, counted, say),
        _losses(losses, say) if losses else "",
        internal=say("internal") if is_internal else "",
        numbers=[(say("records"), f"{records:,}"), (say("aggregated"), f"{len(columns)}"), ("k", f"{k:,}")],
        limits=[
            say("limit_shared"),
            say("limit_knows_more"),
            *([say("limit_as_they_were", columns=rest)] if rest else []),
            say("limit_overlap"),
        ],
        command=command,
    )


def loss_report(losses: Sequence[ColumnLoss], figure: Figure, command: str, *, lang: str = "en") -> str:
    """One standalone HTML page about what a masked table has lost; it compares with originals, so it is internal."""
    say = words_in(lang)
    shown = picture(figure, say("lost_picture"))
    return page(say, say("lost_title"), shown, _losses(losses, say), internal=say("internal"), command=command)


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


def _one_way(axis: Axis, counted: dict[str, dict[str, Any]], say: Words) -> Html:
    values = {kind: count_over([axis], columns) for kind, columns in counted.items()}
    described = say("picture_of", series=say.listed(map(say, values)), column=axis.name)
    caption = say("counts_of", column=axis.name)
    labels = [say.of(label) for label in axis.labels]
    return section(axis.name, bars_beside_table(say, described, caption, say("value"), labels, values), level=3)


def _two_way(axes: Sequence[Axis], counted: dict[str, dict[str, Any]], say: Words) -> Html:
    every = list(combinations(axes, 2))
    pairs = every[:MOST_SEARCHED]
    telling = most_telling([count_over(pair, counted["released"]) for pair in pairs])
    shown = [
        _pair(pairs[place], {kind: count_over(pairs[place], columns) for kind, columns in counted.items()}, say)
        for place in telling
    ]
    none = say("two_way_none" if len(pairs) == len(every) else "two_way_none_seen", count=len(pairs))
    return section(say("two_way"), "" if telling else paragraph(none), *shown)


def _pair(pair: tuple[Axis, Axis], tables: dict[str, Array], say: Words) -> Html:
    down, across = ((axis.name, [say.of(label) for label in axis.labels]) for axis in pair)
    rows = [
        [one, other, *(f"{table[row, column]:,.0f}" for table in tables.values())]
        for row, one in enumerate(down[1])
        for column, other in enumerate(across[1])
        if any(table[row, column] for table in tables.values())
    ]
    caption = say("pair_counts", one=down[0], other=across[0])
    numbers = table(caption, [down[0], across[0], *map(say, tables)], rows, text_columns=2)
    return pair_section(say, down, across, tables, numbers)


@dataclass(frozen=True, eq=False)
class Axis:
    """Where the records of a column are counted.

    Attributes
    ----------
    name : str
        The column.
    labels : sequence of str
        Of its cells.
    inner : array of float or None
        Edges between the cells of a number; None for values.
    values : sequence
        What each cell stands for; one more cell, where it is needed, is for all others.
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


def matrix_report(
    made: ReleasedMatrix, items: Sequence[Any], *, original: Any = None, command: str | None = None, lang: str = "en"
) -> str:
    """One standalone HTML page about a released matrix; with its original the steward's, marked as internal."""
    say = words_in(lang)
    is_internal = original is not None
    manifest, matrix = made.manifest, made.matrix
    perturbed = manifest["protect"] == "perturb"
    people, across = matrix.shape
    numbers = [(say("people"), f"{people:,}"), (say("items"), f"{across:,}"), ("k", f"{manifest['k']:g}")]
    if perturbed:
        promise = say("k_factors", k=manifest["k"])
        if manifest["plan"]["calibration"] == "worst-case":  # fitted to the table, noise has no ε that is a guarantee
            numbers.append(("ε", f"{float(manifest['plan']['epsilon']):.4g}"))
        numbers.append((say("rank"), f"{manifest['rank']}"))
    else:
        promise = say("k_rows", k=manifest["k"], smallest=manifest["smallest_class"], classes=manifest["classes"])
    lost = table(*loss_table(made.losses, manifest["protect"], say)) if is_internal else ""
    return page(
        say,
        say("matrix_title", people=people, items=across),
        section(say("promise"), paragraph(promise, kind="lead")),
        section(
            say("most_frequent"),
            paragraph(items_sentence(made.kept, say)) if is_internal else "",
            _items(made, items, original, say),
            paragraph(say("items_corrected", level=DEFAULT_LEVEL)) if made.supports else "",
        ),
        section(say("cell_loss"), paragraph(say("cell_loss_why")), lost) if lost else "",
        internal=say("internal") if is_internal else "",
        warnings=[] if manifest["for_publication"] else [say("not_for_publication")],
        numbers=numbers,
        limits=[say("limit_patterns" if perturbed else "limit_class"), say("limit_chosen"), say("limit_look")],
        command=command,
    )


def _items(made: ReleasedMatrix, items: Sequence[Any], original: Any, say: Words) -> Html:
    shares = {} if original is None else {"original": shares_of(original)}
    if made.supports is None:
        shares["released"] = shares_of(made.matrix)
    else:
        shares |= {"naive": shares_of(made.matrix), "reconstructed": np.nan_to_num(made.supports.estimates)}
    *_, last = shares.values()
    shown = np.argsort(-last, kind="stable")
    if original is None:  # an item that no released row holds is named nowhere in the release, so not here either
        shown = shown[shares_of(made.matrix)[shown] > 0]
    shown = shown[:MOST_ITEMS]
    ends = None if made.supports is None else np.nan_to_num([made.supports.low[shown], made.supports.high[shown]])
    return bars_beside_table(
        say,
        say("items_picture", series=say.listed(map(say, shares))),
        say("have_item"),
        say("item"),
        [str(items[place]) for place in shown],
        {kind: values[shown] for kind, values in shares.items()},
        interval=None if ends is None else (ends[0], ends[1]),
        shares=True,
        more={}
        if ends is None
        else {say("interval", level=DEFAULT_LEVEL): [f"{low:.1%}–{high:.1%}" for low, high in ends.T]},
    )
