"""What every mechanism knows: how to sample, what it costs, and how counts pass through it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from kakuran.mechanism.transition import Transition
from kakuran.randomness import Randomness
from kakuran.typing import Array, Codes, Edges

CHUNK = 1 << 15
"""Values sampled at a time: small enough for all buffers to stay in cache."""


class Mechanism(ABC):
    """A random map from codes 0 … size−1 to codes, the same for every record.

    Mechanisms are immutable and picklable. `swap_cost(a, b)` is the heart of the privacy analysis: −log of
    the least factor by which the likelihood of an assignment changes when two people with codes a and b swap
    their released values.
    """

    kind: ClassVar[str]
    size: int

    @abstractmethod
    def sample(self, codes: Codes, randomness: Randomness) -> Codes:
        """Perturb a whole column."""

    @property
    def reach(self) -> int:
        """How many codes beyond 0 … size−1 a released one may lie; only noise without bounds has any."""
        return 0

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The mechanism is ε-locally differentially private for this ε."""

    @property
    @abstractmethod
    def largest_swap_cost(self) -> float:
        """The swap cost of the two most different codes."""

    @abstractmethod
    def swap_cost(self, a: Codes, b: Codes) -> Array:
        """−log m(a, b) for every pair, with broadcasting."""

    @abstractmethod
    def swap_sums(self, counts: Array, axis: int) -> Array:
        """Σ_b m(a, b)·counts[b] for every a along one axis."""

    @abstractmethod
    def log_likelihood(self, released: Codes, original: Codes) -> Array:
        """log p(released | original) for every pair, with broadcasting."""

    @abstractmethod
    def transition(self, edges: Edges | None = None) -> Transition:
        """The exact transition between cells; cell r holds the codes edges[r] … edges[r+1]−1.

        Without edges every code is a cell. Codes within a cell are taken to be equally likely.
        """

    @abstractmethod
    def variance(self) -> Array:
        """How much noise is added, code by code.

        Noise on numbers: the variance of the released number given the true one. Categories: the variance a
        record with another value adds to the unbiased estimate of a value's count.
        """

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What a manifest must hold to make the mechanism again, besides its attribute."""


def k_for(n: int, swap_cost: float) -> float:
    """The k that n people are promised who swap records at this cost or less (S1 eq. 4, maths §2)."""
    return 1 + max(n - 1, 0) * math.exp(-swap_cost)


def k_of(n: int, mechanisms: Iterable[Mechanism]) -> float:
    """The k that n people are promised whose columns these mechanisms perturb, whatever is in their table."""
    return k_for(n, sum(mechanism.largest_swap_cost for mechanism in mechanisms))


def chunks(count: int) -> Iterator[slice]:
    """Slices that cut `count` values into chunks."""
    for start in range(0, count, CHUNK):
        yield slice(start, min(start + CHUNK, count))
