"""Propose a schema from data; only a draft, because the data is private and its domain should not be."""

from __future__ import annotations

import math
import re
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kakuran.errors import DataError, InferredDomainWarning, SchemaError
from kakuran.schema.attribute import (
    FARTHEST,
    LARGEST_GRID,
    Attribute,
    Categorical,
    Dropped,
    Numeric,
    attribute_of,
    describe,
)
from kakuran.schema.codes import ValueFamily, check_columns_are_unique, days_of, family_of, in_words
from kakuran.schema.dates import DateRange, date_between
from kakuran.schema.orders import proposed_order
from kakuran.schema.personal import CALLED, FEWEST_PEOPLE, PersonalKind, may_be_names, personal_kind, personal_number
from kakuran.schema.sources.base import Source
from kakuran.schema.sources.delimited import UNSPLIT, look_unsplit
from kakuran.schema.sources.opening import open_source
from kakuran.schema.written_numbers import what_to_type
from kakuran.words import Phrase

MOST_CATEGORIES = 1000
"""A text column with more values than this is taken for an identifier and dropped."""

FEWEST_TO_TELL = 30
"""Values from which on it is no chance that none stands twice."""

MOST_CODES = 9
"""Whole numbers 1 … 9 are taken for codes of categories, and so are 0 and 1."""

MISSING_CODES = (-1, -9, -99, -999, 99, 999, 9999, 99999, 999999)
"""Numbers that often stand for missing ones; suspected of it where all others lie far off."""

_DIGITS = 3
"""Decimals are kept to the thousandth of the range, or to where they end."""
_MOST_REMEMBERED = 1 << 16
_MOST_SHOWN = 5
_FIRST_ROWS = 5000
"""Rows in which it is looked up whether a column determines another."""
_NEARLY_AS_MANY = 0.8
"""Of the values of a person's column: a column that has so many, and follows from it, names people nearly as well."""
_SAME_LENGTH = 7
"""Digits of whole numbers, all as long, which are rather given than counted."""
NAMED_LIKE_AN_ID = re.compile(r"(?i:(^|[\W_])id$)|[a-z]I[Dd]$")
_NAMED_LIKE_A_KEY = re.compile(r"(?i:(^|[\W_])(id|no|nr|num|number|key)$)|[a-z](I[Dd]|No|Nr|Number|Key)$|番号$")
_WRITTEN_NUMBER = re.compile(r"[+-]?\d{1,3}([.,' \u00a0\u202f\u2019]?\d{2,3})*([.,]\d+)?")


