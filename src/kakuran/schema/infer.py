"""Propose a schema from data; only a draft, because the data is private and its domain should not be."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kakuran.errors import DataError, InferredDomainWarning, SchemaError
from kakuran.schema.attribute import FARTHEST, LARGEST_GRID, Attribute, Categorical, Dropped, Numeric
from kakuran.schema.frames import ValueFamily, check_columns_are_unique, family_of
from kakuran.schema.sources.delimited import UNSPLIT, look_unsplit
from kakuran.schema.sources.opening import open_source
from kakuran.schema.written_numbers import what_to_type

MOST_CATEGORIES = 1000
"""A text column with more values than this is taken for an identifier and dropped."""

FEWEST_TO_TELL = 30
"""Values from which on it is no chance that none stands twice."""

_MOST_REMEMBERED = 1 << 16
_WRITTEN_NUMBER = re.compile(r"[+-]?\d{1,3}([.,' \u00a0\u202f\u2019]?\d{2,3})*([.,]\d+)?")


class ColumnSummary:
    """What a draft needs to know of a column: the values, or the bounds and the grid, of all parts so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.family: ValueFamily = "nothing"
        self.has_missing = False
        self._words: set[Any] = set()
        self._low, self._high = math.inf, -math.inf
        self._exponent = 0
        self._seen: set[Any] | None = set()

    def update(self, column: pa.Array) -> None:
        """Take in another part."""
        column = _plain(column)
        self._settle(family_of(column.type))
        self.has_missing |= _has_missing(column)
        self._look_for_repeats(column)
        if self.family in ("text", "true/false") and len(self._words) <= MOST_CATEGORIES:
            self._words.update(value for value in pc.unique(column).drop_null().to_pylist() if value != "")
        elif self.family == "numbers":
            self._take_in(column.cast(pa.float64(), safe=False).drop_null().to_numpy(zero_copy_only=False))

    @property
    def is_dropped(self) -> bool:
        """Whether the draft leaves it out."""
        return isinstance(self.attribute(), Dropped)

    @property
    def is_beyond_any_grid(self) -> bool:
        """Whether numbers are so large that no grid tells them apart."""
        return self.family == "numbers" and not max(self._high, -self._low) < FARTHEST

    @property
    def looks_like_identifiers(self) -> bool:
        """Whether no text or whole number stands twice."""
        return self._seen is not None and len(self._seen) >= FEWEST_TO_TELL

    @property
    def repeats_many_words(self) -> bool:
        """Whether it has more texts than categories may be, and some of them more than once."""
        return self.family == "text" and len(self._words) > MOST_CATEGORIES and self._seen is None

    @property
    def holds_written_numbers(self) -> bool:
        """Whether the text is numbers with commas or the like in them, as in 1,234 and 3,5."""
        if self.family != "text":
            return False
        are_numbers = all(_WRITTEN_NUMBER.fullmatch(word.strip()) for word in self._words)
        return are_numbers and any(not is_number(word) for word in self._words)

    @property
    def way_to_read_numbers(self) -> str:
        """The options with which a CSV file's written numbers are read, if there are any."""
        return what_to_type(sorted(self._words))

    def _look_for_repeats(self, column: pa.Array) -> None:
        """Remember values until one stands twice; of very many only the first, so that memory stays small."""
        if self._seen is None or len(self._seen) > _MOST_REMEMBERED:
            return
        values = column.drop_null()
        if not (pa.types.is_string(column.type) or pa.types.is_integer(column.type)):
            self._seen = None if len(values) else self._seen
            return
        distinct = set(pc.unique(values).to_pylist())
        is_new = len(distinct) == len(values) and self._seen.isdisjoint(distinct)
        self._seen = self._seen | distinct if is_new else None

    def _settle(self, family: ValueFamily) -> None:
        if self.family == "nothing":
            self.family = family
        elif family not in (self.family, "nothing"):
            problem = f"holds {self.family} in one place and {family} in another"
            raise DataError(self.name, problem, "Make them all of one kind.")

    def _take_in(self, numbers: Any) -> None:
        numbers = numbers[~np.isnan(numbers)]
        if not len(numbers):
            return
        self._low, self._high = min(self._low, float(numbers.min())), max(self._high, float(numbers.max()))
        infinite = next((bound for bound in (self._high, self._low) if math.isinf(bound)), None)
        if infinite is not None:
            raise DataError(self.name, "holds infinite numbers", "Correct the data.", example=infinite)
        if self.is_beyond_any_grid:
            return
        finest = _finest_exponent(self._low, self._high)
        coarsest = next((one for one in range(self._exponent, finest, -1) if _lie_on_grid(numbers, one)), finest)
        self._exponent = max(min(self._exponent, coarsest), finest)

    def attribute(self) -> Attribute:
        """The attribute to propose."""
        if self.family == "text" and (self.looks_like_identifiers or self.holds_written_numbers):
            return Dropped(self.name)
        if self.family in ("text", "true/false") and 0 < len(self._words) <= MOST_CATEGORIES:
            return Categorical(self.name, sorted(self._words))
        if self.family == "numbers" and self._low <= self._high and not self.is_beyond_any_grid:
            exponent = self._exponent
            first, last = math.floor(self._low / 10.0**exponent + 1e-6), math.ceil(self._high / 10.0**exponent - 1e-6)
            bounds = (_scaled(first, exponent), _scaled(max(last, first + 1), exponent))
            return Numeric(self.name, *bounds, step=_scaled(1, exponent))
        return Dropped(self.name)


