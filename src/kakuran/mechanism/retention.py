"""Retention-replacement: keep the value with probability ρ, else draw any value of the domain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kakuran.errors import CalibrationError, is_real
from kakuran.mechanism.base import CHUNK, Mechanism, chunks
from kakuran.mechanism.registry import register
from kakuran.mechanism.transition import Transition, UniformMixture
from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array, Codes, Edges


@register
@dataclass(frozen=True)
class RetentionReplacement(Mechanism):
    """p(y|x) = ρ[y=x] + (1−ρ)/c, for categories and for the grid points of a number (S1 eq. 1, S4 eq. 4).

    The replacement is drawn from all c values, the true one included; S4's text says "another value", its
    formula does not.

    Parameters
    ----------
    size : int
        Number of values c.
    retention : float
        ρ, from 0 (nothing is kept) to 1 (nothing changes).
    step : float | None
        Distance between neighbouring values when they are the grid points of a number, for `variance`.

    Examples
    --------
    >>> import math
    >>> from kakuran.mechanism import RetentionReplacement
    >>> coin = RetentionReplacement(2, 0.5)
    >>> round(math.exp(coin.epsilon), 6)
    3.0
    """

    kind: ClassVar[str] = "retention"
    lumping = "any"
    size: int
    retention: float
    step: float | None = None

    def __post_init__(self) -> None:
        if self.size < 2:
            raise CalibrationError(f"retention-replacement needs at least 2 values, got {self.size}")
        if not is_real(self.retention) or not 0 <= self.retention <= 1:
            raise CalibrationError(f"retention must lie between 0 and 1, got {self.retention!r}")

    @classmethod
    def for_swap_cost(cls, size: int, swap_cost: float, step: float | None = None) -> RetentionReplacement:
        """The mechanism whose two codes can be told apart at this swap cost (maths §2): ρ = (e−1)/(e+c−1)."""
        odds = math.expm1(swap_cost / 2) if swap_cost < 1400 else math.inf
        return cls(size, 1.0 if math.isinf(odds) else odds / (odds + size), step)

    @classmethod
    def of(cls, attribute: Categorical | Numeric, parameters: Mapping[str, Any]) -> RetentionReplacement:
        """From ρ."""
        return cls(attribute.size, parameters["retention"], _step(attribute))

    @classmethod
    def at_swap_cost(cls, attribute: Categorical | Numeric, swap_cost: float) -> RetentionReplacement:
        """For categories and for the grid points of a number alike."""
        return cls.for_swap_cost(attribute.size, swap_cost, _step(attribute))

    @property
    def epsilon(self) -> float:
        """ln((1 + (c−1)ρ)/(1−ρ))."""
        if self.retention == 1:
            return math.inf
        return math.log1p(self.size * self.retention / (1 - self.retention))

    @property
    def largest_swap_cost(self) -> float:
        """2ε: the cost is the same for any two values."""
        return 2 * self.epsilon

    def swap_cost(self, a: Codes, b: Codes) -> Array:
        """2ε where the codes differ."""
        return np.where(a != b, self.largest_swap_cost, 0.0)

    def swap_sums(self, counts: Array, axis: int) -> Array:
        """(1−m)·own + m·all: O(cells)."""
        factor = math.exp(-self.largest_swap_cost)
        return (1 - factor) * counts + factor * counts.sum(axis=axis, keepdims=True)

    @property
    def threshold(self) -> int:
        """A value is kept if 64 random bits make a number below this."""
        return int(self.retention * 2.0**64)

    def sample(self, codes: Codes, randomness: Randomness) -> Codes:
        """Keep with probability ρ (to 2⁻⁶⁴), replace without bias; 32 random bits decide all but one coin in 2³²."""
        if self.retention == 1:
            return codes.copy()
        out = np.empty_like(codes)
        coins, replacements = np.empty((2, CHUNK), np.uint32)
        products, moved = np.empty(CHUNK, np.uint64), np.empty(CHUNK, np.int32)
        halves = products.view(np.uint32).reshape(-1, 2)
        high, low = divmod(self.threshold, 1 << 32)
        unfair_below = (1 << 32) % self.size
        for part in chunks(len(codes)):
            span = part.stop - part.start
            randomness.fill(coins[:span])
            randomness.fill(replacements[:span])
            kept = coins[:span] < np.uint32(high)
            if (coins[:span] == np.uint32(high)).any():
                undecided = np.flatnonzero(coins[:span] == np.uint32(high))
                kept[undecided] = randomness.below(1 << 32, len(undecided)) < low
            products[:] = replacements
            products *= np.uint64(self.size)
            drawn = out[part]
            drawn[:] = halves[:span, 1]
            if halves[:span, 0].min() < unfair_below:
                unfair = np.flatnonzero(halves[:span, 0] < unfair_below)
                drawn[unfair] = randomness.below(self.size, len(unfair))
            # drawn + (codes − drawn)·kept selects without branches, several times faster than a masked copy.
            np.subtract(codes[part], drawn, out=moved[:span])
            moved[:span] *= kept
            drawn += moved[:span]
        return out

    def log_likelihood(self, released: Codes, original: Codes) -> Array:
        """log(ρ + (1−ρ)/c) where equal, log((1−ρ)/c) where not."""
        replaced = (1 - self.retention) / self.size
        with np.errstate(divide="ignore"):
            same, other = np.log([self.retention + replaced, replaced])
        return np.where(released == original, same, other)

    def transition(self, edges: Edges | None = None) -> Transition:
        """ρI + (1−ρ)b1ᵀ, where b are the shares of the domain the cells cover (S4 eq. 6)."""
        widths = np.ones(self.size) if edges is None else np.diff(edges).astype(float)
        return UniformMixture(self.retention, widths / self.size)

    def variance(self) -> Array:
        """For a number, of the released value; for a category, of its estimated count."""
        if self.step is None:
            hit = (1 - self.retention) / self.size
            return np.full(self.size, hit * (1 - hit) / self.retention**2 if self.retention else math.inf)
        values = np.arange(self.size) * self.step
        shift = values - values.mean()
        return (1 - self.retention) * (values.var() + self.retention * shift**2)

    def parameters(self) -> dict[str, Any]:
        """ρ."""
        return {"retention": self.retention}


def _step(attribute: Categorical | Numeric) -> float | None:
    return attribute.step if isinstance(attribute, Numeric) else None
