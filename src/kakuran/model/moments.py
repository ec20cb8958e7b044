"""Moments of the true records, straight from the counts of perturbed ones (maths §12).

The mean of any function g of a record has an unbiased estimate that is linear in the counts: the mean of h over the
perturbed records, where Aᵀh = g. Products of functions of single columns have products of such h, so no table is ever
inverted as a whole. Every tell says something: of the columns it holds, and so of the margins of any table. What tells
say of the same moment is weighed by how sure each is, with variances from the counts that a fitted table leads one to
expect, so that a cell nobody is counted in is not taken to be certain.

Where a pair of columns has many cells and few records kept their values, such an estimate is all noise: h is largest in
the corners, where hardly anybody truly is. Smooth tables need not be estimated cell by cell. There the shares of two
columns are f₁f₂(1 + Σ λ_ij P_i P_j), with P orthonormal under the margins, and λ is found from the counts by weighted
least squares, h = WX(XᵀWX + Λ)⁻¹ with W one over the variances that independent columns would have: those that were
found would draw λ to nothing. Λ⁻¹ says how large each λ may well be; it is too weak to count as bias.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import TypeAlias

import numpy as np

from kakuran.counts import distinct_rows
from kakuran.mechanism import Transition
from kakuran.model.intervals import About
from kakuran.model.operator import Operator
from kakuran.model.reconstruction import em_step, uniform
from kakuran.typing import Array, Indices

Moment: TypeAlias = tuple[int, ...]
"""The mean of a product: of every column the place of one of its functions, the first of which is 1."""

MOST_FITTED = 1 << 18
"""Cells of a table that is fitted to know what to expect of it; a larger one is taken as it was counted."""
_STEPS = 30
_SMALLEST = 1e-10
"""What is left of a pattern, at least, for the perturbation not to have lost it."""
_AT_ONCE = 1 << 22
DEGREES = 6
"""Patterns of a number's cells, beside what is asked of them, up to which smooth tables are made."""
DECAY = 0.6
"""How large the part of a pattern in a smooth table may be beside that of the pattern one degree lower."""
_POSSIBLE = 0.02
"""Of the records, those that are taken to lie anywhere, so that patterns stay bounded where nobody seems to be."""
_DEPENDENT = 1e-6
_MARGIN_STEPS = 100


@dataclass(frozen=True, eq=False)
class ToldCells:
    """The perturbed records of one tell, cell by cell.

    Attributes
    ----------
    axes : tuple[int, ...]
        The columns it holds, of those that are asked about.
    places : tuple[Indices, ...]
        The cell along each of them.
    counts : Array
        How many records are there.
    operator : Operator
        How they were perturbed.
    shape : tuple[int, ...]
        Of the table of which these are some cells.
    squares : Array | None
        Of records with weights: the sum of the squares of these, where `counts` is that of the weights themselves. Both
        add up to as many records as would tell as much if all weighed the same (Kish's effective number).
    """

    axes: tuple[int, ...]
    places: tuple[Indices, ...]
    counts: Array
    operator: Operator
    shape: tuple[int, ...]
    squares: Array | None = None

    @classmethod
    def weighed(
        cls,
        axes: tuple[int, ...],
        places: tuple[Indices, ...],
        counts: Array,
        weights: Array,
        operator: Operator,
        shape: tuple[int, ...],
    ) -> ToldCells:
        """Of records that weigh differently; cells may come up more than once.

        What was counted times weights is what would be seen, on average, of true records times the same weights: how a
        record is perturbed does not depend on its weight.
        """
        kish = effective(counts, weights)
        found = distinct_rows(places, counts * kish)
        squares = np.bincount(found.place, counts * kish**2, len(found.counts)).astype(float)
        return cls(axes, tuple(found.columns), found.counts.astype(float), operator, shape, squares)

    @property
    def n(self) -> float:
        """How many records."""
        return float(self.counts.sum())

    def all_cells(self) -> ToldCells:
        """The same with the cells that nobody is in."""

        def everywhere(some: Array) -> Array:
            found = np.zeros(self.shape)
            found[self.places] = some
            return found.ravel()

        places = tuple(np.indices(self.shape).reshape(len(self.shape), -1))
        squares = None if self.squares is None else everywhere(self.squares)
        return replace(self, places=places, counts=everywhere(self.counts), squares=squares)


