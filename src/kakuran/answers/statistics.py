"""Means, variances, shares and correlations of the true records, weighed or not, with intervals, beside naive ones.

A statistic is a smooth function of a few moments of its groups: of how many records are in one, of what their numbers
add up to, of their squares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtri

from kakuran.answers.answer import Answer, printed, title_of, truth_of
from kakuran.answers.estimate import Estimate, warned_of
from kakuran.answers.filling import BandFilling
from kakuran.answers.groups import (
    AskedOf,
    Found,
    Groups,
    Read,
    ReadNumber,
    doubt_of,
    find,
    is_linear,
    number,
    questions_of,
    scale_of,
    told_cells,
)
from kakuran.answers.reader import Reader, model_cells
from kakuran.answers.tilted import FARTHEST, TiltedRecords
from kakuran.charts import ESTIMATE, NAIVE, Series, column_chart, plain
from kakuran.counts import Cells
from kakuran.design import Plan
from kakuran.errors import SchemaError
from kakuran.model import About, moments_of
from kakuran.schema import Numeric
from kakuran.typing import Array, Progress
from kakuran.words import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scale: TypeAlias = Literal["plain", "log", "atanh"]
"""On which scale chance moves a statistic evenly up and down."""
UNCLEAR = 0.1
"""A correlation whose standard error is larger takes the joint model's help."""
MOST_GROUP_BANDS = 1_000
"""Bands of all groups together up to which every group is filled by itself."""
_RARE = 1e-9


