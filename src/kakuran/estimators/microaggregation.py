"""Microaggregation as a transformer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import BaseEstimator

from kakuran.measure.distance import Distance
from kakuran.microaggregation import Centre, Method, microaggregate


class Microaggregation(BaseEstimator):
    """Replace groups of at least k alike records by what stands for them.

    Records come back in the order they were given, so that other columns can stay beside them; shuffle before you
    publish. The result depends on all records together, so there is `fit_transform` and no `transform`.

    Parameters
    ----------
    k : the fewest records that will share their values
    method : ``"mdav"``; ``"local-search"``, MDAV and then moves and swaps; ``"blocked"``, for large tables, MDAV within
        blocks of neighbours; ``"v-mdav"``, groups of variable size; ``"optimal"``, the least loss of all, for a number
    columns : those to aggregate, all by default
    distance : per column, as for `kakuran.information_loss`
    centre : per column ``"mean"``, ``"median"`` or ``"mode"``; by default the mean of numbers, the mode of categories,
        and the lowest common ancestor of categories whose distance is a `Tree` (S3)
    weights : how much each column counts when records are compared; columns are standardised first

    Attributes
    ----------
    groups_ : the group of every record
    k_ : the fewest records found to share their values

    Examples
    --------
    >>> import numpy as np, kakuran as kk
    >>> kk.Microaggregation(k=2).fit_transform(np.array([1.0, 2.0, 9.0, 10.0])).tolist()
    [1.5, 1.5, 9.5, 9.5]
    """

    def __init__(
        self,
        k: int = 5,
        *,
        method: Method = "mdav",
        columns: Sequence[str] | None = None,
        distance: Mapping[str, Distance] | None = None,
        centre: Mapping[str, Centre] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self.k = k
        self.method = method
        self.columns = columns
        self.distance = distance
        self.centre = centre
        self.weights = weights

    def fit_transform(self, X: Any, y: None = None) -> Any:
        """Aggregate a frame or an array; the same kind comes out."""
        masked = microaggregate(
            X,
            self.k,
            columns=self.columns,
            method=self.method,
            distance=self.distance,
            centre=self.centre,
            weights=self.weights,
        )
        self.groups_, self.k_ = masked.groups, masked.k
        return masked.table
