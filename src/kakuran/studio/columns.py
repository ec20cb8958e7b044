"""What a steward sees of a table: its first rows, a picture of every column, and what is odd, with remedies.

A column is summed up once, when the table is opened, and by arrow; no more of the table ever reaches the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kakuran.design import BandProposal, in_bands
from kakuran.schema import Date, Dropped, Numeric, Schema, Source, encode
from kakuran.typing import Array, Progress

MOST_CELLS = 50_000_000
"""Cells of a table that are kept in memory; of a larger one, its first rows."""
MOST_VALUES = 1000
"""Values of a column that are listed."""
MOST_BARS = 24
PERIODS = 8
"""Into which dates are cut for a look."""
FIRST_ROWS = 12
FEWEST_TO_TELL = 30
"""Values from which on it is no chance that none stands twice."""
MUCH_MORE_OFTEN = 10
"""Times as many records as any other number has: one that nobody takes for a coincidence."""
_LONGEST = 80
_EXACT = 2**53
"""Whole numbers below this come through JavaScript as they are."""


@dataclass(frozen=True)
class Card:
    """A column of the table as it is, for the steward's eyes only.

    Attributes
    ----------
    name : str
        What it is called.
    distinct, missing : int
        How many different values it has, and how many records have none.
    bars : list[tuple[str, int]]
        Its most frequent values, or periods of time, and how many records have them.
    others : int
        How many values are not among the bars.
    values : list[Any] | None
        All values, where there are few enough to be categories.
    edges, heights : list[float], list[int]
        Of numbers and dates: where each column of their histogram begins and the last ends, and how many records it is
        of.
    are_days : bool
        Whether these are days since 1970-01-01.
    codes : list[float]
        Numbers that look as if they stood for something missing, such as 999.
    """

    name: str
    distinct: int
    missing: int
    bars: list[tuple[str, int]]
    others: int
    values: list[Any] | None
    edges: list[float] = field(default_factory=list)
    heights: list[int] = field(default_factory=list)
    codes: list[float] = field(default_factory=list)
    are_days: bool = False

    def gave(self, described: Mapping[str, Any], drafted: Mapping[str, Any]) -> bool:
        """Whether what is said of the column was read off it: its values, a bound, decimals or codes of somebody."""
        if described.get("missing_codes") and described["missing_codes"] == drafted.get("missing_codes"):
            return True
        if "values" in described:
            listed = set(described["values"])
            return any(found is not None and set(found) == listed for found in (self.values, drafted.get("values")))
        ends = described.get("classes") or described.get("bands") or [described.get("low"), described.get("high")]
        seen = {*self.edges[:1], *self.edges[-1:], drafted.get("low"), drafted.get("high")} - {None}
        has_their_decimals = described.get("type") == "numeric" and described.get("step", 1) == drafted.get("step") != 1
        return has_their_decimals or ends[0] in seen or ends[-1] in seen


def read_some(source: Source, progress: Progress = int) -> tuple[pa.Table, bool]:
    """The records of a source, and whether that is all of them: only the first where they do not fit into memory."""
    tables, cells = [], 0
    for part in source.parts():
        tables.append(pa.Table.from_batches([part.records]))
        cells += part.records.num_rows * part.records.num_columns
        progress(len(part))
        if cells > MOST_CELLS:
            break
    if not tables:
        return pa.table({name: pa.nulls(0) for name in source.names}), True
    return pa.concat_tables(tables, promote_options="permissive"), cells <= MOST_CELLS


def first_rows(table: pa.Table) -> list[list[str]]:
    """The first rows, as text."""
    columns = [table.column(place).slice(0, FIRST_ROWS).to_pylist() for place in range(table.num_columns)]
    return [["" if value is None else str(value)[:_LONGEST] for value in row] for row in zip(*columns, strict=True)]


def card_of(name: str, column: pa.ChunkedArray) -> Card:
    """Sum up a column."""
    if pa.types.is_nested(column.type):
        return Card(name, 0, column.null_count, [], 0, None)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    counted = pc.value_counts(column)
    values, counts = counted.field(0), counted.field(1).to_numpy(zero_copy_only=False)
    is_there = pc.fill_null(pc.not_equal(values.cast(pa.string()), ""), False).to_numpy(zero_copy_only=False)
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if is_number:
        is_there &= ~np.isnan(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    missing, values, counts = int(counts[~is_there].sum()), values.filter(pa.array(is_there)), counts[is_there]
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        return _card_of_days(name, values, counts, missing)
    ranked = np.argsort(-counts, kind="stable")[:MOST_BARS]
    bars = [(_shown(values[int(place)].as_py()), int(counts[place])) for place in ranked]
    card = Card(name, len(values), missing, bars, max(len(values) - MOST_BARS, 0), _listed(values))
    return _with_histogram(card, values, counts) if is_number and len(values) else card


def with_days(card: Card, date: Date, column: pa.ChunkedArray) -> Card:
    """The card of dates that are written as text, with their histogram."""
    first, last = (str(np.datetime64(int(day), "D")) for day in (date.low, date.high))
    by_day = Date(date.name, first, last, step="day", order=date.order, missing="category")
    days = int(date.low) + encode(by_day, column)
    heights, edges = np.histogram(days[days <= date.high], PERIODS)
    return replace(card, edges=edges.tolist(), heights=heights.tolist(), are_days=True)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)[:_LONGEST]


def _with_histogram(card: Card, values: pa.Array, counts: Any) -> Card:
    """Of numbers that are numbers: what seems to stand for something missing is left out."""
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    order = np.argsort(numbers)
    codes = _codes_among(numbers[order], counts[order])
    is_number = ~np.isin(numbers, codes)
    heights, edges = np.histogram(numbers[is_number], MOST_BARS, weights=counts[is_number])
    return replace(card, edges=edges.tolist(), heights=heights.astype(int).tolist(), codes=codes)


def _card_of_days(name: str, values: pa.Array, counts: Any, missing: int) -> Card:
    """In the order of time, not of how many there are."""
    days = values.cast(pa.timestamp("ns")).cast(pa.date32(), safe=False).cast(pa.int32()).to_numpy(zero_copy_only=False)
    heights, edges = np.histogram(days, PERIODS, weights=counts) if len(days) else (np.zeros(0), np.zeros(0))
    starts = np.ceil(edges).astype("datetime64[D]")
    bars = [(f"{starts[place]} –", int(height)) for place, height in enumerate(heights)]
    drawn: Any = {"edges": edges.tolist(), "heights": [height for _, height in bars], "are_days": True}
    return Card(name, len(values), missing, bars, 0, _listed(values), **drawn)


def _listed(values: pa.Array) -> list[Any] | None:
    if not 0 < len(values) <= MOST_VALUES:
        return None
    listed = [value if isinstance(value, str | int | float | bool) else str(value) for value in values.to_pylist()]
    are_exact = all(not isinstance(value, int) or abs(value) < _EXACT for value in listed)
    return sorted(listed) if are_exact else None


def _codes_among(numbers: Array, counts: Array) -> list[float]:
    """All nines at either end, far above the others or far more frequent; the least, if it alone lies below zero."""
    if len(numbers) < 3:
        return []
    low, second, below, high = numbers[0], numbers[1], numbers[-2], numbers[-1]
    is_far_above = _is_nines(high) and below < 0.8 * high
    found = [float(high)] if is_far_above or (_is_nines(high) and _is_crowded(counts, -1)) else []
    is_odd = low < 0 <= second or (_is_nines(low) and _is_crowded(counts, 0))
    return found + ([float(low)] if is_odd else [])


def _is_nines(number: float) -> bool:
    return number >= 99 and float(number).is_integer() and set(f"{number:.0f}") == {"9"}


def _is_crowded(counts: Array, place: int) -> bool:
    return bool(counts[place] > MUCH_MORE_OFTEN * np.delete(counts, place).max())


def oddities(schema: Schema, cards: Mapping[str, Card], inferred: Schema, n: int) -> Iterator[dict[str, Any]]:
    """What a steward should look at: of which column, what it is, and what a click can do about it."""
    dropping, keeping = _remedy("drop", role="drop"), _remedy("category", missing="category")
    for attribute in schema:
        card = cards[attribute.name]
        odd = {"column": attribute.name, "count": card.missing}
        if isinstance(attribute, Dropped):
            if isinstance(inferred[attribute.name], Dropped):
                yield odd | {"kind": "dropped", "remedies": []}
            continue
        if card.distinct == n - card.missing and card.distinct >= FEWEST_TO_TELL and card.values != [0, 1]:
            yield odd | {"kind": "identifier", "remedies": [dropping]}
        if card.missing and attribute.missing == "error":
            yield odd | {"kind": "missing", "remedies": [keeping, dropping]}
        if isinstance(attribute, Numeric):
            for code in card.codes:
                if code not in attribute.missing_codes:
                    yield odd | {"kind": "code", "count": code, "remedies": [_taken_for_missing(attribute, card, code)]}


def _taken_for_missing(number: Numeric, card: Card, code: float) -> dict[str, Any]:
    """What makes a number mean that there is none; it must lie outside of the bounds, which were read off with it."""
    changes: dict[str, Any] = {"missing_codes": [*map(_plain, number.missing_codes), _plain(code)]}
    if number.low <= code <= number.high:
        least, most = card.edges[0], card.edges[-1]
        changes |= {"bands": None, "low": _plain(least if code < least else number.low)}
        changes |= {"high": _plain(most if code > most else number.high)}
    return _remedy("codes", missing="category", **changes)


def in_numbers(proposal: BandProposal) -> dict[str, Any]:
    """Bands that a click makes, what they gain, and who is in them."""
    number = proposal.column
    return {
        "column": number.name,
        "count": number.points,
        "before": proposal.before.relative,
        "after": proposal.after.relative,
        "shares": list(proposal.shares or ()),
        "heap": proposal.heap,
        "changes": {"bands": [_plain(edge) for edge in number.bands or ()], "low": None, "high": None},
    }


def classes_of(card: Card) -> list[float]:
    """Classes of a weight to start from: round numbers, from nothing to above the largest."""
    most = card.edges[-1] if card.edges else 1.0
    width = 10.0 ** np.floor(np.log10(max(most, 1e-9)))
    rounded = Numeric(card.name, 0, width * (most // width + 1), step=width / 10)
    return [_plain(edge) for edge in in_bands(rounded).bands or ()]


def _remedy(kind: str, **changes: Any) -> dict[str, Any]:
    return {"kind": kind, "changes": changes}


def _plain(number: float) -> float:
    return int(number) if float(number).is_integer() else float(number)
