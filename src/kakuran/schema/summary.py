"""What a draft of a schema needs to know of a column, gathered part by part."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kakuran.errors import DataError
from kakuran.schema.attribute import FARTHEST, LARGEST_GRID, Attribute, Categorical, Dropped, Numeric
from kakuran.schema.kinds import Family, family_of
from kakuran.schema.written_numbers import what_to_type

MOST_CATEGORIES = 1000
"""A text column with more values than this is taken for an identifier and dropped."""

FEWEST_TO_TELL = 30
"""Values from which on it is no chance that none stands twice."""

_MOST_REMEMBERED = 1 << 16
_WRITTEN_NUMBER = re.compile(r"[+-]?\d{1,3}([.,' \u00a0\u202f\u2019]?\d{2,3})*([.,]\d+)?")


class ColumnSummary:
    """The values, or the bounds and the grid, of all parts of a column so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.family: Family = "nothing"
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
    def is_beyond_any_grid(self) -> bool:
        """Whether numbers are so large that no grid tells them apart."""
        return self.family == "numbers" and not max(self._high, -self._low) < FARTHEST

    @property
    def looks_like_identifiers(self) -> bool:
        """Whether no text or whole number stands twice."""
        return self._seen is not None and len(self._seen) >= FEWEST_TO_TELL

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

    def _settle(self, family: Family) -> None:
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
