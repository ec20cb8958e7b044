"""What k costs, before anything is released: the expected error of one- and two-way tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from kakuran.counts import cells_of
from kakuran.design.expected import Expectation
from kakuran.design.plan import Plan
from kakuran.errors import check_is
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array

CELLS = 10
"""Cells a number is cut into for the preview."""
GUESSING = 0.9
"""An error of so much of a typical cell is about that of guessing."""


@dataclass(frozen=True)
class TableError:
    """Expected error of one table: a typical cell holds `count` records, give or take `error`.

    Examples
    --------
    >>> import kakuran as kk
    >>> kk.TableError(("job",), cells=8, count=6250.0, error=371.0).relative
    0.05936
    """

    columns: tuple[str, ...]
    cells: int
    count: float
    error: float

    @property
    def relative(self) -> float:
        """Error as a share of the typical cell; near 1, the table tells next to nothing."""
        return self.error / self.count

    @property
    def is_guessing(self) -> bool:
        """Whether the table tells so little that one might as well guess."""
        return self.relative > GUESSING

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"columns": list(self.columns), "cells": self.cells, "count": self.count, "error": self.error}


def preview(plan: Plan, n: int | None = None) -> list[TableError]:
    """Expected errors of all one- and two-way tables of perturbed columns, at n records (the plan's by default).

    The error is that of the best linear estimate when every table is equally likely beforehand (a flat Dirichlet
    prior); it ends between 0 (exact) and about 1 (no better than guessing). Numbers are cut into 10 cells. Real
    tables that rise and fall smoothly come out better, numbers with a spike may come out worse.

    Examples
    --------
    >>> import kakuran as kk
    >>> plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=1000, k=10)
    >>> [(table.columns, round(table.relative, 3)) for table in kk.preview(plan)]
    [(('job',), 0.022)]
    """
    check_is(plan, Plan, "kakuran.calibrate makes one")
    n = plan.n if n is None else n
    if plan.layout.told:
        return _told_errors(plan, n)
    gains = {attribute.name: _singular_values(plan, attribute) for attribute in plan.schema.perturbed}
    names = list(gains)
    tables: Sequence[tuple[str, ...]] = [*((name,) for name in names), *combinations(names, 2)]
    return [_table_error(columns, [gains[name] for name in columns], n) for columns in tables]


def _told_errors(plan: Plan, n: int) -> list[TableError]:
    """Where records tell some columns only, by what the joint model of all of them is expected to leave wrong.

    Every person in the wrong cell is one too many there and one too few elsewhere, and the errors of a cell are about
    normal: their mean size is √(2/π) of their standard deviation.
    """
    expected = Expectation(plan.tells, n)
    sizes = {
        one.name: min(CELLS, one.points) if isinstance(one, Numeric) else one.size for one in plan.schema.perturbed
    }
    tables: Sequence[tuple[str, ...]] = [*((name,) for name in sizes), *combinations(sizes, 2)]
    found = []
    for columns in tables:
        cells = math.prod(sizes[name] for name in columns)
        error = 2 * expected.wrong(columns) * n / cells * math.sqrt(math.pi / 2)
        found.append(TableError(columns, cells, n / cells, error))
    return found


def _singular_values(plan: Plan, attribute: Categorical | Numeric) -> Array:
    """How much of each pattern along this axis survives the perturbation."""
    bins = min(CELLS, attribute.points) if isinstance(attribute, Numeric) else None
    cells, mechanism = cells_of(plan.schema, attribute.name, bins), plan[attribute.name]
    released = cells.extended(mechanism.beyond).edges if mechanism.beyond else None
    return mechanism.transition(cells.edges, released).singular_values


def _table_error(columns: tuple[str, ...], gains: Sequence[Array], n: int) -> TableError:
    """Axes multiply: the joint table's patterns are products of the axes' patterns.

    For shares that are uniform on average, a pattern that survives with gain g is observed with variance
    (1−g²)/(n·cells) around g times its true size, which varies by 1/(cells·(cells+1)) beforehand.
    """
    gain = np.ones(1)
    for axis in gains:
        gain = np.outer(gain, axis).ravel()
    cells = len(gain)
    prior = 1 / (cells * (cells + 1))
    noise = (1 - gain**2) / (n * cells)
    left = np.where(noise > 0, prior * noise / np.maximum(prior * gain**2 + noise, 1e-300), 0.0)
    return TableError(columns, cells, n / cells, n * float(np.sqrt(left.mean())))
