"""Retention-replacement: keep the value with probability ρ, else draw any value of the domain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kakuran.errors import CalibrationError
from kakuran.mechanism.base import CHUNK, chunks
from kakuran.mechanism.registry import register
from kakuran.mechanism.two_level import Itself, TwoLevel, check_retention, retention_for
from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array, Codes


@register
@dataclass(frozen=True)
class RetentionReplacement(TwoLevel):
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
        check_retention(self.retention)

    @classmethod
    def for_swap_cost(cls, size: int, swap_cost: float, step: float | None = None) -> RetentionReplacement:
        """The mechanism whose two codes can be told apart at this swap cost (maths §2): ρ = (e−1)/(e+c−1)."""
        return cls(size, retention_for(swap_cost / 2, 1, size), step)

    @classmethod
    def of(cls, attribute: Categorical | Numeric, parameters: Mapping[str, Any]) -> RetentionReplacement:
        """From ρ."""
        return cls(attribute.size, parameters["retention"], _step(attribute))

    @classmethod
    def at_swap_cost(cls, attribute: Categorical | Numeric, swap_cost: float) -> RetentionReplacement:
        """For categories and for the grid points of a number alike."""
        return cls.for_swap_cost(attribute.size, swap_cost, _step(attribute))

    @property
    def neighbourhood(self) -> Itself:
        """Near a value is that value alone."""
        return Itself(self.size)

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

    def drawn_by(self) -> dict[str, Any]:
        """The threshold below which a value is kept."""
        return {"kind": "retention", "size": self.size, "threshold": str(self.threshold)}


def _step(attribute: Categorical | Numeric) -> float | None:
    return attribute.step if isinstance(attribute, Numeric) else None
