"""How a record tells some of its columns: each on its own, or all of them as one value."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kakuran.errors import CalibrationError
from kakuran.mechanism.base import Mechanism, mechanism_of
from kakuran.mechanism.transition import Transition
from kakuran.mechanism.two_level import (
    Neighbourhood,
    TwoLevel,
    check_retention,
    draw_together,
    epsilon_of,
    log_levels,
    retention_for,
    threshold_of,
)
from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array, Codes, Edges


class Telling(ABC):
    """Perturbs the columns that a record tells; immutable and picklable."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Which columns."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """What is told is ε-locally differentially private for this ε."""

    @property
    @abstractmethod
    def largest_swap_cost(self) -> float:
        """The swap cost of the two most different records."""

    @property
    def by_column(self) -> Mapping[str, Mechanism] | None:
        """The mechanism of every column, where each has its own."""
        return None

    @abstractmethod
    def size(self, column: str) -> int:
        """How many true codes of a column it is made for."""

    @abstractmethod
    def near(self, column: str) -> Hashable:
        """What is near in a column: the same in all tells of a plan."""

    @abstractmethod
    def alone(self, attribute: Categorical | Numeric, together: float) -> Mechanism:
        """How a column by itself is perturbed, if what is near stays so with this probability."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What a manifest must hold to make it again."""

    @property
    def together(self) -> float:
        """The probability that columns which are perturbed as one value are all near it; 1 for columns on their own."""
        return 1.0

    @abstractmethod
    def levels(self, column: str) -> float:
        """How many values of a column can be told apart at most."""

    @abstractmethod
    def kept(self, columns: Sequence[str]) -> float:
        """How much is left of what some columns have in common: 1 is all of it."""

    @abstractmethod
    def reach(self, column: str) -> int:
        """How many codes beyond its domain a released value may lie."""

    @abstractmethod
    def sample(self, codes: Mapping[str, Codes], randomness: Randomness) -> dict[str, Codes]:
        """Perturb the columns of some records."""

    @property
    def threshold(self) -> int | None:
        """All columns are near if 64 random bits make a number below this; None for columns on their own."""
        return None

    @abstractmethod
    def drawn_by(self, column: str) -> dict[str, Any]:
        """What a browser must know of a column to perturb it; raise where that is too much."""

    @abstractmethod
    def log_likelihood(self, released: Mapping[str, Codes], original: Mapping[str, Codes]) -> Array:
        """log p(released | original) for every pair, with broadcasting."""

    @property
    def by_chance(self) -> float:
        """The likelihood of anything, whoever tells it: p(released | original) = by_chance + together·Π near."""
        return 0.0

    def log_copies(self, released: Mapping[str, Codes]) -> Array | float:
        """The log of how many outputs each released record stands for: a factor of all that is said of it here."""
        return 0.0

    @abstractmethod
    def log_near(self, column: str, released: Codes, original: Codes) -> Array:
        """What a column adds to log Π near, where what is told is near the truth; with broadcasting."""

    @abstractmethod
    def transition(self, column: str, edges: Edges | None = None, released: Edges | None = None) -> Transition:
        """Between the cells of a column, where what is told is near the truth."""

    @abstractmethod
    def shares(self, column: str, edges: Edges | None = None, released: Edges | None = None) -> Array | None:
        """The part of all outputs in each cell of a column, where columns are perturbed as one value."""


@dataclass(frozen=True)
class Apart(Telling):
    """Every column by a mechanism of its own, as the papers have it."""

    mechanisms: Mapping[str, Mechanism]

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that have a mechanism."""
        return tuple(self.mechanisms)

    @property
    def epsilon(self) -> float:
        """The sum over the columns."""
        return sum(mechanism.epsilon for mechanism in self.mechanisms.values())

    @property
    def largest_swap_cost(self) -> float:
        """The sum over the columns."""
        return sum(mechanism.largest_swap_cost for mechanism in self.mechanisms.values())

    @property
    def by_column(self) -> Mapping[str, Mechanism]:
        """All of them."""
        return self.mechanisms

    def size(self, column: str) -> int:
        """That of its mechanism."""
        return self.mechanisms[column].size

    def near(self, column: str) -> Hashable:
        """The mechanism's kind."""
        return self.mechanisms[column].kind

    def alone(self, attribute: Categorical | Numeric, together: float) -> Mechanism:
        """Its mechanism."""
        return self.mechanisms[attribute.name]

    def parameters(self) -> dict[str, Any]:
        """The mechanism of every column."""
        return {"columns": {name: {"kind": one.kind, **one.parameters()} for name, one in self.mechanisms.items()}}

    def levels(self, column: str) -> float:
        """Those of its mechanism."""
        return self.mechanisms[column].levels

    def kept(self, columns: Sequence[str]) -> float:
        """The product over the columns."""
        return math.prod(self.mechanisms[name].kept for name in columns)

    def reach(self, column: str) -> int:
        """That of its mechanism."""
        return self.mechanisms[column].reach

    def sample(self, codes: Mapping[str, Codes], randomness: Randomness) -> dict[str, Codes]:
        """Column by column."""
        return {name: one.sample(codes[name], randomness) for name, one in self.mechanisms.items()}

    def drawn_by(self, column: str) -> dict[str, Any]:
        """All of its mechanism."""
        return self.mechanisms[column].drawn_by()

    def log_likelihood(self, released: Mapping[str, Codes], original: Mapping[str, Codes]) -> Array:
        """The sum over the columns."""
        total: Array = np.zeros(())
        for name, mechanism in self.mechanisms.items():
            total = total + mechanism.log_likelihood(released[name], original[name])
        return total

    def log_near(self, column: str, released: Codes, original: Codes) -> Array:
        """The likelihood by its mechanism."""
        return self.mechanisms[column].log_likelihood(released, original)

    def transition(self, column: str, edges: Edges | None = None, released: Edges | None = None) -> Transition:
        """That of its mechanism."""
        return self.mechanisms[column].transition(edges, released)

    def shares(self, column: str, edges: Edges | None = None, released: Edges | None = None) -> None:
        """None: a column that is not told truly goes its own way."""
        return


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
        near = self.neighbourhoods[attribute.name]
        return mechanism_of(attribute, near.kind, {**near.parameters(), "retention": together})

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
            f"column {column!r}: {mechanism.kind!r} cannot be told together with other columns; "
            "use retention, square-wave or subset, or tell whole records"
        )
    return mechanism.neighbourhood


def _sizes(neighbourhoods: Mapping[str, Neighbourhood]) -> tuple[int, int]:
    """s and |Y| of all columns as one value."""
    near, outputs = 1, 1
    for one in neighbourhoods.values():
        near, outputs = near * one.near, outputs * one.outputs
    return near, outputs
