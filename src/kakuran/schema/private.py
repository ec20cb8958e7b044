"""Domains found privately: what enough people share, by noisy counts, and nothing that fewer people hold.

Each person has one value in each column, and each value lies in one cell: a text is its own cell, a number lies between
two points of a grid that is the same for every table, a date lies in its year. Every count gets noise from the discrete
Gaussian distribution (Canonne, Kamath and Steinke, NeurIPS 2020), and a cell is found whose noisy count reaches a
threshold. A schema is made from found cells and their noisy counts alone, so it is (ε, δ)-differentially private, where
neighbouring tables differ in all values of one person. The proof stands in docs/guides/private-domains.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kakuran.errors import DataError, SchemaError, is_real
from kakuran.randomness import Randomness
from kakuran.schema.attribute import LARGEST_GRID, Attribute, Categorical, Dropped, Missing, Numeric
from kakuran.schema.codes import days_of, family_of
from kakuran.schema.dates import Date, day_of, usual_period
from kakuran.schema.infer import NAMED_LIKE_AN_ID, check_named, is_number
from kakuran.schema.orders import proposed_order
from kakuran.schema.people import Pseudonyms, draw_rows
from kakuran.schema.personal import is_named_for_people, personal_kind
from kakuran.schema.sources.base import Part, Source
from kakuran.schema.sources.delimited import NO_NUMBERS
from kakuran.schema.sources.opening import open_source
from kakuran.words import Phrase, which_there_are

DOMAIN_DELTA = 1e-7
"""How often the guarantee may fail, unless somebody says otherwise: below δ of a release, with which it adds up."""
MOST_BANDS = 10
"""Bands that a number gets at most."""
ROUNDING = 1e-12
"""More than by what rounding moves the law of one draw; counted into δ for every count that a person changes."""
MOST_EPSILON = 10.0
WIDEST = 3e4
"""The widest noise of which rounding takes no more than is counted; 160,000 people would have to share a value then."""
_ORDERS = 1 + np.exp(np.linspace(-6, 16, 4001))
"""Orders α at which divergences are bounded; any would do, and the best is taken."""
_NEARLY = 1e-9
_MISSING = ""
_OTHER, _OTHER_CODE = "other", -1
_DIGIT = 10
"""Whole numbers below this are cells of their own: they may be codes of categories."""

Cell: TypeAlias = str | int
"""A text, a year, or the place of a number: on the grid, or, of a whole number of one digit, in `_DIGITS`."""

_POSITIVE = [float(f"{digit}e{power}") for power in range(-4, 16) for digit in range(1, 10)]
GRID = np.array([*(-edge for edge in reversed(_POSITIVE)), 0.0, *_POSITIVE])
"""Where cells of numbers begin: at one digit times a power of ten, on both sides of zero; the same for every table."""
_DIGITS = {int(np.searchsorted(GRID, digit)) + len(GRID): digit for digit in range(_DIGIT)}
"""Cells beyond those of the grid: whole numbers of one digit, by the cell of the grid that they lie in."""


@dataclass(frozen=True)
class CountNoise:
    """Noise on counts of several columns, one value of each person in each.

    Attributes
    ----------
    columns : int
        How many columns are counted.
    epsilon, delta : float
        What holds for all noisy counts that reach the threshold, of all columns together.

    Examples
    --------
    >>> from kakuran.schema import CountNoise
    >>> noise = CountNoise(columns=1, epsilon=1.0, delta=1e-6)
    >>> round(noise.spread, 2), noise.threshold
    (6.6, 36)
    """

    columns: int
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not (is_real(self.epsilon) and 0 < self.epsilon <= MOST_EPSILON):
            raise SchemaError(
                Phrase(
                    "epsilon must lie above 0 and not above {most:g}, which promises nothing; got {epsilon!r}",
                    most=MOST_EPSILON,
                    epsilon=self.epsilon,
                )
            )
        if not (is_real(self.delta) and 4 * self._rounding < self.delta < 1):
            raise SchemaError(
                Phrase(
                    "delta must lie between {least:.1g} and 1, as 1e-7; got {delta!r}",
                    least=4 * self._rounding,
                    delta=self.delta,
                )
            )
        if self.spread > WIDEST:
            raise SchemaError(
                Phrase(
                    "epsilon = {epsilon:g} and delta = {delta:g} need so much noise over {columns} columns that "
                    "nothing would be found; take a larger epsilon, or drop columns",
                    epsilon=self.epsilon,
                    delta=self.delta,
                    columns=self.columns,
                )
            )

    @cached_property
    def spread(self) -> float:
        """σ: of all noise that makes counts (ε, δ/2)-private, the least; a person changes two of every column by 1."""
        low, high = 0.0, 1.0
        while log_delta(self.columns / high**2, self.epsilon) > math.log(self.delta / 2):
            low, high = high, 2 * high
        for _ in range(50):
            middle = (low + high) / 2
            is_enough = log_delta(self.columns / middle**2, self.epsilon) <= math.log(self.delta / 2)
            low, high = (low, middle) if is_enough else (middle, high)
        return high

    @cached_property
    def threshold(self) -> int:
        """The least noisy count that is shown: 1 + noise, of a value that one person has, reaches it too rarely."""
        rarest = (self.delta / 2 - self._rounding) / ((1 + math.exp(self.epsilon)) * self.columns)
        is_rare = self.tail[1:] / 2 <= rarest  # of noise from 1 on: half of what is as far from 0 on either side
        return int(np.argmax(is_rare)) + 2

    @cached_property
    def tail(self) -> NDArray[np.float64]:
        """How likely noise is 0 or further from 0, 1 or further, 2 or further, …"""
        places = np.arange(math.ceil(12 * self.spread) + 30, dtype=float)
        weights = np.exp(-((places / self.spread) ** 2) / 2) * np.where(places > 0, 2.0, 1.0)
        tail = np.cumsum(weights[::-1])[::-1]  # from the rare end, so that no small number is lost beside a large one
        return tail / tail[0]

    @property
    def _rounding(self) -> float:
        return 2 * self.columns * (1 + math.exp(self.epsilon)) * ROUNDING

    def drawn(self, count: int, randomness: Randomness) -> NDArray[np.int64]:
        """So many independent draws: one bit says on which side of 0, and 63 say how far."""
        words = randomness.words(count)
        steps = np.floor(np.ldexp(self.tail[1:], 63)).astype(np.uint64)[::-1]
        far = len(steps) - np.searchsorted(steps, words >> np.uint64(1), side="right")
        return np.where(words & np.uint64(1), far, -far).astype(np.int64)

    def found(self, counts: Mapping[Cell, int], randomness: Randomness) -> dict[Cell, int]:
        """The cells whose noisy counts reach the threshold, with these counts, in an order that follows from them."""
        noisy = np.fromiter(counts.values(), np.int64, len(counts)) + self.drawn(len(counts), randomness)
        shown = {cell: int(count) for cell, count in zip(counts, noisy, strict=True) if count >= self.threshold}
        return dict(sorted(shown.items(), key=lambda pair: (str(type(pair[0])), pair[0])))


def log_delta(rho: float, epsilon: float) -> float:
    """ln δ of what is ρ-concentrated differentially private (Canonne, Kamath and Steinke 2020, Corollary 13)."""
    orders = _ORDERS
    bounds = (orders - 1) * (orders * rho - epsilon) - np.log(orders - 1) + orders * np.log1p(-1 / orders)
    return float(bounds.min())


def private_draft(
    data: Any,
    epsilon: float,
    delta: float,
    person: str | None,
    progress: Callable[[int], object],
    randomness: Randomness | None = None,
) -> dict[str, Any]:
    """What a schema says of a frame or of any other source, (ε, δ)-privately; names and types are taken as public."""
    source = open_source(data)
    check_named(source)
    if person is not None and person not in source.names:
        raise DataError(person, Phrase("is to say whose each row is, but is not in the table"), _others(person, source))
    asked = counted_columns(source.names, person)
    CountNoise(max(len(asked), 1), epsilon, delta)  # refuse what cannot be kept before anything is read
    columns = _counted(source, asked, person, progress)
    noise = CountNoise(max(sum(isinstance(one, Counter) for one in columns.values()), 1), epsilon, delta)
    randomness = randomness or Randomness.secure()
    attributes: list[Attribute] = []
    unread: str = Phrase("dropped by its name, without a look at its values")
    remarks = {name: unread for name in source.names if name not in asked and name != person}
    for name in source.names:
        found = columns.get(name)
        if isinstance(found, Counter):
            attribute, remark = attribute_of_cells(name, noise.found(found, randomness))
        else:
            attribute, remark = found or Dropped(name), None
        attributes.append(attribute)
        remarks |= {} if remark is None else {name: remark}
    return {"attributes": attributes, "remarks": remarks, "person": person, "private": (epsilon, delta)}


def _others(name: str, source: Source) -> Phrase:
    return which_there_are(name, source.names)


def counted_columns(names: Sequence[str], person: str | None = None) -> list[str]:
    """The columns whose values are counted: not whose a row is, nor what is named like people or their numbers."""
    return [
        name
        for name in names
        if name != person and not is_named_for_people(name) and not NAMED_LIKE_AN_ID.search(name.strip())
    ]


def _counted(
    source: Source, names: Sequence[str], person: str | None, progress: Callable[[int], object]
) -> dict[str, Counter[Cell] | Attribute]:
    """How many people are in each cell of each column; or the column, where its type says what it may hold.

    Of each person one row is taken, drawn at random, so that nobody counts twice.
    """
    chosen = None if person is None else _one_row_each(source, person)
    counts: dict[str, Counter[Cell] | Attribute] = {}
    records = 0
    for part in source.parts(dict.fromkeys(names, pa.string())):
        batch = part.records
        if chosen is not None:
            batch = batch.filter(pa.array(chosen[records : records + len(part)]))
        for name in names:
            cells = _cells(name, batch.column(name), is_declared=source.declares(name))
            if isinstance(cells, Counter) and isinstance(before := counts.setdefault(name, Counter()), Counter):
                before.update(cells)
            else:
                counts[name] = cells
        records += len(part)
        progress(len(part))
    if not records:
        raise SchemaError(Phrase("{described}: cannot infer a schema from an empty table", described=source.described))
    return counts


def _one_row_each(source: Source, person: str) -> NDArray[np.bool_]:
    randomness = Randomness.secure()
    pseudonyms = Pseudonyms(randomness)

    def whose(part: Part) -> NDArray[np.uint64]:
        return part.through(lambda batch: pseudonyms.of(batch, person))

    parts = [whose(part) for part in source.parts({person: pa.string()})]
    people = np.concatenate(parts) if parts else np.empty(0, np.uint64)
    chosen = np.zeros(len(people), bool)
    chosen[draw_rows(people, 1, randomness)] = True
    return chosen


def _cells(name: str, column: pa.Array, *, is_declared: bool) -> Counter[Cell] | Attribute:
    """How many values lie in each cell, by nothing but the value itself and the type that the source declares."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    family = family_of(column.type)
    if not is_declared and family in ("true/false", "other"):
        column, family = pa.array([None if one is None else str(one) for one in column.to_pylist()]), "text"
    if family == "true/false":
        return Categorical(name, [False, True], missing="category")
    if family == "other":
        return Dropped(name)
    if family == "nothing":
        return Counter({_MISSING: len(column)})
    if family == "numbers":
        numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return _tallied(cells_of(numbers[~np.isnan(numbers)]), len(column))
    if family == "dates":
        days = days_of(column).drop_null().to_numpy(zero_copy_only=False)
        years = days.astype("M8[D]").astype("M8[Y]").astype(np.int64) + 1970
        return _tallied(-years - _YEARS, len(column))
    counted = pc.value_counts(column)
    cells: Counter[Cell] = Counter()
    for word, count in zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True):
        cells[_cell_of(word, is_declared=is_declared)] += count
    return cells


