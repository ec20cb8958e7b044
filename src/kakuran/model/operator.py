"""How a whole table of counts is perturbed, axis by axis and never by a joint matrix, and the equations solved."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kakuran.counts import Cells
from kakuran.errors import ArgumentError, counted
from kakuran.mechanism import Mechanism, Transition, UniformMixture
from kakuran.typing import Array

MOST = 2.0**53
"""Records that can be told from one more."""
SMALL = 64
"""Neighbouring axes with at most this many cells together are multiplied as one small matrix, which is faster."""


def transition_between(axis: Cells, mechanism: Mechanism) -> Transition:
    """How a mechanism moves records between the cells of an axis."""
    runs = mechanism.transition(axis.edges)
    return runs if axis.groups is None else runs.lumped(axis.groups, np.diff(axis.edges).astype(float))


@dataclass(frozen=True, eq=False)
class Operator:
    """The Kronecker product of one transition per axis; None for an axis that was not perturbed."""

    transitions: tuple[Transition | None, ...]

    def __init__(self, transitions: Sequence[Transition | None]) -> None:
        object.__setattr__(self, "transitions", tuple(transitions))

    def forward(self, counts: Array) -> Array:
        """Expected perturbed counts of true ones."""
        for stage in self._stages:
            counts = stage.forward(counts)
        return counts

    def adjoint(self, values: Array) -> Array:
        """The transposed map."""
        for stage in self._stages:
            values = stage.adjoint(values)
        return values

    def solve(self, counts: Array) -> Array:
        """The counts that `forward` would map to these."""
        for axis, transition in enumerate(self.transitions):
            counts = counts if transition is None else transition.solve(counts, axis)
        return counts

    def adjoint_solve(self, values: Array) -> Array:
        """The values that `adjoint` would map to these."""
        for axis, transition in enumerate(self.transitions):
            values = values if transition is None else transition.adjoint_solve(values, axis)
        return values

    def squared_solve(self, counts: Array) -> Array:
        """`solve` with every entry of the inverse squared: how the variances of counts add up."""
        for axis, transition in enumerate(self.transitions):
            counts = counts if transition is None else transition.squared_solve(counts, axis)
        return counts

    def squared_adjoint(self, values: Array) -> Array:
        """`adjoint` with every entry of the map squared: the diagonal of Aᵀ diag(values) A."""
        for axis, transition in enumerate(self.transitions):
            values = values if transition is None else transition.squared_adjoint(values, axis)
        return values

    def stacked(self) -> Operator:
        """The same map for several tables at once, one after the other on a new first axis."""
        return Operator([None, *self.transitions])

    @cached_property
    def _stages(self) -> tuple[_Block | _Axis, ...]:
        return tuple(_stages(self.transitions))

    @property
    def is_exact(self) -> bool:
        """Whether perturbed counts are the true ones."""
        return all(
            transition is None or (isinstance(transition, UniformMixture) and transition.retention == 1)
            for transition in self.transitions
        )

    def with_known_totals(self, estimate: Array, counts: Array) -> Array:
        """The estimate scaled to the totals that are known: over axes that were not perturbed, counts are true."""
        perturbed = tuple(axis for axis, transition in enumerate(self.transitions) if transition is not None)
        known, found = (table.sum(axis=perturbed, keepdims=True) for table in (counts, estimate))
        return estimate * np.divide(known, found, out=np.zeros_like(known), where=found > 0)

    def checked(self, counts: ArrayLike) -> Array:
        """The counts as an array, refused unless they are counts and fit the axes."""
        try:
            table = np.asarray(counts, dtype=float)
        except (ValueError, TypeError, OverflowError) as error:
            raise ArgumentError("counts", f"are not a table of numbers ({error})", "Count again.") from error
        if table.ndim != len(self.transitions):
            given = counted(len(self.transitions), "transition")
            raise ArgumentError("counts", f"have {counted(table.ndim, 'axis', 'axes')} but {given}", _FIT)
        for axis, transition in enumerate(self.transitions):
            if transition is not None and transition.size != table.shape[axis]:
                cells = counted(table.shape[axis], "cell")
                problem = f"have {cells} along axis {axis}, whose transition has {transition.size:,}"
                raise ArgumentError("counts", problem, _FIT)
            if isinstance(transition, UniformMixture) and transition.retention == 0:
                raise ArgumentError(
                    "counts",
                    f"were replaced entirely along axis {axis} (retention 0)",
                    "Nothing about it can be reconstructed.",
                )
        is_count = (table >= 0) & (table <= MOST)
        if not is_count.all():
            bad = table[~is_count][0].item()
            raise ArgumentError("counts", "must be finite, at most 2⁵³ and not negative", "Count again.", example=bad)
        return table


_FIT = "Count over the same cells the transitions are made for."


@dataclass(frozen=True, eq=False)
class _Axis:
    """One axis, by its own transition."""

    axis: int
    transition: Transition

    def forward(self, counts: Array) -> Array:
        return self.transition.forward(counts, self.axis)

    def adjoint(self, values: Array) -> Array:
        return self.transition.adjoint(values, self.axis)


@dataclass(frozen=True, eq=False)
class _Block:
    """A few neighbouring small axes, by one matrix."""

    first: int
    matrix: Array

    def forward(self, counts: Array) -> Array:
        return self._apply(self.matrix, counts)

    def adjoint(self, values: Array) -> Array:
        return self._apply(self.matrix.T, values)

    def _apply(self, matrix: Array, table: Array) -> Array:
        before = math.prod(table.shape[: self.first])
        after = table.size // max(before * len(matrix), 1)
        if after == 1:
            return (table.reshape(before, len(matrix)) @ matrix.T).reshape(table.shape)
        return (matrix @ table.reshape(before, len(matrix), after)).reshape(table.shape)


def _stages(transitions: Sequence[Transition | None]) -> Iterator[_Block | _Axis]:
    block: _Block | None = None
    for axis, transition in enumerate(transitions):
        size = math.inf if transition is None else transition.size
        if block is not None and len(block.matrix) * size > SMALL:
            yield block
            block = None
        if transition is None:
            continue
        if size > SMALL:
            yield _Axis(axis, transition)
        elif block is None:
            block = _Block(axis, transition.matrix)
        else:
            block = _Block(block.first, np.kron(block.matrix, transition.matrix).astype(float))
    if block is not None:
        yield block


def inverse(counts: Array, operator: Operator) -> Array:
    """A⁻¹y: unbiased, but cells may be negative."""
    return operator.solve(counts)


def simplex(counts: Array, operator: Operator) -> Array:
    """The nearest table to A⁻¹y without negative cells and with the same total."""
    return on_simplex(operator.solve(counts), counts.sum())


def on_simplex(table: Array, total: float) -> Array:
    """The nearest non-negative table with this total (Held et al. 1974): subtract one threshold, cut at zero."""
    if total == 0:
        return np.zeros_like(table)
    ordered = np.sort(table, axis=None)[::-1]
    thresholds = (np.cumsum(ordered) - total) / np.arange(1, ordered.size + 1)
    last = np.flatnonzero(ordered > thresholds)[-1]
    return np.maximum(table - thresholds[last], 0.0)


@contextmanager
def one_thread() -> Iterator[None]:
    """Have BLAS use one thread in here, and as many as before afterwards."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401 - brings a BLAS of its own, which has to be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
