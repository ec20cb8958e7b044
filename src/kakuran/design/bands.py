"""Which numbers to tell in bands, and what that would gain; bands are round, and follow where people lie if known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

import numpy as np

from kakuran.design.calibration import calibrate
from kakuran.design.preview import TableError, preview
from kakuran.errors import CalibrationError, SchemaError, wrong_type
from kakuran.schema import Numeric, Schema
from kakuran.typing import Array, Indices
from kakuran.words import Phrase

BANDS = 6
"""About how many bands are proposed for a number of which bounds alone are known, and how many of even width."""
MOST_BANDS = (10, 8, 6)
"""How many bands are proposed at most where it is known where people lie: fewer where more would gain too little."""
WORTH_IT = 0.8
"""Bands are proposed that leave no more than this part of the error."""
FULLEST = 0.6
"""No band that is proposed holds a larger part of the people, unless a single value does."""
HEAP = 0.3
"""A value that this part of the people have gets a band of its own."""
CLEARLY_NARROWER = 0.8
"""People lie in bands so many times as narrow where bands that grow are proposed instead of even ones."""
NEAR = 0.01
"""Somebody who lies so close to a bound, as a part of the span, may have given it."""
MOST_TRIED = 20
LADDERS = (1, 2, 5), (1, 3), (1,)
"""Where bands begin that grow by factors, in each power of ten."""
FAR, FINE = 30, 300
"""Of a number of which bounds alone are known: it grows by factors where its most is so many times its least, and so
many times as many steps."""


@dataclass(frozen=True)
class BandProposal:
    """A number in bands, beside the number as it is.

    Attributes
    ----------
    column : Numeric
        The number in bands.
    before, after : TableError
        What is expected of its one-way table.
    shares : tuple of float, optional
        Which part of the people lies in each band, where the table was looked at: for the steward's eyes alone.
    heap : float, optional
        A value that so many people have that it is a band of its own.

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
    shares: tuple[float, ...] | None = None
    heap: float | None = None

    def __str__(self) -> str:
        return str(self.said)

    @property
    def said(self) -> Phrase:
        """In a line."""
        gain = Phrase(
            "{column} as {count} bands, {bands}: ±{after:.2g} % instead of ±{before:.2g} %",
            column=self.column.name,
            count=self.column.points,
            bands=list(self.column.bands or ()),
            after=100 * self.after.relative,
            before=100 * self.before.relative,
        )
        if self.shares is None:
            return gain
        held = ", ".join(percent_of(share) for share in self.shares)
        if self.heap is None:
            return Phrase("{gain}; of the people they hold {held} %", gain=gain, held=held)
        return Phrase(
            "{gain}; of the people they hold {held} %, and {value} is a band of its own, as so many have it",
            gain=gain,
            held=held,
            value=f"{self.heap:g}",
        )


def percent_of(share: float) -> str:
    """A share in whole percent, or as less than one where somebody is there."""
    return "<1" if 0 < share < 0.005 else f"{100 * share:.0f}"