_YEARS = 1 << 20
"""Cells of dates lie below all others: that of a year is its negative, less this."""


def _tallied(cells: NDArray[np.integer], rows: int) -> Counter[Cell]:
    found, counts = np.unique(cells, return_counts=True)
    missing = {_MISSING: rows - len(cells)} if rows > len(cells) else {}
    return Counter(dict(zip(found.tolist(), counts.tolist(), strict=True)) | missing)


def cells_of(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """The cell of each number: whole numbers of one digit have their own, others lie on the grid or at its ends."""
    cells = np.clip(np.searchsorted(GRID, numbers, side="right") - 1, 0, len(GRID) - 1)
    is_digit = (numbers >= 0) & (numbers < _DIGIT) & (numbers == np.floor(numbers))
    return np.where(is_digit, cells + len(GRID), cells)


def _cell_of(word: str | None, *, is_declared: bool) -> Cell:
    """The cell of a text; where a source declares no type, a text that is written like a number or a date is one."""
    if word is None or not word.strip():
        return _MISSING
    plain = word.strip()
    if not is_declared and is_number(plain) and math.isfinite(float(plain)) and not _is_code(plain):
        return int(cells_of(np.array([float(plain)]))[0])
    if (day := day_of(plain)) is not None and not is_number(plain):
        return -int(str(np.datetime64(day, "D"))[:4]) - _YEARS
    return word


def _is_code(word: str) -> bool:
    """Whether it is written as 007, which is no number."""
    digits = word.lstrip("+-")
    return len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()


def attribute_of_cells(name: str, found: Mapping[Cell, int]) -> tuple[Attribute, str | None]:
    """The column that found cells and their noisy counts suggest, and why it is as it is where that is not plain."""
    has_missing = _MISSING in found
    words = {cell: count for cell, count in found.items() if isinstance(cell, str) and cell != _MISSING}
    places = {cell: count for cell, count in found.items() if isinstance(cell, int)}
    years = {-cell - _YEARS: count for cell, count in places.items() if cell < 0}
    numbers = {cell: count for cell, count in places.items() if cell >= 0}
    if numbers and words.keys() & set(NO_NUMBERS):  # as NA, which the reader of a CSV file takes for missing, too
        has_missing, words = True, {word: count for word, count in words.items() if word not in NO_NUMBERS}
    kinds = [one for one in (words, years, numbers) if one]
    if not kinds:
        return Dropped(name), Phrase("no value is shared by enough people; declare values from public knowledge")
    if len(kinds) > 1:
        return Dropped(name), Phrase("holds texts, numbers or dates side by side; make it one kind, and infer again")
    if words:
        return _category(name, list(words), has_missing=has_missing)
    if years:
        return _date(name, years), None
    if all(cell in _DIGITS for cell in numbers):
        codes = [_DIGITS[cell] for cell in numbers]
        missing: Missing = "category" if has_missing else "error"
        return Categorical(name, [*sorted(codes), _OTHER_CODE], missing=missing, other=_OTHER_CODE), None
    return _number(name, numbers), None


def _category(name: str, words: list[str], *, has_missing: bool) -> tuple[Attribute, str | None]:
    if (personal := personal_kind(name, words)) is not None:
        return Dropped(name), personal.reason
    order = proposed_order(set(words))
    listed = [*order[0], *order[1]] if order is not None else sorted(words)
    other = next(one for one in _names_of_others() if one not in words)
    missing: Missing = "category" if has_missing else "error"
    return Categorical(name, [*listed, other], missing=missing, other=other), None


def _names_of_others() -> Iterator[str]:
    yield _OTHER
    yield from (f"{_OTHER} {number}" for number in range(2, 1 << 30))


def _date(name: str, years: Mapping[int, int]) -> Date:
    low, high = f"{min(years):04}-01-01", f"{max(years):04}-12-31"
    period = usual_period(*(int(np.datetime64(day, "D").astype(int)) for day in (low, high)))
    return Date(name, low, high, period, missing="category", clip=True)


def _number(name: str, numbers: Mapping[int, int]) -> Numeric:
    """A number in bands, each with as many people as the others as far as its round edges allow."""
    counts: Counter[int] = Counter()
    for cell, count in numbers.items():
        counts[cell - len(GRID) if cell in _DIGITS else cell] += count
    end = min(max(counts) + 1, len(GRID) - 1)
    cells = range(min(*counts, end - 1), end)
    edges = GRID[merged([*cells, end], [counts[cell] for cell in cells])]
    power = _power_of_step(edges)
    first, *inner, last = (edges / 10.0**power).tolist()
    # What lies next to 0 on the grid is one step from it, so that 0 has a band of its own where many people have it.
    places = {int(math.copysign(max(round(abs(place)), 1), place)) if place else 0 for place in inner}
    places |= {math.floor(first + _NEARLY), math.ceil(last - _NEARLY)}
    bands = [float(f"{place}e{power}") for place in sorted(places)]
    settings: dict[str, Any] = {"step": float(f"1e{power}"), "missing": "category", "clip": True}
    return Numeric(name, bands=bands, **settings) if len(bands) > 2 else Numeric(name, bands[0], bands[-1], **settings)


def _power_of_step(edges: NDArray[np.float64]) -> int:
    """1, as a power of ten, where edges are whole; finer below 1, and coarser where there would be too many steps."""
    far = np.abs(edges[np.abs(edges) > _POSITIVE[0]])
    finest = 0 if not len(far) or far.min() >= 1 else math.floor(math.log10(far.min())) - 2
    return max(finest, math.ceil(math.log10((edges[-1] - edges[0]) / (LARGEST_GRID - 2))))


def merged(edges: list[int], counts: list[int]) -> list[int]:
    """Where bands begin, and the last one ends.

    Of cells side by side, the emptiest goes to the emptier of its neighbours, until bands are few and none is empty.
    """
    while len(counts) > MOST_BANDS or (len(counts) > 1 and min(counts) <= 0):
        least = int(np.argmin(counts))
        around = [place for place in (least - 1, least + 1) if 0 <= place < len(counts)]
        other = min(around, key=lambda place: counts[place])
        left = min(least, other)
        counts[left : left + 2] = [counts[left] + counts[left + 1]]
        del edges[left + 1]
    return edges
