"""Dates as columns: told by the day, week, month, quarter or year, and read as people write them.

A date is a number: days since 1970-01-01, of which each period is a band. 3/4/2020 is read as somebody says it is
meant, never by a guess.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import SchemaError
from kakuran.schema.attribute import LARGEST_GRID, Missing, Numeric, check_declaration
from kakuran.typing import Array
from kakuran.words import Phrase

Period: TypeAlias = Literal["day", "week", "month", "quarter", "year"]
DateOrder: TypeAlias = Literal["d/m/y", "m/d/y"]

_EPOCH = date(1970, 1, 1).toordinal()
_MONTHS: dict[str, int] = {"month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True, init=False, repr=False)
class Date(Numeric):
    """A column of dates between public bounds, of which a period is told.

    What is released is the first day of a period, as a date; times of the day are left out.

    Parameters
    ----------
    name : str
        What the column is called.
    low, high : datetime.date or str
        The first and the last day, from public knowledge; as attributes they are days since 1970-01-01.
    step : Period
        ``"day"``, ``"week"`` (counted from the first day), ``"month"``, ``"quarter"`` or ``"year"``.
    order : DateOrder | None
        How 3/4/2020 is meant: ``"d/m/y"`` or ``"m/d/y"``. Without it only what can be meant in one way is read:
        2020-04-03, 3.4.2020, 3 Apr 2020, 令和2年4月3日, R2.4.3 and the like.
    role : Literal["perturb", "keep"]
        ``"perturb"``, or ``"keep"`` for a column that is public anyway.
    missing : Missing
        ``"error"``, or ``"category"`` to treat a missing date as one more value.
    clip : bool
        Whether dates beyond the bounds are taken for the bounds, instead of refused.
    missing_codes : Sequence[str]
        What stands for a missing date in the data, as "9999-12-31"; missing is a category then.

    Examples
    --------
    >>> import kakuran as kk
    >>> onset = kk.Date("onset", "2020-01-06", "2020-07-05", step="week")
    >>> onset.size, onset.label(0, 0), onset.label(0, 1)
    (26, '2020-01-06', '2020-01-06–2020-01-19')
    """

    every: Period = "day"
    order: DateOrder | None = None

    def __init__(
        self,
        name: str,
        low: date | str,
        high: date | str,
        step: Period = "day",
        order: DateOrder | None = None,
        role: Literal["perturb", "keep"] = "perturb",
        missing: Missing = "error",
        clip: bool = False,
        missing_codes: Sequence[str] = (),
    ) -> None:
        fields = {"name": name, "step": 1, "role": role, "missing": missing, "bands": None, "clip": clip}
        for field, value in (fields | {"missing_codes": missing_codes, "every": step, "order": order}).items():
            object.__setattr__(self, field, value)
        check_declaration(self)
        _check_choice(name, "step", step, get_args(Period))
        if order is not None:
            _check_choice(name, "order", order, get_args(DateOrder))
        bounds = [_bound(name, field, value) for field, value in (("low", low), ("high", high))]
        if bounds[1] < bounds[0]:
            raise SchemaError(
                Phrase(
                    "column {name!r}: low must not be after high, got {low} and {high}", name=name, low=low, high=high
                )
            )
        for field, value in zip(("low", "high"), bounds, strict=True):
            object.__setattr__(self, field, value)
        # Whole periods: the first from its first day, the last to its last.
        first, last = self._starts(np.array([0]))[0], self._starts(self._periods(np.array(bounds[1:])) + 1)[0] - 1
        object.__setattr__(self, "low", int(first))
        object.__setattr__(self, "high", int(last))
        if self.points > LARGEST_GRID:
            raise SchemaError(
                Phrase(
                    "column {name!r}: {points:,} periods are more than {most:,}",
                    name=name,
                    points=self.points,
                    most=LARGEST_GRID,
                )
            )

    def __repr__(self) -> str:
        return f"Date({self.name!r}, {self.written(self.low)!r}, {self.written(self.high)!r}, step={self.every!r})"

    @cached_property
    def points(self) -> int:
        """How many periods."""
        return int(self._periods(np.array([self.high]))[0]) + 1

    @property
    def is_even(self) -> bool:
        """Days are as far apart as weeks, but a period is more than one day."""
        return False

    @property
    def has_mean(self) -> bool:
        """Dates have a median, but no sum."""
        return False

    def codes_of(self, numbers: Array) -> Array:
        """The period of each day, as floats: out of range and NaN stay visible."""
        is_day = np.isfinite(numbers)
        codes = self._periods(np.where(is_day, numbers, 0.0).astype(np.int64)).astype(float)
        return np.where(is_day, codes, numbers)

    def ends_of(self, codes: NDArray[np.integer]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The first and the last day of each period; the calendar goes on beyond the bounds."""
        return self._starts(codes), self._starts(codes + 1) - 1

    def number_of(self, value: object) -> float:
        """The day that somebody writes in a question."""
        if not isinstance(value, str | date):
            raise SchemaError(
                Phrase(
                    "column {name!r} holds dates, got {value!r}; write one as '2020-04-03'", name=self.name, value=value
                )
            )
        return _bound(self.name, "a date", value)

    def written(self, number: float) -> str:
        """The day, as 2020-04-03."""
        return str(np.datetime64(int(np.floor(number)), "D"))

    def label(self, first: int, last: int) -> str:
        """The first day and the last; of one period by itself, what it is usually called."""
        (start,), (end,) = self._starts(np.array([first])), self._starts(np.array([last + 1])) - 1
        if first < last or self.every not in _MONTHS:
            return self.written(start) if first == last else f"{self.written(start)}–{self.written(end)}"
        year, month, _ = self.written(start).split("-")
        return {"month": f"{year}-{month}", "quarter": f"{year}-Q{(int(month) + 2) // 3}", "year": year}[self.every]

    def names_of(self, reach: int) -> None:
        """A release holds dates."""

    def settings(self) -> dict[str, Any]:
        """What it may hold, as plain values."""
        bounds = {"low": self.written(self.low), "high": self.written(self.high), "step": self.every}
        asked = {"order": self.order} if self.order else {}
        return {"type": "date"} | bounds | asked | ({"clip": True} if self.clip else {})

    def _periods(self, days: NDArray[np.int64]) -> NDArray[Any]:
        """Which period each day lies in, counted from that of the first."""
        if self.every in ("day", "week"):
            return (days - self.low) // (1 if self.every == "day" else 7)
        first, months = (np.asarray(some, "M8[D]").astype("M8[M]").astype(np.int64) for some in (self.low, days))
        return months // _MONTHS[self.every] - first // _MONTHS[self.every]

    def _starts(self, periods: NDArray[np.integer]) -> NDArray[np.int64]:
        """The first day of each period."""
        if self.every in ("day", "week"):
            return periods.astype(np.int64) * (1 if self.every == "day" else 7) + int(self.low)
        first = np.asarray(self.low, "M8[D]").astype("M8[M]").astype(np.int64) // _MONTHS[self.every]
        months = (periods.astype(np.int64) + first) * _MONTHS[self.every]
        return months.astype("M8[M]").astype("M8[D]").astype(np.int64)


