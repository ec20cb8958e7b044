"""Least squares from second moments of standardised columns alone: the fit, which variables stay, how sure it is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kakuran.defaults import DEFAULT_LEVEL
from kakuran.errors import DataError, GuardError
from kakuran.typing import Array, Indices
from kakuran.words import Phrase

Criterion: TypeAlias = Literal["aic", "aicc", "bic"]


def parameters_of(variables: int, *, intercept: bool) -> int:
    """Coefficients, intercept and variance, as S2 counts them; statsmodels leaves the variance out."""
    return variables + int(intercept) + 1


def score(kind: Criterion, variance: float, records: int, parameters: int) -> float:
    """The criterion of a normal model with residual variance RSS/N; smaller is better.

    AIC is S2 eq. 11. How many `parameters` there are says `parameters_of`.
    """
    fit = records * math.log(2 * math.pi * variance) + records
    if kind == "bic":
        return fit + parameters * math.log(records)
    aic = fit + 2 * parameters
    if kind == "aic":
        return aic
    spare = records - parameters - 1
    return aic + 2 * parameters * (parameters + 1) / spare if spare > 0 else math.inf


_SINGULAR = 1e-12


@dataclass(frozen=True)
class Fitted:
    """Least squares on some of the columns, in standardised units."""

    coefficients: Array
    inverse: Array
    unexplained: float
    """RSS as a share of the target's sum of squares."""


@dataclass(frozen=True)
class Moments:
    """Moments XᵀX/N of columns of unit variance, the target last.

    Parameters
    ----------
    names, owners : tuple[str, ...]
        The explanatory columns and the party that holds each.
    matrix : Array
        One row and column more than there are names: the target's.
    target_scale : float
        The standard deviation (or, without intercept, the root mean square) of the target in its own units.
    bits : int | None
        Binary digits the columns were rounded to; None if they were not.
    """

    names: tuple[str, ...]
    owners: tuple[str, ...]
    matrix: Array
    records: int
    intercept: bool
    target_scale: float
    bits: int | None = None

    def places(self, chosen: Sequence[str]) -> Indices:
        """Where the chosen columns stand."""
        where = {name: place for place, name in enumerate(self.names)}
        return np.array([where[name] for name in chosen], np.intp)

    def are_of(self, held: Sequence[str]) -> NDArray[np.bool_]:
        """Which rows are of these columns; a name that is none of the explanatory columns is the target's."""
        return np.array([*(name in held for name in self.names), not set(held) <= set(self.names)])

    def between(self, held: Sequence[str]) -> Array:
        """The moments of these columns with all others."""
        ours = self.are_of(held)
        return self.matrix[np.ix_(ours, ~ours)]

    def fit(self, chosen: Sequence[str]) -> Fitted:
        """Least squares on the chosen columns; refuses columns that are combinations of each other."""
        at = self.places(chosen)
        among, with_target, total = self.matrix[np.ix_(at, at)], self.matrix[at, -1], self.matrix[-1, -1]
        if not len(at):
            return Fitted(np.empty(0), np.empty((0, 0)), 1.0)
        values, vectors = np.linalg.eigh(among)
        if values[0] < _SINGULAR * values[-1]:
            culprit = chosen[int(np.abs(vectors[:, 0]).argmax())]
            raise DataError(
                culprit, Phrase("is a combination of other columns in the model"), Phrase("Leave it out of the plan.")
            )
        inverse = (vectors / values) @ vectors.T
        coefficients = inverse @ with_target
        explained = float(with_target @ coefficients) / total
        return Fitted(coefficients, inverse, max(1 - explained, np.finfo(float).eps))

    def variance(self, fitted: Fitted) -> float:
        """RSS/N in the target's own units (S2 eq. 10)."""
        return float(fitted.unexplained * self.matrix[-1, -1] * self.target_scale**2)

    def condition(self, chosen: Sequence[str]) -> float:
        """Condition number of the standardised columns themselves."""
        if not len(chosen):
            return 1.0
        at = self.places(chosen)
        values = np.linalg.eigvalsh(self.matrix[np.ix_(at, at)])
        return float(np.sqrt(values[-1] / max(values[0], np.finfo(float).tiny)))


@dataclass(frozen=True)
class Quality:
    """How good a model is as a whole."""

    records: int
    degrees_of_freedom: int
    variance: float
    """RSS/N, in the target's own units."""
    r_squared: float
    adjusted_r_squared: float
    aic: float
    aicc: float
    bic: float
    condition: float
    digits: int
    """Decimal digits of the coefficients that can be relied on."""


