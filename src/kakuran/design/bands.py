"""Which numbers to tell in bands, and what that would gain; from n, k and the schema alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from kakuran.design.calibration import calibrate
from kakuran.design.preview import TableError, preview
from kakuran.errors import CalibrationError, SchemaError, wrong_type
from kakuran.schema import Numeric, Schema
from kakuran.words import Phrase

BANDS = 6
"""About how many bands are proposed for a number."""
WORTH_IT = 0.8
"""Bands are proposed that leave no more than this part of the error."""
MOST_TRIED = 20
MORE, FEWER = (1, 2, 5), (1, 3)
"""Where bands begin that grow by factors, in each power of ten: six bands, or five where six tell too little."""
FAR, FINE = 30, 300
"""A number grows by factors where its most is so many times its least, and so many times as many steps."""


@dataclass(frozen=True)
class BandProposal:
    """A number in bands, beside the number as it is.

    Attributes
    ----------
    column : Numeric
        The number in bands.
    before, after : TableError
        What is expected of its one-way table.

    Examples
    --------
    >>> import kakuran as kk
    >>> schema = kk.Schema([kk.Numeric(name, 0, 120, step=1) for name in ("age", "weight", "pulse")])
    >>> print(kk.propose_bands(schema, n=1000, k=10)[0])
    age as 6 bands, [0, 20, 40, 60, 80, 100, 120]: ±19 % instead of ±77 %
    """

    column: Numeric
    before: TableError
    after: TableError

    def __str__(self) -> str:
        return str(self.said)

    @property
    def said(self) -> Phrase:
        """In a line."""
        return Phrase(
            "{column} as {count} bands, {bands}: ±{after:.2g} % instead of ±{before:.2g} %",
            column=self.column.name,
            count=self.column.points,
            bands=list(self.column.bands or ()),
            after=100 * self.after.relative,
            before=100 * self.before.relative,
        )


def propose_bands(schema: Schema, *, n: int, k: float) -> list[BandProposal]:
    """Numbers whose tables would come out better in bands, each with what its one-way table is expected to gain.

    Bands are round numbers between the bounds as the schema has them, which costs no privacy: even ones or, where a
    number runs over many powers of ten from zero or above, as incomes do, wider ones the further up they lie. Where
    most people are known to lie close together, narrower bands there are better.

    Parameters
    ----------
    schema : Schema
        What the columns may hold.
    n : int
        Records in the table.
    k : float
        The promise.

    Examples
    --------
    >>> import kakuran as kk
    >>> schema = kk.Schema([kk.Numeric("wage", 0, 100_000, step=1), kk.Categorical("job", ["clerk", "nurse", "none"])])
    >>> print(kk.propose_bands(schema, n=5000, k=10)[0])
    wage as 6 bands, [0, 2000, 5000, 10000, 20000, 50000, 100000]: ±4.7 % instead of ±42 %
    """
    if not isinstance(schema, Schema):
        raise wrong_type(schema, Schema, "kakuran.Schema.load reads one")
    numbers = [one for one in schema.perturbed if isinstance(one, Numeric) and one.is_even and one.points > 2 * BANDS]
    if not numbers or not 1 < k < n:
        return []
    schema = schema.without([one.name for one in schema.perturbed if one.size == 1])
    before = _one_way(schema, n, k)
    return [*_worthwhile(schema, numbers[:MOST_TRIED], before, n, k)]


def _worthwhile(
    schema: Schema, numbers: list[Numeric], before: dict[str, TableError], n: int, k: float
) -> Iterator[BandProposal]:
    for one in numbers:
        shapes = [in_bands(one), *([in_bands(one, factors=FEWER)] if _grows(one) else [])]
        tried = (BandProposal(banded, before[one.name], _after(schema, one, banded, n, k)) for banded in shapes)
        yield from islice((found for found in tried if found.after.relative < WORTH_IT * found.before.relative), 1)


def _after(schema: Schema, number: Numeric, banded: Numeric, n: int, k: float) -> TableError:
    columns = [banded if other is number else other for other in schema]
    return _one_way(Schema(columns, schema.tell, schema.about, schema.purpose), n, k)[number.name]


def _one_way(schema: Schema, n: int, k: float) -> dict[str, TableError]:
    """What is expected of each column by itself, with whole records where a number has too many values for others."""
    try:
        plan = calibrate(schema, n=n, k=k)
    except CalibrationError:
        plan = calibrate(schema, n=n, k=k, tell="all")
    return {error.columns[0]: error for error in preview(plan) if len(error.columns) == 1}


def in_bands(number: Numeric, *, growing: bool | None = None, factors: tuple[int, ...] = MORE) -> Numeric:
    """The same number in about six bands that begin at round numbers.

    Parameters
    ----------
    number : Numeric
        A number on an even grid.
    growing : bool | None
        Whether bands are the wider the further up they lie; by default, where the bounds are many powers of ten apart.
    factors : tuple[int, ...]
        Of powers of ten, at which bands that grow begin.
    """
    inner = _growing(number, factors) if (_grows(number) if growing is None else growing) else _even(number)
    places = number.codes_of(np.array(inner, float))
    kept = np.unique(number.numbers_of(places[(places > 0) & (places < number.points - 1)].astype(np.int64))).tolist()
    return Numeric(
        number.name,
        step=number.step,
        bands=[number.low, *kept, number.high],
        role=number.role,
        missing=number.missing,
        clip=number.clip,
        missing_codes=number.missing_codes,
    )


def with_round_bounds(number: Numeric) -> Numeric:
    """The same number with bounds moved outwards to round ones, for those that were read off somebody.

    To whole halves of the power of ten in its span. It stays as it is where its grid has no point there, and where it
    would be no number that can be told: something in between stands for missing, or there are too many steps.
    """
    unit = 10.0 ** math.floor(math.log10(number.span)) / 2
    low, high = (float(f"{unit * end:.12g}") for end in (math.floor(number.low / unit), math.ceil(number.high / unit)))
    earlier = (number.low - low) / number.step
    if not number.is_even or abs(earlier - round(earlier)) > 1e-9 * max(earlier, 1):
        return number
    try:
        return replace(number, low=low, high=high)
    except SchemaError:
        return number


def _grows(number: Numeric) -> bool:
    """Whether a number runs over powers of ten by its bounds and step alone, as incomes do and ages do not."""
    return number.low >= 0 and number.high >= FAR * max(number.low, FINE * number.step)


def _even(number: Numeric) -> list[float]:
    """Round numbers as far apart, but none that would leave a sliver at an end."""
    width = _round(number.span / BANDS, number.step)
    first, last = math.ceil(number.low / width + 0.5), math.floor(number.high / width - 0.5)
    return [width * place for place in range(first, last + 1)]


def _growing(number: Numeric, factors: tuple[int, ...]) -> list[float]:
    """The last few of 1, 2, 5, 10, 20, 50, … before the end, again without a sliver: over nearly two powers of ten."""
    power = math.floor(math.log10(number.high))
    rounds = [float(f"{factor}e{exponent}") for exponent in range(power - 2, power + 1) for factor in factors]
    return [one for one in rounds if 1.5 * number.low < one and 1.5 * one <= number.high][-len(factors) - 2 :]


def _round(width: float, step: float) -> float:
    """The nearest of 1, 2, 2.5 and 5 times a power of ten that is a whole number of steps."""
    power = math.floor(math.log10(width))
    choices = [float(f"{factor}e{exponent}") for exponent in (power, power + 1) for factor in (1, 2, 2.5, 5)]
    whole = [one for one in choices if abs(one / step - round(one / step)) < 1e-9 and round(one / step) >= 1]
    return min(whole or [step * math.ceil(width / step)], key=lambda one: abs(math.log(one / width)))