def usual_period(low: int, high: int) -> Period:
    """The finest period of which there are not very many between two days."""
    days = high - low + 1
    return next((period for period, most in _MOST_DAYS.items() if days <= most), "year")


_MOST_DAYS: dict[Period, int] = {"day": 62, "week": 430, "month": 1860, "quarter": 5500}


def date_between(name: str, low: int, high: int, order: DateOrder | None = None) -> Date:
    """A column of dates between two days, in whole periods; weeks begin on Mondays."""
    period = usual_period(low, high)
    if period == "week":
        low -= (low + 3) % 7  # 1970-01-01 was a Thursday
    return Date(name, str(np.datetime64(low, "D")), str(np.datetime64(high, "D")), period, order)


def _check_choice(name: str, field: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise SchemaError(
            Phrase(
                "column {name!r}: {field} must be one of {listed}, got {value!r}",
                name=name,
                field=field,
                listed=", ".join(map(repr, allowed)),
                value=value,
            )
        )


def _bound(name: str, field: str, value: object) -> int:
    if isinstance(value, datetime):
        value = value.date()
    found = value.toordinal() - _EPOCH if isinstance(value, date) else None
    if isinstance(value, str):
        found = day_of(value)
    if found is None:
        raise SchemaError(
            Phrase(
                "column {name!r}: {field} must be a date, as 2020-04-03, got {value!r}",
                name=name,
                field=field,
                value=value,
            )
        )
    return found


_ERAS = {
    **dict.fromkeys(("明治", "明", "M"), 1868),
    **dict.fromkeys(("大正", "大", "T"), 1912),
    **dict.fromkeys(("昭和", "昭", "S"), 1926),
    **dict.fromkeys(("平成", "平", "H"), 1989),
    **dict.fromkeys(("令和", "令", "R"), 2019),
}
"""The first year of each era. Years that an era did not have are meant as well: 平成35年 was printed for 2023."""
_NAMED_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_TIME = r"(?:[T ]\s*\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:[AaPp][Mm])?(?:Z|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = re.compile(r"(?P<y>\d{4})(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})" + _TIME)
_YEAR_MONTH = re.compile(r"(?P<y>\d{4})[-/](?P<m>\d{1,2})")
_ONLY_DIGITS = re.compile(r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})")
_KANJI = re.compile(r"(?P<y>\d{4})年(?:(?P<m>\d{1,2})月(?:(?P<d>\d{1,2})日)?)?" + _TIME)
_ERA = re.compile(
    rf"(?P<era>{'|'.join(_ERAS)})\.?(?P<y>\d{{1,2}}|元)(?:年(?:(?P<m>\d{{1,2}})月(?:(?P<d>\d{{1,2}})日)?)?"
    r"|(?P<sep>[-/.])(?P<m2>\d{1,2})(?:(?P=sep)(?P<d2>\d{1,2}))?)" + _TIME,
    re.IGNORECASE,
)
_DAY_FIRST = re.compile(r"(?P<d>\d{1,2})\.\s*(?P<m>\d{1,2})\.\s*(?P<y>\d{4})" + _TIME)
_DAY_NAME = re.compile(r"(?P<d>\d{1,2})(?:st|nd|rd|th)?[-/. ]+(?P<name>[A-Za-z]{3,9})\.?[-/, ]+(?P<y>\d{4})" + _TIME)
_NAME_DAY = re.compile(r"(?P<name>[A-Za-z]{3,9})\.? +(?P<d>\d{1,2})(?:st|nd|rd|th)?,? +(?P<y>\d{4})" + _TIME)
_QUARTER = re.compile(r"(?P<y>\d{4})[- ]?[Qq](?P<q>[1-4])")
_CLEAR = (_YEAR_FIRST, _YEAR_MONTH, _ONLY_DIGITS, _KANJI, _ERA, _DAY_FIRST, _DAY_NAME, _NAME_DAY, _QUARTER)
_EITHER = re.compile(r"(?P<first>\d{1,2})(?P<sep>[-/])(?P<second>\d{1,2})(?P=sep)(?P<y>\d{4})" + _TIME)


