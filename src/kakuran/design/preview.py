"""What k costs, before anything is released: the expected error of one-, two- and three-way tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from itertools import combinations
from typing import Any, Literal

import numpy as np

from kakuran.counts import cells_of
from kakuran.design.designs import Expectation
from kakuran.design.plan import Plan
from kakuran.errors import wrong_type
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array

CELLS = 10
"""Cells a number is cut into for the preview."""
GUESSING = 0.9
"""An error of so much of a typical cell is about that of guessing."""
MOST_IN_TRIPLES = 30
"""Columns whose three-way tables are looked at; of more, those that come first."""


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
    rests_on: Literal["counts", "model"] = "counts"
    """Whether some records tell the whole table, or only the joint model of what all of them tell has it."""

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
        return asdict(self) | {"columns": list(self.columns)}


@dataclass(frozen=True)
class TablesOfSize:
    """Expected errors of all tables of so many columns, in short.

    Attributes
    ----------
    ways : int
        How many columns.
    best, typical, worst : TableError
        Those with the least, the median and the largest relative error.
    tables : int
        How many there are.
    guessing : int
        How many of them tell so little that one might as well guess.
    on_model : int
        How many of them rest on the joint model, as no record tells all of their columns.
    """

    ways: int
    best: TableError
    typical: TableError
    worst: TableError
    tables: int
    guessing: int
    on_model: int


def by_size(errors: Sequence[TableError]) -> list[TablesOfSize]:
    """The errors of a preview in short, by the number of columns.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.design import by_size
    >>> from kakuran.samples import census_schema
    >>> plan = kk.calibrate(census_schema(), n=50_000, k=10, tell=2)
    >>> [(found.tables, found.on_model, found.best.columns) for found in by_size(kk.preview(plan))][1:]
    [(6, 0, ('sex', 'region')), (4, 4, ('sex', 'job', 'region'))]
    """
    found = []
    for ways in sorted({len(error.columns) for error in errors}):
        some = sorted((error for error in errors if len(error.columns) == ways), key=lambda error: error.relative)
        guessing, on_model = sum(error.is_guessing for error in some), sum(one.rests_on == "model" for one in some)
        found.append(TablesOfSize(ways, some[0], some[len(some) // 2], some[-1], len(some), guessing, on_model))
    return found


def preview(plan: Plan, n: int | None = None) -> list[TableError]:
    """Expected errors of one-, two- and three-way tables of perturbed columns, at n records (the plan's by default).

    The error is that of the best linear estimate when every table is equally likely beforehand (a flat Dirichlet
    prior); it ends between 0 (exact) and about 1 (no better than guessing). Numbers are cut into 10 cells. Real
    tables that rise and fall smoothly come out better, numbers with a spike may come out worse. Where records tell some
    columns only, the error is what `kakuran.designs` expects of the joint model. `kakuran.design.by_size` says in
    short what hundreds of tables come to.

    Examples
    --------
    >>> import kakuran as kk
    >>> plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=1000, k=10)
    >>> [(table.columns, round(table.relative, 3)) for table in kk.preview(plan)]
    [(('job',), 0.022)]
    """
    if not isinstance(plan, Plan):
        raise wrong_type(plan, Plan, "kakuran.calibrate makes one")
    n = plan.n if n is None else n
    if plan.layout.told:
        return _told_errors(plan, n)
    gains = {attribute.name: _singular_values(plan, attribute) for attribute in plan.schema.perturbed}
    return [_table_error(columns, [gains[name] for name in columns], n) for columns in _tables(plan)]


def _tables(plan: Plan) -> list[tuple[str, ...]]:
    names = [attribute.name for attribute in plan.schema.perturbed]
    few = names[:MOST_IN_TRIPLES]
    return [*((name,) for name in names), *combinations(names, 2), *combinations(few, 3)]


def _told_errors(plan: Plan, n: int) -> list[TableError]:
    """Where records tell some columns only, by what the joint model of all of them is expected to leave wrong.

    Every person in the wrong cell is one too many there and one too few elsewhere, and the errors of a cell are about
    normal: their mean size is √(2/π) of their standard deviation.
    """
    expected = Expectation(plan.tells, n)
    sizes = {
        one.name: min(CELLS, one.points) if isinstance(one, Numeric) else one.size for one in plan.schema.perturbed
    }
    found = []
    for columns in _tables(plan):
        cells = math.prod(sizes[name] for name in columns)
        error = 2 * expected.wrong(columns) * n / cells * math.sqrt(math.pi / 2)
        found.append(TableError(columns, cells, n / cells, error, "counts" if expected.is_told(columns) else "model"))
    return found


@dataclass(frozen=True, eq=False)
class _Gains:
    """How much of the patterns along some axes survives: the different gains, and how many patterns have each."""

    gains: Array
    patterns: Array

    def times(self, other: _Gains) -> _Gains:
        """Axes multiply: the joint table's patterns are products of the axes' patterns."""
        return _Gains(np.outer(self.gains, other.gains).ravel(), np.outer(self.patterns, other.patterns).ravel())


def _singular_values(plan: Plan, attribute: Categorical | Numeric) -> _Gains:
    """Along the axis of one column."""
    bins = min(CELLS, attribute.points) if isinstance(attribute, Numeric) else None
    cells, mechanism = cells_of(plan.schema, attribute.name, bins), plan[attribute.name]
    released = cells.extended(mechanism.beyond).edges if mechanism.beyond else None
    values = mechanism.transition(cells.edges, released).singular_values
    gains, patterns = np.unique(np.round(values, 12), return_counts=True)
    return _Gains(gains, patterns.astype(float))


def _table_error(columns: tuple[str, ...], axes: Sequence[_Gains], n: int) -> TableError:
    """For shares that are uniform on average.

    A pattern that survives with gain g is observed with variance (1−g²)/(n·cells) around g times its true size, which
    varies by 1/(cells·(cells+1)) beforehand.
    """
    joint = reduce(_Gains.times, axes)
    gain, cells = joint.gains, int(joint.patterns.sum())
    prior = 1 / (cells * (cells + 1))
    noise = (1 - gain**2) / (n * cells)
    left = np.where(noise > 0, prior * noise / np.maximum(prior * gain**2 + noise, 1e-300), 0.0)
    return TableError(columns, cells, n / cells, n * math.sqrt(np.average(left, weights=joint.patterns)))
