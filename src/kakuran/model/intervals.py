"""Intervals around counts of tables, for the randomness of the perturbation and, if asked for, of drawing the table.

They rest on the unbiased inverse, whose variance is known exactly whatever the truth: a record in cell p adds
Σ_q B_q²A_qp − 1[p counts] to the variance of the sum By, where B = wᵀA⁻¹ and w marks the cells that count. They are
narrower than the inverse's own: counts are neither negative nor above n, no part is larger than the whole it belongs
to, and along an axis of noisy numbers, where inverting the noise only blows it up, the inverse gives way to a profile.

The profile holds every sum that some table without negative cells explains nearly as well as the best one does, by χ².
Smoothing, as estimates do, would make intervals far narrower and wrong: it assumes what the data cannot show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, reduce
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, ndtri, polygamma, stdtrit

from kakuran.counts import Reading
from kakuran.mechanism import Transition
from kakuran.model.operator import Operator
from kakuran.typing import Array

LARGEST_AXIS = 128
MOST_ANSWERS = 2_000
_HEAVY = 1e3


@dataclass(frozen=True, eq=False)
class Profile:
    """Counts along one perturbed axis, how uncertain each is, and how they came from the true ones.

    Attributes
    ----------
    counts : Array
        Perturbed counts, or unbiased estimates of them within a slice of a larger table.
    spread : Array
        Their standard deviations.
    matrix : Array
        The transition of the axis.
    total : float | None
        The sum of the true counts, where it is known.
    fakes : float
        Records among them, at most, that say anything at all.
    fake_counts : Array
        For all that one of these may say, a column of what it adds to the counts.
    """

    counts: Array
    spread: Array
    matrix: Array
    total: float | None
    fakes: float
    fake_counts: Array

    def range_of(self, weights: Array, level: float) -> tuple[float, float]:
        """The smallest and the largest sum over the marked cells with χ² within z² of its minimum.

        The minimum without fakes: these explain what true records cannot, and the more of them, the less would be left.
        """
        from scipy.optimize import brentq

        unit = max(float(np.abs(self.counts).sum()), 1.0)
        found, allowed = replace(self, fakes=0.0)._best(weights, unit, level)
        misfit = self._misfit(weights, unit)

        @cache  # both searches begin where it is known
        def excess(share: float) -> float:
            # Of the roots, which are nearly straight lines where the squares are not: fewer trials find it.
            return math.sqrt(misfit(share)) - math.sqrt(allowed)

        largest = 2.0 if self.total is None else 1.0
        low = 0.0 if excess(0.0) <= 0 else brentq(excess, 0.0, found, xtol=1e-9)
        high = largest if excess(largest) <= 0 else brentq(excess, found, largest, xtol=1e-9)
        return low * unit, high * unit

    def _best(self, weights: Array, unit: float, level: float) -> tuple[float, float]:
        """The sum that explains the counts best, in units, and how large χ² may be."""
        from scipy.optimize import nnls

        rows, wanted = self._equations()
        best, left = nnls(rows, wanted)
        found = float(weights @ best) / unit
        # Where no true table explains the counts, because cells are not filled evenly inside, nothing is as sure.
        free = max(len(rows) - int(np.count_nonzero(best)), 1)
        uneven = max(float(left) ** 2 / free, 1.0)
        # The least misfit by the same equations, so that rounding cannot put the best sum outside.
        return found, self._misfit(weights, unit)(found) + uneven * float(ndtri((1 + level) / 2)) ** 2

    def _misfit(self, weights: Array, unit: float) -> Callable[[float], float]:
        """The least χ² of all tables whose sum over the marked cells is so many units."""
        from scipy.optimize import nnls

        rows, wanted = self._equations()
        heavy = _HEAVY * float(rows.max())
        asked = np.vstack([rows, heavy * np.append(weights, np.zeros(rows.shape[1] - len(weights)))])
        return lambda share: float(nnls(asked, np.append(wanted, heavy * share * unit))[1] ** 2)

    def _equations(self) -> tuple[Array, Array]:
        """One equation a count, weighed by its spread; a known total is one more, heavy enough to hold.

        Fakes are counted beside the true records, and one more equation says how many they are, with those left over
        as an unknown of their own.
        """
        rows, wanted = self.matrix / self.spread[:, None], self.counts / self.spread
        heavy = _HEAVY * float(rows.max())
        if self.fakes:
            left_over = np.zeros((len(rows), 1))
            number = np.append(np.zeros(rows.shape[1]), np.ones(self.fake_counts.shape[1] + 1))
            rows = np.vstack([np.hstack([rows, self.fake_counts / self.spread[:, None], left_over]), heavy * number])
            wanted = np.append(wanted, heavy * self.fakes)
        if self.total is None:
            return rows, wanted
        all_records = np.full(rows.shape[1], heavy)
        all_records[-1:] *= not self.fakes
        return np.vstack([rows, all_records]), np.append(wanted, heavy * self.total)


def slices(asked: Asked, axis: int, weights: Array) -> Iterator[tuple[Profile, Array] | None]:
    """For each stacked table of ones and zeros, the slice it asks about and the cells of the axis it marks.

    The other axes are inverted, which is exact for them. None where a table does not mark the same cells of the axis
    in every slice it touches.
    """
    counts, operator, marks = asked.counts, asked.operator, np.moveaxis(weights, 1 + axis, -1)
    others = Operator([None, *(other for place, other in enumerate(operator.transitions) if place != axis)])
    cells = tuple(range(1, marks.ndim - 1))
    along, across = marks.max(axis=cells), marks.max(axis=-1)
    is_product = (marks == across[..., None] * along.reshape(len(along), *(1,) * len(cells), -1)).all(
        axis=tuple(range(1, marks.ndim))
    )
    pull = others.adjoint_solve(across)
    matrix, by_chance = operator.along(axis, counts)
    sums, squares = (
        part.reshape(len(part), -1) @ np.moveaxis(table, axis, -1).reshape(-1, counts.shape[axis])
        for part, table in ((pull, counts), (pull**2, asked.expected))
    )
    total = float(counts.sum()) if counts.ndim == 1 else None
    for row, is_whole in enumerate(is_product):
        spread = np.sqrt(np.maximum(squares[row], 1.0))
        # A fake adds to one count of the axis, as much as the cell it chooses on the others is worth.
        worth = np.unique([pull[row].min(), pull[row].max()])
        fake_counts = np.hstack([one * np.eye(len(spread)) for one in worth])
        expected = (pull[row].reshape(-1, 1) * by_chance).sum(axis=0)
        profile = Profile(sums[row] - expected, spread, matrix, total, asked.fakes, fake_counts)
        yield (profile, along[row]) if is_whole else None


About: TypeAlias = Literal["table", "population"]
"""The truth an interval is about: the counts of this very table, or the shares of the population it was drawn from."""

_SURE = 0.99
"""The level of intervals of the whole that limit its parts."""
_WELL_POSED = 30.0
_OWN, _OWN_LOST = 0.15, 0.3
"""Which part of the error of an unbiased count may hide an association, and how much more where the model lost all."""
_TAIL = 5.0
"""Degrees of freedom of what hides: found on six tables, flat, and stable when each is left out in turn (maths §16)."""
_SINGULAR = 1e12


def interval(
    counts: Array,
    operator: Operator,
    estimate: Array,
    reading: Reading,
    *,
    level: float,
    about: About,
    fakes: float = 0.0,
    told: float = 1.0,
) -> tuple[Array, Array]:
    """Lower and upper end for every cell of the answer; the estimate always lies between them.

    Parameters
    ----------
    counts : Array
        Perturbed counts.
    operator : Operator
        How they came from the true ones.
    estimate : Array
        The estimated true counts.
    reading : Reading
        What to read off them.
    level : float
        How often the interval should hold the truth.
    about : About
        This table's counts, or the population's shares (times n).
    fakes : float
        So many of the records, at most, may say anything at all; the interval is about the others.
    told : float
        The records that were counted are this share of the table, drawn at random; the interval is about all of it,
        brought down to as many records as were counted.
    """
    asked = Asked(counts, operator, estimate, about, fakes, told)
    low, high = _possible(*_of_sums(asked, reading, level), counts.sum())
    if counts.ndim > 1:
        limits = _limits(asked, reading)
        high = np.where(limits > (low + high) / 2, np.minimum(high, limits), high)
    answer = reading.of(estimate)
    return np.minimum(low, answer), np.maximum(high, answer)


@dataclass(frozen=True, eq=False)
class Asked:
    """What an interval is asked for, whatever is read off the table."""

    counts: Array
    operator: Operator
    estimate: Array
    about: About
    fakes: float = 0.0
    told: float = 1.0

    @cached_property
    def expected(self) -> Array:
        """The perturbed counts that the estimate leads to: where by chance nobody came out, somebody could have."""
        return self.operator.forward(np.maximum(self.estimate, 0.0))

    def along(self, axis: int) -> Asked:
        """The same of one axis alone."""
        others = tuple(other for other in range(self.counts.ndim) if other != axis)
        counts, estimate = self.counts.sum(axis=others), self.estimate.sum(axis=others)
        return replace(self, counts=counts, operator=Operator([self.operator.alone(axis)]), estimate=estimate)


def inverse_interval(asked: Asked, reading: Reading, level: float) -> tuple[Array, Array]:
    """The interval of the unbiased inverse by itself; everything from 0 to n where there is no inverse."""
    counts, operator = asked.counts, asked.operator
    if not _has_inverse(operator):
        return np.zeros(reading.shape), np.full(reading.shape, counts.sum())
    squares = _squares(asked, reading)
    # Of a whole table the truth is what it is; of a part drawn at random, it varies with who is in it.
    known = reading.of(asked.estimate) * (asked.told if asked.about == "table" else 1.0)
    noise = np.maximum(squares - known, 0.0)
    return _score_interval(reading.of(operator.solve(counts)), noise, counts.sum(), level, asked.about)


def _squares(asked: Asked, reading: Reading) -> Array:
    """What the counts of records, if each varied by itself, would make of the variance of the inverse."""
    counts, operator = asked.counts, asked.operator
    if reading.is_plain:
        return operator.squared_solve(asked.expected)
    stacked, axes = operator.stacked(), tuple(range(1, counts.ndim + 1))
    sums = [
        (stacked.adjoint_solve(some) ** 2 * asked.expected).sum(axis=axes)
        for some in reading.weights(operator.true_shape(counts))
    ]
    return np.concatenate(sums).reshape(reading.shape)


def inverse_estimate(
    counts: Array, operator: Operator, estimate: Array, reading: Reading
) -> tuple[Array, Array] | None:
    """What the inverse estimates, as shares of all records, and its variance; None where an axis is too smooth.

    Parameters
    ----------
    counts : Array
        Perturbed counts.
    operator : Operator
        How they came from the true ones.
    estimate : Array
        The estimated shares of the true records.
    reading : Reading
        What to read off them.
    """
    total = float(counts.sum())
    if not total or _smooth_axes(operator):
        return None
    asked = Asked(counts, operator, total * estimate, "population")
    variance = _squares(asked, reading) / total**2 - reading.of(estimate) ** 2 / total
    return reading.of(operator.solve(counts)) / total, np.maximum(variance, 0.0)


@dataclass(frozen=True, eq=False)
class FoldTables:
    """A table that was shrunk to a model: with all records, and without each fold of them, in people.

    An interval around what was shrunk is no interval of the counts (maths §16). How far the estimate moves when a fold
    is left out (the jackknife) is known from few folds, so variances are shrunk towards a regression on how large cells
    are. The table is itself one draw, so each count and one person are added. Upwards, associations may hide that the
    model lost: as much as chance moves the whole table, spread evenly over it, less what the unbiased count rules out.

    Attributes
    ----------
    tables : Array
        Without each fold and, last, with all records.
    """

    tables: Array

    @property
    def estimate(self) -> Array:
        """With all records."""
        found: Array = self.tables[-1]
        return found

    @cached_property
    def jackknife(self) -> Array:
        """The variance of each cell, by the folds."""
        return jackknife(self.tables[:-1])

    @cached_property
    def margins(self) -> list[Array]:
        """Of each axis, without each fold and with all records, as shares."""
        axes = range(1, self.tables.ndim)
        return [self.tables.sum(axis=tuple(other for other in axes if other != axis)) / self.n for axis in axes]

    @property
    def n(self) -> float:
        """All people."""
        return float(self.estimate.sum())

    @cached_property
    def independent(self) -> Array:
        """What the margins alone would give."""
        found: Array = reduce(np.multiply.outer, [margin[-1] for margin in self.margins])
        return self.n * found

    @cached_property
    def free(self) -> Array:
        """In which cells an association may hide, all axes taken together."""
        found: Array = reduce(np.multiply.outer, [margin[-1] * (1 - margin[-1]) for margin in self.margins])
        return found

    @property
    def explained_by(self) -> Array:
        """Cells × what the logarithm of a variance goes with: how large the cell is, and its margins."""
        size = np.log(self.estimate + 0.3).ravel()
        odds = [
            np.broadcast_to(
                np.log1p(-np.minimum(margin[-1], 1 - 1e-9)).reshape(
                    [-1 if other == axis else 1 for other in range(self.estimate.ndim)]
                ),
                self.estimate.shape,
            ).ravel()
            for axis, margin in enumerate(self.margins)
        ]
        return np.column_stack([size, size**2, *odds])

    def in_units(self, values: Array) -> float:
        """The sum over cells in units of what the margins alone would give."""
        return float((values / np.maximum(self.independent, 1.0)).sum())


def jackknife(folds: Array) -> Array:
    """The variance of estimates, from those without each fold."""
    return np.asarray((len(folds) - 1) * folds.var(axis=0))


@dataclass(frozen=True, eq=False)
class Smoothing:
    """Variances of the cells of some tables as a regression has them, and the folds that it is worth."""

    variances: Sequence[Array]
    worth: float

    @classmethod
    def of(cls, tables: Sequence[FoldTables]) -> Smoothing:
        """One regression of all tables, each with a mean of its own (Smyth 2004)."""
        table = np.repeat(np.arange(len(tables)), [one.estimate.size for one in tables])
        rows = np.concatenate([one.explained_by for one in tables])
        logs = np.log(np.maximum(np.concatenate([one.jackknife.ravel() for one in tables]), 1e-20))
        count = np.bincount(table)
        row_means = np.stack([np.bincount(table, column) for column in rows.T], axis=1) / count[:, None]
        centred, folds = rows - row_means[table], len(tables[0].tables) - 2
        ridge = 1e-3 * np.eye(rows.shape[1])
        for _ in range(2):  # the second time without outliers
            means = (np.bincount(table, logs) / count)[table]
            slopes = np.linalg.lstsq(
                np.vstack([centred, ridge]), np.append(logs - means, np.zeros(len(ridge))), rcond=None
            )[0]
            fit = means + centred @ slopes
            left = logs - fit
            logs = fit + np.clip(left, -3, 3)
        beyond_chance = float(left.var() - polygamma(1, folds / 2))
        worth = 20.0 if beyond_chance <= 0.1 else float(np.clip(2 / beyond_chance, 0.5, 40))
        variances = np.exp(fit - digamma(folds / 2) + math.log(folds / 2))
        ends = np.cumsum([one.estimate.size for one in tables])[:-1]
        shaped = [part.reshape(one.estimate.shape) for part, one in zip(np.split(variances, ends), tables, strict=True)]
        return cls(shaped, worth)


def hidden_part(tables: FoldTables, variances: Array) -> float:
    """The variance of an association that may hide, per unit of where it may: chance once more, spread evenly."""
    return tables.in_units(variances) / max(tables.in_units(tables.free), 1e-300)


def shrunk_interval(
    tables: FoldTables,
    variances: Array,
    worth: float,
    hidden: Mapping[tuple[int, ...], float],
    reading: Reading,
    level: float,
    own: tuple[Array, Array] | None,
    is_lost: float,
) -> tuple[Array, Array]:
    """Lower and upper end for every cell of an answer that is read off a shrunk table; the estimate lies between them.

    Parameters
    ----------
    tables : FoldTables
        The table.
    variances : Array
        Of its cells, as a regression has them.
    worth : float
        How many folds the regression is worth.
    hidden : Mapping[tuple[int, ...], float]
        Of some axes, how much association may hide in the table of these.
    reading : Reading
        What to read off the table.
    level : float
        Which part of the intervals of a table should hold the truth.
    own : tuple[Array, Array] | None
        What the unbiased count says, and its variance, in people.
    is_lost : float
        How far associations may be lost to the model, from 0 to 1; what hides may lie below, too, as far.
    """
    folds = np.stack([reading.of(table) for table in tables.tables])
    estimate, degrees = folds[-1], len(folds) - 2
    variance = (worth * reading.of(variances) + degrees * jackknife(folds[:-1])) / (worth + degrees)
    ends = [_margins_of(tables, reading, axis) for axis in range(tables.estimate.ndim)]
    margins = [end[-1] / tables.n for end in ends]
    free = [margin * (1 - margin) for margin in margins]
    lost = np.zeros(estimate.shape)
    for axes, amount in hidden.items():
        lost += amount * math.prod(free[axis] if axis in axes else margins[axis] ** 2 for axis in range(len(margins)))
    shift = np.zeros(estimate.shape)
    if own is not None:
        count, doubt = own
        lost = lost + (_OWN + _OWN_LOST * is_lost) ** 2 * doubt
        known = lost / np.maximum(lost + doubt, 1e-300)
        lost, shift = lost * (1 - known), known * (count - estimate)
    z, t = float(ndtri((1 + level) / 2)), float(stdtrit(_TAIL, (1 + level) / 2))
    chance = estimate + 1
    reach = t * np.sqrt(variance / 2 + chance + lost)
    most = np.min([end[-1] + t * np.sqrt(jackknife(end[:-1])) + 1 for end in ends], axis=0)
    low = estimate - z * np.sqrt(variance + chance + is_lost * lost)
    high = np.minimum(estimate + np.maximum(reach + shift, reach / 2), most)
    return np.maximum(low, 0.0), np.clip(high, estimate, max(tables.n, 0.0))


def _margins_of(tables: FoldTables, reading: Reading, axis: int) -> Array:
    """Of the slices along an axis that each cell of an answer lies in, how many people there are: folds × answers."""
    sets, which = _slices_touched(reading, tables.estimate.shape, axis)
    people = tables.n * tables.margins[axis]
    return np.stack([np.concatenate([np.ravel(one.of(fold)) for one in sets])[which] for fold in people])


def influence(operator: Operator, reading: Reading, shape: tuple[int, ...]) -> float | None:
    """By how many people one record can move an estimate, at most; None where an axis is too smooth to invert.

    Largest of the entries of B = wᵀA⁻¹: whoever sends a made-up record chooses which.
    """
    if _smooth_axes(operator):
        return None
    least, most = _pulls(operator, reading, shape)
    return float(max(np.abs(least).max(), np.abs(most).max()))


def _pulls(operator: Operator, reading: Reading, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The least and the most that one record adds to each cell of the answer, as the inverse estimates it."""
    axes = tuple(range(1, len(shape) + 1))
    pulls = [operator.stacked().adjoint_solve(some) for some in reading.weights(shape)]
    least = np.concatenate([some.min(axis=axes) for some in pulls])
    most = np.concatenate([some.max(axis=axes) for some in pulls])
    return least.reshape(reading.shape), most.reshape(reading.shape)