@dataclass(frozen=True, eq=False)
class Statistic(Answer):
    """A statistic of the true records, or of each of several groups of them.

    As a table, one row a group: its labels, the estimate, its standard error, the ends of its interval and the naive
    value.

    Attributes
    ----------
    name : str
        What it is.
    axes : tuple of Cells
        The groups; none for a single number.
    estimates : array
        What is estimated of each group.
    errors : array
        Standard errors.
    low, high : array
        The ends of the intervals.
    naive : array
        The same of the perturbed records as they are; not a number where no record tells of it.
    level : float
        How often an interval holds the truth.
    about : "table" or "population"
        Which truth: that of this table, or of the population that its records were drawn from.
    rests_on : "counts" or "model"
        Whether records tell these columns together, so that their counts show it; or whether it follows only from a
        model of all that is told, and its intervals are the model's.
    reason : str
        How it was found, in words.
    missing : array, optional
        Which part of each group has no value, where values may be missing; the estimates are of the others.
    more : dict of str to array
        What else there is to say of each group, as a risk ratio and the ends of its interval.
    unit : str, optional
        What is counted, where that is not records, in words.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.samples import census, census_schema
    >>> release = kk.perturb(census(20_000), kk.calibrate(census_schema(), n=20_000, k=10, tell=2))
    >>> found = release.mean("age", by="sex")
    >>> found.estimates.shape, found.rests_on, bool((found.low < found.high).all())
    ((2,), 'counts', True)
    """

    name: str
    axes: tuple[Cells, ...]
    estimates: Array
    errors: Array
    low: Array
    high: Array
    naive: Array
    level: float
    about: About
    rests_on: Literal["counts", "model"]
    reason: str
    missing: Array | None = None
    more: Mapping[str, Array] = field(default_factory=dict)
    unit: str | None = None

    @property
    def caption(self) -> str:
        """What the numbers are, in a line."""
        about = truth_of(self.about, self.unit)
        facts: dict[str, Any] = {"name": self.name, "level": 100 * self.level, "about": about}
        told = Phrase("{name} with {level:g} % intervals for {about}", **facts)
        if self.rests_on == "model":
            told = Phrase("{name} with {level:g} % intervals for {about}, as a model has it", **facts)
        if "risk_ratio" not in self.more:
            return told
        first = ", ".join(axis.labels[0] for axis in self.axes)
        told = Phrase("{told}; ratios are to {first}, the first row", told=told, first=first)
        if not np.isnan(self.more["odds_ratio"]).any():
            return told
        return Phrase("{told}, and left out where either share is estimated at 0 or below, or at 1", told=told)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs: what it is, and the numbers of every group or the single one."""
        facts = {name: getattr(self, name) for name in ("name", "level", "about", "rests_on", "reason", "unit")}
        rows = self.to_arrow().to_pylist()
        return facts | ({"groups": rows} if self.axes else rows[0])

    @property
    def _labels(self) -> int:
        return len(self.axes)

    def _table(self) -> dict[str, pa.Array]:
        grid = np.meshgrid(*(np.array(axis.labels, dtype=object) for axis in self.axes), indexing="ij")
        columns = {axis.name: pa.array(cell.ravel(), pa.string()) for axis, cell in zip(self.axes, grid, strict=True)}
        for name, values in self._values().items():
            columns[f"{name}_" if name in columns else name] = pa.array(np.ravel(values), from_pandas=True)
        return columns

    def _values(self) -> dict[str, Array]:
        found = {"estimate": self.estimates, "error": self.errors, "low": self.low, "high": self.high}
        missing = {} if self.missing is None else {"missing": self.missing}
        return found | {"naive": self.naive} | missing | dict(self.more)

    def rows(self, translate: Translate = str) -> Iterator[list[str]]:
        """What people read, group by group: its labels and the numbers, a dash where there is none."""
        numbers = zip(*(np.ravel(values) for values in self._values().values()), strict=True)
        for labels, found in zip(product(*(axis.labels for axis in self.axes)), numbers, strict=True):
            yield [*map(translate, labels), *map(_written, found)]

    @property
    def header(self) -> list[str]:
        """Of those rows."""
        return [*(axis.name for axis in self.axes), *self._values()]

    def __str__(self) -> str:
        if self.axes:
            return printed(self.caption, self.header, self.rows(), len(self.axes))
        if "value" in self.more:
            return "{} ({} … {})".format(*(self.more[name].item() for name in ("value", "value_low", "value_high")))
        naive = Phrase("naive {number}", number=_written(self.naive.item()))
        beside = Phrase("as a model has it") if self.rests_on == "model" else naive
        estimate, low, high = (_written(value.item()) for value in (self.estimates, self.low, self.high))
        return Phrase("{estimate} ({low} … {high}; {beside})", estimate=estimate, low=low, high=high, beside=beside)

    @property
    def _heading(self) -> str:
        return self.caption if self.axes else str(self)

    def plot(self, translate: Translate = str) -> Figure:
        """The estimates of all groups with their intervals, beside the naive ones."""
        labels = [", ".join(map(translate, cell)) for cell in product(*(axis.labels for axis in self.axes))]
        estimates, low, high, naive = map(np.ravel, (self.estimates, self.low, self.high, self.naive))
        series = [Series(translate(Phrase("estimated")), estimates, ESTIMATE, (low, high))]
        if self.rests_on == "counts":
            series.insert(0, Series(translate(Phrase("naive: counted in the release")), naive, NAIVE))
        along = plain(" × ".join(axis.name for axis in self.axes))
        width = max(4.0, 1.5 + 0.45 * len(labels))
        title = title_of(replace(self, unit=None, more={}).caption, self.unit, translate)
        return column_chart(labels, {title: series}, width=width, along=along, up=plain(translate(self.name)))


def _written(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return "–" if math.isnan(value) else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def statistic(
    name: str,
    groups: Groups,
    found: Found,
    read: Read,
    asking: AskedOf,
    *,
    scale: Scale = "plain",
    bounds: tuple[float, float] = (-math.inf, math.inf),
    over: Read | None = None,
    missing: Read | None = None,
    doubt: Array | None = None,
    more: Mapping[str, Array] | None = None,
) -> Statistic:
    """The answer that a statistic of the moments of groups is.

    `over` is what a ratio is a ratio to, and `doubt` how far it may well lie below and above for another reason than
    chance: that nobody tells where in bands people lie, where nothing else is said. It widens intervals.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates, errors, naive = read(found.values), found.errors(read), read(found.naive)
        if over is None:
            low, high = _interval(estimates, errors, asking.level, scale)
            if scale == "log":  # noise adds to what is small by itself: then chance is as even as on no scale
                low = np.minimum(low, _interval(estimates, errors, asking.level, "plain")[0])
        else:
            low, high = _interval_of_ratio(found, read, over, asking.level)
        doubt = found.doubt(read) if doubt is None else doubt
        z = float(ndtri((1 + asking.level) / 2))
        below, above = z * doubt
        low, high = estimates - np.hypot(estimates - low, below), estimates + np.hypot(high - estimates, above)
        errors = np.hypot(errors, doubt.mean(axis=0))
        gone = None if missing is None else missing(found.values).clip(0.0, 1.0).reshape(groups.shape)
    shown = _within(estimates, low, high, z * errors, bounds)
    clipped, least, most = (some.reshape(groups.shape) for some in shown)
    return Statistic(
        name=name,
        axes=groups.shown,
        estimates=clipped,
        errors=errors.reshape(groups.shape),
        low=least,
        high=most,
        naive=naive.reshape(groups.shape),
        level=asking.level,
        about=asking.about,
        rests_on=found.rests_on,
        reason=found.reason,
        missing=gone,
        more=more or {},
    )


