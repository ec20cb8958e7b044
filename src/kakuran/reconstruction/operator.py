"""How a whole table of counts is perturbed: one transition after the other, axis by axis, never a joint matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kakuran.errors import DataError
from kakuran.mechanism import Transition, UniformMixture
from kakuran.mechanism.base import Array


@dataclass(frozen=True, eq=False)
class Operator:
    """The Kronecker product of one transition per axis; None for an axis that was not perturbed."""

    transitions: tuple[Transition | None, ...]

    def __init__(self, transitions: Sequence[Transition | None]) -> None:
        object.__setattr__(self, "transitions", tuple(transitions))

    def forward(self, counts: Array) -> Array:
        """Expected perturbed counts of true ones."""
        for axis, transition in enumerate(self.transitions):
            counts = counts if transition is None else transition.forward(counts, axis)
        return counts

    def adjoint(self, values: Array) -> Array:
        """The transposed map."""
        for axis, transition in enumerate(self.transitions):
            values = values if transition is None else transition.adjoint(values, axis)
        return values

    def solve(self, counts: Array) -> Array:
        """The counts that `forward` would map to these."""
        for axis, transition in enumerate(self.transitions):
            counts = counts if transition is None else transition.solve(counts, axis)
        return counts

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
        table = np.asarray(counts, dtype=float)
        if table.ndim != len(self.transitions):
            raise DataError("counts", f"have {table.ndim} axes but there are {len(self.transitions)} transitions", _FIT)
        for axis, transition in enumerate(self.transitions):
            if transition is not None and transition.size != table.shape[axis]:
                problem = f"axis {axis} has {table.shape[axis]} cells but its transition {transition.size}"
                raise DataError("counts", problem, _FIT)
            if isinstance(transition, UniformMixture) and transition.retention == 0:
                raise DataError(
                    "counts",
                    f"axis {axis} was replaced entirely (retention 0)",
                    "Nothing about it can be reconstructed.",
                )
        if not np.isfinite(table).all() or (table < 0).any():
            bad = table[~(np.isfinite(table) & (table >= 0))][0].item()
            raise DataError("counts", "must be finite and not negative", "Count again.", example=bad)
        return table


_FIT = "Count over the same cells the transitions are made for."
