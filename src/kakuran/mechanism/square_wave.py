"""The square wave: a number near the true one, each equally likely, or else any at all (Li et al., SIGMOD 2020)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import CalibrationError
from kakuran.mechanism.base import even_cells
from kakuran.mechanism.registry import register
from kakuran.mechanism.two_level import TwoLevel, Window, check_retention, retention_for
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array, Codes, Edges

_CELLS_A_HALF_WIDTH = 16
_SMALL = 1e-4


@register
@dataclass(frozen=True)
class SquareWave(TwoLevel):
    """With probability ρ one of the 2b + 1 grid points around the true one, else any that may be released.

    Released numbers lie up to b steps beyond the bounds, so that the true one is never given away near them. Missing
    has as many outputs of its own as a number has near it: it is released as missing, and the number keeps its order.

    Parameters
    ----------
    points : int
        Grid points of the number.
    half_width : int
        b, in steps; 0 is retention-replacement.
    retention : float
        ρ, from 0 (nothing is told) to 1 (never farther than b).
    step : float
        Distance between neighbouring points.
    may_be_missing : bool
        Whether missing is one more value.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.mechanism import SquareWave
    >>> wave = SquareWave.at_swap_cost(kk.Numeric("age", 0, 120, step=1), swap_cost=2)
    >>> wave.half_width, round(wave.retention, 3), round(wave.epsilon, 6)
    (30, 0.367, 1.0)
    """

    kind: ClassVar[str] = "square-wave"
    lumping = "neighbours"
    finest = 100
    points: int
    half_width: int
    retention: float
    step: float = 1.0
    may_be_missing: bool = False

    def __post_init__(self) -> None:
        if self.points + self.may_be_missing < 2:
            raise CalibrationError(f"a square wave needs at least 2 values, got {self.points}")
        if type(self.half_width) is not int or not 0 <= self.half_width <= self.points:
            raise CalibrationError(
                f"the half-width of a square wave is a whole number of steps from 0 to {self.points:,}, "
                f"got {self.half_width!r}"
            )
        check_retention(self.retention)

    @classmethod
    def of(cls, attribute: Categorical | Numeric, parameters: Mapping[str, Any]) -> SquareWave:
        """From b and ρ."""
        return cls._on(attribute, parameters["half_width"], parameters["retention"])

    @classmethod
    def _on(cls, attribute: Categorical | Numeric, half_width: int, retention: float) -> SquareWave:
        if isinstance(attribute, Categorical):
            raise CalibrationError(
                f"column {attribute.name!r} holds categories: a square wave is for numbers; use retention"
            )
        return cls(attribute.points, half_width, retention, attribute.step, attribute.missing == "category")

    @classmethod
    def at_swap_cost(cls, attribute: Categorical | Numeric, swap_cost: float) -> SquareWave:
        """On the grid of a number, of the half-width that tells most, at ε = cost/2 or just below."""
        widest = cls._on(attribute, 0, 0.0)
        epsilon = swap_cost / 2
        window = best_window(widest.points, epsilon, widest.may_be_missing)
        retention = retention_for(epsilon, window.near, window.outputs)
        found = cls._on(attribute, window.half_width, retention)
        while found.largest_swap_cost > swap_cost:
            retention = math.nextafter(retention, 0.0)
            found = cls._on(attribute, window.half_width, retention)
        return found

    def check_fits(self, attribute: Categorical | Numeric) -> None:
        """Its grid must be that of the number."""
        super().check_fits(attribute)
        if self != self._on(attribute, self.half_width, self.retention):
            raise CalibrationError(
                f"column {attribute.name!r} has another step, or may be missing, than its square wave is made for"
            )

    @property
    def size(self) -> int:  # type: ignore[override]
        """The grid points, and one more for missing."""
        return self.neighbourhood.size

    @property
    def neighbourhood(self) -> Window:
        """b steps to either side."""
        return Window(self.points, self.half_width, self.may_be_missing)

    @property
    def beyond(self) -> int:
        """b: near the bounds half of what a number tells lies there."""
        return self.half_width

    def released_cells(self, edges: Edges, codes: Codes) -> NDArray[np.int64]:
        """Narrow beside the window, over all numbers that were released."""
        width = max(self.half_width // _CELLS_A_HALF_WIDTH, 1)
        return even_cells(codes, width, self.neighbourhood.missing_code)

    def variance(self) -> Array:
        """Of the released number, where one is released, given the true one; missing may have been any."""
        window = self.neighbourhood
        numbers = self.points + 2 * self.half_width
        anywhere = (1 - self.retention) * numbers / window.outputs
        near = np.full(self.size, self.retention / (self.retention + anywhere))
        near[self.points :] = 0.0
        shift = np.arange(self.size) - (self.points - 1) / 2
        within, beyond = (window.near**2 - 1) / 12, (numbers**2 - 1) / 12
        return (near * within + (1 - near) * beyond + near * (1 - near) * shift**2) * self.step**2

    def parameters(self) -> dict[str, Any]:
        """b and ρ."""
        return self.neighbourhood.parameters() | {"retention": self.retention}


def best_window(points: int, epsilon: float, may_be_missing: bool = False) -> Window:
    """The window that tells most of a number, at this ε."""
    share = best_share(epsilon)
    tried = {min(max(int(share * points) + more, 0), points) for more in range(-2, 4)} | {0}
    windows = [Window(points, half_width, may_be_missing) for half_width in sorted(tried)]
    return max(windows, key=lambda window: information(window.near / window.outputs, epsilon))


def best_share(epsilon: float) -> float:
    """β: the half-width that tells most of a number anywhere in a range of 1 (Li et al. §5.3)."""
    if epsilon < _SMALL:
        return 0.5
    shrunk = math.exp(-epsilon)
    return (epsilon - 1 + shrunk) / (2 * (math.exp(epsilon) - 1 - epsilon)) if epsilon < 700 else 0.0


def information(near: float, epsilon: float) -> float:
    """How many nats one released value tells where all are equally likely and this share of them is near each."""
    if epsilon > 700:
        return -math.log(near)
    odds = near * math.expm1(epsilon)
    return epsilon * (odds + near) / (1 + odds) - math.log1p(odds)