def _interval(estimates: Array, errors: Array, level: float, scale: Scale) -> tuple[Array, Array]:
    """Even to both sides on a scale on which chance is; plain where the estimate has no place on it."""
    reach = float(ndtri((1 + level) / 2)) * errors
    if scale == "plain":
        return estimates - reach, estimates + reach
    there: Callable[[Array], Array] = np.log if scale == "log" else np.arctanh
    back: Callable[[Array], Array] = np.exp if scale == "log" else np.tanh
    fits = estimates > 0 if scale == "log" else np.abs(estimates) < 1
    steps = reach / (estimates if scale == "log" else 1 - estimates**2)
    safe = np.where(fits, estimates, 0.5)
    low, high = (
        np.where(fits, back(there(safe) + np.clip(sign * steps, -300, 300)), estimates + sign * reach)
        for sign in (-1, 1)
    )
    return low, high


def _within(
    estimates: Array, low: Array, high: Array, reach: Array, bounds: tuple[float, float]
) -> tuple[Array, Array, Array]:
    """Estimates within their bounds, with intervals there.

    An estimate that noise has put beyond a bound is brought to it, and its interval with it: cut off where it is, it
    could be a single point, as if nothing were in doubt. What is left reaches as far as standard errors do.
    """
    least, most = bounds
    inside = np.clip(estimates, least, most)
    is_beyond = (estimates < least) | (estimates > most)
    low = np.where(is_beyond, inside - np.maximum(estimates - low, reach), low)
    high = np.where(is_beyond, inside + np.maximum(high - estimates, reach), high)
    return inside, np.clip(low, least, most), np.clip(high, least, most)


def _interval_of_ratio(found: Found, read: Read, over: Read, level: float) -> tuple[Array, Array]:
    """All ratios θ = A/B of which A − θB is not further from 0 than chance has it (Fieller 1954).

    Of a group so small that it may be empty, as far as is told, any ratio is one of them.
    """
    ratios, whole, z = read(found.values), over(found.values), float(ndtri((1 + level) / 2))
    unit = max(float(np.nanmax(np.abs(ratios), initial=0.0)), 1.0)  # so that neither drowns in the other's rounding

    def part(values: Array) -> Array:
        return read(values) * over(values) / unit

    def both(values: Array) -> Array:
        return part(values) + over(values)

    of_part, of_whole, of_both = (found.errors(one) ** 2 for one in (part, over, both))
    shared, scaled = (of_both - of_part - of_whole) / 2, ratios / unit
    doubt = z**2 * of_whole / whole**2
    middle = scaled - z**2 * shared / whole**2
    inside = middle**2 - (1 - doubt) * (scaled**2 - z**2 * of_part / whole**2)
    reach = np.sqrt(np.maximum(inside, 0.0))
    is_any = (doubt >= 1) | (whole <= 0)
    low, high = (np.where(is_any, sign * np.inf, unit * (middle + sign * reach) / (1 - doubt)) for sign in (-1, 1))
    return low, high


def mean(reader: Reader, column: str, asking: AskedOf, progress: Progress = int) -> Statistic:
    """The mean of a number, of the records that have one."""

    def read(there: Array, first: Array) -> Array:
        return first / there * half + middle

    middle, half = scale_of(number(reader.plan, column))
    bounds = middle - half, middle + half
    return _of_number(reader, column, asking, progress, 1, read, Phrase("mean of {column}", column=column), bounds)


def variance(reader: Reader, column: str, asking: AskedOf, progress: Progress = int) -> Statistic:
    """The variance of a number, of the records that have one."""

    def read(there: Array, first: Array, second: Array) -> Array:
        return (second / there - (first / there) ** 2) * half**2

    _, half = scale_of(number(reader.plan, column))
    name = Phrase("variance of {column}", column=column)
    return _of_number(reader, column, asking, progress, 2, read, name, (0.0, half**2), "log")


