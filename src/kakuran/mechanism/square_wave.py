"""The square wave and its best half-width: a number near the true one, or else any at all (Li et al., SIGMOD 2020).

All in whole numbers: what is near, and what a browser draws from, `Window` says; the coin and the draw are those of all
two-level mechanisms (`two_level.draw_together`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import CalibrationError
from kakuran.mechanism.base import INTERVALS, even_cells, register
from kakuran.mechanism.transition import DenseTransition, Transition, UniformMixture
from kakuran.mechanism.two_level import Neighbourhood, TwoLevel, check_retention, retention_for, step_of
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array, Codes, Edges
from kakuran.words import Phrase

_CELLS_A_HALF_WIDTH = 16
_SMALL = 1e-4
_FAR_MORE = 1.15
"""What a window among few values must keep beside none, by a rule of thumb: it keeps least of the patterns within it,
which are asked for as well."""


@dataclass(frozen=True)
class Window(Neighbourhood):
    """Near a number are those at most `half_width` steps away: the square wave (Li et al., SIGMOD 2020).

    Outputs reach as far beyond the bounds, so that there are equally many near every number. A missing number has as
    many outputs of its own, all shown as missing, whose code is the first beyond those of numbers.

    Parameters
    ----------
    points : int
        Grid points of the number.
    half_width : int
        Steps.
    may_be_missing : bool
        Whether missing is one more true code, after those of the grid points.
    """

    kind: ClassVar[str] = "square-wave"
    points: int
    half_width: int
    may_be_missing: bool = False

    @property
    def size(self) -> int:  # type: ignore[override]
        """The grid points, and one more for missing."""
        return self.points + self.may_be_missing

    @property
    def near(self) -> int:
        """2b + 1."""
        return 2 * self.half_width + 1

    @property
    def outputs(self) -> int:
        """c + 2b, and s more for missing."""
        return self._numbers + self.may_be_missing * self.near

    @property
    def _numbers(self) -> int:
        return self.points + 2 * self.half_width

    @property
    def reach(self) -> int:
        """b."""
        return self.half_width

    @property
    def missing_code(self) -> int:
        """What missing is released as."""
        return self.points + self.half_width

    def around(self, codes: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """As many steps up or down; missing stays missing."""
        moved = codes - self.half_width + places
        return np.where(codes == self.points, self.missing_code, moved) if self.may_be_missing else moved

    def anywhere(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers from the lowest up, then missing."""
        return np.minimum(places - self.half_width, self.missing_code)

    def holds(self, released: Codes, original: Codes) -> NDArray[np.bool_]:
        """Whether they are close."""
        is_close = np.abs(released - original) <= self.half_width
        if not self.may_be_missing:
            return is_close
        is_missing, was_missing = released == self.missing_code, original == self.points
        return np.where(is_missing | was_missing, is_missing & was_missing, is_close)

    def log_copies(self, released: Codes) -> Array | float:
        """Of missing, as many as are near a number."""
        return np.where(released == self.missing_code, math.log(self.near), 0.0) if self.may_be_missing else 0.0

    def kernel(self, edges: Edges | None = None, released: Edges | None = None) -> Transition:
        """Overlaps of windows with cells, in closed form."""
        cells, outer = self._edges(edges, released)
        line = int(np.count_nonzero(cells[:-1] < self.points))
        if not self.half_width and np.array_equal(cells, outer):
            return UniformMixture(1.0, self.shares(edges, released), line)
        low, high = np.minimum(cells[:-1], self.points), np.minimum(cells[1:], self.points)
        ends = np.clip(outer, -self.half_width, self.missing_code)[:, None] + self.half_width
        below = (_ramp_sum(ends - low, self.near) - _ramp_sum(ends - high, self.near)) / self.near
        missing = np.outer(self._hold_missing(outer, self.missing_code), self._hold_missing(cells, self.points))
        return DenseTransition((np.diff(below, axis=0) + missing) / np.diff(cells), line)

    def shares(self, edges: Edges | None = None, released: Edges | None = None) -> Array:
        """By the numbers in each cell; missing by what it has of its own."""
        _, outer = self._edges(edges, released)
        numbers = np.diff(np.clip(outer, -self.half_width, self.missing_code)).astype(float)
        return (numbers + self.near * self._hold_missing(outer, self.missing_code)) / self.outputs

    def _hold_missing(self, edges: NDArray[np.int64], missing: int) -> NDArray[np.bool_]:
        """Which cells hold the code of missing, if there is one."""
        return self.may_be_missing & (edges[:-1] <= missing) & (missing < edges[1:])

    def _edges(self, edges: Edges | None, released: Edges | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of the cells of true codes, and of released ones: the outermost take in what lies beyond the bounds."""
        cells = np.arange(self.size + 1) if edges is None else np.asarray(edges, np.int64)
        if released is not None:
            return cells, np.asarray(released, np.int64)
        outer = np.where(cells >= self.points, cells + self.half_width, cells)
        outer[0] = -self.half_width
        return cells, outer

    @property
    def levels(self) -> float:
        """All where they are few; of finer numbers windows, but no more than are asked for."""
        return float(self.size) if self.points <= INTERVALS else min(super().levels, INTERVALS)

    def alone(self, attribute: Categorical | Numeric, retention: float) -> SquareWave:
        """The square wave."""
        return SquareWave.on(attribute, self.half_width, retention)

    def parameters(self) -> dict[str, Any]:
        """b."""
        return {"half_width": self.half_width}

    def drawn_by(self) -> dict[str, Any]:
        """b, and whether the last code is missing."""
        return {"kind": "window", "half_width": self.half_width, "may_be_missing": self.may_be_missing}


def _ramp_sum(steps: NDArray[np.int64], height: int) -> Array:
    """Σ of min(max(i, 0), height) over all i up to `steps`."""
    rising = np.clip(steps, 0, height).astype(float)
    return rising * (rising + 1) / 2 + height * np.maximum(steps - height, 0)


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
            raise CalibrationError(Phrase("a square wave needs at least 2 values, got {points}", points=self.points))
        if type(self.half_width) is not int or not 0 <= self.half_width <= self.points:
            raise CalibrationError(
                Phrase(
                    "the half-width of a square wave is a whole number of steps from 0 to {points:,}, got "
                    "{half_width!r}",
                    points=self.points,
                    half_width=self.half_width,
                )
            )
        check_retention(self.retention)

    @classmethod
    def of(cls, attribute: Categorical | Numeric, parameters: Mapping[str, Any]) -> SquareWave:
        """From b and ρ."""
        return cls.on(attribute, parameters["half_width"], parameters["retention"])

    @classmethod
    def on(cls, attribute: Categorical | Numeric, half_width: int, retention: float) -> SquareWave:
        """Of this half-width, on the grid of a number or among ordered categories."""
        if isinstance(attribute, Categorical) and not attribute.is_line:
            raise CalibrationError(
                Phrase(
                    "column {name!r} holds categories: a square wave is for numbers; use retention, or declare "
                    "three or more of them ordered",
                    name=attribute.name,
                )
            )
        step = step_of(attribute) or 1.0
        return cls(attribute.points, half_width, retention, step, attribute.missing == "category")

    @classmethod
    def at_swap_cost(cls, attribute: Categorical | Numeric, swap_cost: float) -> SquareWave:
        """On the grid of a number or among ordered categories, of the half-width that tells most, at ε = cost/2 or
        just below."""
        widest = cls.on(attribute, 0, 0.0)
        epsilon = swap_cost / 2
        window = best_window(widest.points, epsilon, widest.may_be_missing)
        retention = retention_for(epsilon, window.near, window.outputs)
        found = cls.on(attribute, window.half_width, retention)
        while found.largest_swap_cost > swap_cost:
            retention = math.nextafter(retention, 0.0)
            found = cls.on(attribute, window.half_width, retention)
        return found

    def check_fits(self, attribute: Categorical | Numeric) -> None:
        """Its grid must be that of the number."""
        super().check_fits(attribute)
        if self != self.on(attribute, self.half_width, self.retention):
            raise CalibrationError(
                Phrase(
                    "column {name!r} has another step, or may be missing, than its square wave is made for",
                    name=attribute.name,
                )
            )

    @property
    def size(self) -> int:  # type: ignore[override]
        """The grid points, and one more for missing."""
        return self.neighbourhood.size

    @property
    def neighbourhood(self) -> Window:
        """b steps to either side."""
        return Window(self.points, self.half_width, self.may_be_missing)

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
    """The window that tells most of a number, at this ε.

    A number's neighbours are about as likely as itself, so that a window blurs little. Of few values, as bands and
    ordered categories are, each is asked for by itself: a window has to keep a good deal more than none would.
    """
    share = best_share(epsilon)
    tried = {min(max(int(share * points) + more, 0), points) for more in range(-2, 4)} | {0}
    windows = [Window(points, half_width, may_be_missing) for half_width in sorted(tried)]
    if points > INTERVALS:
        return max(windows, key=lambda window: information(window.near / window.outputs, epsilon))
    kept = [retention_for(epsilon, window.near, window.outputs) * window.sharpness for window in windows]
    best = int(np.argmax(kept))
    return windows[best if kept[best] > _FAR_MORE * kept[0] else 0]


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
