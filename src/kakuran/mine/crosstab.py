"""Cross-tabulation: estimated true counts beside the uncorrected ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kakuran.calibration import Plan
from kakuran.counts import Cells, cells_of, count
from kakuran.errors import SchemaError
from kakuran.mechanism.base import Array, Codes
from kakuran.reconstruction import Method, reconstruct


@dataclass(frozen=True, eq=False)
class Estimate:
    """Counts over the cells of one or more columns.

    Attributes
    ----------
    axes : the cells of each axis, with their labels
    counts : the estimated true counts
    naive : the counts of the perturbed records as they are
    method : the estimator
    reason : what it did, in words
    gap : how far, at most, its log-likelihood is below the maximum
    """

    axes: tuple[Cells, ...]
    counts: Array
    naive: Array
    method: Method
    reason: str
    gap: float | None


def crosstab(
    codes: Mapping[str, Codes], plan: Plan, columns: Sequence[str], bins: Mapping[str, int], method: Method
) -> Estimate:
    """Count the perturbed records and reconstruct the true counts."""
    if not columns:
        raise SchemaError("a cross-tabulation needs at least one column")
    if len(set(columns)) < len(columns):
        raise SchemaError(f"a column stands twice in {', '.join(columns)}")
    for name in bins:
        if name not in columns:
            raise SchemaError(f"bins are given for {name!r}, which is not among the columns {', '.join(columns)}")
    axes = tuple(cells_of(plan.schema, name, bins.get(name)) for name in columns)
    naive = count(codes, axes)
    transitions = [plan[axis.name].transition(axis.edges) if axis.name in plan.mechanisms else None for axis in axes]
    found = reconstruct(naive, transitions, method)
    return Estimate(axes, found.counts, naive, found.method, found.reason, found.gap)
