"""What every mechanism knows: how to sample exactly, what it costs, and how counts pass through it.

A record tells some of its columns (`Telling`): each by a mechanism of its own (`Apart`), or all as one value, which
two-level mechanisms can (`Together`). Draws from any finite distribution are exact, one 64-bit word each (Walker's
alias method, in integers).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import CalibrationError
from kakuran.mechanism.transition import Transition
from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array as Array, Codes as Codes, Edges as Edges
from kakuran.words import Phrase, so_many_values

INTERVALS = 10
"""Into how many a number is cut, at most, where somebody asks for it."""
CHUNK = 1 << 15
"""Values sampled at a time: small enough for all buffers to stay in cache."""
MOST_WEIGHTS = 1 << 13
"""Whole numbers a browser may have to load for one question: some 160 kB."""


class Mechanism(ABC):
    """A random map from codes 0 … size−1 to codes, the same for every record.

    Mechanisms are immutable and picklable. `swap_cost(a, b)` is the heart of the privacy analysis: −log of
    the least factor by which the likelihood of an assignment changes when two people with codes a and b swap
    their released values.
    """

    kind: ClassVar[str]
    """What manifests and options call it."""
    lumping: ClassVar[Literal["any", "neighbours", "none"]] = "none"
    """Which values can be counted together though nobody knows where in the lump the true ones lie: any, exactly
    (S4 eq. 6); neighbours, nearly; or none."""
    finest: ClassVar[int] = 50
    """Into how many cells a number is cut at most where neighbours are counted together: more follow the noise."""
    goes_with_others: ClassVar[bool] = False
    """Whether several columns can be told as one value with it."""
    is_ready_made: ClassVar[bool] = False
    """Whether a plan cannot set it to a share of its budget and must be given it."""
    size: int

    @classmethod
    @abstractmethod
    def of(cls, attribute: Categorical | Numeric, parameters: Mapping[str, Any]) -> Mechanism:
        """The mechanism of a column from what a manifest says of it, the inverse of `parameters`."""

    @classmethod
    def at_swap_cost(cls, attribute: Categorical | Numeric, swap_cost: float) -> Mechanism:
        """The mechanism of a column whose largest swap cost is this, from 0 to infinity; raise for other columns."""
        raise NotImplementedError

    def check_fits(self, attribute: Categorical | Numeric) -> None:
        """Raise unless this very mechanism can perturb the column."""
        if self.size != attribute.size:
            raise CalibrationError(
                Phrase(
                    "column {name!r} has {values} but its mechanism is made for {size:,}",
                    name=attribute.name,
                    values=so_many_values(attribute.size),
                    size=self.size,
                )
            )

    @abstractmethod
    def sample(self, codes: Codes, randomness: Randomness) -> Codes:
        """Perturb a whole column."""

    @property
    def reach(self) -> int:
        """How many codes beyond 0 … size−1 a released one may lie; a missing number is the last of them."""
        return 0

    @property
    def beyond(self) -> int:
        """How far beyond the bounds of a number cells of their own are worth counting released ones in."""
        return 0

    @property
    def laplace_scale(self) -> float | None:
        """φ, where Laplace noise that no bounds cut off is added to a number."""
        return None

    @property
    def outputs_per_window(self) -> float | None:
        """How many times as many outputs there are as near a value, where likelihoods have two levels only."""
        return None

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
    def transition(self, edges: Edges | None = None, released: Edges | None = None) -> Transition:
        """The exact transition between cells; cell r holds the codes edges[r] … edges[r+1]−1.

        Without edges every code is a cell. Codes within a cell are taken to be equally likely. Released codes lie in
        the same cells, the outermost taking in what lies beyond the bounds, or in cells of their own.
        """

    @property
    def levels(self) -> float:
        """How many values can be told apart at most; numbers are not asked for in more than ten intervals."""
        return float(min(self.size, INTERVALS))

    @property
    def kept(self) -> float:
        """How much is left of the true value: the root mean square of what is left of each pattern in its intervals."""
        edges = np.rint(np.linspace(0, self.size, min(self.size, INTERVALS) + 1)).astype(np.int64)
        matrix = self.transition(edges).matrix
        return math.sqrt(max((float((matrix**2).sum()) - 1) / (len(matrix) - 1), 0.0))

    def released_cells(self, edges: Edges, codes: Codes) -> NDArray[np.int64]:
        """Cells of released codes that tell all that these codes do of the true ones, which lie between `edges`."""
        return np.asarray(edges, np.int64)

    @abstractmethod
    def variance(self) -> Array:
        """How much noise is added, code by code.

        Noise on numbers: the variance of the released number given the true one. Categories: the variance a
        record with another value adds to the unbiased estimate of a value's count.
        """

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What a manifest must hold to make the mechanism again, besides its attribute."""

    def drawn_by(self) -> dict[str, Any]:
        """The whole numbers that a browser draws from, for `perturb.js`; raise where it cannot.

        No exponential is left for the browser to compute: the same random words give the same released code.
        """
        raise CalibrationError(Phrase("a browser cannot draw from a mechanism of kind {kind!r}", kind=self.kind))


def check_can_be_loaded(count: int, way_out: str) -> None:
    """Refuse to have a browser load too many numbers for one question."""
    if count > MOST_WEIGHTS:
        raise CalibrationError(
            Phrase(
                "a browser would have to load {count:,} weights for one question, more than {most:,}; {way_out}",
                count=count,
                most=MOST_WEIGHTS,
                way_out=way_out,
            )
        )