class ColumnSummary:
    """What a draft needs to know of a column: the values, or the bounds and the grid, of all parts so far."""

    def __init__(self, name: str, labels: Mapping[float, str] | None = None) -> None:
        self.name = name
        self.labels = labels or {}
        self.family: ValueFamily = "nothing"
        self.has_missing = False
        self._words: set[Any] = set()
        self._low, self._high = math.inf, -math.inf
        self._exponent = 0
        self._codes: set[float] | None = set()
        self._suspected: set[int] = set()
        self._dates = DateRange()
        self._values = 0
        self._seen: set[Any] | None = set()
        self._whole: set[int] | None = set()
        self.follows: str | None = None
        """A person's column from which this one follows, so that it names people nearly as well."""

    def update(self, column: pa.Array) -> None:
        """Take in another part."""
        column = _plain(column)
        self._settle(family_of(column.type))
        self.has_missing |= _has_missing(column)
        self._look_for_repeats(column)
        self._values += len(column) - column.null_count - _empty_words(column)
        if self.family == "text":
            self._dates.update(word for word in pc.unique(column).drop_null().to_pylist() if word.strip())
        elif self.family == "dates":
            days = days_of(column).drop_null().to_numpy(zero_copy_only=False)
            self._take_in_bounds(days.astype(float))
        if self.family in ("text", "true/false") and len(self._words) <= MOST_CATEGORIES:
            self._words.update(value for value in pc.unique(column).drop_null().to_pylist() if value != "")
        elif self.family == "numbers":
            self._take_in(column.cast(pa.float64(), safe=False).drop_null().to_numpy(zero_copy_only=False))

    @property
    def is_dropped(self) -> bool:
        """Whether the draft leaves it out."""
        return isinstance(self.attribute(), Dropped)

    @property
    def is_read_off(self) -> bool:
        """Whether the draft says what the data hold, and not what a file lists or what true and false are anyway."""
        return not (self.family == "text" and self._is_listed) and self._words != {False, True}

    @property
    def has_one_value(self) -> bool:
        """Whether the draft lists one category and no other, or all numbers are the same."""
        found = self.attribute()
        is_constant = self.family == "numbers" and self._low == self._high and not self._suspected
        return is_constant if isinstance(found, Numeric) else isinstance(found, Categorical) and found.size == 1

    @property
    def is_beyond_any_grid(self) -> bool:
        """Whether numbers are so large that no grid tells them apart."""
        return self.family == "numbers" and not max(self._high, -self._low) < FARTHEST

    @property
    def looks_like_identifiers(self) -> bool:
        """Whether no text or whole number stands twice, or texts are more than half as many as who has one."""
        if self._values < FEWEST_TO_TELL or self.holds_dates:
            return False
        differs = self.family == "text" and 2 * len(self._words) > self._values
        return differs or (self._seen is not None and len(self._seen) >= FEWEST_TO_TELL)

    @property
    def numbers_rows(self) -> bool:
        """Whether whole numbers, each there once, leave out none between the ends or are named as `staff_no` is."""
        is_full, is_key = self._high - self._low + 1 == self._values, _NAMED_LIKE_A_KEY.search(self.name.strip())
        return self.family == "numbers" and self.looks_like_identifiers and (is_full or is_key is not None)

    @property
    def holds_dates(self) -> bool:
        """Whether all of it is dates, as arrow or as people have them."""
        return (self.family == "dates" and self._low <= self._high) or (self.family == "text" and self._dates.is_filled)

    @property
    def needs_an_order(self) -> bool:
        """Whether dates are written so that nobody can tell days from months."""
        return self.family == "text" and self._dates.is_unclear

    @property
    def holds_codes(self) -> bool:
        """Whether its numbers are 0 and 1, 1 and blank, or the first few from 1 on, and likely stand for categories."""
        if self.family != "numbers" or self._values < FEWEST_TO_TELL or self._codes is None:
            return False
        if len(self._codes) < 2:
            return self._codes == {1.0} and self.has_missing
        return self._codes in ({0.0, 1.0}, set(map(float, range(1, len(self._codes) + 1))))

    @property
    def likely_missing(self) -> list[int]:
        """Numbers that stand for missing ones likely: far above twice all others, or below zero where none else is."""
        if self._values < FEWEST_TO_TELL or not self._low <= self._high:
            return []
        return sorted(code for code in self._suspected if (self._low >= 0 if code < 0 else code > 2 * self._high))

    @property
    def drafted_missing(self) -> list[int]:
        """Those that are drafted so: one that is no wider than the others may be the largest that is written."""
        return [code for code in self.likely_missing if code < 0 or len(str(code)) > len(str(int(self._high)))]

    @property
    def may_repeat_people(self) -> bool:
        """Whether it is dropped, has names of people or more texts than categories may be, and some more than once."""
        is_plain = self.family == "text" and not self.holds_written_numbers and len(self._words) > MOST_CATEGORIES
        is_named = self.personal is not None and self.personal.is_persons
        return (is_plain or is_named) and self.is_dropped and self._seen is None

    @property
    def is_named_like_an_id(self) -> bool:
        """Whether whole numbers stand twice under a name such as `CustomerID` or `patient_id`."""
        is_whole = self.family == "numbers" and self._exponent == 0 and self._seen is None
        return is_whole and NAMED_LIKE_AN_ID.search(self.name) is not None

    @cached_property
    def personal(self) -> PersonalKind | None:
        """What it is of a person, by its values and its name, if anything; asked for when all parts are in."""
        if self.family == "text" and not (self.holds_dates or self._is_listed or self.order):
            every = len(self._words) // MOST_CATEGORIES + 1  # of very many, some are enough to look at
            return personal_kind(self.name, sorted(self._words)[::every])
        has_numbers = self.family == "numbers" and self._whole and self._values >= FEWEST_TO_TELL
        return personal_number(self.name, self._whole or ()) if has_numbers else None

    @cached_property
    def may_be_names(self) -> bool:
        """Whether its texts would be published, and look like names of people in a language that few are known of."""
        is_published = self.family == "text" and not (self.is_dropped or self._is_listed or self.order)
        return is_published and may_be_names(self.name, self._words)

    @property
    def _is_listed(self) -> bool:
        """Whether the file lists all texts that numbers stand for: its code book, and not the data."""
        return self._words <= {*self.labels.values()}

    @cached_property
    def order(self) -> tuple[list[str], list[str]] | None:
        """Its texts from the least to the most, and those that say nothing, where they have an order."""
        is_plain = self.family == "text" and len(self._words) <= MOST_CATEGORIES and not self._is_listed
        return proposed_order(self._words) if is_plain else None

    @property
    def different(self) -> int:
        """How many values it has; of very many, as many as are remembered."""
        return len(self._words if self.family == "text" else self._whole or ())

    @property
    def may_follow(self) -> bool:
        """Whether its values would be published, or are numbers that all have the same length, as given ones do."""
        if self.different < FEWEST_PEOPLE or self.is_dropped:
            return False
        lengths = {len(str(number)) for number in self._whole or ()}
        return self.family == "text" or (len(lengths) == 1 and max(lengths) >= _SAME_LENGTH)

    @property
    def may_be_whose_rows_are(self) -> bool:
        """Whether it names people, each of them with several rows."""
        is_named = self.personal is not None and self.personal.is_persons and not self.has_missing
        return is_named and self.different >= FEWEST_PEOPLE and self._values >= 2 * self.different

    @property
    def remark(self) -> str | None:
        """Why the draft has it so, where that is not plain."""
        if self.follows is not None:
            return Phrase("follows from {other!r} and has about as many values", other=self.follows)
        if self.personal is not None:
            return self.personal.reason
        if self.holds_written_numbers:
            return Phrase(
                "numbers that are not written plainly: say how with --decimal and --thousands, and infer again"
            )
        if self.is_dropped and (self.looks_like_identifiers or self.numbers_rows):
            return Phrase("looks like an identifier: hardly any value stands twice")
        if self.may_be_names:
            return Phrase('perhaps names of people: if so, set role = "drop"')
        if self.has_missing and self.order is None and not self.is_dropped:
            return Phrase("has missing values, drafted as a value of their own: or fill them in, and take that out")
        if self.order is None or self.is_dropped:
            return None
        if not self.order[1]:
            return Phrase("a proposal: check the order, or take this line out")
        return Phrase(
            "in order but for {others}: if that stands for missing, set missing_codes and ordered = true",
            others=", ".join(map(repr, self.order[1])),
        )

    @property
    def holds_written_numbers(self) -> bool:
        """Whether the text is numbers with commas or the like in them, as in 1,234 and 3,5."""
        if self.family != "text":
            return False
        are_numbers = all(_WRITTEN_NUMBER.fullmatch(word.strip()) for word in self._words)
        return are_numbers and any(not is_number(word) for word in self._words)

    @property
    def spelt_alike(self) -> list[list[str]]:
        """Values that differ in capitals, spaces or the width of letters alone, where the draft lists them."""
        if self.family != "text" or not isinstance(self.attribute(), Categorical):
            return []
        groups: dict[str, list[str]] = {}
        for word in sorted(self._words):
            groups.setdefault(" ".join(unicodedata.normalize("NFKC", word).casefold().split()), []).append(word)
        return [words for words in groups.values() if len(words) > 1]

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
            problem = Phrase(
                "holds {one} in one place and {other} in another", one=in_words(self.family), other=in_words(family)
            )
            raise DataError(self.name, problem, Phrase("Make them all of one kind."))

    def _take_in_bounds(self, numbers: Any) -> None:
        if len(numbers):
            self._low, self._high = min(self._low, float(numbers.min())), max(self._high, float(numbers.max()))

    def _take_in(self, numbers: Any) -> None:
        numbers = numbers[~np.isnan(numbers)]
        if self._whole is not None and len(self._whole) <= MOST_CATEGORIES:
            are_whole = bool((np.abs(numbers) < 2**53).all() and (numbers == np.rint(numbers)).all())
            self._whole = self._whole | set(np.unique(numbers).astype(np.int64).tolist()) if are_whole else None
        is_suspected = np.isin(numbers, MISSING_CODES)
        self._suspected.update(np.unique(numbers[is_suspected]).astype(int).tolist())
        numbers = numbers[~is_suspected]
        if not len(numbers):
            return
        if self._codes is not None:
            self._codes = self._codes | set(np.unique(numbers)[: MOST_CODES + 2].tolist())
            self._codes = self._codes if len(self._codes) <= MOST_CODES else None
        self._take_in_bounds(numbers)
        infinite = next((bound for bound in (self._high, self._low) if math.isinf(bound)), None)
        if infinite is not None:
            raise DataError(self.name, Phrase("holds infinite numbers"), Phrase("Correct the data."), example=infinite)
        if self.is_beyond_any_grid:
            return
        finest = _finest_exponent(self._low, self._high)
        coarsest = next((one for one in range(self._exponent, finest, -1) if _lie_on_grid(numbers, one)), finest)
        self._exponent = max(min(self._exponent, coarsest), finest)

    def attribute(self) -> Attribute:
        """The attribute to propose; what is missing is a value of its own, so that the table fits its draft."""
        proposed = self._proposed()
        if isinstance(proposed, Dropped) or not self.has_missing:
            return proposed
        return attribute_of(self.name, describe(proposed) | {"missing": "category"})

    def _proposed(self) -> Attribute:
        if self.holds_dates:
            return self._date()
        if self.personal is not None or self.follows is not None or self.numbers_rows:
            return Dropped(self.name)
        if self.family == "text" and (self.looks_like_identifiers or self.holds_written_numbers):
            return Dropped(self.name)
        if self.holds_codes:
            return Categorical(self.name, sorted({*map(int, self._codes or ()), *self._suspected}))
        if self.family in ("text", "true/false") and 0 < len(self._words) <= MOST_CATEGORIES:
            return self._category()
        if self.family == "numbers" and not self.is_beyond_any_grid:
            return self._number()
        return Dropped(self.name)

    def _date(self) -> Attribute:
        if self.family == "dates":
            return date_between(self.name, int(self._low), int(self._high))
        if self.needs_an_order:
            return Dropped(self.name)
        order, bounds = next(iter(self._dates.bounds.items()))
        return date_between(self.name, *bounds, order=order if self._dates.depends else None)

    def _number(self) -> Attribute:
        gone = self.drafted_missing
        others = self._suspected.difference(gone)
        low, high = min([self._low, *others]), max([self._high, *others])
        if not low <= high:
            return Dropped(self.name)
        exponent = max(self._exponent, _finest_exponent(low, high)) if others else self._exponent
        if exponent < 0 and high > low:
            exponent = max(exponent, math.floor(math.log10(high - low)) - _DIGITS)
        first, last = math.floor(low / 10.0**exponent + 1e-6), math.ceil(high / 10.0**exponent - 1e-6)
        bounds = (_scaled(first, exponent), _scaled(max(last, first + 1), exponent))
        return Numeric(self.name, *bounds, step=_scaled(1, exponent), missing_codes=gone)

    def _category(self) -> Categorical:
        """All that the file says numbers may stand for, also what nobody has: that is public knowledge."""
        if self.order is not None:
            ranked, silent = self.order
            return Categorical(self.name, [*ranked, *silent], ordered=not silent)
        if not self._is_listed:
            return Categorical(self.name, sorted(self._words))
        codes = list(self.labels)
        is_counted = codes == list(range(1, len(codes) + 1))
        return Categorical(self.name, list(self.labels.values()), coded=None if is_counted else codes)


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
    """Without dictionary, and with one kind of text and of whole numbers, which pandas has as floats beside a gap."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        numbers = column.cast(pa.float64(), safe=False)
        numbers = pc.if_else(pc.is_nan(numbers), None, numbers)
        is_whole = pc.and_(pc.equal(numbers, pc.round(numbers)), pc.less(pc.abs(numbers), 2.0**53))
        return numbers.cast(pa.int64()) if len(column) > numbers.null_count and pc.all(is_whole).as_py() else column
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column


def _empty_words(column: pa.Array) -> int:
    return int(pc.sum(pc.equal(column, "")).as_py() or 0) if pa.types.is_string(column.type) else 0


def _has_missing(column: pa.Array) -> bool:
    if column.null_count or _empty_words(column):
        return True
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())


@dataclass(frozen=True)
class SchemaDraft:
    """What is proposed of a table: its columns, which of them were read off the data, why, and whose rows are."""

    attributes: list[Attribute]
    drafted: list[str]
    remarks: dict[str, str]
    person: str | None = None


def draft_of(data: Any, progress: Callable[[int], object]) -> SchemaDraft:
    """Propose an attribute for every column of a frame or of any other source, in one pass."""
    source = open_source(data)
    check_named(source)
    columns = [ColumnSummary(name, source.labels(name)) for name in source.names]
    records, first = 0, None
    for part in source.parts():
        first = part.records.slice(0, _FIRST_ROWS) if first is None else first
        for column in columns:
            part.through(lambda batch, column=column: column.update(batch.column(column.name)))  # type: ignore[misc]
        records += len(part)
        progress(len(part))
    if not (records and columns):
        raise SchemaError(Phrase("{described}: cannot infer a schema from an empty table", described=source.described))
    person, alike = _find_people(columns, first)
    warnings.warn(_warning(columns, person, alike), InferredDomainWarning, stacklevel=3)
    attributes = [column.attribute() for column in columns]
    drafted = [column.name for column in columns if column.is_read_off]
    remarks = {column.name: column.remark for column in columns if column.remark is not None}
    return SchemaDraft(attributes, drafted, remarks, person)


def check_named(source: Source) -> None:
    """Refuse a source with a column that has no name, or the name of another."""
    check_columns_are_unique(source.names)
    if "" in source.names:
        place = source.names.index("") + 1
        raise SchemaError(
            Phrase(
                "{described}: its column {place} has no name; give it one, or leave it out ({cause})",
                described=source.described,
                place=place,
                cause=Phrase("pandas writes its index like this: to_csv(…, index=False) leaves it out")
                if place == 1
                else Phrase("a cell that spans several columns names the first of them only"),
            )
        )


def _find_people(columns: Sequence[ColumnSummary], first: pa.RecordBatch) -> tuple[str | None, list[str]]:
    """Whose rows are, if one column says so; and those that may be people's, as each follows from the other.

    What follows from a person's column and has about as many values is a person's, too, and is dropped.
    """
    codes = {column.name: _codes(first.column(column.name)) for column in columns if column.different >= FEWEST_PEOPLE}
    people = [column for column in columns if column.may_be_whose_rows_are]
    for person in people:
        for column in columns:
            is_like = column.may_follow and column.different >= _NEARLY_AS_MANY * person.different
            if is_like and _determines(codes[person.name], codes[column.name]):
                column.follows = person.name
    best = max(people, key=lambda column: column.different, default=None)
    is_clear = best is not None and all(_determines(codes[best.name], codes[one.name]) for one in people)
    alike = [
        f"{one.name} ↔ {other.name}"
        for one, other in combinations([column for column in columns if column.may_follow], 2)
        if one.different == other.different
        and _determines(codes[one.name], codes[other.name])
        and _determines(codes[other.name], codes[one.name])
    ]
    return best.name if best is not None and is_clear else None, alike


def _codes(column: pa.Array) -> Any:
    """A number for each value of a column, -1 where there is none."""
    column = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
    return pc.fill_null(column.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)


def _determines(one: Any, other: Any) -> bool:
    """Whether each value of one column goes with one value of another, and not only since nobody stands twice."""
    different = len(np.unique(one))
    return 2 * different <= len(one) and len(np.unique(np.stack([one, other]), axis=1).T) == different


_NOTES: tuple[tuple[str, Callable[[ColumnSummary], bool]], ...] = (
    (
        Phrase("Dropped, as they are neither text, true/false, numbers nor dates"),
        lambda column: column.is_dropped and column.family == "other",
    ),
    (
        Phrase("Dropped, as numbers beyond 2⁶² cannot be told apart (as codes, make them text; else use another unit)"),
        lambda column: column.is_beyond_any_grid,
    ),
    (
        Phrase("Dropped, as they are named like what people are called or reached by"),
        lambda column: column.personal is not None and column.personal.reason == CALLED,
    ),
    (
        Phrase("Dropped, as they look like identifiers or are empty"),
        lambda column: (
            column.is_dropped
            and column.family != "other"
            and column.personal is None
            and column.follows is None
            and not (column.holds_written_numbers or column.is_beyond_any_grid or column.needs_an_order)
        ),
    ),
    (
        Phrase(
            'Dropped, as 3/4/2020 may be a day in March or in April (make it type = "date", with order = "d/m/y" or '
            'order = "m/d/y")'
        ),
        lambda column: column.is_dropped and column.needs_an_order,
    ),
    (
        Phrase(
            "Whole numbers taken for codes of categories (make amounts numbers, and set ordered = true where codes "
            "have an order)"
        ),
        lambda column: column.holds_codes,
    ),
    (
        Phrase("Dates, told in periods as long as their range suggests (step)"),
        lambda column: not column.is_dropped and column.holds_dates,
    ),
    (
        Phrase(
            "Have a number such as 999 far off, which may stand for missing, and is taken for that beside amounts (if "
            "it is one, leave out missing_codes, and have it between the bounds)"
        ),
        lambda column: column.family == "numbers" and bool(column.drafted_missing),
    ),
    (
        Phrase(
            "Have a number such as 999 far off, which may stand for missing (if so, set missing_codes = [999], and "
            "bounds without it)"
        ),
        lambda column: column.family == "numbers" and column.likely_missing != column.drafted_missing,
    ),
    (
        Phrase('With one value only, so perturbing cannot hide anything (list its other values, or set role = "drop")'),
        lambda column: column.has_one_value,
    ),
    (
        Phrase('Numbers that perhaps say whose a row is, by their name (if so, name one above: person = "COLUMN")'),
        lambda column: not column.is_dropped and column.is_named_like_an_id,
    ),
    (
        Phrase(
            'Perhaps names of people (if so, set role = "drop"; if they say whose a row is, name one above: person)'
        ),
        lambda column: column.may_be_names,
    ),
    (
        Phrase('Perhaps identifiers, as no value stands twice (if so, set role = "drop")'),
        lambda column: not column.is_dropped and column.looks_like_identifiers,
    ),
    (
        Phrase(
            'Have missing values, drafted as a value of their own (missing = "category"; or fill them in, and '
            "take that out)"
        ),
        lambda column: not column.is_dropped and column.has_missing,
    ),
    (
        Phrase(
            "Numbers some of which stand for something in the file, as for a refusal (declare in it which mean missing)"
        ),
        lambda column: column.family == "numbers" and bool(column.labels),
    ),
    (
        Phrase(
            "Named like a value (does the file start with the names of its columns? if not, say them: --names a,b,…)"
        ),
        lambda column: is_number(column.name),
    ),
    (
        Phrase("Named with a space at an end, which belongs to the name (unless --delimiter ', ' says it does not)"),
        lambda column: column.name != column.name.strip(),
    ),
)
"""What to say of the columns of which something holds."""


_MAYBE_WHOSE = Phrase(
    'Dropped, but perhaps say whose a row is, as values stand twice (if so, name one above: person = "COLUMN")'
)


def _warning(columns: Sequence[ColumnSummary], person: str | None, alike: Sequence[str]) -> Phrase:
    noted = [(note, [column for column in columns if holds(column)]) for note, holds in _NOTES]
    noted += [(_MAYBE_WHOSE, [column for column in columns if person is None and column.may_repeat_people])]
    lines = [
        Phrase("These domains were read off private data: a bound or a rare value may point to one person."),
        Phrase("Replace them by what is public knowledge, and take out `drafted = true`, before you calibrate."),
        *(Phrase("{note}: {columns}.", note=note, columns=_listed(found)) for note, found in noted if found),
        *(
            Phrase("Dropped: {name}, as it {reason}.", name=column.name, reason=column.remark)
            for column in columns
            if column.follows or (column.personal is not None and column.personal.reason != CALLED)
        ),
        *(
            Phrase("Proposed as ordered, from the least to the most: {name}. Check the order.", name=column.name)
            for column in columns
            if column.order is not None and not column.order[1] and not column.is_dropped
        ),
        *(_whose_rows(column) for column in columns if column.name == person),
        *(
            Phrase(
                "Each follows from the other, so that they may be numbers or names of people (if so, set "
                'role = "drop", or name one as person): {columns}.',
                columns=pair,
            )
            for pair in alike
        ),
        *(_spelt_alike(column) for column in columns if column.spelt_alike),
        *(_how_to_read(column) for column in columns if column.is_dropped and column.holds_written_numbers),
    ]
    if look_unsplit([column.name for column in columns]):
        lines.append(Phrase("There is one column only: {name}. {remedy}", name=columns[0].name, remedy=UNSPLIT))
    return reduce(lambda above, line: Phrase("{above}\n{line}", above=above, line=line), lines)


def _whose_rows(person: ColumnSummary) -> Phrase:
    whose = Phrase(
        "People have several rows: {name} is taken for whose a row is, and one row of each is used (person; more with "
        "rows_a_person). If rows are not people's, take that line out.",
        name=person.name,
    )
    if person.personal is None or not person.personal.are_names:
        return whose
    return Phrase(
        "{whose} Two people of one name count as one then: a column of numbers of people is better.", whose=whose
    )


def _spelt_alike(column: ColumnSummary) -> Phrase:
    groups = [" = ".join(map(repr, words)) for words in column.spelt_alike]
    shown = [*groups[:_MOST_SHOWN], *(["…"] if len(groups) > _MOST_SHOWN else [])]
    return Phrase(
        "Values are spelt alike (if they mean the same, correct the table and infer again; else leave them listed as "
        "they are): {name}: {values}.",
        name=column.name,
        values=", ".join(shown),
    )


def _how_to_read(column: ColumnSummary) -> Phrase:
    asked = column.way_to_read_numbers
    return Phrase(
        "Dropped, as its numbers are not written plainly ({told}make them 1234 or 3.5): {name}.",
        told=Phrase("of a CSV file say how with {asked}, elsewhere ", asked=asked) if asked else "",
        name=column.name,
    )


def _listed(columns: Sequence[ColumnSummary]) -> str:
    return ", ".join(column.name if column.name == column.name.strip() else repr(column.name) for column in columns)