@dataclass(frozen=True)
class Inference:
    """Every coefficient of a model in standardised units, and how sure it is, with intervals of any level.

    A standardised coefficient times (scale of the target / scale of the column) is the coefficient in the data's own
    units; t, p and the variance inflation factor are the same in both.
    """

    names: tuple[str, ...]
    coefficients: Array
    standard_errors: Array
    t: Array
    p: Array
    vif: Array
    quality: Quality
    level: float = DEFAULT_LEVEL

    @property
    def low(self) -> Array:
        """The lower ends of the intervals."""
        return self.coefficients - self._half_widths

    @property
    def high(self) -> Array:
        """The upper ends."""
        return self.coefficients + self._half_widths

    @property
    def _half_widths(self) -> Array:
        quantile = special.stdtrit(self.quality.degrees_of_freedom, (1 + self.level) / 2)
        return np.asarray(quantile * self.standard_errors)


def infer(moments: Moments, chosen: Sequence[str]) -> Inference:
    """Classical least-squares inference, equal to that on the pooled table."""
    fitted = moments.fit(chosen)
    condition = moments.condition(chosen)
    quality = judge(
        moments.records,
        len(chosen),
        intercept=moments.intercept,
        unexplained=fitted.unexplained,
        variance=moments.variance(fitted),
        condition=condition,
        digits=digits_left(condition, moments.bits),
    )
    # Moments are means, so the covariance of the coefficients has N in the denominator.
    error_variance = fitted.unexplained * moments.matrix[-1, -1] / quality.degrees_of_freedom
    inverse = np.diag(fitted.inverse)
    errors = np.sqrt(error_variance * inverse)
    vif = inverse * np.diag(moments.matrix)[moments.places(chosen)]
    return conclude(tuple(chosen), fitted.coefficients, errors, vif=vif, quality=quality)


def conclude(names: tuple[str, ...], coefficients: Array, errors: Array, *, vif: Array, quality: Quality) -> Inference:
    """Tests and intervals from estimates and their standard errors."""
    t = coefficients / errors
    p = 2 * special.stdtr(quality.degrees_of_freedom, -np.abs(t))
    return Inference(names, coefficients, errors, t, p, vif, quality)


def judge(
    records: int, variables: int, *, intercept: bool, unexplained: float, variance: float, condition: float, digits: int
) -> Quality:
    """The figures of a model as a whole."""
    freedom = degrees_of_freedom(records, variables, intercept=intercept)
    parameters = parameters_of(variables, intercept=intercept)
    aic, aicc, bic = (score(kind, variance, records, parameters) for kind in get_args(Criterion))
    return Quality(
        records=records,
        degrees_of_freedom=freedom,
        variance=variance,
        r_squared=1 - unexplained,
        adjusted_r_squared=1 - unexplained * (records - int(intercept)) / freedom,
        aic=aic,
        aicc=aicc,
        bic=bic,
        condition=condition,
        digits=digits,
    )


def degrees_of_freedom(records: int, variables: int, *, intercept: bool) -> int:
    """Records left over once the coefficients are fitted; refuses a model that leaves none."""
    freedom = records - variables - int(intercept)
    if freedom < 1:
        raise GuardError(
            Phrase(
                "{records} cannot carry {variables}; use fewer columns or more records",
                records=Phrase("1 shared record")
                if records == 1
                else Phrase("{count:,} shared records", count=records),
                variables=Phrase("1 variable") if variables == 1 else Phrase("{count:,} variables", count=variables),
            )
        )
    return freedom


def digits_left(condition: float, bits: int | None) -> int:
    """Decimal digits left in the coefficients.

    Columns rounded to `bits` binary digits are columns with an error of that relative size, and least squares
    multiplies it by at most the condition number; without rounding the arithmetic's own 53 bits are squared in the
    moments.
    """
    relative = condition * 2.0**-bits if bits is not None else condition**2 * 2.0**-52
    return max(0, math.floor(-math.log10(relative)))


Search: TypeAlias = Literal["backward", "forward", "both", "none"]
Ranking: TypeAlias = Literal["exact", "s2"]
Action: TypeAlias = Literal["start", "drop", "add"]


@dataclass(frozen=True)
class Rules:
    """How variables are chosen.

    `ranking` says which variable goes first: the one whose loss costs least after refitting (``"exact"``), or S2's,
    which costs least without refitting (``"s2"``, eq. 12); they differ by the variance inflation factor. `least`
    variables stay with every party, and the `forced` ones stay whatever happens.
    """

    search: Search = "backward"
    criterion: Criterion = "aic"
    ranking: Ranking = "exact"
    forced: frozenset[str] = field(default_factory=frozenset)
    least: int = 2


