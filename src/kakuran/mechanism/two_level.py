"""Two-level mechanisms: one of the values near the true one, each equally likely, or else any at all (maths §9).

Every value has a neighbourhood of s outputs among |Y|. With probability ρ the released value is drawn from it, else
from all outputs; so an output is e^ε times as likely for a value near it as for one that is not,

    ρ = s(e^ε − 1) / (|Y| + s(e^ε − 1)),

and a swap of two different values costs 2ε, whichever they are. Retention-replacement is the smallest case: near a
value is that value alone. Several columns as one value are another: near is what is near in all of them (`Together`).

The coin of every one of them is a whole number out of 2⁶⁴ (`threshold_of`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import CalibrationError
from kakuran.mechanism.base import CHUNK, Mechanism, Telling, chunks, mechanism_of, register
from kakuran.mechanism.transition import DenseTransition, Transition, UniformMixture
from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array, Codes, Edges, Number
from kakuran.words import Phrase


class Neighbourhood(ABC):
    """Which released codes are near a true one: equally many outputs for each.

    A released code may stand for several outputs, as `missing` does beside numbers that each have s of them.
    """

    kind: ClassVar[str]
    """Of the mechanism that draws from it alone."""
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

    def shares(self, edges: Edges | None = None, released: Edges | None = None) -> Array:
        """The part of all outputs that lies in each cell of released codes: its width, where each code is an output."""
        cells = edges if released is None else released
        widths = np.ones(self.size) if cells is None else np.diff(cells).astype(float)
        return widths / self.size

    @property
    def levels(self) -> float:
        """How many true values can be told apart at most: neighbourhoods that all outputs make up."""
        return self.outputs / self.near

    @property
    def sharpness(self) -> float:
        """How much of what tells such values apart is left where every value is replaced by one near it.

        Root mean square over all patterns among them: of c values of which s are near each, √((c−s)/(s(c−1))).
        """
        return min(math.sqrt((self.outputs / self.near - 1) / (self.levels - 1)), 1.0)

    @abstractmethod
    def alone(self, attribute: Categorical | Numeric, retention: float) -> TwoLevel:
        """The mechanism that draws from it one column at a time, near on purpose with this probability."""

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

    def alone(self, attribute: Categorical | Numeric, retention: float) -> RetentionReplacement:
        """Retention-replacement."""
        return RetentionReplacement(self.size, retention, step_of(attribute))

    def parameters(self) -> dict[str, Any]:
        """None."""
        return {}

    def drawn_by(self) -> dict[str, Any]:
        """A shift by nothing."""
        return {"kind": "shifts", "shifts": [0]}


def retention_for(epsilon: float, near: int, outputs: int) -> float:
    """ρ of the two levels whose logarithms differ by ε."""
    odds = near * math.expm1(epsilon) if epsilon < 700 else math.inf
    return 1.0 if math.isinf(odds) else odds / (odds + outputs)


def epsilon_of(retention: float, near: int, outputs: int) -> float:
    """The inverse of `retention_for`."""
    return math.inf if retention == 1 else math.log1p(outputs * retention / (near * (1 - retention)))


def check_retention(retention: float) -> None:
    """Refuse what is no probability."""
    if not isinstance(retention, Number) or not 0 <= retention <= 1:
        raise CalibrationError(Phrase("retention must lie between 0 and 1, got {retention!r}", retention=retention))


class TwoLevel(Mechanism):
    """A column by itself: near the true value with probability ρ, else anywhere."""

    goes_with_others = True
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
    def beyond(self) -> int:
        """As far as that: near the bounds half of what a number tells lies there."""
        return self.reach

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
            raise CalibrationError(Phrase("retention-replacement needs at least 2 values, got {size}", size=self.size))
        check_retention(self.retention)

    @classmethod
    def for_swap_cost(cls, size: int, swap_cost: float, step: float | None = None) -> RetentionReplacement:
        """The mechanism whose two codes can be told apart at this swap cost (maths §2): ρ = (e−1)/(e+c−1)."""
        return cls(size, retention_for(swap_cost / 2, 1, size), step)

    @classmethod
    def of(cls, attribute: Categorical | Numeric, parameters: Mapping[str, Any]) -> RetentionReplacement:
        """From ρ."""
        return cls(attribute.size, parameters["retention"], step_of(attribute))

    @classmethod
    def at_swap_cost(cls, attribute: Categorical | Numeric, swap_cost: float) -> RetentionReplacement:
        """For categories and for the grid points of a number alike."""
        return cls.for_swap_cost(attribute.size, swap_cost, step_of(attribute))

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


def step_of(attribute: Categorical | Numeric) -> float | None:
    """The distance between neighbouring values, where they have one."""
    return attribute.axis[1] if isinstance(attribute, Numeric) else None


@dataclass(frozen=True)
class Together(Telling):
    """Several columns as one value, with the whole budget (maths §10): all near the truth, or anywhere.

    Parameters
    ----------
    neighbourhoods : Mapping[str, Neighbourhood]
        What is near, column by column; near in all of them is near.
    retention : float
        ρ, the probability of being near on purpose.

    Examples
    --------
    >>> from kakuran.mechanism import Itself, Together
    >>> pair = Together.within({"job": Itself(8), "sex": Itself(2)}, epsilon=2)
    >>> round(pair.retention, 3), round(pair.epsilon, 6)
    (0.285, 2.0)
    """

    neighbourhoods: Mapping[str, Neighbourhood]
    retention: float

    def __post_init__(self) -> None:
        check_retention(self.retention)

    @classmethod
    def within(cls, neighbourhoods: Mapping[str, Neighbourhood], epsilon: float) -> Together:
        """With this ε for all columns."""
        near, outputs = _sizes(neighbourhoods)
        return cls(neighbourhoods, retention_for(epsilon, near, outputs))

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that have a neighbourhood."""
        return tuple(self.neighbourhoods)

    @property
    def epsilon(self) -> float:
        """ln(1 + |Y|ρ/(s(1−ρ)))."""
        return epsilon_of(self.retention, *_sizes(self.neighbourhoods))

    @property
    def largest_swap_cost(self) -> float:
        """2ε."""
        return 2 * self.epsilon

    @property
    def together(self) -> float:
        """ρ."""
        return self.retention

    @classmethod
    def of(cls, attributes: Mapping[str, Categorical | Numeric], fields: Mapping[str, Any]) -> Together:
        """The inverse of `parameters`."""
        retention = fields["retention"]
        neighbourhoods = {}
        for name, described in fields["columns"].items():
            alone = mechanism_of(attributes[name], described["kind"], {**described, "retention": retention})
            neighbourhoods[name] = neighbourhood_of(alone, name)
        return cls(neighbourhoods, retention)

    def parameters(self) -> dict[str, Any]:
        """What is near, column by column, and ρ."""
        columns = {name: {"kind": one.kind, **one.parameters()} for name, one in self.neighbourhoods.items()}
        return {"retention": self.retention, "columns": columns}

    def size(self, column: str) -> int:
        """That of what is near."""
        return self.neighbourhoods[column].size

    def near(self, column: str) -> Hashable:
        """What is near."""
        return self.neighbourhoods[column]

    def alone(self, attribute: Categorical | Numeric, together: float) -> Mechanism:
        """The mechanism that has the same values near."""
        return self.neighbourhoods[attribute.name].alone(attribute, together)

    def levels(self, column: str) -> float:
        """Those of what is near."""
        return self.neighbourhoods[column].levels

    def kept(self, columns: Sequence[str]) -> float:
        """ρ, however many columns, less what is lost near the true values."""
        return self.retention * math.prod(self.neighbourhoods[name].sharpness for name in columns)

    def reach(self, column: str) -> int:
        """That of what is near."""
        return self.neighbourhoods[column].reach

    def sample(self, codes: Mapping[str, Codes], randomness: Randomness) -> dict[str, Codes]:
        """One coin for all columns of a record."""
        columns = [codes[name] for name in self.neighbourhoods]
        drawn = draw_together(list(self.neighbourhoods.values()), self.retention, columns, randomness)
        return dict(zip(self.neighbourhoods, drawn, strict=True))

    @property
    def threshold(self) -> int:
        """ρ, of 2⁶⁴."""
        return threshold_of(self.retention)

    def drawn_by(self, column: str) -> dict[str, Any]:
        """What is near; the coin is that of all columns."""
        near = self.neighbourhoods[column]
        return {"size": near.size, **near.drawn_by()}

    def log_likelihood(self, released: Mapping[str, Codes], original: Mapping[str, Codes]) -> Array:
        """Of two values, by whether all columns are near."""
        is_near = np.ones((), bool)
        for name, neighbourhood in self.neighbourhoods.items():
            is_near = is_near & neighbourhood.holds(released[name], original[name])
        levels = log_levels(self.retention, *_sizes(self.neighbourhoods))
        return levels[is_near.astype(np.intp)] + self.log_copies(released)

    def log_copies(self, released: Mapping[str, Codes]) -> Array | float:
        """The sum over the columns."""
        return sum(near.log_copies(released[name]) for name, near in self.neighbourhoods.items())

    @property
    def by_chance(self) -> float:
        """(1−ρ)/|Y|."""
        return (1 - self.retention) / _sizes(self.neighbourhoods)[1]

    def log_near(self, column: str, released: Codes, original: Codes) -> Array:
        """1/s where the codes are near each other, else 0."""
        near = self.neighbourhoods[column]
        return np.where(near.holds(released, original), -math.log(near.near), -math.inf)

    def transition(self, column: str, edges: Edges | None = None, released: Edges | None = None) -> Transition:
        """The kernel of what is near."""
        return self.neighbourhoods[column].kernel(edges, released)

    def shares(self, column: str, edges: Edges | None = None, released: Edges | None = None) -> Array:
        """By its outputs."""
        return self.neighbourhoods[column].shares(edges, released)


def neighbourhood_of(mechanism: Mechanism, column: str) -> Neighbourhood:
    """What is near by a mechanism, which must be of two levels to be told together with others."""
    if not isinstance(mechanism, TwoLevel):
        raise CalibrationError(
            Phrase(
                "column {column!r}: {kind!r} cannot be told together with other columns; use retention, "
                "square-wave or subset, or tell whole records",
                column=column,
                kind=mechanism.kind,
            )
        )
    return mechanism.neighbourhood


def _sizes(neighbourhoods: Mapping[str, Neighbourhood]) -> tuple[int, int]:
    """s and |Y| of all columns as one value."""
    near, outputs = 1, 1
    for one in neighbourhoods.values():
        near, outputs = near * one.near, outputs * one.outputs
    return near, outputs