def effective(counts: Array, weights: Array) -> Array:
    """Weights such that records of them add up to Kish's effective number, (Σw)²/Σw², and so do their squares.

    Examples
    --------
    >>> import numpy as np
    >>> from kakuran.model import effective
    >>> effective(np.array([10.0, 10.0]), np.array([1.0, 2.0])).tolist()
    [0.6, 1.2]
    """
    squares = float(counts @ weights**2)
    return np.asarray(weights * (float(counts @ weights) / squares if squares else 1.0))


@dataclass(frozen=True, eq=False)
class TrueMoments:
    """Estimated moments of the true records.

    Attributes
    ----------
    names : tuple[Moment, ...]
        Which.
    values : Array
        Their estimates.
    covariance : Array
        Of the estimates, for the population that the records were drawn from.
    spread : Array | None
        The covariance of what one true record adds to each; None where no tell holds all columns.
    n : int
        How many records there are in all.
    """

    names: tuple[Moment, ...]
    values: Array
    covariance: Array
    spread: Array | None
    n: int

    def covariance_of(self, slopes: Array, about: About) -> Array:
        """Of what changes with the moments by these slopes, a row each.

        About the table itself the perturbation alone leaves one unsure, and who tells what; tells are drawn without
        putting back, so what the records would vary by in any draw from a population goes off the variance.
        """
        found = self.covariance
        if about == "table" and self.spread is not None:
            found = found - self.spread / self.n
        return slopes @ found @ slopes.T


def moments_of(
    told: Sequence[ToldCells],
    functions: Sequence[Array],
    n: int,
    *,
    order: int | None = None,
    kept: Sequence[int] = (),
    smooth: bool = False,
) -> TrueMoments:
    """The moments of products of functions of columns, from all tells that hold some of the columns.

    Parameters
    ----------
    told : Sequence[ToldCells]
        What was counted, tell by tell.
    functions : Sequence[Array]
        Of every column, functions × true cells; the first is 1 everywhere.
    n : int
        How many records there are in all.
    order : int | None
        The most columns in a product; any number without it.
    kept : Sequence[int]
        Columns that are not perturbed, so that every record tells their moments.
    smooth : bool
        Whether tables of numbers are smooth, which leaves far less noise in what two columns have in common.
    """
    known, told = _Known(), [one for one in told if one.n]
    patterns = _Patterns(told, functions) if smooth else None
    says = [
        _Says.smooth(one, functions, patterns)
        if patterns is not None and patterns.fit(one)
        else _Says.of(one, functions, order, known)
        for one in told
    ]
    names = tuple(dict.fromkeys(name for one in says for name in one.names))
    place = {name: number for number, name in enumerate(names)}
    precision, weighted = np.zeros((len(names), len(names))), np.zeros(len(names))
    for one in says:
        here = np.array([place[name] for name in one.names])
        weights = np.linalg.pinv(one.covariance, rcond=_SMALLEST, hermitian=True)
        precision[np.ix_(here, here)] += weights
        weighted[here] += weights @ one.values
    covariance = np.asarray(np.linalg.pinv(precision, rcond=_SMALLEST, hermitian=True), float)
    found = TrueMoments(names, covariance @ weighted, covariance, _spread(says, names, len(functions)), n)
    return _calibrated(found, says, kept) if kept and len(says) > 1 else found


