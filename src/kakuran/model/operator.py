"""How a whole table of counts is perturbed, axis by axis and never by a joint matrix; and on how many threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kakuran.counts import Cells
from kakuran.design import Plan
from kakuran.errors import ArgumentError, counted
from kakuran.mechanism import Mechanism, Transition
from kakuran.typing import Array

MOST = 2.0**53
"""Records that can be told from one more."""
SMALL = 64
"""Neighbouring axes with at most this many cells together are multiplied as one small matrix, which is faster."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Where the true values of a number lie: within a cell they are seldom spread evenly.

    Attributes
    ----------
    edges : NDArray
        Of narrow cells, in codes.
    shares : Array
        Of the records, in each.
    """

    edges: NDArray[np.int64]
    shares: Array

    def within(self, axis: Cells) -> tuple[NDArray[np.int64], NDArray[np.intp], Array]:
        """The edges of narrower cells, the cell of an axis that each is part of, and how likely it is there."""
        edges = np.union1d(axis.edges, self.edges)
        below = np.interp(edges, self.edges, np.append(0.0, np.cumsum(self.shares)))
        # Where next to nobody is, as good as evenly.
        likely = np.diff(below) + _NOBODY * np.diff(edges) / (edges[-1] - edges[0])
        return edges, axis.of_code[edges[:-1] - edges[0]], likely


_NOBODY = 1e-6


def transition_between(axis: Cells, mechanism: Mechanism, counted: Cells | None = None) -> Transition:
    """How a mechanism moves records between the cells of an axis, or from them to others that are counted."""
    return _between(axis, mechanism.transition, counted)


def _between(
    axis: Cells, transition: Callable[..., Transition], counted: Cells | None, known: Histogram | None = None
) -> Transition:
    others = None if counted is None or counted is axis else counted
    edges, cells, likely = (axis.edges, axis.runs, np.diff(axis.edges)) if known is None else known.within(axis)
    moved = transition(edges, None if others is None else others.edges)
    if known is None and axis.groups is None and (others is None or others.groups is None):
        return moved
    return moved.lumped(cells, likely.astype(float), None if others is None else others.runs)


def operator_of(
    plan: Plan,
    axes: Sequence[Cells],
    known: Mapping[str, Histogram],
    tells: Sequence[int] = (0,),
    counted_in: Sequence[Cells] | None = None,
) -> Operator:
    """How a table is perturbed among the records that tell one of some sets of columns, which all hold its columns.

    Whichever of these a record tells, the columns of the table are near the truth together, or anywhere; how often is
    the average over the tells. Perturbed records may be counted in cells of their own. Within a cell true values are
    spread evenly, or as is known of a number.
    """
    tellings = [(plan.tells[tell].telling, plan.tells[tell].share) for tell in tells]
    (telling, _), total = tellings[0], sum(share for _, share in tellings)
    transitions: list[Transition | None] = []
    shares: list[Array | None] = []
    for axis, cells in zip(axes, counted_in or axes, strict=True):
        is_told = axis.name in telling.columns
        moved = partial(telling.transition, axis.name)
        transitions.append(_between(axis, moved, cells, known.get(axis.name)) if is_told else None)
        parts = telling.shares(axis.name, axis.edges, None if cells is axis else cells.edges) if is_told else None
        shares.append(
            parts if parts is None or cells.groups is None else np.bincount(cells.groups, parts).astype(float)
        )
    together = sum(one.together * share for one, share in tellings) / total
    return Operator(transitions, together, shares)


@dataclass(frozen=True, eq=False)
class Operator:
    """How a table is perturbed: axis by axis, or with several columns as one value.

    Columns that are perturbed on their own make up the Kronecker product K of one transition per axis. Columns that are
    perturbed together go through K with probability ρ, all of them, and else land anywhere: ρK + (1−ρ)b1ᵀ, where b is
    the product of what each axis's cells are of all that may come out (maths §9).

    Parameters
    ----------
    transitions : Sequence[Transition | None]
        K, one an axis; None for an axis that was not perturbed.
    together : float
        ρ; 1 for columns that are perturbed on their own.
    shares : Sequence[Array | None]
        Of each axis, the parts of its outputs that its cells make up; None for an axis that was not perturbed, whose
        cells are mixed with nothing.
    """

    transitions: tuple[Transition | None, ...]
    together: float = 1.0
    shares: tuple[Array | None, ...] = ()

    def __init__(
        self, transitions: Sequence[Transition | None], together: float = 1.0, shares: Sequence[Array | None] = ()
    ) -> None:
        object.__setattr__(self, "transitions", tuple(transitions))
        object.__setattr__(self, "together", together)
        object.__setattr__(self, "shares", tuple(shares))

    def forward(self, counts: Array) -> Array:
        """Expected perturbed counts of true ones."""
        kept = counts
        for stage in self._stages:
            kept = stage.forward(kept)
        return kept if self.together == 1 else self.together * kept + (1 - self.together) * self._anywhere(counts)

    def adjoint(self, values: Array) -> Array:
        """The transposed map."""
        kept = values
        for stage in self._stages:
            kept = stage.adjoint(kept)
        return kept if self.together == 1 else self.together * kept + (1 - self.together) * self._average(values)

    def solve(self, counts: Array) -> Array:
        """The counts that `forward` would map to these: K⁻¹(y − (1−ρ)bΣy)/ρ."""
        if self.together < 1:
            counts = (counts - (1 - self.together) * self._anywhere(counts)) / self.together
        return self._unkept(counts)

    def adjoint_solve(self, values: Array) -> Array:
        """The values that `adjoint` would map to these: (I − (1−ρ)1bᵀ)K⁻ᵀv/ρ."""
        for axis, transition in enumerate(self.transitions):
            values = values if transition is None else transition.adjoint_solve(values, axis)
        return values if self.together == 1 else (values - (1 - self.together) * self._average(values)) / self.together

    def squared_solve(self, counts: Array) -> Array:
        """`solve` with every entry of the inverse squared: how the variances of counts add up."""
        squares = counts
        for axis, transition in enumerate(self.transitions):
            squares = squares if transition is None else transition.squared_solve(squares, axis)
        if self.together == 1:
            return squares
        # The entries of the inverse are those of K⁻¹, less (1−ρ)g in every column of the same group, g = K⁻¹b.
        less = (1 - self.together) * self._unkept(np.broadcast_to(self._product_of_shares(counts.ndim), counts.shape))
        total = self._summed(counts)
        return (squares - 2 * less * self._unkept(counts) + less**2 * total) / self.together**2

    def squared_adjoint(self, values: Array) -> Array:
        """`adjoint` with every entry of the map squared: the diagonal of Aᵀ diag(values) A."""
        squares = values
        for axis, transition in enumerate(self.transitions):
            squares = squares if transition is None else transition.squared_adjoint(squares, axis)
        if self.together == 1:
            return squares
        by_chance = (1 - self.together) * self._product_of_shares(values.ndim)
        crossed = by_chance * values
        for stage in self._stages:
            crossed = stage.adjoint(crossed)
        return (
            self.together**2 * squares
            + 2 * self.together * crossed
            + np.broadcast_to(self._summed(by_chance**2 * values), squares.shape)
        )

    def _unkept(self, counts: Array) -> Array:
        """K⁻¹."""
        for axis, transition in enumerate(self.transitions):
            counts = counts if transition is None else transition.solve(counts, axis)
        return counts

    def _anywhere(self, counts: Array) -> Array:
        """b1ᵀ: every total, spread over all that may come out."""
        return self._product_of_shares(counts.ndim) * self._summed(counts)

    def _average(self, values: Array) -> Array:
        """1bᵀ: the mean over all that may come out."""
        return self._summed(self._product_of_shares(values.ndim) * values)

    def _summed(self, table: Array) -> Array:
        """Over the axes that were perturbed."""
        return table.sum(axis=self.perturbed_axes, keepdims=True)

    @cached_property
    def perturbed_axes(self) -> tuple[int, ...]:
        """The axes that were perturbed."""
        return tuple(axis for axis, transition in enumerate(self.transitions) if transition is not None)

    def _product_of_shares(self, ndim: int) -> Array:
        product = np.ones((1,) * ndim)
        for axis, shares in enumerate(self.shares):
            if shares is not None:
                product = product * shares.reshape([-1 if other == axis else 1 for other in range(ndim)])
        return product

    def alone(self, axis: int) -> Transition | None:
        """How one axis by itself was perturbed."""
        return self._alone[axis]

    @cached_property
    def _alone(self) -> tuple[Transition | None, ...]:
        if self.together == 1 or not self.shares:
            return self.transitions
        return tuple(
            transition if transition is None or shares is None else transition.mixed(self.together, shares)
            for transition, shares in zip(self.transitions, self.shares, strict=True)
        )

    def along(self, axis: int, counts: Array) -> tuple[Array, Array]:
        """What true counts along one axis become, and the counts that chance adds in each slice of the other axes.

        Slices that differ by the other axes share what columns perturbed together lose: it is known, as the total is.
        """
        transition = self.transitions[axis]
        assert transition is not None  # noqa: S101
        slices = counts.size // counts.shape[axis]
        if self.together == 1 or counts.ndim == 1:
            alone = self.alone(axis)
            assert alone is not None  # noqa: S101
            return alone.matrix, np.zeros((slices, counts.shape[axis]))
        spread = np.broadcast_to((1 - self.together) * self._anywhere(counts), counts.shape)
        return self.together * transition.matrix, np.moveaxis(spread, axis, -1).reshape(slices, -1)

    def stacked(self) -> Operator:
        """The same map for several tables at once, one after the other on a new first axis."""
        return Operator([None, *self.transitions], self.together, [None, *self.shares])

    def true_shape(self, counts: Array) -> tuple[int, ...]:
        """The shape of the true table behind a perturbed one."""
        pairs = zip(self.transitions, counts.shape, strict=True)
        return tuple(size if transition is None else transition.size for transition, size in pairs)

    @cached_property
    def _stages(self) -> tuple[_Block | _Axis, ...]:
        return tuple(_stages(self.transitions))

    @property
    def is_exact(self) -> bool:
        """Whether perturbed counts are the true ones."""
        is_whole = self.together == 1 or not self.perturbed_axes
        return is_whole and all(transition is None or transition.is_identity for transition in self.transitions)

    def with_known_totals(self, estimate: Array, counts: Array) -> Array:
        """The estimate scaled to the totals that are known: over axes that were not perturbed, counts are true."""
        known, found = map(self._summed, (counts, estimate))
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
            if transition is not None and transition.outputs != table.shape[axis]:
                cells = counted(table.shape[axis], "cell")
                problem = f"have {cells} along axis {axis}, whose transition has {transition.outputs:,}"
                raise ArgumentError("counts", problem, _FIT)
            if (alone := self.alone(axis)) is not None and alone.is_forgetful:
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
    perturbed: tuple[int, ...]
    true: tuple[int, ...]

    def forward(self, counts: Array) -> Array:
        return self._apply(self.matrix, counts, self.perturbed)

    def adjoint(self, values: Array) -> Array:
        return self._apply(self.matrix.T, values, self.true)

    def then(self, transition: Transition) -> _Block:
        """One axis more."""
        matrix = np.kron(self.matrix, transition.matrix).astype(float)
        return _Block(self.first, matrix, (*self.perturbed, transition.outputs), (*self.true, transition.size))

    def _apply(self, matrix: Array, table: Array, sizes: tuple[int, ...]) -> Array:
        inputs = matrix.shape[1]
        before, after = table.shape[: self.first], table.shape[self.first + len(sizes) :]
        first, last = math.prod(before), math.prod(after)
        made = table.reshape(first, inputs) @ matrix.T if last == 1 else matrix @ table.reshape(first, inputs, last)
        return made.reshape(*before, *sizes, *after)


def _stages(transitions: Sequence[Transition | None]) -> Iterator[_Block | _Axis]:
    block: _Block | None = None
    for axis, transition in enumerate(transitions):
        size = math.inf if transition is None or transition.is_identity else transition.outputs
        if block is not None and len(block.matrix) * size > SMALL:
            yield block
            block = None
        if transition is None or transition.is_identity:
            continue
        if size > SMALL:
            yield _Axis(axis, transition)
        elif block is None:
            block = _Block(axis, transition.matrix, (transition.outputs,), (transition.size,))
        else:
            block = block.then(transition)
    if block is not None:
        yield block


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