def k_for(n: int, swap_cost: float) -> float:
    """The k that n people are promised who swap records at this cost or less (S1 eq. 4, maths §2)."""
    return 1 + max(n - 1, 0) * math.exp(-swap_cost)


def even_cells(codes: Codes, width: int, end: int) -> NDArray[np.int64]:
    """Cells of so many codes each, over all that there are; none reaches beyond the end."""
    return np.minimum(np.arange(int(codes.min()), int(codes.max()) + width + 1, width), end)


def chunks(count: int) -> Iterator[slice]:
    """Slices that cut `count` values into chunks."""
    for start in range(0, count, CHUNK):
        yield slice(start, min(start + CHUNK, count))


ExactWeights: TypeAlias = NDArray[np.uint64]
TOTAL = 1 << 63
"""What the weights of one distribution add up to: an outcome of weight w has probability w / 2⁶³."""


def integer_weights(shape: NDArray[np.float64], floor: int) -> ExactWeights:
    """Weights in proportion to `shape`, at least `floor` where it is positive, adding up to 2⁶³ exactly.

    What rounding leaves over goes to the heaviest outcome (there are fewer than 2¹³ + len(shape) units of it).
    """
    weights = truncated_weights(shape, floor)
    weights[np.argmax(shape)] += np.uint64(TOTAL - int(weights.sum()))
    return weights


def truncated_weights(shape: NDArray[np.float64], floor: int) -> ExactWeights:
    """The same without what rounding leaves over, so that equal shapes have equal weights."""
    is_possible = shape > 0
    spread = TOTAL - floor * int(is_possible.sum())
    ideal = shape / shape.sum() * spread * (1 - 2.0**-50)
    return np.floor(ideal).astype(np.uint64) + np.uint64(floor) * is_possible


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Columns of equal capacity, each shared by at most two outcomes.

    The high bits of a word choose the column; the word itself, against `cut`, chooses which of the two.
    """

    bits: int
    cut: ExactWeights
    jump: NDArray[np.int64]

    @classmethod
    def build(cls, weights: ExactWeights) -> AliasTable:
        """The table of weights that add up to 2⁶³.

        Instead of Vose's one-by-one pairing: outcomes below capacity have a deficit, those above an excess;
        running totals of the two say at once who tops up whom.
        """
        bits = max(1, (len(weights) - 1).bit_length())
        capacity = np.uint64(TOTAL >> bits)
        padded = np.zeros(1 << bits, np.uint64)
        padded[: len(weights)] = weights
        is_small = padded < capacity
        small, large = np.flatnonzero(is_small), np.flatnonzero(~is_small)
        deficit = np.cumsum(capacity - padded[small])
        excess = np.cumsum(padded[large] - capacity)

        threshold = padded.copy()
        other = np.arange(1 << bits)
        if len(small):
            before = deficit - (capacity - padded[small])
            other[small] = large[np.searchsorted(excess, before, side="right")]
            overdrawn = np.where(excess > 0, deficit[np.searchsorted(deficit, excess)] - excess, np.uint64(0))
            threshold[large] = capacity - overdrawn
            other[large[:-1]] = np.where(overdrawn[:-1] > 0, large[1:], large[:-1])
        columns = np.arange(1 << bits)
        threshold[other == columns] = 0
        cut = (columns.astype(np.uint64) * capacity + threshold) << np.uint64(1)
        return cls(bits, cut, other - columns)

    def draw(self, words: ExactWeights, rows: NDArray[np.integer] | None = None) -> NDArray[np.int64]:
        """One outcome per word; from the row-th of several tables laid end to end, where rows are given."""
        columns = (words >> np.uint64(64 - self.bits)).view(np.int64)
        places = columns if rows is None else columns + (rows.astype(np.int64) << self.bits)
        moved = self.jump.take(places)
        moved *= words >= self.cut.take(places)
        moved += columns
        return moved


Registered = TypeVar("Registered", bound=type[Mechanism])

MECHANISMS: dict[str, type[Mechanism]] = {}
"""All mechanisms there are, by name."""


def register(mechanism: Registered) -> Registered:
    """Make a mechanism known by its kind: plans can then be told to use it, and releases made with it be read."""
    if mechanism.kind in MECHANISMS:
        raise CalibrationError(
            Phrase("a mechanism is called {kind!r} already; choose another kind", kind=mechanism.kind)
        )
    MECHANISMS[mechanism.kind] = mechanism
    return mechanism


def mechanism_of(attribute: Categorical | Numeric, kind: str, parameters: Mapping[str, Any]) -> Mechanism:
    """The mechanism of an attribute from what a manifest says of it."""
    if kind not in MECHANISMS:
        raise CalibrationError(Phrase("column {name!r}: unknown mechanism {kind!r}", name=attribute.name, kind=kind))
    return MECHANISMS[kind].of(attribute, parameters)


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

    @property
    def outputs_per_window(self) -> float | None:
        """How many times as many outputs there are as near a record, where likelihoods have two levels only."""
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

    @property
    def outputs_per_window(self) -> float | None:
        """That of a single column."""
        (first, *others) = self.mechanisms.values()
        return None if others else first.outputs_per_window

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