@dataclass(frozen=True, eq=False)
class _Says:
    """What one tell says of moments."""

    names: tuple[Moment, ...]
    values: Array
    covariance: Array
    spread: Array | None
    n: float
    axes: tuple[int, ...]

    @classmethod
    def of(cls, told: ToldCells, functions: Sequence[Array], order: int | None, known: _Known) -> _Says:
        chosen = list(_chosen([len(functions[axis]) for axis in told.axes], order))
        asked = [functions[axis] for axis in told.axes]
        fitted, expected, squares = None, told.counts, told.squares
        if math.prod(told.shape) <= MOST_FITTED:
            told = told.all_cells()
            fitted, expected = _expected(told, told.counts)
            squares = None if told.squares is None else _expected(told, told.squares)[1]
        pulls = _Pulls.of(told, asked, chosen, known)
        names = tuple(_named(some, told.axes, len(functions)) for some in chosen)
        covariance = pulls.covariance(expected, squares) / told.n
        true = None if fitted is None else _Pulls.plain(fitted.shape, asked, chosen).covariance(fitted.ravel())
        return cls(names, pulls.mean(told.counts), covariance, true, told.n, told.axes)

    @classmethod
    def smooth(cls, told: ToldCells, functions: Sequence[Array], patterns: _Patterns) -> _Says:
        """What it says if its table is smooth: of one column or two."""
        chosen = list(_chosen([len(functions[axis]) for axis in told.axes], None))
        names = tuple(_named(some, told.axes, len(functions)) for some in chosen)
        parts, covariance = patterns.parts(told.all_cells())
        means = _crossed([patterns[axis].means for axis in told.axes])[1:]
        values, slopes = means[:, 0] + means[:, 1:] @ parts, means[:, 1:]
        return cls(names, values, slopes @ covariance @ slopes.T, None, told.n, told.axes)


@dataclass(frozen=True, eq=False)
class _Pattern:
    """Along one column, what a smooth table is made of: its margin, and what is added to it.

    Attributes
    ----------
    tables : Array
        Patterns × cells; the first is the margin, the others add up to nothing.
    means : Array
        Functions × patterns: what each pattern adds to the mean of every function.
    sizes : Array
        How large the part of each pattern may well be.
    is_coarse : bool
        Whether the functions that are asked for tell every cell apart.
    """

    tables: Array
    means: Array
    sizes: Array
    is_coarse: bool

    @classmethod
    def of(cls, margin: Array, functions: Array) -> _Pattern:
        cells, weights = len(margin), (1 - _POSSIBLE) * margin + _POSSIBLE / len(margin)
        is_coarse = np.linalg.matrix_rank(functions) == cells
        places = np.linspace(-1.0, 1.0, cells)
        more = [] if is_coarse else [places**degree for degree in range(1, DEGREES + 1)]
        made = _orthonormal(np.vstack([functions, *more]), weights)
        tables = np.vstack([margin, weights * made[1:]])
        degrees = np.zeros(len(made)) if is_coarse else np.arange(len(made)) - 1
        return cls(tables, functions @ tables.T, np.append(1.0, DECAY ** degrees[1:]), is_coarse)


def _orthonormal(functions: Array, weights: Array) -> Array:
    """Those of functions, one after the other, that are no sum of those before, made orthonormal."""
    found: list[Array] = []
    for one in functions:
        left = one
        for _ in range(2):
            for other in found:
                left = left - weights @ (left * other) * other
        size = math.sqrt(weights @ left**2)
        if size > _DEPENDENT * math.sqrt(weights @ one**2):
            found.append(left / size)
    return np.array(found)


class _Patterns(dict[int, _Pattern]):
    """Those of all columns, with the margins that all tells together make likely."""

    def __init__(self, told: Sequence[ToldCells], functions: Sequence[Array]) -> None:
        for axis, some in enumerate(functions):
            self[axis] = _Pattern.of(_margin(told, axis), some)

    def fit(self, told: ToldCells) -> bool:
        """Whether a tell is about two columns at most, and one of them is a number."""
        is_small = len(told.axes) <= 2 and math.prod(told.shape) <= MOST_FITTED
        return is_small and not all(self[axis].is_coarse for axis in told.axes)

    def parts(self, told: ToldCells) -> tuple[Array, Array]:
        """How much there is of every product of patterns, and the covariance of what chance makes of it."""
        tables = reduce(_products, (self[axis].tables for axis in told.axes))
        sizes = _crossed([self[axis].sizes for axis in told.axes])[1:]
        seen = told.operator.stacked().forward(tables).reshape(len(tables), -1)
        expected, moved, shares = seen[0], seen[1:], told.counts / told.n
        weighed = moved * (told.n / np.maximum(expected, _SMALLEST))
        drawn = np.linalg.inv(weighed @ moved.T + np.diag(sizes**-2))
        parts = drawn @ (weighed @ (shares - expected))
        likely = np.maximum(expected + parts @ moved, 0.0)
        pulls, squares = drawn @ weighed, likely if told.squares is None else told.squares / told.n
        crossed = np.outer(pulls @ squares, pulls @ likely)
        mean = pulls @ likely
        return parts, ((pulls * squares) @ pulls.T - crossed - crossed.T + np.outer(mean, mean)) / told.n


