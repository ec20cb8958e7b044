"""Noise on the grid of a number: Laplace, bounded Laplace, bounded Gaussian.

The released number is a grid point whose distance to the true one is drawn in whole steps, from weights
that are 64-bit integers. Nothing of the true number's float representation can survive, and the distribution
is known exactly: `transition`, `log_likelihood` and `variance` speak of the integer weights themselves.

Rounding cannot weaken the promise. All weights carry the same floor, which only draws likelihood ratios
towards one (a mediant); what rounding adds on top is at most `ROUNDING` in any swap cost or ε, and counted there.
See docs/decisions/integer-noise.md for the proof.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import CalibrationError, is_real
from kakuran.mechanism.base import (
    TOTAL,
    AliasTable,
    ExactWeights,
    Mechanism,
    check_can_be_loaded,
    chunks,
    even_cells,
    register,
    truncated_weights,
)
from kakuran.mechanism.transition import DenseTransition, Transition
from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array, Codes, Edges
from kakuran.words import Phrase

ROUNDING = 2.0**-20
"""What rounding to integer weights may add to a swap cost or to ε."""

CELLS_A_SCALE = 16
"""Cells of released codes to the width of the noise."""

_FLOOR_TOTAL = 1 << 45
_LARGEST_REACH = 1 << 21
_TAIL = 32.0


@dataclass(frozen=True)
class Noise(Mechanism):
    """Noise whose size depends on the distance alone, renormalised over the points that may be released.

    Parameters
    ----------
    size : int
        Number of grid points.
    step : float
        Distance between neighbouring points.
    scale : float
        φ or σ, in the units of the number; 0 adds nothing, infinity forgets the number.
    """

    lumping = "neighbours"
    size: int
    step: float
    scale: float

    def __post_init__(self) -> None:
        if self.size < 2:
            raise CalibrationError(Phrase("noise needs at least 2 grid points, got {size}", size=self.size))
        if not 0 < self.step < math.inf:
            raise CalibrationError(Phrase("the step of a grid must be above 0, got {step}", step=self.step))
        if not is_real(self.scale) or not self.scale >= 0:
            raise CalibrationError(Phrase("the scale of noise must be 0 or more, got {scale!r}", scale=self.scale))

    @classmethod
    @abstractmethod
    def for_swap_cost(cls, size: int, step: float, swap_cost: float) -> Noise:
        """The noise on a grid whose two ends can be told apart at this swap cost."""

    @classmethod
    def of(cls, attribute: Categorical | Numeric, parameters: Mapping[str, Any]) -> Noise:
        """From φ or σ."""
        if isinstance(attribute, Categorical):
            raise CalibrationError(
                Phrase("column {name!r}: {kind!r} is for numbers", name=attribute.name, kind=cls.kind)
            )
        return cls(attribute.size, attribute.axis[1], math.inf if parameters["scale"] == "inf" else parameters["scale"])

    @classmethod
    def at_swap_cost(cls, attribute: Categorical | Numeric, swap_cost: float) -> Noise:
        """On the grid of a number that is never missing."""
        if isinstance(attribute, Categorical):
            raise CalibrationError(
                Phrase(
                    "column {name!r} holds categories: {kind} noise is for numbers; use retention",
                    name=attribute.name,
                    kind=cls.kind,
                )
            )
        if attribute.missing == "category":
            raise CalibrationError(
                Phrase(
                    "column {name!r}: missing values as a category need square-wave noise, not {kind}",
                    name=attribute.name,
                    kind=cls.kind,
                )
            )
        return cls.for_swap_cost(attribute.size, attribute.axis[1], swap_cost)

    def check_fits(self, attribute: Categorical | Numeric) -> None:
        """Its grid must be that of the number."""
        super().check_fits(attribute)
        if isinstance(attribute, Categorical) or attribute.missing == "category":
            raise CalibrationError(
                Phrase(
                    "column {name!r}: {kind} noise is for numbers without missing values; use square-wave",
                    name=attribute.name,
                    kind=self.kind,
                )
            )
        if self.step != attribute.axis[1]:
            raise CalibrationError(
                Phrase(
                    "column {name!r} has a step of {step:g} but its noise is made for {made_for:g}",
                    name=attribute.name,
                    step=attribute.axis[1],
                    made_for=self.step,
                )
            )

    @property
    def span(self) -> float:
        """Distance between the bounds."""
        return (self.size - 1) * self.step

    @property
    def _rounding(self) -> float:
        """Equal weights are not rounded apart, so noise that forgets the number pays nothing."""
        return ROUNDING if math.isfinite(self.scale) else 0.0

    @property
    @abstractmethod
    def swap_rate(self) -> float:
        """Swap cost of one step between two true numbers."""

    @abstractmethod
    def _log_shape(self, distance: Array) -> Array:
        """Log-density at a distance, up to a constant."""

    @cached_property
    def weights(self) -> Array:
        """Probability weight of every distance in steps, −(size−1+reach) … size−1+reach."""
        return self.exact_weights.astype(float)

    @cached_property
    def exact_weights(self) -> ExactWeights:
        """The same as the integers that are drawn from, in units of 2⁻⁶³."""
        farthest = self.size - 1 + self.reach
        steps = np.abs(np.arange(-farthest, farthest + 1))
        if self.scale == 0:
            return truncated_weights((steps == 0).astype(float), 0)
        with np.errstate(over="ignore"):
            shape = np.exp(np.maximum(self._log_shape(steps * self.step), -700.0))
        return truncated_weights(shape, _FLOOR_TOTAL // len(steps))

    @cached_property
    def _table(self) -> AliasTable:
        # What rounding left over is one more distance, too far for any code, so it is drawn again.
        weights = self.exact_weights
        return AliasTable.build(np.append(weights, np.uint64(TOTAL - int(weights.sum()))))

    @cached_property
    def _cumulative(self) -> Array:
        return np.concatenate([[0.0], np.cumsum(self.weights)])

    def _mass_below(self, points: Any, original: Any) -> Array:
        """Weight of releasing a point below `points` given the true code."""
        farthest = self.size - 1 + self.reach
        return self._cumulative[np.clip(points - original + farthest, 0, 2 * farthest + 1)]

    @cached_property
    def _normaliser(self) -> Array:
        """γ(x): the weight of all points that may be released given x (S1 eq. 3)."""
        codes = np.arange(self.size)
        return self._mass_below(self.size + self.reach, codes) - self._mass_below(-self.reach, codes)

    @cached_property
    def _logs(self) -> tuple[Array, Array]:
        """Logs of the weights and of the normaliser."""
        with np.errstate(divide="ignore"):
            return np.log(self.weights), np.log(self._normaliser)

    @property
    def largest_swap_cost(self) -> float:
        """The swap cost between the two bounds."""
        return self.swap_rate * (self.size - 1) + self._rounding if self.scale else math.inf

    def swap_cost(self, a: Codes, b: Codes) -> Array:
        """In proportion to the distance; γ cancels."""
        distance = np.abs(a - b)
        if not self.scale:
            return np.where(distance > 0, math.inf, 0.0)
        return np.where(distance > 0, np.maximum(distance, 1) * self.swap_rate + self._rounding, 0.0)

    def swap_sums(self, counts: Array, axis: int) -> Array:
        """Two recursions along the axis: O(cells)."""
        if not self.scale:
            return counts
        from scipy.signal import lfilter

        decay = [1.0, -math.exp(-self.swap_rate)]
        upwards = lfilter([1.0], decay, counts, axis=axis)
        downwards = np.flip(lfilter([1.0], decay, np.flip(counts, axis), axis=axis), axis)
        return counts + math.exp(-self._rounding) * (upwards + downwards - 2 * counts)

    def sample(self, codes: Codes, randomness: Randomness) -> Codes:
        """Draw a distance for every value, again for those that would leave the permitted points."""
        if self.scale == 0:
            return codes.copy()
        out = np.empty_like(codes)
        for part in chunks(len(codes)):
            out[part] = self._sample_chunk(codes[part].astype(np.int64), randomness)
        return out

    def _sample_chunk(self, codes: Any, randomness: Randomness) -> Any:
        farthest = self.size - 1 + self.reach
        permitted = np.uint64(self.size + 2 * self.reach)
        codes += self.reach - farthest
        drawn = self._table.draw(randomness.words(len(codes)))
        drawn += codes
        again = np.flatnonzero(drawn.view(np.uint64) >= permitted)
        while len(again):
            retried = self._table.draw(randomness.words(len(again)))
            retried += codes[again]
            drawn[again] = retried
            again = again[retried.view(np.uint64) >= permitted]
        drawn -= self.reach
        return drawn

    def log_likelihood(self, released: Codes, original: Codes) -> Array:
        """Log weight of the distance less log γ."""
        log_weights, log_normaliser = self._logs
        return log_weights[released - original + (self.size - 1 + self.reach)] - log_normaliser[original]

    def transition(self, edges: Edges | None = None, released: Edges | None = None) -> Transition:
        """Exact sums over the grid points of both cells; the outer cells take in what lies beyond the bounds.

        With edges of their own, the cells of `released` codes may be finer, coarser or lie beyond the bounds.
        """
        edges = np.arange(self.size + 1) if edges is None else np.asarray(edges)
        if released is None:
            released = edges.copy()
            released[0], released[-1] = -self.reach, self.size + self.reach
        cells = [self._cell_distribution(released, np.arange(start, stop)) for start, stop in itertools.pairwise(edges)]
        return DenseTransition(np.column_stack(cells))

    def released_cells(self, edges: Edges, codes: Codes) -> NDArray[np.int64]:
        """Narrow beside the noise, over all that was released: what they hide of a number is nothing beside it."""
        width = max(int(self.scale / self.step / CELLS_A_SCALE), 1) if math.isfinite(self.scale) else self.size
        # Bounded noise never leaves the domain, whatever a last cell of full width would take in.
        return even_cells(codes, width, self.size + self.reach)

    def _cell_distribution(self, edges: Edges, codes: Any) -> Array:
        total = np.zeros(len(edges) - 1)
        for part in chunks(len(codes)):
            below = self._mass_below(edges[:, None], codes[part])
            total += (np.diff(below, axis=0) / self._normaliser[codes[part]]).sum(axis=1)
        return total / len(codes)

    def variance(self) -> Array:
        """Of the released number given the true one."""
        farthest = self.size - 1 + self.reach
        distance = np.arange(-farthest, farthest + 1) * self.step
        codes = np.arange(self.size)
        first, last = farthest - self.reach - codes, farthest + self.size + self.reach - codes
        moments = []
        for power in (1, 2):
            running = np.concatenate([[0.0], np.cumsum(self.weights * distance**power)])
            moments.append((running[last] - running[first]) / self._normaliser)
        return moments[1] - moments[0] ** 2

    def parameters(self) -> dict[str, Any]:
        """φ or σ."""
        return {"scale": self.scale if math.isfinite(self.scale) else "inf"}

    def drawn_by(self) -> dict[str, Any]:
        """The weights of the distances 0, 1, 2 … in steps, each the same up and down.

        What they leave of 2⁶³ is drawn again, like whatever would leave the permitted codes.
        """
        farthest = self.size - 1 + self.reach
        check_can_be_loaded(farthest + 1, Phrase("use a larger step"))
        weights = list(map(str, self.exact_weights[farthest:]))
        return {"kind": "noise", "size": self.size, "reach": self.reach, "weights": weights}

    def __getstate__(self) -> dict[str, Any]:
        # Tables are rebuilt where they are needed: they are large, and a function of these three.
        return {"size": self.size, "step": self.step, "scale": self.scale}


@register
@dataclass(frozen=True)
class BoundedLaplace(Noise):
    """p(y|x) ∝ exp(−|y−x|/φ) on the grid points between the bounds (S1 eq. 2).

    Examples
    --------
    >>> from kakuran.mechanism import BoundedLaplace
    >>> noise = BoundedLaplace(size=121, step=1, scale=30)
    >>> round(noise.epsilon, 4)
    4.0
    """

    kind: ClassVar[str] = "bounded-laplace"

    @classmethod
    def for_swap_cost(cls, size: int, step: float, swap_cost: float) -> BoundedLaplace:
        """φ = 2(b−a)/cost (maths §2)."""
        return cls(size, step, _divide(2 * (size - 1) * step, swap_cost - ROUNDING))

    @property
    def swap_rate(self) -> float:
        """2·step/φ."""
        return _divide(2 * self.step, self.scale)

    @property
    def epsilon(self) -> float:
        """(b−a)/φ; γ never makes it worse, because log γ changes by at most 1/φ a unit."""
        return _divide(self.span, self.scale) + self._rounding

    def _log_shape(self, distance: Array) -> Array:
        return -distance / self.scale


@register
@dataclass(frozen=True)
class Laplace(BoundedLaplace):
    """p(y|x) ∝ exp(−|y−x|/φ) on the grid, bounds or not.

    Released numbers may lie up to 32 φ beyond the bounds. Being cut off there costs nothing: as with bounded noise,
    the normaliser cancels in every swap.

    Examples
    --------
    >>> from kakuran.mechanism import Laplace
    >>> Laplace(size=121, step=1, scale=30).reach
    960
    """

    kind: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale * _TAIL / self.step + self.size > _LARGEST_REACH:
            raise CalibrationError(
                Phrase(
                    "Laplace noise of scale {scale:g} on a grid of step {step:g} is too fine to draw "
                    "exactly; use a step of at least {least:g}, or bounded-laplace",
                    scale=self.scale,
                    step=self.step,
                    least=_round_up(self.scale * _TAIL / (_LARGEST_REACH - self.size)),
                )
            )

    @property
    def laplace_scale(self) -> float:
        """φ."""
        return self.scale

    @property
    def reach(self) -> int:
        """32 φ, in steps."""
        return math.ceil(self.scale * _TAIL / self.step)


@register
@dataclass(frozen=True)
class BoundedGaussian(Noise):
    """p(y|x) ∝ exp(−(y−x)²/2σ²) on the grid points between the bounds.

    Examples
    --------
    >>> from kakuran.mechanism import BoundedGaussian
    >>> round(BoundedGaussian(size=121, step=1, scale=60).epsilon, 4)
    2.0
    """

    kind: ClassVar[str] = "bounded-gaussian"

    @classmethod
    def for_swap_cost(cls, size: int, step: float, swap_cost: float) -> BoundedGaussian:
        """σ = (b−a)/√cost (maths §2)."""
        return cls(size, step, _divide((size - 1) * step, math.sqrt(max(swap_cost - ROUNDING, 0.0))))

    @property
    def swap_rate(self) -> float:
        """step·(b−a)/σ²."""
        return _divide(self.step, self.scale) * _divide(self.span, self.scale)

    @property
    def epsilon(self) -> float:
        """(b−a)²/2σ²."""
        ratio = _divide(self.span, self.scale)
        return ratio * ratio / 2 + self._rounding

    def _log_shape(self, distance: Array) -> Array:
        return -0.5 * (distance / self.scale) ** 2


NOISE: Mapping[str, type[Noise]] = {kind.kind: kind for kind in (BoundedLaplace, Laplace, BoundedGaussian)}
"""The noise mechanisms by name."""


def _round_up(number: float) -> float:
    """To two digits."""
    if not math.isfinite(number):
        return number
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit) * unit


def _divide(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else math.inf
