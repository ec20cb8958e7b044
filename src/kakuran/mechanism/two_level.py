"""Two-level mechanisms: one of the values near the true one, each equally likely, or else any at all (maths §9).

Every value has a neighbourhood of s outputs among |Y|. With probability ρ the released value is drawn from it, else
from all outputs; so an output is e^ε times as likely for a value near it as for one that is not,

    ρ = s(e^ε − 1) / (|Y| + s(e^ε − 1)),

and a swap of two different values costs 2ε, whichever they are. Retention-replacement is the smallest case: near a
value is that value alone. Several columns as one value are another: near is what is near in all of them (`Together`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import CalibrationError, is_real
from kakuran.mechanism.base import Mechanism, chunks
from kakuran.mechanism.transition import DenseTransition, Transition, UniformMixture
from kakuran.randomness import Randomness
from kakuran.typing import Array, Codes, Edges


class Neighbourhood(ABC):
    """Which released codes are near a true one: equally many outputs for each.

    A released code may stand for several outputs, as `missing` does beside numbers that each have s of them.
    """

    kind: ClassVar[str]
    """Of the mechanism that draws from it one column at a time."""
    size: int
    """How many true codes there are."""

    @property
    @abstractmethod
    def near(self) -> int:
        """s: outputs near each true code."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """|Y|: all outputs."""

    @property
    def reach(self) -> int:
        """How many codes beyond 0 … size−1 a released one may lie."""
        return 0

    @abstractmethod
    def around(self, codes: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The released code at a place 0 … near−1 of the neighbourhood of each true one."""

    @abstractmethod
    def anywhere(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The released code at a place 0 … outputs−1 of all outputs."""

    @abstractmethod
    def holds(self, released: Codes, original: Codes) -> NDArray[np.bool_]:
        """Whether released codes are near true ones, with broadcasting."""

    def log_copies(self, released: Codes) -> Array | float:
        """The log of how many outputs each released code stands for."""
        return 0.0

    @abstractmethod
    def kernel(self, edges: Edges | None = None, released: Edges | None = None) -> Transition:
        """The transition between cells where every value is replaced by one near it."""

    @abstractmethod
    def shares(self, edges: Edges | None = None, released: Edges | None = None) -> Array:
        """The part of all outputs that lies in each cell of released codes."""

    @property
    def levels(self) -> float:
        """How many true values can be told apart at most: neighbourhoods that all outputs make up."""
        return self.outputs / self.near

    @property
    def sharpness(self) -> float:
        """How much of what tells such values apart is left where every value is replaced by one near it."""
        return 1.0

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What a manifest must hold to make it again, besides its attribute."""

    @abstractmethod
    def drawn_by(self) -> dict[str, Any]:
        """What a browser must know of it, besides how many true codes there are; raise where that is too much."""


@dataclass(frozen=True)
class Itself(Neighbourhood):
    """Near a value is that value alone: retention-replacement."""

    kind: ClassVar[str] = "retention"
    size: int

    @property
    def near(self) -> int:
        """One."""
        return 1

    @property
    def outputs(self) -> int:
        """The values."""
        return self.size

    def around(self, codes: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The true code."""
        return codes

    def anywhere(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place is the code."""
        return places

    def holds(self, released: Codes, original: Codes) -> NDArray[np.bool_]:
        """Whether they are the same."""
        return released == original

    def kernel(self, edges: Edges | None = None, released: Edges | None = None) -> Transition:
        """Nothing changes."""
        cells = np.arange(self.size + 1) if edges is None else edges
        if released is None or np.array_equal(cells, released):
            return UniformMixture(1.0, self.shares(edges))
        below = np.clip(released[:, None], cells[:-1], cells[1:]) - cells[:-1]
        return DenseTransition(np.diff(below, axis=0) / np.diff(cells))

    def shares(self, edges: Edges | None = None, released: Edges | None = None) -> Array:
        """By the widths of the cells."""
        cells = edges if released is None else released
        widths = np.ones(self.size) if cells is None else np.diff(cells).astype(float)
        return widths / self.size

    def parameters(self) -> dict[str, Any]:
        """None."""
        return {}

    def drawn_by(self) -> dict[str, Any]:
        """A shift by nothing."""
        return {"kind": "shifts", "shifts": [0]}


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
        if not self.half_width and np.array_equal(cells, outer):
            return UniformMixture(1.0, self.shares(edges, released))
        low, high = np.minimum(cells[:-1], self.points), np.minimum(cells[1:], self.points)
        ends = np.clip(outer, -self.half_width, self.missing_code)[:, None] + self.half_width
        below = (_ramp_sum(ends - low, self.near) - _ramp_sum(ends - high, self.near)) / self.near
        missing = np.outer(self._hold_missing(outer, self.missing_code), self._hold_missing(cells, self.points))
        return DenseTransition((np.diff(below, axis=0) + missing) / np.diff(cells))

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


def retention_for(epsilon: float, near: int, outputs: int) -> float:
    """ρ of the two levels whose logarithms differ by ε."""
    odds = near * math.expm1(epsilon) if epsilon < 700 else math.inf
    return 1.0 if math.isinf(odds) else odds / (odds + outputs)


def epsilon_of(retention: float, near: int, outputs: int) -> float:
    """The inverse of `retention_for`."""
    return math.inf if retention == 1 else math.log1p(outputs * retention / (near * (1 - retention)))


def check_retention(retention: float) -> None:
    """Refuse what is no probability."""
    if not is_real(retention) or not 0 <= retention <= 1:
        raise CalibrationError(f"retention must lie between 0 and 1, got {retention!r}")


class TwoLevel(Mechanism):
    """A column by itself: near the true value with probability ρ, else anywhere."""

    retention: float
    step: float | None

    @property
    @abstractmethod
    def neighbourhood(self) -> Neighbourhood:
        """What is near."""

    @property
    def reach(self) -> int:
        """That of the neighbourhood."""
        return self.neighbourhood.reach

    @property
    def epsilon(self) -> float:
        """ln(1 + |Y|ρ/(s(1−ρ)))."""
        return epsilon_of(self.retention, self.neighbourhood.near, self.neighbourhood.outputs)

    @property
    def levels(self) -> float:
        """Those of the neighbourhood."""
        return self.neighbourhood.levels

    @property
    def kept(self) -> float:
        """ρ, less what is lost near the true value."""
        return self.retention * self.neighbourhood.sharpness

    @property
    def largest_swap_cost(self) -> float:
        """2ε: the cost is the same for any two values."""
        return 2 * self.epsilon

    def swap_cost(self, a: Codes, b: Codes) -> Array:
        """2ε where the codes differ: of two neighbourhoods as large, each has an output that the other lacks."""
        return np.where(a != b, self.largest_swap_cost, 0.0)

    def swap_sums(self, counts: Array, axis: int) -> Array:
        """(1−m)·own + m·all: O(cells)."""
        factor = math.exp(-self.largest_swap_cost)
        return (1 - factor) * counts + factor * counts.sum(axis=axis, keepdims=True)

    @property
    def threshold(self) -> int:
        """The released value is near if 64 random bits make a number below this."""
        return threshold_of(self.retention)

    def sample(self, codes: Codes, randomness: Randomness) -> Codes:
        """A coin for each value, and a place in its neighbourhood or among all outputs."""
        if self.retention == 1 and self.neighbourhood.near == 1:
            return codes.copy()
        (drawn,) = draw_together([self.neighbourhood], self.retention, [codes], randomness)
        return drawn

    def log_likelihood(self, released: Codes, original: Codes) -> Array:
        """Of two values, by whether the released one is near."""
        near = self.neighbourhood
        levels = log_levels(self.retention, near.near, near.outputs)
        return levels[near.holds(released, original).astype(np.intp)] + near.log_copies(released)

    def transition(self, edges: Edges | None = None, released: Edges | None = None) -> Transition:
        """ρK + (1−ρ)b1ᵀ, where b are the parts of the outputs that the cells cover (S4 eq. 6)."""
        near = self.neighbourhood
        return near.kernel(edges, released).mixed(self.retention, near.shares(edges, released))

    def drawn_by(self) -> dict[str, Any]:
        """The threshold below which it is near, and what is near."""
        return {"size": self.size, "threshold": str(self.threshold), **self.neighbourhood.drawn_by()}


def log_levels(retention: float, near: int, outputs: int) -> Array:
    """The log-likelihood of one output: that is not near, and that is."""
    anywhere = (1 - retention) / outputs
    with np.errstate(divide="ignore"):
        return np.log([anywhere, retention / near + anywhere])


def threshold_of(retention: float) -> int:
    """Of the numbers that 64 random bits make, so many are below it."""
    return int(retention * 2.0**64)


def draw_together(
    neighbourhoods: list[Neighbourhood], retention: float, columns: list[Codes], randomness: Randomness
) -> list[Codes]:
    """One coin a record decides whether all columns are near or anywhere; 32 bits do for all but one coin in 2³²."""
    out = [np.empty_like(codes) for codes in columns]
    high, low = divmod(threshold_of(retention), 1 << 32)
    for part in chunks(len(columns[0])):
        count = part.stop - part.start
        coins = np.empty(count, np.uint32)
        randomness.fill(coins)
        is_near = coins < high
        undecided = np.flatnonzero(coins == high)
        if len(undecided):
            is_near[undecided] = randomness.below(1 << 32, len(undecided)) < low
        for near, codes, drawn in zip(neighbourhoods, columns, out, strict=True):
            places = _places(is_near, near.near, near.outputs, randomness)
            drawn[part] = np.where(is_near, near.around(codes[part].astype(np.int64), places), near.anywhere(places))
    return out


def _places(is_near: NDArray[np.bool_], near: int, outputs: int, randomness: Randomness) -> NDArray[np.int64]:
    """Uniform below the one bound or the other (multiply, shift, reject), from the same word either way."""
    words = np.empty(len(is_near), np.uint32)
    randomness.fill(words)
    products = words * np.where(is_near, np.uint64(near), np.uint64(outputs))
    halves = products.view(np.uint32).reshape(-1, 2)
    unfair = np.flatnonzero(halves[:, 0] < np.where(is_near, (1 << 32) % near, (1 << 32) % outputs))
    places = halves[:, 1].astype(np.int64)
    if len(unfair):
        places[unfair] = _places(is_near[unfair], near, outputs, randomness)
    return places
