"""Propose a schema from data; only a draft, because the data is private and its domain should not be."""

from __future__ import annotations

import math
import re
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kakuran.errors import DataError, InferredDomainWarning, SchemaError
from kakuran.schema.attribute import FARTHEST, LARGEST_GRID, Attribute, Categorical, Dropped, Numeric
from kakuran.schema.codes import ValueFamily, check_columns_are_unique, days_of, family_of, in_words
from kakuran.schema.dates import DateRange, date_between
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
_NAMED_LIKE_AN_ID = re.compile(r"(?i:(^|[\W_])id$)|[a-z]I[Dd]$")
_NAMED_LIKE_A_KEY = re.compile(r"(?i:(^|[\W_])(id|no|nr|num|number|key)$)|[a-z](I[Dd]|No|Nr|Number|Key)$|番号$")
_NAMED_LIKE_A_PERSON = re.compile(
    r"(?i)((full|first|last|middle|given|family|maiden|patient|customer|client|employee|student|person)[\W_]*)?names?|"
    r".*(surname|e[\W_]?mail|phone|氏名|姓名|名前|患者名|顧客名|メール|電話).*"
)
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
    def repeats_many_words(self) -> bool:
        """Whether it has more texts than categories may be, and some of them more than once."""
        is_plain = self.family == "text" and not self.holds_written_numbers
        return is_plain and len(self._words) > MOST_CATEGORIES and self._seen is None

    @property
    def is_named_like_an_id(self) -> bool:
        """Whether whole numbers stand twice under a name such as `CustomerID` or `patient_id`."""
        is_whole = self.family == "numbers" and self._exponent == 0 and self._seen is None
        return is_whole and _NAMED_LIKE_AN_ID.search(self.name) is not None

    @property
    def is_named_like_a_person(self) -> bool:
        """Whether texts stand under a name such as `patient_name`, `e-mail` or 氏名, however often each does."""
        return self.family == "text" and _NAMED_LIKE_A_PERSON.fullmatch(self.name.strip()) is not None

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
        """The attribute to propose."""
        if self.holds_dates:
            return self._date()
        is_somebodys = self.looks_like_identifiers or self.is_named_like_a_person
        if self.numbers_rows or (self.family == "text" and (is_somebodys or self.holds_written_numbers)):
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
        if not self._words <= {*self.labels.values()}:
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
    """Without dictionary, and with one kind of text."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column


def _empty_words(column: pa.Array) -> int:
    return int(pc.sum(pc.equal(column, "")).as_py() or 0) if pa.types.is_string(column.type) else 0


def _has_missing(column: pa.Array) -> bool:
    if column.null_count or _empty_words(column):
        return True
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())


def infer_attributes(data: Any, progress: Callable[[int], object]) -> list[Attribute]:
    """Propose an attribute for every column of a frame or of any other source, in one pass."""
    source = open_source(data)
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
    columns = [ColumnSummary(name, source.labels(name)) for name in source.names]
    records = 0
    for part in source.parts():
        for column in columns:
            part.through(lambda batch, column=column: column.update(batch.column(column.name)))  # type: ignore[misc]
        records += len(part)
        progress(len(part))
    if not (records and columns):
        raise SchemaError(Phrase("{described}: cannot infer a schema from an empty table", described=source.described))
    warnings.warn(_warning(columns), InferredDomainWarning, stacklevel=3)
    return [column.attribute() for column in columns]


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
        lambda column: column.is_dropped and column.is_named_like_a_person,
    ),
    (
        Phrase("Dropped, as they look like identifiers or are empty"),
        lambda column: (
            column.is_dropped
            and column.family != "other"
            and not column.is_named_like_a_person
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
        Phrase(
            'Dropped, but perhaps say whose a row is, as values stand twice (if so, name one above: person = "COLUMN")'
        ),
        lambda column: column.is_dropped and column.repeats_many_words,
    ),
    (
        Phrase('Numbers that perhaps say whose a row is, by their name (if so, name one above: person = "COLUMN")'),
        lambda column: not column.is_dropped and column.is_named_like_an_id,
    ),
    (
        Phrase('Perhaps identifiers, as no value stands twice (if so, set role = "drop")'),
        lambda column: not column.is_dropped and column.looks_like_identifiers,
    ),
    (
        Phrase('Have missing values (fill them in, or set missing = "category")'),
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


def _warning(columns: Sequence[ColumnSummary]) -> Phrase:
    noted = [(note, [column for column in columns if holds(column)]) for note, holds in _NOTES]
    lines = [
        Phrase("These domains were read off private data: a bound or a rare value may point to one person."),
        Phrase("Replace them by what is public knowledge before you calibrate."),
        *(Phrase("{note}: {columns}.", note=note, columns=_listed(found)) for note, found in noted if found),
        *(_spelt_alike(column) for column in columns if column.spelt_alike),
        *(_how_to_read(column) for column in columns if column.is_dropped and column.holds_written_numbers),
    ]
    if look_unsplit([column.name for column in columns]):
        lines.append(Phrase("There is one column only: {name}. {remedy}", name=columns[0].name, remedy=UNSPLIT))
    return reduce(lambda above, line: Phrase("{above}\n{line}", above=above, line=line), lines)


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