def _of_number(
    reader: Reader,
    column: str,
    asking: AskedOf,
    progress: Progress,
    powers: int,
    formula: Callable[..., Array],
    name: str,
    bounds: tuple[float, float],
    scale: Scale | None = None,
) -> Statistic:
    plan = reader.plan
    groups, weights = Groups.of(plan, asking), _weights(plan, asking)
    is_by_band = _has_few_bands(reader, column, groups.count)
    target = ReadNumber.by_band(reader, column) if is_by_band else ReadNumber.number(reader, column, powers)
    found = find(reader, groups, [*weights, target], asking, progress)

    def weighed(values: Array) -> Array:
        return values[:, 0, -1] if weights else values[:, 0]

    def read_by_band(values: Array, in_bands: Array) -> Array:
        return formula(there(values), *np.einsum("gpb,gb->pg", in_bands, target.held(weighed(values))))

    def read(values: Array) -> Array:
        if is_by_band:
            return read_by_band(values, smooth)
        return formula(*weighed(values)[:, target.there :].T)

    def there(values: Array) -> Array:
        return weighed(values)[:, target.there]

    def missing(values: Array) -> Array:
        return 1 - weighed(values)[:, 1] / weighed(values)[:, 0]

    how: dict[str, Any] = {"over": there} if scale is None else {"scale": scale}
    if is_by_band:
        smooth, heaped = target.powers_in_groups(target.held(weighed(found.values)), powers)
        how["doubt"] = doubt_of(read(found.values), [read_by_band(found.values, one) for one in heaped])
    gone = missing if target.there else None
    return statistic(name, groups, found, read, asking, bounds=bounds, missing=gone, **how)


def _has_few_bands(reader: Reader, column: str, groups: int) -> bool:
    """Whether a number is told in bands, so few that what each group holds of each can be told apart."""
    filling = reader.fillings([column]).get(column)
    return filling is not None and filling.attribute.points * groups <= MOST_GROUP_BANDS


def weighed(reader: Reader, asking: AskedOf, *, totals: bool = False, progress: Progress = int) -> Estimate:
    """How many people the records of each group stand for, by their weights; and of fewer columns, if totals are asked.

    Parameters
    ----------
    reader : Reader
        Of the release.
    asking : AskedOf
        Which columns make up the groups, and which column weighs.
    totals : bool
        Whether to estimate the totals over each of the columns, too.
    progress : Progress
        Told how many more records are counted.
    """
    whole = _weighed(reader, asking, progress)
    sizes = range(len(asking.by) - 1, -1, -1) if totals else ()
    fewer = [replace(asking, by=some) for size in sizes for some in combinations(asking.by, size)]
    bins = [{name: cut for name, cut in asking.bins.items() if name in one.by} for one in fewer]
    less = [_weighed(reader, replace(one, bins=cut), progress) for one, cut in zip(fewer, bins, strict=True)]
    return warned_of(replace(whole, totals=tuple(less)), reader.plan)


def _weighed(reader: Reader, asking: AskedOf, progress: Progress) -> Estimate:
    plan, total = reader.plan, None if asking.weights is None else ReadNumber.stated_total(reader.plan, asking.weights)
    # Of everybody in each group and those who are asked about, so that everybody adds up to the total.
    is_part = total is not None and asking.where is not None
    groups = Groups.of(plan, replace(asking, where=None), asking.where) if is_part else Groups.of(plan, asking)
    found = find(reader, groups, _weights(plan, asking), asking, progress)

    def read(values: Array) -> Array:
        people = values[:, :, -1]
        return people[:, -1] * (reader.n if total is None else total / people[:, 0].sum())

    told = statistic("", groups, found, read, asking, bounds=(0.0, math.inf))
    return Estimate(
        axes=groups.shown,
        counts=told.estimates,
        low=told.low,
        high=told.high,
        naive=told.naive,
        level=asking.level,
        about=asking.about,
        method="auto",
        reason=found.reason,
        gap=None,
        rests_on=found.rests_on,
    )


def _weights(plan: Plan, asking: AskedOf) -> list[ReadNumber]:
    return [] if asking.weights is None else [ReadNumber.weight(plan, asking.weights)]