def _has_inverse(operator: Operator) -> bool:
    return all(_condition(transition) <= _SINGULAR for transition in operator.transitions)


def _smooth_axes(operator: Operator) -> list[int]:
    return [axis for axis, transition in enumerate(operator.transitions) if _condition(transition) > _WELL_POSED]


def _of_sums(asked: Asked, reading: Reading, level: float) -> tuple[Array, Array]:
    """Of the inverse; where one axis is too smooth to invert, of its profile where that is narrower without fakes."""
    counts, operator, fakes = asked.counts, asked.operator, asked.fakes
    smooth, shape = _smooth_axes(operator), operator.true_shape(counts)
    low, high = inverse_interval(asked, reading, level)
    width = np.ravel(high - low)
    if fakes and _has_inverse(operator):
        pulls = _pulls(operator, reading, shape)
        low, high = low - fakes * np.maximum(pulls[1], 0.0), high - fakes * np.minimum(pulls[0], 0.0)
    if len(smooth) != 1 or shape[smooth[0]] > LARGEST_AXIS or low.size > MOST_ANSWERS or not counts.sum():
        return low, high
    ends = np.stack([low.ravel(), high.ravel()])
    parts = (one for some in reading.weights(shape) for one in slices(asked, smooth[0], some))
    for cell, part in enumerate(parts):
        if part is not None:
            profile, marked = part
            least, most = found = replace(profile, fakes=0.0).range_of(marked, level)
            if most - least <= width[cell]:
                ends[:, cell] = profile.range_of(marked, level) if fakes else found
    return ends[0].reshape(reading.shape), ends[1].reshape(reading.shape)