def _crossed(some: Sequence[Array]) -> Array:
    """Everything along one column times everything along the others."""
    return reduce(lambda one, other: np.asarray(np.kron(one, other), float), some)


def _products(some: Array, others: Array) -> Array:
    """Tables of one more column: every pattern with every pattern."""
    found = np.multiply.outer(some, others)
    return np.moveaxis(found, -2, 1).reshape(len(some) * len(others), *some.shape[1:], others.shape[1])


def _margin(told: Sequence[ToldCells], axis: int) -> Array:
    """The shares of the cells of one column that make likeliest what all tells say of it."""
    seen = []
    for one in told:
        if axis in one.axes:
            place = one.axes.index(axis)
            counts = np.bincount(one.places[place], one.counts, one.shape[place]).astype(float)
            seen.append((counts, Operator([one.operator.alone(place)])))
    shares = uniform(*seen[0])
    for _ in range(_MARGIN_STEPS):
        shares = np.sum([em_step(shares, *some) for some in seen], axis=0)
        shares = shares / shares.sum()
    return shares


def _chosen(sizes: Sequence[int], order: int | None) -> Iterator[tuple[int, ...]]:
    """The functions to multiply, one a column; all ones, which say nothing, are left out."""
    for some in product(*map(range, sizes)):
        if any(some) and (order is None or np.count_nonzero(some) <= order):
            yield some


def _named(some: Sequence[int], axes: Sequence[int], columns: int) -> Moment:
    name = [0] * columns
    for axis, function in zip(axes, some, strict=True):
        name[axis] = function
    return tuple(name)


