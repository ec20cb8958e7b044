"""The cells of one axis of a table: every value of a category, intervals of a number, the parts a condition makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kakuran.calibration import Plan
from kakuran.errors import SchemaError
from kakuran.mechanism import Mechanism, Transition
from kakuran.phrases import Phrase
from kakuran.schema import Categorical, Numeric, Schema
from kakuran.schema.codes import Codes

DEFAULT_BINS = 10


@dataclass(frozen=True, eq=False)
class Cells:
    """One axis of a table of counts.

    Attributes
    ----------
    name : the column
    edges : the codes edges[r] … edges[r+1]−1 are a run that stays together; the first is 0 unless noise reaches below
    labels : what to call each cell
    groups : the cell of each run; without it every run is a cell
    """

    name: str
    edges: NDArray[np.int64]
    labels: tuple[str, ...]
    groups: NDArray[np.intp] | None = None

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.labels)

    @cached_property
    def of_code(self) -> NDArray[np.intp]:
        """The cell of every code, from the first edge on."""
        runs = np.arange(len(self.edges) - 1) if self.groups is None else self.groups
        return np.repeat(runs, np.diff(self.edges))

    def place(self, codes: Codes) -> NDArray[np.intp]:
        """The cell of each code; codes beyond the domain fall in the outermost cells."""
        first = int(self.edges[0])
        return np.take(self.of_code, codes - first if first else codes, mode="clip")

    def transition(self, mechanism: Mechanism) -> Transition:
        """How the mechanism moves records between these cells."""
        runs = mechanism.transition(self.edges)
        return runs if self.groups is None else runs.lumped(self.groups, np.diff(self.edges).astype(float))

    def lumped(self, parts: NDArray[np.intp]) -> Cells:
        """Fewer cells, given the number of the one that each of these becomes part of."""
        groups = parts if self.groups is None else parts[self.groups]
        return Cells(self.name, self.edges, ("",) * (int(parts.max()) + 1), groups)

    @classmethod
    def of_parts(cls, name: str, parts: NDArray[np.intp], labels: Sequence[str]) -> Cells:
        """The cells that a part number for every code makes."""
        starts = np.flatnonzero(np.diff(parts, prepend=-1))
        return cls(name, np.append(starts, len(parts)), tuple(labels), parts[starts])


def cells_of(schema: Schema, name: str, bins: int | None) -> Cells:
    """The cells of a released column; numbers are cut into `bins` intervals (10 by default)."""
    attribute = schema.in_release(name)
    if isinstance(attribute, Numeric):
        return _intervals(attribute, min(DEFAULT_BINS, attribute.points) if bins is None else bins)
    if bins is not None:
        raise SchemaError(f"column {name!r} holds categories; bins are for numbers")
    return Cells(name, np.arange(attribute.size + 1), _category_labels(attribute))


def every_code(plan: Plan, name: str) -> Cells:
    """A cell for every code that may be released of a column, beyond its bounds too."""
    reach, size = plan.reach(name), plan.schema[name].size
    edges = np.arange(-reach, size + reach + 1)
    return Cells(name, edges, ("",) * (len(edges) - 1))


def _category_labels(attribute: Categorical) -> tuple[str, ...]:
    return (*map(str, attribute.values), *([Phrase("missing")] if attribute.missing == "category" else []))


def _intervals(attribute: Numeric, bins: int) -> Cells:
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool):
        raise SchemaError(f"column {attribute.name!r}: bins must be a whole number of intervals, got {bins!r}")
    edges = attribute.cells(bins)
    first, last = attribute.numbers_of(edges[:bins]), attribute.numbers_of(edges[1 : bins + 1] - 1)
    labels = [f"{low}" if low == high else f"{low}–{high}" for low, high in zip(first, last, strict=True)]
    if attribute.missing == "category":
        labels.append(Phrase("missing"))
    return Cells(attribute.name, edges, tuple(labels))
