"""What a model is judged by: fit against the number of its parameters."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

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