def share(reader: Reader, condition: str, asking: AskedOf, progress: Progress = int) -> Statistic:
    """Which part of the records of each group fulfils a condition; beside it, how many times as likely as the first."""
    groups, weights = Groups.of(reader.plan, asking, condition), _weights(reader.plan, asking)
    names = [axis.name for axis in groups.cells]
    if not weights and reader.plan.holding(names) and not is_linear(reader.plan, groups, names):
        return _share_of_counts(reader, condition, groups, asking, progress)
    found = find(reader, groups, weights, asking, progress)

    def parts(values: Array) -> tuple[Array, Array]:
        weighed = values[..., -1] if weights else values
        return weighed[:, 0], weighed[:, 1]

    def read(values: Array) -> Array:
        every, some = parts(values)
        return some / every

    def odds(values: Array) -> Array:
        every, some = parts(values)
        return some / (every - some)

    more = {}
    if asking.by:
        every, some = parts(found.values)
        is_above = (some > 0) & (every > 0)
        more = _ratios("risk_ratio", found, read, asking.level, is_above)
        more |= _ratios("odds_ratio", found, odds, asking.level, is_above & (some < every))
        more = {name: values.reshape(groups.shape) for name, values in more.items()}

    def every_one(values: Array) -> Array:
        return parts(values)[0]

    name = Phrase("share of {condition}", condition=condition)
    return statistic(name, groups, found, read, asking, bounds=(0.0, 1.0), over=every_one, more=more)