def propose_bands(
    schema: Schema, *, n: int, k: float, counts: Mapping[str, Array | Indices] | None = None
) -> list[BandProposal]:
    """Numbers whose tables would come out better in bands, each with what its one-way table is expected to gain.

    Bands begin and end at round numbers: as wide each or, on both sides of zero, wider the further off they lie, at
    1, 2, 5, 10, 20, 50, … or, over more powers of ten, at 1, 3, 10, 30, …. By the bounds alone, which costs no privacy,
    a number gets bands that grow where it runs over many powers of ten, as incomes do. Where it is known where people
    lie, those bands are proposed in which they lie closest together, and none holds more than 60 % of them unless a
    single value does. Then the shape of the bands is read off the data, and where they end is not: a bound next to
    which somebody lies is moved outwards to a round number.

    Parameters
    ----------
    schema : Schema
        What the columns may hold.
    n : int
        Records in the table.
    k : float
        The promise.
    counts : Mapping[str, Array | Indices] | None
        Of numbers, how many people have each of their codes, such as ``np.bincount(schema.encode(table)["age"])``.

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
    tried = (
        (
            BandProposal(column, before[one.name], _after(schema, column, n, k), shares, heap)
            for column, shares, heap in _proposed(one, (counts or {}).get(one.name))
        )
        for one in numbers[:MOST_TRIED]
    )
    return [found for some in tried for found in islice(filter(_is_worth_it, some), 1)]


def _is_worth_it(proposal: BandProposal) -> bool:
    return proposal.after.relative < WORTH_IT * proposal.before.relative


def _after(schema: Schema, banded: Numeric, n: int, k: float) -> TableError:
    columns = [banded if other.name == banded.name else other for other in schema]
    return _one_way(Schema(columns, schema.tell, schema.about, schema.purpose), n, k)[banded.name]


def _one_way(schema: Schema, n: int, k: float) -> dict[str, TableError]:
    """What is expected of each column by itself, with whole records where a number has too many values for others."""
    try:
        plan = calibrate(schema, n=n, k=k)
    except CalibrationError:
        plan = calibrate(schema, n=n, k=k, tell="all")
    return {error.columns[0]: error for error in preview(plan) if len(error.columns) == 1}


@dataclass(frozen=True)
class _Shape:
    """Where bands begin, and the last one ends, in steps from the least of a number; and who is in them."""

    places: tuple[int, ...]
    shares: tuple[float, ...]

    @property
    def fullest(self) -> float:
        """The largest part of the people in one band."""
        return max(self.shares)

    @property
    def width(self) -> float:
        """Of the band that somebody lies in, on average: in steps between its least and its largest number."""
        return float((np.diff(self.places) - 1) @ np.array(self.shares))

    @classmethod
    def of(cls, places: Sequence[int], below: Array) -> _Shape:
        """From which part of the people lies below each step."""
        held = np.diff(below[np.clip(places, 0, len(below) - 1)])
        return cls((*places,), (*held.tolist(),))

    def halved(self, below: Array) -> _Shape:
        """With the fullest band in two halves, where it has more than one value and there may be more bands."""
        fullest = int(np.argmax(self.shares))
        first, end = self.places[fullest : fullest + 2]
        if len(self.shares) >= MOST_BANDS[0] or end - first < 2:
            return self
        return _Shape.of([*self.places[: fullest + 1], (first + end) // 2, *self.places[fullest + 1 :]], below)


def _proposed(
    number: Numeric, counts: Array | Indices | None
) -> Iterator[tuple[Numeric, tuple[float, ...] | None, float | None]]:
    """Bands to try, the best first, who is in them, and a heap: by bounds alone, or of more bands and of fewer."""
    people = np.zeros(0) if counts is None else np.asarray(counts, float)[: number.points]
    if not people.sum():
        yield in_bands(number), None, None
        return
    shares = np.pad(people, (0, number.points - len(people))) / people.sum()
    heap = int(shares.argmax()) if shares.max() >= HEAP else None
    if heap == number.points - 1:  # the last band has its end, so a heap there is alone only in one that goes on
        number = _between(number, number.low, number.high + number.step)
        shares = np.pad(shares, (0, number.points - len(shares)))
    # A band cannot be emptier than the value in it that most people have.
    most = max(FULLEST, float(shares.max()))
    wholes = [*_wholes(number, shares)]
    below, own = np.append(0.0, np.cumsum(shares)), () if heap is None else (heap, heap + 1)
    shapes = [_Shape.of(_places(number, *some, own), below) for some in wholes]
    for _ in range(MOST_BANDS[0]):
        if any(one.fullest <= most for one in shapes if len(one.shares) <= MOST_BANDS[0]):
            break
        shapes = [one.halved(below) for one in shapes]
    for count in MOST_BANDS:
        fitting = [place for place, one in enumerate(shapes) if len(one.shares) <= count and one.fullest <= most]
        if fitting:
            best = min(fitting, key=lambda place: shapes[place].width)
            # Even bands, which come first, unless others are clearly better.
            best = 0 if 0 in fitting and CLEARLY_NARROWER * shapes[0].width <= shapes[best].width else best
            value = None if heap is None else float(number.numbers_of(np.array([heap]))[0])
            inner = [*map(float, number.numbers_of(np.array(shapes[best].places[1:-1])))]
            yield _banded(wholes[best][0], inner), shapes[best].shares, value


def _wholes(number: Numeric, shares: Array) -> Iterator[tuple[Numeric, list[float]]]:
    """The number between round ends, and where bands begin in it: even ones first, then those that grow."""
    width = _round(number.span / BANDS, number.step)
    wider = _wider(number, shares, width * math.floor(number.low / width), width * math.ceil(number.high / width))
    yield wider, _even(wider, width)
    for factors in LADDERS:
        wider = _wider(
            number, shares, *(_rung_beyond(end, factors, side) for end, side in ((number.low, -1), (number.high, 1)))
        )
        yield from ((wider, inner) for inner in _growing(wider, factors))


def _places(number: Numeric, whole: Numeric, inner: Sequence[float], own: Sequence[int]) -> list[int]:
    """Where bands begin, and the last one ends, in steps of the number; a heap has its own."""
    first, *others, last = np.rint((np.array([whole.low, *inner, whole.high]) - number.low) / number.step).astype(int)
    return [int(first), *sorted(int(place) for place in {*others, *own} if first < place < last), int(last) + 1]


def in_bands(number: Numeric) -> Numeric:
    """The same number in about six bands that begin at round numbers, by its bounds alone."""
    if not _grows(number):
        return _banded(number, _even(number, _round(number.span / BANDS, number.step)))
    few = [inner for inner in _growing(number, LADDERS[0]) if len(inner) < BANDS]
    return _banded(number, max(few, key=len))


def _banded(number: Numeric, inner: Sequence[float]) -> Numeric:
    """With bands that begin at some numbers, or where the grid has a point next to them."""
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


def _wider(number: Numeric, shares: Array, low: float, high: float) -> Numeric:
    """The same number with bounds that somebody lies next to moved outwards, to these, unless they are round."""
    near = math.ceil(NEAR * number.points)
    low = low if shares[:near].any() and not _is_rung(number.low) else number.low
    high = high if shares[-near:].any() and not _is_rung(number.high) else number.high
    return _between(number, low, high)


def _between(number: Numeric, low: float, high: float) -> Numeric:
    """The same number with other bounds.

    It stays as it is where its grid has no point there, and where it would be no number that can be told: something in
    between stands for missing, or there are too many steps.
    """
    low, high = (float(f"{end:.12g}") for end in (low, high))
    earlier = (number.low - low) / number.step
    if abs(earlier - round(earlier)) > 1e-9 * max(earlier, 1):
        return number
    try:
        return replace(number, low=low, high=high)
    except SchemaError:
        return number


def _grows(number: Numeric) -> bool:
    """Whether a number runs over powers of ten by its bounds and step alone, as incomes do and ages do not."""
    far, near = max(abs(number.low), abs(number.high)), max(number.low, -number.high, 0.0)
    return far >= FAR * max(near, FINE * number.step)


def _even(number: Numeric, width: float) -> list[float]:
    """Round numbers as far apart, but none that would leave a sliver at an end."""
    first, last = math.ceil(number.low / width + 0.5), math.floor(number.high / width - 0.5)
    return [width * place for place in range(first, last + 1)]


def _growing(number: Numeric, factors: tuple[int, ...]) -> Iterator[list[float]]:
    """Where bands may begin that grow on both sides of zero, again without a sliver: from each rung on outwards."""
    up, down = _rungs(number.low, number.high, factors), _rungs(-number.high, -number.low, factors)
    for above, below in product(range(max(len(up), 1)), range(max(len(down), 1))):
        zero = [0.0] if number.low < 0 < number.high else []
        yield [*(-rung for rung in down[below:][::-1]), *zero, *up[above:]]


def _rungs(low: float, high: float, factors: tuple[int, ...]) -> list[float]:
    """1, 2, 5, 10, 20, 50, … between two numbers, as far as they lie above zero: the largest `MOST_BANDS` of them."""
    if high <= 0:
        return []
    power = math.floor(math.log10(high))
    rungs = [float(f"{factor}e{power - down}") for down in reversed(range(MOST_BANDS[0])) for factor in factors]
    return [rung for rung in rungs if 1.5 * low < rung and 1.5 * rung <= high][-MOST_BANDS[0] :]


def _rung_beyond(end: float, factors: tuple[int, ...], side: int) -> float:
    """The next of 0, ±1, ±2, ±5, ±10, … at an end or beyond it."""
    if not end:
        return 0.0
    power = math.floor(math.log10(abs(end)))
    rungs = [float(f"{factor}e{exponent}") for exponent in (power, power + 1) for factor in factors]
    if side * end > 0:
        return side * min(rung for rung in rungs if rung >= abs(end))
    return -side * max((rung for rung in rungs if rung <= abs(end)), default=0.0)


def _is_rung(end: float) -> bool:
    return end == _rung_beyond(end, LADDERS[0], 1)


def _round(width: float, step: float) -> float:
    """The nearest of 1, 2, 2.5 and 5 times a power of ten that is a whole number of steps."""
    power = math.floor(math.log10(width))
    choices = [float(f"{factor}e{exponent}") for exponent in (power, power + 1) for factor in (1, 2, 2.5, 5)]
    whole = [one for one in choices if abs(one / step - round(one / step)) < 1e-9 and round(one / step) >= 1]
    return min(whole or [step * math.ceil(width / step)], key=lambda one: abs(math.log(one / width)))