def day_of(word: str, order: DateOrder | None = None) -> int | None:
    """The day that a word means, since 1970-01-01; None where it means none, or one of two and no order is told.

    Examples
    --------
    >>> from kakuran.schema.dates import day_of
    >>> day_of("令和2年4月3日") == day_of("R2.4.3") == day_of("3/4/2020", "d/m/y") == day_of("2020-04-03 12:30")
    True
    >>> day_of("3/4/2020") is None
    True
    """
    word = unicodedata.normalize("NFKC", word).strip()
    for pattern in _CLEAR:
        found = pattern.fullmatch(word)
        if found:
            return _day(*_parts(found.groupdict()))
    either = _EITHER.fullmatch(word)
    if either is None:
        return None
    first, second, year = (int(either[part]) for part in ("first", "second", "y"))
    days = {"d/m/y": _day(year, second, first), "m/d/y": _day(year, first, second)}
    if order is not None:
        return days[order]
    return days["d/m/y"] if days["d/m/y"] == days["m/d/y"] else None


def orders_of(words: Iterable[str]) -> list[DateOrder]:
    """The orders in which all words are dates; both where nobody can tell."""
    found = DateRange()
    found.update(words)
    return sorted(found.bounds)


class DateRange:
    """The first and the last day that the words of a column mean, in each order they can all be read in."""

    def __init__(self) -> None:
        self.bounds: dict[DateOrder, tuple[int, int]] = dict.fromkeys(get_args(DateOrder), (_LATEST, -_LATEST))
        self.depends = False

    def update(self, words: Iterable[str]) -> None:
        """Take in more words; an order that makes no date of one is given up."""
        for word in words if self.bounds else ():
            days = {order: day_of(word, order) for order in self.bounds}
            self.depends |= day_of(word) is None
            self.bounds = {
                order: (min(low, day), max(high, day))
                for order, (low, high) in self.bounds.items()
                if (day := days[order]) is not None
            }

    @property
    def is_filled(self) -> bool:
        """Whether there were words, all of them dates."""
        return any(low <= high for low, high in self.bounds.values())

    @property
    def is_unclear(self) -> bool:
        """Whether they are other dates in another order, and either would do."""
        return self.is_filled and len(set(self.bounds.values())) > 1


_LATEST = 10**9


def _parts(found: dict[str, str | None]) -> tuple[int, int, int]:
    """Year, month and day; of a month, quarter or year the first day."""
    year = 1 if found["y"] == "元" else int(found["y"] or 0)
    era = found.get("era")
    if era:
        year += _ERAS[era.upper()] - 1
    if found.get("q"):
        return year, 3 * int(found["q"] or 0) - 2, 1
    if found.get("name"):
        return year, _NAMED_MONTHS.get((found["name"] or "")[:3].lower(), 0), int(found["d"] or 0)
    return year, int(found.get("m") or found.get("m2") or 1), int(found.get("d") or found.get("d2") or 1)


def _day(year: int, month: int, day: int) -> int | None:
    try:
        return date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None