@dataclass(frozen=True, eq=False)
class _Pulls:
    """What one perturbed record in each cell adds to the moments: h, with Aᵀh = g.

    With columns perturbed as one value A = ρK + (1−ρ)b1ᵀ, and h = (u − (1−ρ)bᵀu)/ρ where Kᵀu = g; b runs over the
    perturbed columns alone.
    """

    near: tuple[Array, ...]
    chance: tuple[Array, ...]
    """Along each axis, u and what it is if the record is replaced: functions × counted cells."""
    places: tuple[Indices, ...]
    chosen: Indices
    together: float

    @classmethod
    def of(
        cls, told: ToldCells, functions: Sequence[Array], chosen: Sequence[tuple[int, ...]], known: _Known
    ) -> _Pulls:
        operator = told.operator
        near, chance = [], []
        for axis, (transition, some) in enumerate(zip(operator.transitions, functions, strict=True)):
            shares = operator.shares[axis] if operator.shares else None
            pulled = some if transition is None else known.of(transition, some)
            near.append(pulled)
            chance.append(pulled if shares is None else np.repeat(pulled @ shares[:, None], pulled.shape[1], axis=1))
        together = operator.together if operator.perturbed_axes else 1.0
        return cls(tuple(near), tuple(chance), told.places, np.array(chosen), together)

    @classmethod
    def plain(cls, shape: tuple[int, ...], functions: Sequence[Array], chosen: Sequence[tuple[int, ...]]) -> _Pulls:
        """Those of true records."""
        places = tuple(np.indices(shape).reshape(len(shape), -1))
        return cls(tuple(functions), (), places, np.array(chosen), 1.0)

    def mean(self, counts: Array) -> Array:
        """The mean over records that were counted."""
        return sum((some @ counts[here] for here, some in self._some()), np.zeros(len(self.chosen))) / counts.sum()

    def covariance(self, counts: Array, squares: Array | None = None) -> Array:
        """Between what one of the records that were counted adds to each, by the squares of weights if there are."""
        mean, found = self.mean(counts), np.zeros((len(self.chosen), len(self.chosen)))
        by = counts if squares is None else squares
        for here, some in self._some():
            found += (some * by[here]) @ some.T
        crossed = np.outer(self.mean(by), mean)
        return found / by.sum() - crossed - crossed.T + np.outer(mean, mean)

    def _some(self) -> Iterator[tuple[slice, Array]]:
        """Cells, a few at a time, and h there: moments × cells."""
        step = max(_AT_ONCE // len(self.chosen), 1)
        for start in range(0, len(self.places[0]), step):
            here = slice(start, start + step)
            found = self._product(self.near, here)
            if self.together < 1:
                found = (found - (1 - self.together) * self._product(self.chance, here)) / self.together
            yield here, found

    def _product(self, along: Sequence[Array], here: slice) -> Array:
        return reduce(
            np.multiply,
            (some[self.chosen[:, [axis]], self.places[axis][here]] for axis, some in enumerate(along)),
        )


class _Known(dict[tuple[bytes, bytes], Array]):
    """What is unbiased, found once for all tells in which a column is perturbed alike."""

    def of(self, transition: Transition, functions: Array) -> Array:
        if transition.is_identity:
            return functions
        key = transition.matrix.tobytes(), functions.tobytes()
        if key not in self:
            self[key] = unbiased(transition, functions)
        return self[key]


def unbiased(transition: Transition, functions: Array) -> Array:
    """Of every function g of true cells, the u of perturbed ones with Kᵀu = g that varies least.

    Where there are more perturbed cells than true ones many do. Cells count by how many records are expected in them if
    true ones are equally full and half of the records are replaced, which depends on no record. Patterns that the
    perturbation wiped out are left out.
    """
    if transition.is_identity:
        return functions
    if transition.condition == 1.0:
        return transition.adjoint_solve(functions, 1)
    expected = np.sqrt((transition.matrix.mean(axis=1) + 1 / transition.outputs) / 2)
    weighed = transition.matrix / expected[:, None]
    found = np.linalg.lstsq(weighed.T, functions.T, rcond=_SMALLEST)[0].T / expected
    return np.asarray(np.vstack([np.ones(len(expected)), found[1:]]), float)


def _expected(told: ToldCells, counted: Array) -> tuple[Array, Array]:
    """A true table that explains what was counted, and the counts that it leads one to expect."""
    counts = counted.reshape(told.shape)
    fitted = uniform(counts, told.operator)
    for _ in range(_STEPS):
        fitted = em_step(fitted, counts, told.operator)
    return fitted, told.operator.forward(fitted).ravel()


def _spread(says: Sequence[_Says], names: Sequence[Moment], columns: int) -> Array | None:
    """The same of all moments, as the tells that hold all columns have it."""
    whole = [one for one in says if len(one.axes) == columns and one.spread is not None]
    if not whole:
        return None
    found = np.average([np.asarray(one.spread) for one in whole], axis=0, weights=[one.n for one in whole])
    order = [whole[0].names.index(name) for name in names]
    return found[np.ix_(order, order)]


def _calibrated(found: TrueMoments, says: Sequence[_Says], kept: Sequence[int]) -> TrueMoments:
    """Moved to the moments of kept columns, which all records tell; others move as far as they go with them."""
    known = [place for place, name in enumerate(found.names) if not any(np.delete(name, list(kept)))]
    if found.spread is None or not known:
        return found
    true = [
        sum(one.n * one.values[one.names.index(found.names[place])] for one in says) / sum(one.n for one in says)
        for place in known
    ]
    chance = found.covariance - found.spread / found.n
    moved = chance[:, known] @ np.linalg.pinv(chance[np.ix_(known, known)], rcond=_SMALLEST, hermitian=True)
    values = found.values - moved @ (found.values[known] - np.array(true))
    covariance = chance - moved @ chance[known] + found.spread / found.n
    return TrueMoments(found.names, values, covariance, found.spread, found.n)
