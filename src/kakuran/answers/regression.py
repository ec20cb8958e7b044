"""Regressions on the true records: coefficients with intervals that include the perturbation.

Least squares needs second moments alone, and every pair of columns that is told together has them
(`kakuran.model.moments_of`). Logistic, multinomial and Poisson regressions are fitted to the cells of the joint model,
weighed so that every pair of columns is as the tells have it: what they rest on first, how the target goes with each
predictor, is such a moment, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from scipy.special import ndtr, ndtri

from kakuran.answers.answer import Answer, title_of, truth_of
from kakuran.answers.filling import BandFilling, numbers_at
from kakuran.answers.formula import FormulaColumns, ModelFormula, expressed
from kakuran.answers.groups import ReadNumber, told_cells
from kakuran.answers.reader import Reader, check_interval, check_told, check_told_in_pairs, counted_cells, model_cells
from kakuran.answers.tilted import FARTHEST, TiltedRecords
from kakuran.charts import ESTIMATE, Series, bar_chart
from kakuran.defaults import DEFAULT_LEVEL
from kakuran.errors import SchemaError
from kakuran.model import About, ToldCells, TrueMoments, moments_of
from kakuran.schema import Categorical, Numeric, Schema, to_arrow
from kakuran.typing import Array, Progress
from kakuran.words import Phrase, Translate, width_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RegressionFamily: TypeAlias = Literal["least squares", "logistic", "multinomial", "poisson"]
"""What is fitted: a mean, a probability, several, or a rate."""

_FAMILY_NAMES: dict[RegressionFamily, Phrase] = {
    "least squares": Phrase("least squares"),
    "logistic": Phrase("logistic"),
    "multinomial": Phrase("multinomial"),
    "poisson": Phrase("poisson"),
}
_SOURCES = {"counts": Phrase("counts"), "model": Phrase("model")}
_MOST_STEPS = 50
_SINGULAR = 1e-9
_CLEAR = 5.0
"""Standard errors that the least spread of the predictors has to be away from nothing."""
_FAR_SURER = 0.5
"""How large standard errors of smooth tables are, of those without, at most, for these to be left."""
_NOT_LINEAR = 1.1
"""By how much variances exceed those of statistics that go evenly with moments, of tables that are truly smooth."""
_LEAST = 1e-4
"""The spread of a direction of the predictors, of what it would be if they were independent, that is repaired to."""


@dataclass(frozen=True, eq=False)
class Regression(Answer):
    """A regression of one column on others; `Release.regress` makes one.

    As a table, one row a coefficient: its name, the estimate, its standard error, z, the ends of its interval and the
    naive estimate; of categories, the one that is predicted first.

    Attributes
    ----------
    formula : str
        What is regressed on what.
    family : "least squares", "logistic", "multinomial" or "poisson"
        What is fitted.
    outcomes : tuple of str
        What the coefficients are about: the number, or the categories but for the first, beside which they stand.
    names : tuple of str
        Of the coefficients.
    coefficients : array
        Outcomes × names.
    centres : array
        What the tells say by themselves, in the middle of the intervals. The coefficients are these where the tells
        decide them, else drawn towards the joint model, by three standard errors at most; an interval reaches out to
        a coefficient it would miss.
    covariance : array
        Of all centres in a row, the perturbation included.
    naive : array
        The coefficients of the perturbed records as they are; not a number where no records tell enough columns.
    level : float
        How often an interval holds the truth.
    about : "table" or "population"
        Which truth: the regression on this table, or on the population that its records were drawn from.
    rests_on : "counts" or "model"
        Whether pairs of columns that are told together decide it, or a model of all that is told has a part in it.
    reason : str
        How it was found, in words.
    n : int
        Number of records.
    explained : float, optional
        The part of the target's variance that the predictors explain, of least squares.
    unit : str, optional
        What is counted, where that is not records, in words.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.samples import census, census_schema
    >>> release = kk.perturb(census(20_000), kk.calibrate(census_schema(), n=20_000, k=10, tell=2))
    >>> found = release.regress("age ~ sex + region")
    >>> found.names[:2], found.family, found.rests_on
    (('Intercept', 'sex[T.male]'), 'least squares', 'counts')
    """

    formula: str
    family: RegressionFamily
    outcomes: tuple[str, ...]
    names: tuple[str, ...]
    coefficients: Array
    centres: Array
    covariance: Array
    naive: Array
    level: float
    about: About
    rests_on: Literal["counts", "model"]
    reason: str
    n: int
    explained: float | None
    read: ModelFormula
    fillings: Mapping[str, BandFilling]
    unit: str | None = None

    @property
    def errors(self) -> Array:
        """The standard errors."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0)).reshape(self.coefficients.shape)

    @property
    def low(self) -> Array:
        """The lower ends of the intervals."""
        return np.minimum(self.centres - self._reach, self.coefficients)

    @property
    def high(self) -> Array:
        """The upper ends of the intervals."""
        return np.maximum(self.centres + self._reach, self.coefficients)

    @property
    def _reach(self) -> Array:
        return float(ndtri((1 + self.level) / 2)) * self.errors

    @property
    def caption(self) -> str:
        """What the numbers are, in a line."""
        about = truth_of(self.about, self.unit)
        facts: dict[str, Any] = {"formula": self.formula, "level": 100 * self.level, "about": about}
        if self.rests_on == "model":
            return Phrase(
                "{formula}: coefficients with {level:g} % intervals for {about}, with a model's help", **facts
            )
        return Phrase("{formula}: coefficients with {level:g} % intervals for {about}", **facts)

    def predict(self, frame: Any) -> Array:
        """What is expected of records whose true values are known.

        The mean of a number, the probability of the second category of two, or those of all of several.

        Parameters
        ----------
        frame : data frame
            A column for each predictor; of any library.
        """
        table = to_arrow(frame)
        columns = self.read.predictors
        absent = [attribute.name for attribute in columns if attribute.name not in table.column_names]
        if absent:
            raise SchemaError(
                Phrase(
                    "there is no column {name!r} to predict from; {formula!r} needs it",
                    name=absent[0],
                    formula=self.formula,
                )
            )
        codes = Schema(list(columns)).encode(table.select([attribute.name for attribute in columns]))
        values = {
            one.name: codes[one.name].astype(float)
            if isinstance(one, Categorical)
            else numbers_at(one, codes[one.name], self.fillings)
            for one in columns
        }
        means = _LINKS[self.family](self.read.matrix(values) @ self.coefficients.T)
        if self.family == "multinomial":
            return np.column_stack([1 - means.sum(axis=1), means])
        return means[:, 0]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs: what it is, and the numbers of every coefficient."""
        names = ("formula", "family", "level", "about", "rests_on", "reason", "n", "explained", "unit")
        return {name: getattr(self, name) for name in names} | {"coefficients": self.to_arrow().to_pylist()}

    @property
    def _labels(self) -> int:
        return 1 + self._has_outcomes

    @property
    def _has_outcomes(self) -> bool:
        """Whether coefficients are about categories, so that a reader must know about which."""
        return self.family in ("logistic", "multinomial")

    def _table(self) -> dict[str, Any]:
        outcomes = {"outcome": np.repeat(np.array(self.outcomes, object), len(self.names))}
        numbers = {"estimate": self.coefficients, "error": self.errors, "z": self._z, "p": self._chances}
        numbers |= {"low": self.low, "high": self.high, "naive": self.naive}
        return (
            (outcomes if self._has_outcomes else {})
            | {"coefficient": list(self.names) * len(self.outcomes)}
            | {name: pa.array(np.ravel(values), from_pandas=True) for name, values in numbers.items()}
        )

    @property
    def _z(self) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.centres / self.errors)

    @property
    def _chances(self) -> Array:
        """How often chance alone would move a coefficient of zero so far."""
        return np.asarray(2 * ndtr(-np.abs(self._z)), float)

    @property
    def header(self) -> list[str]:
        """Of the rows that people read."""
        ends = f"{(1 - self.level) / 2:.3g}", f"{(1 + self.level) / 2:.3g}"
        return ["", Phrase("coef"), Phrase("std err"), "z", "P>|z|", f"[{ends[0]}", f"{ends[1]}]", Phrase("naive")]

    def rows(self, translate: Translate = str) -> Iterator[list[str]]:
        """What people read, coefficient by coefficient; a dash where there is no naive one."""
        table = self._table()
        own = [translate(Phrase("Intercept")) if name == "Intercept" else name for name in self.names]
        names = [f"{outcome}: {name}" if self._has_outcomes else name for outcome in self.outcomes for name in own]
        columns = [table[name].to_pylist() for name in ("estimate", "error", "z", "p", "low", "high", "naive")]
        for name, *numbers in zip(names, *columns, strict=True):
            shown = [_short(number, 3 if place == 2 else 4) for place, number in enumerate(numbers)]
            shown[3] = "–" if numbers[3] is None or math.isnan(numbers[3]) else f"{numbers[3]:.3f}"
            yield [name, *shown]

    def __str__(self) -> str:
        return self.summary()

    def summary(self, translate: Translate = str) -> str:
        """All of it as text, laid out as other programs do.

        Parameters
        ----------
        translate : callable
            Says a phrase in the language of the reader; English by default.
        """
        rows = [[*map(translate, self.header)], *self.rows(translate)]
        widths = [max(width_of(row[place]) for row in rows) for place in range(len(rows[0]))]
        lines = [
            "  ".join(
                cell + " " * (width - width_of(cell)) if not place else " " * (width - width_of(cell)) + cell
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        rule = "=" * width_of(lines[0])
        facts = [
            Phrase("Model: {family}", family=_FAMILY_NAMES[self.family]),
            Phrase("No. Observations: {n:,}", n=self.n),
            Phrase("Rests on: {source}", source=_SOURCES[self.rests_on]),
        ]
        facts += [] if self.explained is None else [Phrase("R-squared: {share:.3f}", share=self.explained)]
        if self._has_outcomes:
            first = str(self.read.target.values[0])  # type: ignore[union-attr]
            facts.append(Phrase("Compared with: {category}", category=first))
        head = [translate(self.caption), rule, "   ".join(map(translate, facts)), rule]
        return "\n".join([*head, lines[0], "-" * len(rule), *lines[1:], rule])

    def plot(self, translate: Translate = str) -> Figure:
        """All coefficients but the intercept, with their intervals."""
        shown = [
            (place, f"{outcome}: {name}" if self._has_outcomes else name)
            for place, (outcome, name) in enumerate((one, other) for one in self.outcomes for other in self.names)
            if name != "Intercept"
        ]
        places = [place for place, _ in shown]
        estimates, low, high = (np.ravel(some)[places] for some in (self.coefficients, self.low, self.high))
        series = [Series("", estimates, ESTIMATE, (low, high))]
        return bar_chart(
            [name for _, name in shown],
            series,
            title=title_of(replace(self, unit=None).caption, self.unit, translate),
            written="{x:g}",
        )


def _short(number: float | None, digits: int) -> str:
    return "–" if number is None or math.isnan(number) else f"{number:,.{digits}g}"


def _probabilities(scores: Array) -> Array:
    """Of all outcomes but the first, whose score is 0."""
    every = np.column_stack([np.zeros(len(scores)), scores])
    every = np.exp(every - every.max(axis=1, keepdims=True))
    return np.asarray((every / every.sum(axis=1, keepdims=True))[:, 1:])


_LINKS: dict[str, Callable[[Array], Array]] = {
    "least squares": lambda scores: scores,
    "logistic": _probabilities,
    "multinomial": _probabilities,
    "poisson": lambda scores: np.exp(np.minimum(scores, 50.0)),
}


def regress(
    reader: Reader,
    text: str,
    *,
    family: RegressionFamily | None = None,
    level: float = DEFAULT_LEVEL,
    about: About = "population",
    weights: str | None = None,
    progress: Progress = int,
) -> Regression:
    """Regress the column on the left of a formula on those on its right."""
    check_interval(level, about)
    read = ModelFormula.of(text, reader.plan.schema)
    chosen = _family(read, family)
    for attribute in read.columns:
        check_told(reader.plan, attribute.name)
    columns = FormulaColumns.of(reader, read)
    check_told_in_pairs(reader.plan, [attribute.name for attribute in read.columns])
    weight = None if weights is None else ReadNumber.kept_weight(reader.plan, weights)
    told = told_cells(reader, columns.cells, progress, weight)
    columns.check_is_clear(told)
    held = reader.held(about, reader.plan.mechanisms) if weights is None else "population"
    smooth = moments_of(told, columns.bases, reader.n, order=2, smooth=True)
    fitted, naive = None, np.array(math.nan)
    if chosen == "least squares" and read.is_additive:
        plain = _Seconds.of(columns, moments_of(told, columns.bases, reader.n, order=2))
        naive = _naive(plain, told, reader)[None]
        heaped = [FormulaColumns.of(reader, read, some) for some in _heaped(reader, read)]
        fitted = _by_moments(plain, _Seconds.of(columns, smooth), told, heaped, reader.n, held)
    if fitted is None:
        fitted = _by_model(columns, smooth, reader, chosen, held, weight, progress)
    outcomes: tuple[str, ...] = (read.target.name,)
    if isinstance(read.target, Categorical):
        outcomes = tuple(map(str, read.target.values))[1:]
    return Regression(
        formula=text,
        family=chosen,
        outcomes=outcomes,
        names=read.names,
        level=level,
        about=about,
        n=reader.n,
        read=read,
        fillings=reader.fillings(attribute.name for attribute in read.predictors),
        naive=np.broadcast_to(naive, fitted["coefficients"].shape),
        **fitted,
    )


def _family(read: ModelFormula, asked: str | None) -> RegressionFamily:
    """As the target asks for it, or as somebody did."""
    target = read.target
    if isinstance(target, Numeric):
        if asked not in (None, "least squares", "poisson"):
            raise SchemaError(
                Phrase(
                    "column {name!r} is a number: family is 'least squares' or 'poisson', not {asked!r}",
                    name=target.name,
                    asked=asked,
                )
            )
        if asked == "poisson" and target.low < 0:
            raise SchemaError(
                Phrase("column {name!r} may be negative, which no count is; use least squares", name=target.name)
            )
        return "poisson" if asked == "poisson" else "least squares"
    if target.size < 2:
        raise SchemaError(Phrase("column {name!r} has one value: there is nothing to explain", name=target.name))
    if target.missing == "category":
        raise SchemaError(
            Phrase(
                "column {name!r} may be missing, and cannot be explained where it is; explain another", name=target.name
            )
        )
    found: RegressionFamily = "logistic" if len(target.values) == 2 else "multinomial"
    if asked not in (None, found):
        raise SchemaError(
            Phrase(
                "column {name!r} has {categories}: family is {found!r}, not {asked!r}",
                name=target.name,
                categories=Phrase("1 category")
                if len(target.values) == 1
                else Phrase("{count:,} categories", count=len(target.values)),
                found=found,
                asked=asked,
            )
        )
    return found


def _heaped(reader: Reader, read: ModelFormula) -> list[dict[str, BandFilling]]:
    """Where people may well lie within bands, of one column and another: some at the low end of each, or the high."""
    fillings = reader.fillings(attribute.name for attribute in read.columns)
    return [{name: end} for name, filling in fillings.items() for end in filling.heaped[:2]]


def _doubt(found: Array, others: Iterable[Array | None]) -> Array:
    """The covariance of coefficients, as nobody tells where in bands people lie: at one end or the other."""
    apart = [(other - found).ravel() for other in others if other is not None]
    return np.sum([np.outer(one, one) / 2 for one in apart], axis=0) if apart else np.zeros((found.size, found.size))


def _by_moments(
    plain: _Seconds,
    smooth: _Seconds,
    told: Sequence[ToldCells],
    heaped: Sequence[FormulaColumns],
    n: int,
    about: About,
) -> dict[str, Any] | None:
    """Least squares from unbiased moments, or where that is far surer from those of smooth tables; None if unclear."""
    is_clear, tells = plain.are_clear(), len(told)
    is_smooth = smooth.are_clear() and not (is_clear and _error(smooth, n) > _FAR_SURER * _error(plain, n))
    if not is_smooth and not is_clear:
        return None
    found = _least_squares(smooth if is_smooth else plain, n, about)
    others = (moments_of(told, columns.bases, n, order=2, smooth=is_smooth) for columns in heaped)
    moved = (
        _least_squares(_Seconds.of(columns, moments), n, about)["coefficients"]
        for columns, moments in zip(heaped, others, strict=True)
    )
    chance = (_NOT_LINEAR if is_smooth else 1.0) * found["covariance"]
    reason = Phrase("unbiased second moments, of {tells} tells", tells=tells)
    if is_smooth:
        reason = Phrase("second moments of smooth tables, of {tells} tells", tells=tells)
    return found | {"covariance": chance + _doubt(found["coefficients"], moved), "reason": reason}


def _error(seconds: _Seconds, n: int) -> float:
    """How unsure a coefficient is, on average."""
    variances = np.diag(_least_squares(seconds, n, "population")["covariance"])
    return float(np.exp(np.log(np.maximum(variances, _SINGULAR**2)).mean() / 2))


def _least_squares(seconds: _Seconds, n: int, about: About) -> dict[str, Any]:
    targets, predictors = seconds.columns.design
    every = seconds.table
    inverse = np.linalg.inv(predictors @ every @ predictors.T)
    coefficients = inverse @ predictors @ every @ targets[0]
    left = targets[0] - coefficients @ predictors
    # Of Q⁻¹q, with Q and q of the moments of x and y: dβ = Q⁻¹·x·d(moments)·(y − xβ).
    slopes = seconds.slopes(inverse @ predictors, left)
    covariance, residual = slopes @ seconds.covariance @ slopes.T, float(left @ every @ left)
    if about == "table":
        covariance = covariance - residual * inverse / n
        covariance = covariance + np.diag(np.maximum(-np.diag(covariance), 0.0))
    spread = float(targets[0] @ every @ targets[0]) - float(every[0] @ targets[0]) ** 2
    return {
        "coefficients": coefficients[None],
        "centres": coefficients[None],
        "covariance": covariance,
        "rests_on": "counts",
        "explained": float(np.clip(1 - residual / spread, 0.0, 1.0)) if spread > 0 else None,
    }


@dataclass(frozen=True, eq=False)
class _Seconds:
    """What second moments are made of: moments of single columns, and what every two columns have in common.

    Attributes
    ----------
    values : Array
        These, in a row.
    covariance : Array
        Of their estimates.
    columns : FormulaColumns
        Whose they are.
    singles : dict
        Where the moments of single columns stand, by name.
    pairs : tuple of tuples
        What stands after them: two functions of different columns, by their places among the formula's own.
    """

    values: Array
    covariance: Array
    columns: FormulaColumns
    singles: dict[tuple[int, ...], int]
    pairs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, columns: FormulaColumns, moments: TrueMoments) -> _Seconds:
        place = {name: number for number, name in enumerate(moments.names)}
        single = [name for name in moments.names if np.count_nonzero(name) == 1]
        own = columns.own
        pairs = tuple((one, other) for one, other in combinations(range(len(own)), 2) if own[one][0] != own[other][0])
        slopes, values = np.zeros((len(single) + len(pairs), len(moments.names))), []
        for row, name in enumerate(single):
            slopes[row, place[name]] = 1.0
            values.append(moments.values[place[name]])
        means = [place[columns.name([function])] for function in own]
        for row, (one, other) in enumerate(pairs, len(single)):
            together = place[columns.name([own[one], own[other]])]
            slopes[row, together] = 1.0
            slopes[row, means[one]] -= moments.values[means[other]]
            slopes[row, means[other]] -= moments.values[means[one]]
            values.append(moments.values[together] - moments.values[means[one]] * moments.values[means[other]])
        covariance = moments.covariance_of(slopes, "population")
        return cls(np.array(values), covariance, columns, {name: row for row, name in enumerate(single)}, pairs)

    @property
    def means(self) -> Array:
        """Of 1 and the formula's own functions."""
        places = [self.singles[self.columns.name([function])] for function in self.columns.own]
        return np.append(1.0, self.values[places])

    @cached_property
    def _within(self) -> list[tuple[int, int, int, float]]:
        """Two functions of one column, a moment of it, and how much of it there is in the mean of their product."""
        found = []
        for one, first in enumerate(self.columns.own):
            for other, second in enumerate(self.columns.own):
                if first[0] == second[0]:
                    basis = self.columns.bases[first[0]]
                    factors = expressed(basis, basis[first[1]] * basis[second[1]])
                    for function, factor in enumerate(factors):
                        if abs(factor) > _SINGULAR:
                            name = self.columns.name([(first[0], function)])
                            found.append((1 + one, 1 + other, self.singles.get(name, -1), float(factor)))
        return found

    @property
    def table(self) -> Array:
        """The mean of every product of two of 1 and the formula's own functions."""
        means = self.means
        columns = np.array([-1, *(column for column, _ in self.columns.own)])
        found = np.where(columns[:, None] == columns, 0.0, np.outer(means, means))
        found[0, 0] = 1.0
        for one, other, moment, factor in self._within:
            found[one, other] += factor * (1.0 if moment < 0 else self.values[moment])
        common = self.values[len(self.singles) :]
        for (one, other), value in zip(self.pairs, common, strict=True):
            found[1 + one, 1 + other] += value
            found[1 + other, 1 + one] += value
        return found

    def slopes(self, pull: Array, left: Array) -> Array:
        """How pull·table·left changes with every value."""
        means, size = self.means, len(self.values)
        found = np.zeros((len(pull), size))
        to_means = np.zeros((len(pull), len(means)))
        own = self.columns.own
        for one, other, moment, factor in self._within:
            if moment >= 0:
                found[:, moment] += factor * pull[:, one] * left[other]
        for one in range(len(means)):
            for other in range(len(means)):
                if not one or not other or own[one - 1][0] != own[other - 1][0]:
                    to_means[:, one] += pull[:, one] * left[other] * means[other]
                    to_means[:, other] += pull[:, one] * left[other] * means[one]
        for place, function in enumerate(own, 1):
            found[:, self.singles[self.columns.name([function])]] += to_means[:, place]
        for row, (one, other) in enumerate(self.pairs, len(self.singles)):
            found[:, row] += pull[:, 1 + one] * left[1 + other] + pull[:, 1 + other] * left[1 + one]
        return found

    def are_clear(self) -> bool:
        """Whether no direction of the predictors has so little spread that noise may have made it up."""
        _, predictors = self.columns.design
        used = np.flatnonzero(predictors[:, 1:].any(axis=0)) + 1
        table, means = self.table, self.means
        spread = (table - np.outer(means, means))[np.ix_(used, used)]
        scale = np.sqrt(np.diag(spread).clip(_SINGULAR))
        values, vectors = np.linalg.eigh(spread / np.outer(scale, scale))
        if values[0] <= 0 or (np.diag(spread) <= 0).any():
            return False
        direction = np.zeros(len(means))
        direction[used] = vectors[:, 0] / scale
        direction[0] = -direction @ means
        slopes = self.slopes(direction[None], direction)
        return bool(values[0] > _CLEAR * math.sqrt(max((slopes @ self.covariance @ slopes.T).item(), 0.0)))


