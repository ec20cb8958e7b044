"""Standard errors, tests, intervals and the health of a model, from moments alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from scipy import special

from kakuran.errors import GuardError, counted
from kakuran.vertical.regression.criteria import Criterion, parameters_of, score
from kakuran.vertical.regression.moments import Array, Moments

LEVEL = 0.95
"""How often an interval holds its coefficient."""


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
    """Every coefficient of a model in standardised units, and how sure it is.

    A standardised coefficient times (scale of the target / scale of the column) is the coefficient in the data's own
    units; t, p and the variance inflation factor are the same in both.
    """

    names: tuple[str, ...]
    coefficients: Array
    standard_errors: Array
    t: Array
    p: Array
    low: Array
    high: Array
    vif: Array
    quality: Quality


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
    freedom = quality.degrees_of_freedom
    t = coefficients / errors
    half = special.stdtrit(freedom, (1 + LEVEL) / 2) * errors
    p = 2 * special.stdtr(freedom, -np.abs(t))
    return Inference(names, coefficients, errors, t, p, coefficients - half, coefficients + half, vif, quality)


def judge(
    records: int,
    variables: int,
    *,
    intercept: bool,
    unexplained: float,
    variance: float,
    condition: float,
    digits: int,
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
            f"{counted(records, 'shared record')} cannot carry {counted(variables, 'variable')}; "
            "use fewer columns or more records"
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
