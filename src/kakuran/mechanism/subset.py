"""Subset selection for categories of many values: what is released names a set of values that likely has the true one.

Ye and Barg (2018) release a random set of w values. Here one code does: released code y stands for the values y − m,
m in a public set S of shifts, counting around the circle of codes, so a release has the same columns as the table.
Where all waves of S are as high, |Ŝ(f)| the same for all f ≠ 0 as a difference set has it, nothing is lost by that;
`spread_out` finds an S nearly so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import CalibrationError
from kakuran.mechanism.base import Mechanism, check_can_be_loaded, register
from kakuran.mechanism.transition import CirculantTransition, Transition
from kakuran.mechanism.two_level import Neighbourhood, RetentionReplacement, TwoLevel, check_retention, retention_for
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array, Codes, Edges
from kakuran.words import Phrase


@dataclass(frozen=True)
class Shifts(Neighbourhood):
    """Near a value are the codes some public numbers of places on, around in a circle.

    Parameters
    ----------
    size : int
        Number of values.
    shifts : tuple[int, ...]
        How many places on.
    """

    kind: ClassVar[str] = "subset"
    size: int
    shifts: tuple[int, ...]

    @property
    def near(self) -> int:
        """As many as there are shifts."""
        return len(self.shifts)

    @property
    def outputs(self) -> int:
        """The values."""
        return self.size

    @cached_property
    def is_shift(self) -> NDArray[np.bool_]:
        """Of every number of places, whether it is a shift."""
        is_shift = np.zeros(self.size, bool)
        is_shift[list(self.shifts)] = True
        return is_shift

    def around(self, codes: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place says which shift; where there are fewer than that, the code is not used."""
        return (codes + np.array(self.shifts)[places % self.near]) % self.size

    def anywhere(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place is the code."""
        return places

    def holds(self, released: Codes, original: Codes) -> NDArray[np.bool_]:
        """Whether one of the shifts lies between them."""
        return self.is_shift[np.subtract(released, original) % self.size]

    def kernel(self, edges: Edges | None = None, released: Edges | None = None) -> Transition:
        """Around the circle where every value is a cell."""
        circle = CirculantTransition(self.is_shift / self.near)
        if released is None and (edges is None or len(edges) > self.size):
            return circle
        every = np.arange(self.size + 1)
        outputs = None if released is None else _cell_of(released)
        return circle.lumped(_cell_of(every if edges is None else edges), np.ones(self.size), outputs)

    @property
    def levels(self) -> float:
        """All values."""
        return float(self.size)

    def alone(self, attribute: Categorical | Numeric, retention: float) -> SubsetSelection:
        """Subset selection."""
        return SubsetSelection(self.size, retention, self.shifts)

    def parameters(self) -> dict[str, Any]:
        """The shifts."""
        return {"shifts": list(self.shifts)}

    def drawn_by(self) -> dict[str, Any]:
        """The shifts."""
        check_can_be_loaded(self.near, Phrase("use fewer values"))
        return {"kind": "shifts", **self.parameters()}


def _cell_of(edges: Edges) -> NDArray[np.intp]:
    return np.repeat(np.arange(len(edges) - 1), np.diff(edges))


@register
@dataclass(frozen=True)
class SubsetSelection(TwoLevel):
    """The number of a set of values: one that has the true value with probability ρ, else any.

    A set of one value is retention-replacement.

    Parameters
    ----------
    size : int
        Number of values c.
    retention : float
        ρ, from 0 to 1.
    shifts : Sequence[int]
        The public set S: released code y stands for the values y − m, m in S, around the circle of codes.

    Examples
    --------
    >>> from kakuran.mechanism import SubsetSelection
    >>> seven = SubsetSelection(7, 0.5, [0, 1, 3])
    >>> seven.neighbourhood.holds(3, range(7)).tolist()
    [True, False, True, True, False, False, False]
    """

    kind: ClassVar[str] = "subset"
    size: int
    retention: float
    shifts: Sequence[int]
    step = None

    def __post_init__(self) -> None:
        check_retention(self.retention)
        object.__setattr__(self, "shifts", tuple(self.shifts))
        if not 1 <= len(self.shifts) < self.size:
            raise CalibrationError(
                Phrase(
                    "subset selection among {size:,} values needs 1 to {most:,} shifts, got {count:,}",
                    size=self.size,
                    most=self.size - 1,
                    count=len(self.shifts),
                )
            )
        for shift in self.shifts:
            if type(shift) is not int or not 0 <= shift < self.size:
                raise CalibrationError(
                    Phrase(
                        "the shifts of a subset must be whole numbers from 0 to {most:,}, got {shift!r}",
                        most=self.size - 1,
                        shift=shift,
                    )
                )
        if len(set(self.shifts)) < len(self.shifts):
            raise CalibrationError(
                Phrase("the shifts of a subset must differ, got {shifts!r}", shifts=list(self.shifts))
            )

    @classmethod
    def for_swap_cost(cls, size: int, swap_cost: float, near: int) -> SubsetSelection:
        """With sets of so many values whose codes can be told apart at this swap cost."""
        return cls(size, retention_for(swap_cost / 2, near, size), spread_out(size, near))

    @classmethod
    def of(cls, attribute: Categorical | Numeric, parameters: Mapping[str, Any]) -> SubsetSelection:
        """From ρ and the shifts."""
        _check_is_category(attribute)
        return cls(attribute.size, parameters["retention"], parameters["shifts"])

    @classmethod
    def at_swap_cost(cls, attribute: Categorical | Numeric, swap_cost: float) -> Mechanism:
        """With sets as large as is best; of one value, and so retention-replacement, where larger ones hardly help.

        Sets of c/(e^ε + 1) values would lose least if all were possible (Ye and Barg); the waves of larger ones are
        flatter.
        """
        _check_is_category(attribute)
        alone = RetentionReplacement.at_swap_cost(attribute, swap_cost)
        best: Mechanism = alone
        least = _WORTH * alone.variance()[0]
        near = round(attribute.size / (math.exp(min(swap_cost / 2, 700.0)) + 1))
        for many in (near, 3 * near // 2):
            if 1 < many < attribute.size:
                sets = cls.for_swap_cost(attribute.size, swap_cost, many)
                if sets.variance()[0] < least:
                    best, least = sets, sets.variance()[0]
        return best

    @cached_property
    def neighbourhood(self) -> Shifts:
        """The sets that have a value."""
        return Shifts(self.size, tuple(self.shifts))

    def variance(self) -> Array:
        """Of the estimated count, the same for every value: that of the inverse of moving around the circle."""
        shifts = self.neighbourhood
        moves = self.retention * shifts.is_shift / shifts.near + (1 - self.retention) / self.size
        waves = np.fft.rfft(moves)
        if (moves == moves[0]).all() or not np.abs(waves).min() > 0:
            return np.full(self.size, math.inf)
        back = np.fft.irfft(1 / waves, self.size) ** 2
        of_the_value_itself = moves @ np.roll(back[::-1], 1)
        return np.full(self.size, (back.sum() - of_the_value_itself) / (self.size - 1))

    def parameters(self) -> dict[str, Any]:
        """ρ and the shifts."""
        return {"retention": self.retention, **self.neighbourhood.parameters()}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.size, self.retention, self.shifts)


def _check_is_category(attribute: Categorical | Numeric) -> None:
    if not isinstance(attribute, Categorical):
        raise CalibrationError(
            Phrase("column {name!r}: 'subset' is for categories; choose another for a number", name=attribute.name)
        )


_WORTH = 0.8
"""The part of retention's variance that sets have to do with: their values cannot be lumped before counting."""
_SWAPS = 600
"""Of one member for another, in the search for a set; of very many values fewer, so that it stays short."""
_WORK = 300_000
_TRIED = 6
"""Members to give up and to take in that are tried at every swap."""
_REST = 2
"""Swaps that a member has rest for once it was moved."""


@lru_cache(maxsize=256)
def spread_out(size: int, near: int) -> tuple[int, ...]:
    """So many of the codes 0 … size−1, 0 one of them, that have nearly flat waves; the same for the same numbers.

    What counts is Σ 1/|Ŝ(f)|² over f ≠ 0, the variance of estimates. Starting from a chirp, whose waves are roughly
    even, the best of a few swaps is made again and again, also where it is for the worse, and the best set kept. Which
    swaps are promising the gradient says, for all members at once.

    Examples
    --------
    >>> from kakuran.mechanism.subset import spread_out
    >>> spread_out(7, 3)
    (0, 1, 5)
    """
    members = np.argsort(math.sqrt(0.5) * np.arange(size) ** 2 % 1, kind="stable")[:near]
    is_member, moved_at = np.zeros(size, bool), np.full(size, -size)
    is_member[members] = True
    frequencies = np.arange(size // 2 + 1)
    times = np.where((frequencies == 0) | (2 * frequencies == size), 1.0, 2.0)
    times[0] = 0.0
    roots = np.exp(-2j * np.pi / size * np.arange(size))
    waves = np.fft.rfft(is_member)
    least, best = math.inf, is_member
    for swap in range(max(1, min(_SWAPS, _WORK // size))):
        slope = np.fft.irfft(waves / np.maximum(np.abs(waves) ** 2, 1e-3 * near) ** 2, size)
        rested = moved_at < swap - _REST
        leaving, coming = np.flatnonzero(is_member & rested), np.flatnonzero(~is_member & rested)
        if not len(leaving) or not len(coming):
            break
        leaving = leaving[np.argsort(slope[leaving], kind="stable")[:_TRIED]]
        coming = coming[np.argsort(-slope[coming], kind="stable")[:_TRIED]]
        left, come = (roots[np.outer(codes, frequencies) % size] for codes in (leaving, coming))
        tried = waves + come[:, None] - left
        losses = (times / np.maximum(np.abs(tried) ** 2, 1e-9)).sum(axis=2)
        come_at, left_at = np.unravel_index(np.argmin(losses), losses.shape)
        waves, is_member = tried[come_at, left_at], is_member.copy()
        moved = [coming[come_at], leaving[left_at]]
        is_member[moved], moved_at[moved] = [True, False], swap
        if losses[come_at, left_at] < least:
            least, best = losses[come_at, left_at], is_member
    found = np.flatnonzero(best)
    return tuple((found - found[0]).tolist())