def _repaired(seconds: Array) -> Array:
    """Second moments that records can have: none of their directions has a negative spread."""
    means = seconds[0]
    spread = (seconds - np.outer(means, means))[1:, 1:]
    scale = np.sqrt(np.diag(spread).clip(_SINGULAR))
    values, vectors = np.linalg.eigh(spread / np.outer(scale, scale))
    found = np.outer(means, means)
    found[1:, 1:] += (vectors * values.clip(_LEAST)) @ vectors.T * np.outer(scale, scale)
    return found


def _naive(seconds: _Seconds, told: Sequence[ToldCells], reader: Reader) -> Array:
    """The same from perturbed records as they are: of every two columns, from those that tell both."""
    columns = seconds.columns
    own, common = columns.own, np.zeros(len(seconds.pairs))
    inside = [axis.settled(counted_cells(reader.plan, axis)) for axis in columns.cells]
    singles, counts = np.zeros(len(seconds.singles)), np.zeros(len(seconds.singles))
    sums: dict[tuple[int, int], Array] = {}
    for one in told:
        along = {
            axis: columns.bases[axis][:, inside[axis][place]] for axis, place in zip(one.axes, one.places, strict=True)
        }
        for name, row in seconds.singles.items():
            ((axis, function),) = ((axis, function) for axis, function in enumerate(name) if function)
            if axis in along:
                singles[row] += float(along[axis][function] @ one.counts)
                counts[row] += one.n
        for first, second in combinations(sorted(along), 2):
            found = (along[first] * one.counts) @ along[second].T
            sums[first, second] = found if (first, second) not in sums else sums[first, second] + found
    for row, (one_own, other_own) in enumerate(seconds.pairs):
        (first, function), (second, other) = own[one_own], own[other_own]
        table = sums[first, second] / sums[first, second][0, 0]
        common[row] = table[function, other] - table[function, 0] * table[0, other]
    naive = replace(seconds, values=np.concatenate([singles / np.maximum(counts, 1.0), common]))
    targets, predictors = columns.design
    every = _repaired(naive.table)
    return np.asarray(np.linalg.solve(predictors @ every @ predictors.T, predictors @ every @ targets[0]))