@dataclass(frozen=True)
class Step:
    """A model that was looked at: what changed, what it scored, and whether the search went on from there."""

    action: Action
    column: str
    variables: int
    variance: float
    score: float
    accepted: bool = True


@dataclass(frozen=True)
class Selection:
    """The chosen columns and the way there."""

    chosen: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class _Model:
    chosen: tuple[str, ...]
    variance: float
    score: float


def select(moments: Moments, rules: Rules) -> Selection:
    """Choose variables by the rules; stops at the first step that does not lower the criterion (S2 §3.3)."""
    model = _judge(moments, rules, _starting_columns(moments, rules))
    steps = [Step("start", "", len(model.chosen), model.variance, model.score)]
    while rules.search != "none":
        moves = list(_moves(moments, rules, model.chosen))
        if not moves:
            break
        judged = [(action, column, _judge(moments, rules, chosen)) for action, column, chosen in moves]
        action, column, best = min(judged, key=lambda move: move[2].score)
        accepted = best.score <= model.score if rules.search == "backward" else best.score < model.score
        accepted = accepted or bool(_short(moments, rules, model.chosen))
        steps.append(Step(action, column, len(best.chosen), best.variance, best.score, accepted))
        if not accepted:
            break
        model = best
    return Selection(model.chosen, tuple(steps))


def droppable(moments: Moments, rules: Rules, chosen: tuple[str, ...]) -> list[str]:
    """Columns that are not forced in and whose party has more than the least number."""
    owner = dict(zip(moments.names, moments.owners, strict=True))
    left = Counter(owner[name] for name in chosen)
    return [name for name in chosen if name not in rules.forced and left[owner[name]] > rules.least]


def costs_of_dropping(fitted: Fitted, ranking: Ranking) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """How much RSS/N grows without each variable: refitted, or, as S2 eq. 12 has it, with the rest left as it is."""
    squares: np.ndarray[tuple[int], np.dtype[np.float64]] = fitted.coefficients**2
    return squares / np.diag(fitted.inverse) if ranking == "exact" else squares


def _judge(moments: Moments, rules: Rules, chosen: tuple[str, ...]) -> _Model:
    variance = moments.variance(moments.fit(chosen))
    parameters = parameters_of(len(chosen), intercept=moments.intercept)
    return _Model(chosen, variance, score(rules.criterion, variance, moments.records, parameters))


def _starting_columns(moments: Moments, rules: Rules) -> tuple[str, ...]:
    if rules.search == "forward":
        return tuple(name for name in moments.names if name in rules.forced)
    return moments.names


def _moves(moments: Moments, rules: Rules, chosen: tuple[str, ...]) -> Iterator[tuple[Action, str, tuple[str, ...]]]:
    short = _short(moments, rules, chosen)
    if rules.search in ("backward", "both"):
        for name in _cheapest_drop(moments, rules, chosen):
            yield "drop", name, tuple(other for other in chosen if other != name)
    if rules.search in ("forward", "both"):
        for name, owner in zip(moments.names, moments.owners, strict=True):
            if name not in chosen and (not short or owner in short) and _is_new(moments, chosen, name):
                yield "add", name, tuple(other for other in moments.names if other in (*chosen, name))


def _cheapest_drop(moments: Moments, rules: Rules, chosen: tuple[str, ...]) -> list[str]:
    """The one variable to try leaving out: all drops have as many parameters, so the least RSS has the least score."""
    candidates = droppable(moments, rules, chosen)
    if not candidates:
        return []
    costs = dict(zip(chosen, costs_of_dropping(moments.fit(chosen), rules.ranking), strict=True))
    return [min(candidates, key=lambda name: costs[name])]


def _short(moments: Moments, rules: Rules, chosen: tuple[str, ...]) -> set[str]:
    """Parties that have fewer variables in the model than they must."""
    owner = dict(zip(moments.names, moments.owners, strict=True))
    present, held = Counter(owner[name] for name in chosen), Counter(moments.owners)
    return {party for party, columns in held.items() if present[party] < min(rules.least, columns)}


def _is_new(moments: Moments, chosen: tuple[str, ...], name: str) -> bool:
    """Whether a column adds something to those chosen."""
    try:
        moments.fit((*chosen, name))
    except DataError:
        return False
    return True
