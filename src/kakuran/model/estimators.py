"""One call for every estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from numpy.typing import ArrayLike

from kakuran.design import Plan
from kakuran.errors import ArgumentError
from kakuran.mechanism import Transition
from kakuran.model.choice import auto, product_of_marginals
from kakuran.model.likelihood import duality_gap, ibt, maximum_likelihood
from kakuran.model.operator import Operator, inverse, simplex
from kakuran.typing import Array
from kakuran.words import Phrase

Method: TypeAlias = Literal["auto", "ibt", "mle", "inverse", "simplex", "shrink"]


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Estimated true counts.

    Attributes
    ----------
    counts : the estimate
    method : the estimator asked for
    reason : what it did, in words
    gap : how far, at most, its log-likelihood is below the maximum; large where an estimator smooths on purpose,
        None where cells are negative

    Examples
    --------
    >>> import kakuran as kk
    >>> plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=1000, k=10)
    >>> found = kk.reconstruct([520, 480], plan, method="inverse")
    >>> found.method, float(found.counts.sum().round())
    ('inverse', 1000.0)
    """

    counts: Array
    method: Method
    reason: str
    gap: float | None


def reconstruct(
    counts: ArrayLike, operators: Plan | Operator | Sequence[Transition | None], method: Method = "auto"
) -> Reconstruction:
    """Estimate the true counts behind perturbed ones.

    Parameters
    ----------
    counts : a table of perturbed counts, one axis an attribute
    operators : the transition of each axis (None where nothing was perturbed), or a plan, whose perturbed columns are
        then the axes, every value a cell
    method :
        - ``auto``: kinds and amounts of smoothing weighed by held-out likelihood; the same counts give the same answer
        - ``ibt``: S4 eq. 10 with its own start and stop
        - ``mle``: the maximum of the likelihood, exactly or certified by `gap`
        - ``inverse``: unbiased, cells may be negative
        - ``simplex``: the inverse projected on what counts can be
        - ``shrink``: the product of the estimated marginals, as if attributes were independent

    Examples
    --------
    >>> import kakuran as kk
    >>> coin = kk.RetentionReplacement(2, 0.5).transition()
    >>> kk.reconstruct([60, 40], [coin], method="mle").counts.tolist()
    [70.0, 30.0]
    """
    operator = _operator(operators)
    table = operator.checked(counts)
    if method not in _ESTIMATORS:
        raise ArgumentError("method", f"must be one of {', '.join(_ESTIMATORS)}", "Choose one.", example=method)
    estimate, reason = _ESTIMATORS[method](table, operator)
    return Reconstruction(
        estimate, method, reason, duality_gap(table, estimate, operator) if (estimate >= 0).all() else None
    )


def _operator(operators: Plan | Operator | Sequence[Transition | None]) -> Operator:
    if isinstance(operators, Operator):
        return operators
    if isinstance(operators, Plan):
        return Operator([operators[attribute.name].transition() for attribute in operators.schema.perturbed])
    return Operator(operators)


def _auto(counts: Array, operator: Operator) -> tuple[Array, Phrase]:
    if counts.sum() == 0:
        return counts, Phrase("there is nothing to estimate from")
    if operator.is_exact:
        return counts, Phrase("nothing was perturbed")
    estimate, weights = auto(counts, operator)
    best = max(weights, key=lambda candidate: weights[candidate])
    estimate = operator.with_known_totals(estimate, counts)
    return estimate, Phrase(
        "average of {count} by held-out likelihood, most of all {best} ({share:.0%})",
        count=len(weights),
        best=best.described,
        share=weights[best],
    )


def _ibt(counts: Array, operator: Operator) -> tuple[Array, Phrase]:
    estimate, steps = ibt(counts, operator)
    return estimate, Phrase("from the perturbed counts, stopped at step {steps}", steps=steps)


def _mle(counts: Array, operator: Operator) -> tuple[Array, Phrase]:
    estimate, steps = maximum_likelihood(counts, operator)
    if not steps:
        return estimate, Phrase("maximum likelihood in closed form")
    return estimate, Phrase("maximum likelihood, found in pass {steps}", steps=steps)


def _inverse(counts: Array, operator: Operator) -> tuple[Array, Phrase]:
    return inverse(counts, operator), Phrase("solved exactly; cells may be negative")


def _simplex(counts: Array, operator: Operator) -> tuple[Array, Phrase]:
    return simplex(counts, operator), Phrase("inverse, projected on non-negative tables")


def _shrink(counts: Array, operator: Operator) -> tuple[Array, Phrase]:
    return product_of_marginals(counts, operator), Phrase("product of the estimated marginals")


_ESTIMATORS: Mapping[str, Callable[[Array, Operator], tuple[Array, Phrase]]] = {
    "auto": _auto,
    "ibt": _ibt,
    "mle": _mle,
    "inverse": _inverse,
    "simplex": _simplex,
    "shrink": _shrink,
}