def _by_model(
    columns: FormulaColumns,
    moments: TrueMoments,
    reader: Reader,
    family: RegressionFamily,
    about: About,
    weight: ReadNumber | None,
    progress: Progress,
) -> dict[str, Any]:
    read = columns.read
    axes = [model_cells(reader.plan, attribute.name) for attribute in read.columns]
    joint = reader.joint([*axes, *([] if weight is None else [weight.cells])], progress)
    asked = read.columns, columns.cells, columns.bases, moments
    records = TiltedRecords.of(reader, joint, *asked, weight, is_curved=family != "least squares").beside_the_model()
    weights = records.weights

    def numbers(values: Mapping[str, Array]) -> tuple[Array, Array]:
        if isinstance(read.target, Categorical):
            return read.matrix(values), np.eye(read.target.size)[records.codes[read.target.name]][:, 1:]
        return read.matrix(values), read.explained(values[read.target.name])[:, None]

    def heaped(some: Mapping[str, BandFilling]) -> Array | None:
        moved = {name: filling.means[records.codes[name]] for name, filling in some.items()}
        return _fit(*numbers(records.values | moved), weights, family)

    matrix, targets = numbers(records.values)
    found = _fit(matrix, targets, weights, family)
    if found is None:
        raise SchemaError(
            Phrase("no coefficients fit {text!r}: a value of a predictor decides the target by itself", text=read.text)
        )
    step, covariance = records.left_by(_pulls(matrix, targets, weights, family, found), about)
    covariance = _NOT_LINEAR * covariance + _doubt(found, map(heaped, _heaped(reader, read)))
    centres = found + step.reshape(found.shape)
    reach = FARTHEST * np.sqrt(np.diag(covariance)).reshape(found.shape)
    return {
        "coefficients": found.clip(centres - reach, centres + reach),
        "centres": centres,
        "covariance": covariance,
        "rests_on": "model",
        "reason": Phrase(
            "fitted to a joint model whose pairs are as told, to which coefficients are drawn, and z, P and intervals "
            "are not: {reason}",
            reason=joint.model.reason,
        ),
        "explained": None,
    }