def _share_of_counts(reader: Reader, condition: str, groups: Groups, asking: AskedOf, progress: Progress) -> Statistic:
    """A share where the condition cuts through a noisy number: as sure as the count of those that fulfil it."""
    every, some = questions_of(reader.plan, asking, condition)
    counts = reader.count([every, some], progress)
    options: Any = {"level": asking.level, "about": asking.about}
    whole, part = (
        reader.estimate(question, table, **options) for question, table in zip((every, some), counts, strict=True)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates, low, high = (
            np.where(whole.counts > 0, np.clip(ends / whole.counts, 0.0, 1.0), np.nan)
            for ends in (part.counts, part.low, part.high)
        )
        naive = part.naive / whole.naive
    return Statistic(
        name=Phrase("share of {condition}", condition=condition),
        axes=groups.shown,
        estimates=estimates,
        errors=(high - low) / (2 * float(ndtri((1 + asking.level) / 2))),
        low=low,
        high=high,
        naive=naive,
        level=asking.level,
        about=asking.about,
        rests_on="counts",
        reason=part.reason,
    )


def _ratios(name: str, found: Found, read: Read, level: float, is_above: NDArray[np.bool_]) -> dict[str, Array]:
    """What is read off each group beside that of the first, and the ends of the interval.

    None where either is not above zero: two shares that noise has put below it have a ratio that looks like one.
    """

    def ratio(values: Array) -> Array:
        every = read(values)
        return every / every[0]

    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = ratio(found.values)
        low, high = _interval(estimates, found.errors(ratio), level, "log")
    ends = {"": estimates, "_low": np.maximum(low, 0.0), "_high": high}
    return {f"{name}{end}": np.where(is_above & is_above[0], values, np.nan) for end, values in ends.items()}


def correlation(reader: Reader, first: str, second: str, asking: AskedOf, progress: Progress = int) -> Statistic:
    """Pearson's correlation of two numbers, or Cramér's V of two columns of categories."""
    plan, names = reader.plan, (first, second)
    if first == second:
        raise SchemaError(Phrase("a column goes with itself: name two columns, got {first!r} twice", first=first))
    kinds = [isinstance(plan.schema.in_release(name), Numeric) for name in names]
    if kinds[0] != kinds[1]:
        which = names[kinds.index(True)], names[kinds.index(False)]
        raise SchemaError(
            Phrase(
                "column {number!r} is a number and {other!r} holds categories, which have no correlation; ask "
                "for mean({number!r}, by={other!r}), or a regression",
                number=which[0],
                other=which[1],
            )
        )
    if asking.weights is not None and not kinds[0]:
        raise SchemaError(Phrase("Cramér's V is not weighed; leave out weights, or ask with weights=False"))
    return (_pearson if kinds[0] else _cramer)(reader, names, asking, progress)


def _pearson(reader: Reader, names: tuple[str, str], asking: AskedOf, progress: Progress) -> Statistic:
    plan = reader.plan
    one, other = (ReadNumber.number(reader, name, 2) for name in names)
    groups, weights = Groups.of(plan, asking), _weights(plan, asking)
    found = find(reader, groups, [*weights, one, other], asking, progress)

    def read(values: Array) -> Array:
        some = (values[:, 0, -1] if weights else values[:, 0])[:, one.there :, other.there :]
        some = some / some[:, :1, :1]
        a, b, ab = some[:, 1, 0], some[:, 0, 1], some[:, 1, 1]
        return (ab - a * b) / np.sqrt((some[:, 2, 0] - a**2) * (some[:, 0, 2] - b**2))

    name = Phrase("correlation of {first} and {second}", first=names[0], second=names[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        doubt = np.hypot(found.doubt(read), _lost_within(read(found.values), reader.fillings(names)))
        chance = found.errors(read)
    answer = statistic(name, groups, found, read, asking, scale="atanh", bounds=(-1.0, 1.0), doubt=doubt)
    is_plain = not groups.cells and not weights and not one.there and not other.there
    if is_plain and found.rests_on == "counts" and not chance <= UNCLEAR:
        return _pearson_by_model(reader, (one, other), answer, progress)
    hidden = np.isnan(answer.estimates)  # noise leaves no variance to divide by
    return replace(
        answer,
        errors=np.where(hidden, np.nan, answer.errors),
        low=np.where(hidden, -1.0, answer.low),
        high=np.where(hidden, 1.0, answer.high),
    )


def _lost_within(correlations: Array, fillings: Mapping[str, BandFilling]) -> Array:
    """How far correlations may well lie below and above, as what goes with a number within its bands is not told.

    If it goes with it there as between bands, each number in bands takes the part of its variance between them off.
    """
    lost = 1 / math.prod(filling.between for filling in fillings.values()) - 1
    return np.nan_to_num(lost * np.stack([np.maximum(-correlations, 0.0), np.maximum(correlations, 0.0)]))


def _pearson_by_model(
    reader: Reader, numbers: tuple[ReadNumber, ReadNumber], unclear: Statistic, progress: Progress
) -> Statistic:
    """With the help of the joint model, where noise hides how two numbers go together."""
    cells, bases = [one.cells for one in numbers], [_orthogonal(one.functions) for one in numbers]
    moments = moments_of(told_cells(reader, cells, progress), bases, reader.n, smooth=True)
    names = [one.name for one in numbers]
    joint = reader.joint([model_cells(reader.plan, name) for name in names], progress)
    columns = [number(reader.plan, name) for name in names]
    records = TiltedRecords.of(reader, joint, columns, cells, bases, moments)
    first, second = (_standardised(records.values[name], records.weights) for name in names)
    estimate = np.array(records.weights @ (first * second))
    pulls = first * second - estimate / 2 * (first**2 + second**2)
    step, variance = records.left_by(pulls[:, None], reader.held(unclear.about, names))
    told, errors = estimate + step.reshape(()), np.sqrt(variance.reshape(()))
    # As far as the model may lie off what is told is no matter of the level, or the estimate would change with it.
    estimate = np.clip(estimate, told - FARTHEST * errors, told + FARTHEST * errors).clip(-1.0, 1.0)
    z, doubt = float(ndtri((1 + unclear.level) / 2)), _doubt_of_records(reader, records, names)
    below, above = (z * np.hypot(errors, some) for some in doubt)
    errors = np.hypot(errors, doubt.mean(axis=0))
    _, low, high = _within(told, told - below, told + above, z * errors, (-1.0, 1.0))
    low, high = np.minimum(low, estimate), np.maximum(high, estimate)
    reason = Phrase("the joint model with its pairs as told: {reason}", reason=joint.model.reason)
    return replace(unclear, estimates=estimate, errors=errors, low=low, high=high, rests_on="model", reason=reason)


def _orthogonal(functions: Array) -> Array:
    """The same functions of cells, the first of which is 1, each without what those before it have.

    Of a number whose people lie at one end of its range, a number and its square are nearly the same function: moments
    of both would be known as little, and their difference be taken for sure.
    """
    made = np.linalg.qr(functions.T)[0].T
    return np.asarray(made / made[0, 0])


def _doubt_of_records(reader: Reader, records: TiltedRecords, names: Sequence[str]) -> Array:
    """How far a correlation of records may well lie below and above, as nobody tells where in bands people lie."""

    def read(values: Mapping[str, Array]) -> Array:
        first, second = (_standardised(values[name], records.weights) for name in names)
        return np.asarray(records.weights @ (first * second))

    doubts = [
        doubt_of(read(records.values), [read(records.values | {name: one.means[records.codes[name]]}) for one in some])
        for name, some in ((name, filling.heaped) for name, filling in reader.fillings(names).items())
    ]
    doubts.append(_lost_within(read(records.values), reader.fillings(names)))
    return np.sqrt(np.sum(np.square(doubts), axis=0))


def _standardised(values: Array, weights: Array) -> Array:
    centred = values - weights @ values
    return np.asarray(centred / np.sqrt(weights @ centred**2))


def _cramer(reader: Reader, names: tuple[str, str], asking: AskedOf, progress: Progress) -> Statistic:
    plan = reader.plan
    groups = Groups.of(plan, replace(asking, by=(*asking.by, *names)))
    found = find(reader, groups, [], asking, progress)
    shape, sizes = groups.shape[:-2], groups.shape[-2:]
    most, tables = min(sizes) - 1, found.values.reshape(-1, *sizes)
    if not most:
        raise SchemaError(Phrase("column {name!r} has one value: nothing goes with it", name=names[sizes.index(1)]))

    def read(values: Array) -> Array:
        return _dependence(values.reshape(-1, *sizes)).ravel()

    squares, naive = read(found.values), read(found.naive)
    if found.covariance is None:
        errors = found.errors(read)
    else:
        blocks = found.covariance.reshape(len(tables), math.prod(sizes), len(tables), -1)
        less = np.array([_by_chance(table, blocks[place, :, place]) for place, table in enumerate(tables)])
        squares, errors = squares - less[:, 0], less[:, 1]
    reach = float(ndtri((1 + asking.level) / 2)) * errors
    within = _within(squares, squares - reach, squares + reach, reach, (0.0, most))
    estimates, low, high, plain_naive = (np.sqrt(some / most).reshape(shape) for some in (*within, naive.clip(0, most)))
    return Statistic(
        name=Phrase("Cramér's V of {first} and {second}", first=names[0], second=names[1]),
        axes=groups.shown[:-2],
        estimates=estimates,
        errors=(errors / most).reshape(shape) / np.maximum(2 * estimates, np.sqrt(errors / most).reshape(shape)),
        low=low,
        high=high,
        naive=plain_naive,
        level=asking.level,
        about=asking.about,
        rests_on=found.rests_on,
        reason=found.reason,
    )


def _dependence(tables: Array) -> Array:
    """χ²/n: Σ (p − p₁p₂)²/(p₁p₂)."""
    shares, expected = _independent(tables)
    return ((shares - expected) ** 2 / expected).sum(axis=(1, 2))


def _independent(tables: Array) -> tuple[Array, Array]:
    """Tables of shares, and those that their margins alone would give."""
    shares = tables / tables.sum(axis=(1, 2), keepdims=True)
    rows, columns = (np.maximum(shares.sum(axis=axis, keepdims=True), _RARE) for axis in (2, 1))
    return shares, rows * columns


def _by_chance(table: Array, covariance: Array) -> tuple[float, float]:
    """What χ²/n is by chance alone, for the squares of errors add up; and its standard error."""
    shares, expected = (some[0] for some in _independent(table[None]))
    size = table.shape[0] * table.shape[1]
    slopes = np.eye(size).reshape(size, *table.shape)
    slopes = (
        slopes
        - slopes.sum(axis=2, keepdims=True) * shares.sum(axis=0)
        - (slopes.sum(axis=1, keepdims=True) * shares.sum(axis=1, keepdims=True))
    )
    weighed = slopes.reshape(size, size) / np.sqrt(expected.ravel()) / table.sum()
    chance = weighed.T @ covariance @ weighed
    apart = ((shares - expected) / np.sqrt(expected)).ravel()
    twice = 2 * float((chance**2).sum())
    return float(np.trace(chance)), math.sqrt(max(4 * float(apart @ chance @ apart) - twice, twice))
