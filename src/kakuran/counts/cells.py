"""The cells of a table: every value of a category, intervals of a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import SchemaError
from kakuran.schema import Categorical, Dropped, Numeric, Schema
from kakuran.schema.codes import Codes

DEFAULT_BINS = 10


@dataclass(frozen=True, eq=False)
class Cells:
    """One axis of a table of counts; cell r holds the codes edges[r] … edges[r+1]−1."""

    name: str
    edges: NDArray[np.int64]
    labels: tuple[str, ...]

    def place(self, codes: Codes) -> NDArray[np.intp]:
        """The cell of each code; codes beyond the domain fall in the outermost cells."""
        return np.clip(np.searchsorted(self.edges, codes, side="right") - 1, 0, len(self.labels) - 1)


def cells_of(schema: Schema, name: str, bins: int | None) -> Cells:
    """The cells of a released column; numbers are cut into `bins` intervals (10 by default)."""
    attribute = schema[name]
    if isinstance(attribute, Dropped):
        raise SchemaError(f"column {name!r} was dropped: the release does not hold it")
    if isinstance(attribute, Numeric):
        return _intervals(attribute, min(DEFAULT_BINS, attribute.points) if bins is None else bins)
    if bins is not None:
        raise SchemaError(f"column {name!r} holds categories; bins are for numbers")
    return Cells(name, np.arange(attribute.size + 1), _category_labels(attribute))


def count(codes: Mapping[str, Codes], axes: Sequence[Cells]) -> NDArray[np.float64]:
    """How many records lie in each cell of the table the axes span."""
    shape = tuple(len(axis.labels) for axis in axes)
    cell = np.ravel_multi_index([axis.place(codes[axis.name]) for axis in axes], shape)
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape).astype(float)


def _category_labels(attribute: Categorical) -> tuple[str, ...]:
    return (*map(str, attribute.values), *(["missing"] if attribute.missing == "category" else []))


def _intervals(attribute: Numeric, bins: int) -> Cells:
    edges = attribute.cells(bins)
    first, last = attribute.numbers_of(edges[:bins]), attribute.numbers_of(edges[1 : bins + 1] - 1)
    labels = [f"{low}" if low == high else f"{low}–{high}" for low, high in zip(first, last, strict=True)]
    if attribute.missing == "category":
        labels.append("missing")
    return Cells(attribute.name, edges, tuple(labels))