def _fit(matrix: Array, targets: Array, weights: Array, family: RegressionFamily) -> Array | None:
    """Coefficients at which the weighed score is zero, by Newton's steps; None where there are none."""
    found = np.zeros((targets.shape[1], matrix.shape[1]))
    if family == "poisson":
        found[0, 0] = math.log(max(float(weights @ targets[:, 0]) / float(weights.sum()), 1e-9))
    size = _score(matrix, targets, weights, family, found)
    for _ in range(_MOST_STEPS):
        step = np.linalg.lstsq(_curvature(matrix, weights, family, found), size.ravel(), rcond=1e-12)[0]
        stride = 1.0
        while stride > 1e-6:
            moved = found + stride * step.reshape(found.shape)
            after = _score(matrix, targets, weights, family, moved)
            if np.linalg.norm(after) < (1 - 1e-4 * stride) * np.linalg.norm(size):
                break
            stride /= 2
        else:
            break
        found, size = moved, after
        if np.abs(size).max() < 1e-10:
            return found
    return found if np.abs(size).max() < 1e-6 else None


def _score(matrix: Array, targets: Array, weights: Array, family: RegressionFamily, found: Array) -> Array:
    left = targets - _LINKS[family](matrix @ found.T)
    return np.asarray((left * weights[:, None]).T @ matrix)


def _curvature(matrix: Array, weights: Array, family: RegressionFamily, found: Array) -> Array:
    """How the score falls with the coefficients, all in a row."""
    means = _LINKS[family](matrix @ found.T)
    outcomes, size = found.shape
    curvature = np.zeros((outcomes, size, outcomes, size))
    for one in range(outcomes):
        for other in range(outcomes):
            if family in ("logistic", "multinomial"):
                slope = means[:, one] * ((one == other) - means[:, other])
            else:
                slope = means[:, 0] if family == "poisson" else np.ones(len(means))
            curvature[one, :, other] = (matrix * (weights * slope)[:, None]).T @ matrix
    return curvature.reshape(outcomes * size, outcomes * size)


def _pulls(matrix: Array, targets: Array, weights: Array, family: RegressionFamily, found: Array) -> Array:
    """By how much each record moves the coefficients: records × coefficients."""
    left = targets - _LINKS[family](matrix @ found.T)
    scores = (left[:, :, None] * matrix[:, None]).reshape(len(matrix), -1)
    return np.asarray(np.linalg.lstsq(_curvature(matrix, weights, family, found), scores.T, rcond=1e-12)[0].T, float)