def _score_interval(solved: Array, noise: Array, total: float, level: float, about: About) -> tuple[Array, Array]:
    """All θ with (solved − θ)² ≤ z²·variance(θ): Wilson's interval where nothing was perturbed."""
    z = float(ndtri((1 + level) / 2))
    if about == "table" or total == 0:
        return solved - z * np.sqrt(noise), solved + z * np.sqrt(noise)
    weight = 1 + z * z / total
    centre = (solved + z * z / 2) / weight
    radius = np.sqrt(np.maximum(centre**2 - (solved**2 - z * z * noise) / weight, 0.0))
    return centre - radius, centre + radius


def _possible(low: Array, high: Array, total: float) -> tuple[Array, Array]:
    """The part of an interval between 0 and n; where its centre lies outside, what explains it nearly as well.

    With θ ≥ 0 and a centre below 0, the best θ is 0, and those within the same likelihood ratio of it reach to
    centre + √(centre² + radius²).
    """
    centre, radius = (low + high) / 2, (high - low) / 2
    reach = np.hypot(radius, np.maximum(np.maximum(-centre, centre - total), 0.0))
    return np.clip(centre - reach, 0.0, total), np.clip(centre + reach, 0.0, total)


def _limits(asked: Asked, reading: Reading) -> Array:
    """What no cell of the answer exceeds, all but surely: the sums of whole slices of the table it lies in."""
    limits = np.full(reading.shape, math.inf)
    for axis in range(asked.counts.ndim):
        sets, which = _slices_touched(reading, asked.operator.true_shape(asked.counts), axis)
        alone, total = asked.along(axis), asked.counts.sum()
        highest = [np.ravel(_possible(*_of_sums(alone, one, _SURE), total)[1]) for one in sets]
        limits = np.minimum(limits, np.concatenate(highest)[which])
    return limits


def _slices_touched(reading: Reading, shape: tuple[int, ...], axis: int) -> tuple[Sequence[Reading], NDArray[np.intp]]:
    """Readings of the sets of slices along an axis that cells of the answer lie in, and which set each cell has."""
    if reading.counted is None and axis < len(reading.shape):
        size = reading.shape[axis]
        along = [-1 if other == axis else 1 for other in range(len(reading.shape))]
        which = np.broadcast_to(np.arange(size).reshape(along), reading.shape)
        return [Reading((size,), (reading.groups[axis],))], which
    others = tuple(1 + other for other in range(len(shape)) if other != axis)
    touched = np.concatenate([some.any(axis=others) for some in reading.weights(shape)])
    sets, which = np.unique(touched, axis=0, return_inverse=True)
    return [Reading((), (), marked) for marked in sets], which.reshape(reading.shape)


def _condition(transition: Transition | None) -> float:
    return 1.0 if transition is None else transition.condition