def is_number(text: str) -> bool:
    """Whether text is a number as programs write it."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _finest_exponent(low: float, high: float) -> int:
    """The finest power of ten that keeps the grid small enough."""
    farthest = max(abs(low), abs(high), 1e-300)
    return math.ceil(math.log10(max((high - low) / (LARGEST_GRID - 2), farthest / 2**50, 1e-100)))


def _lie_on_grid(numbers: Any, exponent: int) -> bool:
    steps = numbers / 10.0**exponent
    nearest = steps.round()
    return bool((np.abs(steps - nearest) <= 1e-9 * np.abs(nearest)).all())


def _scaled(steps: int, exponent: int) -> float:
    """steps × 10^exponent, as the decimal fraction it is."""
    return float(f"{steps}e{exponent}")


def _plain(column: pa.Array) -> pa.Array:
    """Without dictionary, and with one kind of text."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column


def _has_missing(column: pa.Array) -> bool:
    if column.null_count:
        return True
    if pa.types.is_string(column.type):
        return bool(pc.any(pc.equal(column, "")).as_py())
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())


def infer_attributes(data: Any, progress: Callable[[int], object]) -> list[Attribute]:
    """Propose an attribute for every column of a frame or of any other source, in one pass."""
    source = open_source(data)
    check_columns_are_unique(source.names)
    if "" in source.names:
        raise SchemaError(
            f"{source.described}: its column {source.names.index('') + 1} has no name; give it one, or leave it out "
            "(pandas writes its index like this: to_csv(…, index=False) leaves it out)"
        )
    columns = [ColumnSummary(name) for name in source.names]
    records = 0
    for part in source.parts():
        for column in columns:
            part.through(lambda batch, column=column: column.update(batch.column(column.name)))  # type: ignore[misc]
        records += len(part)
        progress(len(part))
    if not (records and columns):
        raise SchemaError(f"{source.described}: cannot infer a schema from an empty table")
    warnings.warn(_warning(columns), InferredDomainWarning, stacklevel=3)
    return [column.attribute() for column in columns]


_NOTES: tuple[tuple[str, Callable[[ColumnSummary], bool]], ...] = (
    (
        "Dropped, as they are neither text, true/false nor numbers (of a date, make the year a column)",
        lambda column: column.is_dropped and column.family == "other",
    ),
    (
        "Dropped, as numbers beyond 2⁶² cannot be told apart (as codes, make them text; else use another unit)",
        lambda column: column.is_beyond_any_grid,
    ),
    (
        "Dropped, as they look like identifiers or are empty",
        lambda column: (
            column.is_dropped
            and column.family != "other"
            and not (column.holds_written_numbers or column.is_beyond_any_grid)
        ),
    ),
    (
        'Dropped, but perhaps say whose a row is, as values stand twice (if so, name one above: person = "COLUMN")',
        lambda column: column.is_dropped and column.repeats_many_words,
    ),
    (
        'Perhaps identifiers, as no value stands twice (if so, set role = "drop")',
        lambda column: not column.is_dropped and column.looks_like_identifiers,
    ),
    (
        'Have missing values (fill them in, or set missing = "category")',
        lambda column: not column.is_dropped and column.has_missing and column.family != "numbers",
    ),
    (
        'Numbers with missing values (fill them in, and say where in a column of its own; missing = "category" '
        "leaves little of a number with many steps)",
        lambda column: not column.is_dropped and column.has_missing and column.family == "numbers",
    ),
    ("Named like a value (does the file start with the names of its columns?)", lambda column: is_number(column.name)),
    ("Named with a space at an end, which belongs to the name", lambda column: column.name != column.name.strip()),
)
"""What to say of the columns of which something holds."""


def _warning(columns: Sequence[ColumnSummary]) -> str:
    noted = [(note, [column for column in columns if holds(column)]) for note, holds in _NOTES]
    lines = [
        "These domains were read off private data: a bound or a rare value may point to one person.",
        "Replace them by what is public knowledge before you calibrate.",
        *(f"{note}: {_listed(found)}." for note, found in noted if found),
        *(_how_to_read(column) for column in columns if column.is_dropped and column.holds_written_numbers),
    ]
    if look_unsplit([column.name for column in columns]):
        lines.append(f"There is one column only: {columns[0].name}. {UNSPLIT}")
    return "\n".join(lines)


def _how_to_read(column: ColumnSummary) -> str:
    asked = column.way_to_read_numbers
    told = f"of a CSV file say how with {asked}, elsewhere " if asked else ""
    return f"Dropped, as its numbers are not written plainly ({told}make them 1234 or 3.5): {column.name}."


def _listed(columns: Sequence[ColumnSummary]) -> str:
    return ", ".join(column.name if column.name == column.name.strip() else repr(column.name) for column in columns)
