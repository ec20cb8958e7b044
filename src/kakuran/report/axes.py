"""The cells of a column nobody declared: intervals of a number, or its frequent values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.mechanism.base import Array
from kakuran.phrases import Phrase
from kakuran.schema.columns import distinct_of, is_numeric, numbers_of

BINS = 10
MOST_VALUES = 20


@dataclass(frozen=True, eq=False)
class Axis:
    """Where the records of a column are counted.

    Attributes
    ----------
    name : the column
    labels : of its cells
    inner : edges between the cells of a number; None for values
    values : what each cell stands for; one more cell, where it is needed, is for all others
    """

    name: str
    labels: Sequence[str]
    inner: Array | None
    values: Sequence[Any]

    @classmethod
    def of(cls, name: str, column: Any, compared: Any = None) -> Axis:
        """The cells that show a column best, and have a place for every value of another it is compared with."""
        if is_numeric(column) and not _has_gaps(column):
            numbers = numbers_of(name, column)
            edges = np.linspace(numbers.min(), numbers.max(), BINS + 1)
            labels = [f"{low:.4g}–{high:.4g}" for low, high in pairwise(edges)]
            return cls(name, labels, edges[1:-1], ())
        values, codes = distinct_of(name, column, missing_is_value=True)
        frequent = np.argsort(-np.bincount(codes, minlength=len(values)), kind="stable")[:MOST_VALUES]
        shown = [values[place] for place in np.sort(frequent)]
        known = values if compared is None else [*values, *distinct_of(name, compared, missing_is_value=True)[0]]
        unnamed = {None: Phrase("missing"), "": Phrase("(empty)")}
        labels = [unnamed.get(value, str(value)) for value in shown]
        return cls(name, [*labels, *([Phrase("others")] if set(known) > set(shown) else [])], None, shown)

    def places(self, column: Any) -> NDArray[np.intp]:
        """The cell of every record; numbers beyond the edges fall in the outermost."""
        if self.inner is not None:
            return np.searchsorted(self.inner, numbers_of(self.name, column), side="right").astype(np.intp)
        values, codes = distinct_of(self.name, column, missing_is_value=True)
        known = {value: place for place, value in enumerate(self.values)}
        return np.array([known.get(value, len(self.values)) for value in values], np.intp)[codes]


def count_over(axes: Sequence[Axis], columns: dict[str, Any]) -> Array:
    """The table of counts that some axes span."""
    shape = tuple(len(axis.labels) for axis in axes)
    cells = np.ravel_multi_index([axis.places(columns[axis.name]) for axis in axes], shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(float)


def _has_gaps(column: Any) -> bool:
    return bool(column.null_count) or not np.isfinite(np.asarray(column, float)).all()
