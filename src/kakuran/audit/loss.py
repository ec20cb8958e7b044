"""How near a result comes to the truth: S0's L1 accuracy of distributions, S1's mean absolute loss of matrices.

S3's index ILD: how much of the distances between records a masked table has lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kakuran.audit.distance import Distance, capacity, capacity_of_records
from kakuran.errors import ArgumentError, DataError, SchemaError, counted, is_real
from kakuran.schema import columns_of, numbers_of


def l1_accuracy(p: Any, q: Any) -> float:
    """100·(1 − ½ Σ|p − q|): the percentage of people two distributions put into the same cell (S0 §4).

    Counts are scaled to distributions first.

    Examples
    --------
    >>> import kakuran as kk
    >>> kk.l1_accuracy([2, 1, 1], [1, 2, 1])
    75.0
    """
    shares = [_distribution(name, np.asarray(cells, float)) for name, cells in (("p", p), ("q", q))]
    if shares[0].shape != shares[1].shape:
        raise ArgumentError("q", f"has cells {shares[1].shape}, p {shares[0].shape}", "Count both over the same cells.")
    return float(100 * (1 - np.abs(shares[0] - shares[1]).sum() / 2))


def wrong_cells(truth: Any, counts: Any) -> float:
    """The share of people whom estimated counts put in the wrong cell, ½ Σ|p − q|; cells below zero count as empty.

    Examples
    --------
    >>> from kakuran.audit import wrong_cells
    >>> round(wrong_cells([2, 1, 1], [4, 1, -1]), 6)
    0.3
    """
    return 1 - l1_accuracy(truth, np.maximum(counts, 0)) / 100


def _distribution(name: str, cells: Any) -> Any:
    if not (cells >= 0).all() or not 0 < cells.sum() < np.inf:
        raise ArgumentError(name, "is not a distribution", "Give counts or shares of at least 0, not all 0.")
    return cells / cells.sum()


def mean_absolute_loss(original: Any, released: Any) -> float:
    """Mean |x − x'| over all cells of two matrices, dense or sparse (S1 eq. 12).

    Examples
    --------
    >>> from kakuran.audit import mean_absolute_loss
    >>> mean_absolute_loss([[0, 2], [1, 1]], [[0, 1], [1, 1]])
    0.25
    """
    from scipy.sparse import issparse

    matrices: list[Any] = [m if issparse(m) else np.asarray(m, float) for m in (original, released)]
    x, y = matrices
    if x.shape != y.shape:
        raise ArgumentError("matrix", f"{x.shape} before and {y.shape} after", "Compare matrices of one shape.")
    return float(abs(x - y).sum() / max(x.shape[0] * x.shape[1], 1))


@dataclass(frozen=True)
class ColumnLoss:
    """The information capacity of one column before and after, weighted as in the whole."""

    name: str
    before: float
    after: float

    @classmethod
    def of_all(cls, columns: Sequence[ColumnLoss]) -> ColumnLoss:
        """Several columns together: capacities add up."""
        return cls("all", sum(one.before for one in columns), sum(one.after for one in columns))

    @property
    def lost(self) -> float:
        """ILD of these capacities: 0 where there was nothing to lose."""
        if not self.before:
            return 0.0 if not self.after else -np.inf
        return (self.before - self.after) / self.before

    def to_dict(self) -> dict[str, float]:
        """Plain values for JSON."""
        return {"before": self.before, "after": self.after, "lost": self.lost}


def information_loss(
    original: Any,
    masked: Any,
    distance: Distance | Mapping[str, Distance] = "euclidean",
    p: float = 2,
    *,
    weights: Mapping[str, float] | None = None,
) -> float:
    """ILD = (I(A) − I(Â)) / I(A), where I is the sum of d(x, y)^p over all pairs of records (S3 §2.2).

    With group means and Euclidean distance at p = 2 it equals SSE/SST. It is 0 when all distances are kept, 1 when all
    records have become the same, and below 0 when records lie further apart than before.

    Parameters
    ----------
    original, masked : tables of equally many records: frames, arrays, or a list for a single column
    distance : ``"euclidean"`` (of numbers; at other p the p-distance), ``"discrete"``, a `Tree`, a `Graph` or a
        function of two values; one for every column, or a mapping from column to distance. A function given alone for
        a table of several columns takes two whole records, as tuples.
    p : the power of the distance
    weights : how much each column counts in a record's distance, 1 by default; d^p adds up over columns

    Examples
    --------
    >>> import kakuran as kk
    >>> kk.information_loss([1, 2, 3, 4], [1.5, 1.5, 3.5, 3.5])
    0.2
    >>> tree = kk.Tree({"east": ["Tokyo", "Chiba"], "west": ["Osaka", "Nara"]})
    >>> round(kk.information_loss(["Tokyo", "Chiba", "Osaka", "Nara"], ["east", "east", "west", "west"], tree), 4)
    0.7778
    """
    return ColumnLoss.of_all(losses_by_column(original, masked, distance, p, weights=weights)).lost


def information_capacity(
    data: Any,
    distance: Distance | Mapping[str, Distance] = "euclidean",
    p: float = 2,
    *,
    weights: Mapping[str, float] | None = None,
) -> float:
    """I(A) = Σ_i Σ_j d(x_i, x_j)^p (S3 §2.1); parameters as for `information_loss`.

    Examples
    --------
    >>> from kakuran.audit import information_capacity
    >>> information_capacity([1, 2, 3, 4])
    40.0
    """
    return sum(capacities(data, distance, p, weights=weights).values())


def losses_by_column(
    original: Any,
    masked: Any,
    distance: Distance | Mapping[str, Distance] = "euclidean",
    p: float = 2,
    *,
    weights: Mapping[str, float] | None = None,
) -> list[ColumnLoss]:
    """Where the information went, column by column; the parts of I add up to the whole."""
    _check_same_people(columns_of(original), columns_of(masked))
    before, after = (capacities(table, distance, p, weights=weights) for table in (original, masked))
    return [ColumnLoss(name, before[name], after[name]) for name in before]


def capacities(
    data: Any,
    distance: Distance | Mapping[str, Distance],
    p: float,
    *,
    weights: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """What each column adds to I(A)."""
    columns = columns_of(data)
    if callable(distance) and len(columns) > 1:
        return {"records": capacity_of_records(columns, distance, p)}
    check_weights(weights or {}, columns)
    return {
        name: (weights or {}).get(name, 1.0) * capacity(name, column, _distance_of(name, distance), p)
        for name, column in columns.items()
    }


def _check_same_people(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    if set(before) != set(after):
        odd = sorted(set(before) ^ set(after))[0]
        raise DataError(odd, "is in one of the two tables only", "Compare tables with the same columns.")
    for name in before:
        if len(before[name]) != len(after[name]):
            problem = f"{counted(len(before[name]), 'record')} before and {len(after[name]):,} after"
            raise DataError(name, problem, "Compare the same people.")


def check_weights(weights: Mapping[str, float], columns: Mapping[str, Any]) -> None:
    """Refuse weights of columns that are not there, and those below 0."""
    for name, weight in weights.items():
        if name not in columns:
            raise SchemaError(f"a weight is given for {name!r}, which is not a column; those are {', '.join(columns)}")
        if not is_real(weight) or not 0 <= weight < np.inf:
            raise SchemaError(f"the weight of {name!r} must be a number of at least 0, got {weight!r}")


def _distance_of(name: str, distance: Distance | Mapping[str, Distance]) -> Distance:
    if not isinstance(distance, Mapping):
        return distance
    if name not in distance:
        raise SchemaError(f"no distance is given for column {name!r}")
    return distance[name]


def ilssdm(original: Any, masked: Any) -> float:
    """SSE/SST: squared distances to the masked records over squared distances to the mean (S3 §4.1).

    Examples
    --------
    >>> from kakuran.audit import ilssdm
    >>> ilssdm([1, 2, 3, 4], [1.5, 1.5, 3.5, 3.5])
    0.2
    """
    before, after = columns_of(original), columns_of(masked)
    _check_same_people(before, after)
    x, y = (np.column_stack([numbers_of(name, table[name]) for name in before]) for table in (before, after))
    total = ((x - x.mean(axis=0)) ** 2).sum()
    return float(((x - y) ** 2).sum() / total) if total else 0.0
