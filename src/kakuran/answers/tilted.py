"""Records as the joint model has them, weighed so that what they have in common two by two is as told.

The model knows how many columns go together, and is drawn towards what is usual; the tells know pairs of columns
without bias, and not much of rare ones. Each has its say by how sure it is. Of a category that hardly anybody has, some
records are drawn on purpose, and weigh less: without any, it would seem certain what it goes with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kakuran.answers.filling import numbers_at
from kakuran.answers.groups import ReadNumber
from kakuran.answers.reader import JointTables, Reader
from kakuran.counts import Cells
from kakuran.model import About, Histogram, JointModel, Moment, TrueMoments
from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Array, Indices

MOST_DRAWN = 1 << 14
"""Cells of the joint model that are taken as they are; of more, or of numbers, so many records are drawn."""
MOST_NUMBERS = 1 << 24
"""Records that are drawn, times the moments of each."""
MODEL_WORTH = 100.0
"""How many records the joint model is worth beside what tells say of the same columns."""
SHAPE_WORTH = 300.0
"""How many it is worth in where two columns go together, once the tells have said how strongly."""
FARTHEST = 3.0
"""Standard errors that an estimate lies off what the tells say, at most, for the model's sake."""
_FEWEST = 32
"""Records that are drawn of every category."""
_MOST_STEPS = 50
_SETTLED = 1e-7
_SINGULAR = 1e-9


@dataclass(frozen=True, eq=False)
class TiltedRecords:
    """Records of the joint model with weights.

    Attributes
    ----------
    weights : Array
        Of the records; they add up to 1.
    model : Array
        The weights that the model by itself gives them.
    values : dict[str, Array]
        Column by column, numbers as they are and categories by their codes.
    codes : dict[str, Indices]
        Column by column.
    functions : Array
        What each record adds to every moment.
    told : TrueMoments
        The moments as the tells have them.
    """

    weights: Array
    model: Array
    values: dict[str, Array]
    codes: dict[str, Indices]
    functions: Array
    told: TrueMoments

    @classmethod
    def of(
        cls,
        reader: Reader,
        joint: JointTables,
        columns: Sequence[Categorical | Numeric],
        cells: Sequence[Cells],
        bases: Sequence[Array],
        moments: TrueMoments,
        weight: ReadNumber | None = None,
        *,
        is_curved: bool = False,
    ) -> TiltedRecords:
        """Draw records, or take all cells, and weigh them so that their moments are as told.

        Moments may be of people that records stand for, by a column of weights; then each record begins with its own.
        What is curved, no sum of moments, suffers from noise in each of many cells: tells then say first how strongly
        every two columns go together, and where they do is more the model's to say.
        """
        names = [*(attribute.name for attribute in columns), *([] if weight is None else [weight.name])]
        places = [[axis.name for axis in joint.axes].index(name) for name in names]
        axes = [joint.axes[place] for place in places]
        if any(isinstance(attribute, Numeric) for attribute in columns) or (
            math.prod(axis.size for axis in axes) > MOST_DRAWN
        ):
            count = min(MOST_DRAWN, MOST_NUMBERS // len(moments.names))
            named = [place for place, one in zip(places, columns, strict=False) if isinstance(one, Categorical)]
            cells_drawn, weights = _drawn(joint.model, named, count)
            drawn = [cells_drawn[place] for place in places]
        else:
            table = joint.model.table(places)
            drawn, weights = list(np.indices(table.shape).reshape(table.ndim, -1)), table.ravel()
        if weight is not None:
            weights = weights * weight.values[drawn.pop()]
            axes.pop()
            weights = weights / weights.sum()
        dice = Randomness.derived(b"within cells").generator()
        codes, values = {}, {}
        fillings = reader.fillings(attribute.name for attribute in columns)
        for attribute, axis, place in zip(columns, axes, drawn, strict=True):
            codes[attribute.name], values[attribute.name] = place, place.astype(float)
            if isinstance(attribute, Numeric):
                code = _within(axis, place, reader.known.get(attribute.name), dice)
                codes[attribute.name], values[attribute.name] = code, numbers_at(attribute, code, fillings)
        along = [basis[:, axis.of_code[codes[axis.name]]] for basis, axis in zip(bases, cells, strict=True)]
        functions = np.ones((len(weights), len(moments.names)))
        for row, name in enumerate(moments.names):
            for axis_place, function in enumerate(name):
                if function:
                    functions[:, row] *= along[axis_place][function]
        if is_curved:
            tilted = _calibrated(functions, _as_strong(functions, weights, moments), moments, SHAPE_WORTH)
        else:
            tilted = _calibrated(functions, weights, moments, MODEL_WORTH)
        return cls(tilted, weights, values, codes, functions, moments)

    def beside_the_model(self) -> TiltedRecords:
        """With the hundred records that the model is worth among as many as the tells are worth.

        Tells that are unsure of a rare cell may leave nobody in it, and a regression would take that for a law. What
        the model has stays possible.
        """
        spread = self.model @ self.functions**2 - (self.model @ self.functions) ** 2
        unsure = np.maximum(np.diag(self.told.covariance), np.maximum(spread, _SINGULAR) / self.told.n)
        told = float(np.mean(spread / unsure))
        share = MODEL_WORTH / (MODEL_WORTH + told)
        return replace(self, weights=(1 - share) * self.weights + share * self.model)

    def left_by(self, pulls: Array, about: About) -> tuple[Array, Array]:
        """How far the tells by themselves would move statistics from here, and the covariance of where to.

        The records are drawn towards the model, by which they come nearer to the truth than tells alone would, but
        nobody knows by how much; one step from them to what the tells say is without bias again, and its chance is the
        tells'. Only as far as moments have it.

        Parameters
        ----------
        pulls : Array
            What each record adds to the statistics: records × statistics.
        about : About
            Which truth the statistics are about.
        """
        mean = self.weights @ self.functions
        centred = self.functions - mean
        weighed = (centred * self.weights[:, None]).T
        slopes = np.linalg.lstsq(weighed @ centred, weighed @ pulls, rcond=_SINGULAR)[0].T
        covariance = slopes @ self.told.covariance @ slopes.T
        if about == "table":
            fitted = centred @ slopes.T
            drawn = (fitted * self.weights[:, None]).T @ fitted / self.told.n
            covariance = covariance - drawn
            covariance = covariance + np.diag(np.maximum(-np.diag(covariance), 0.0))
        return slopes @ (self.told.values - mean), covariance


def _drawn(model: JointModel, named: Sequence[int], count: int) -> tuple[list[Indices], Array]:
    """Records of the model, cell by cell along all of its columns, and their weights."""
    dice = model.randomness.generator()
    drawn, weights = model.draw(count, dice=dice), np.full(count, 1 / count)
    for column in named:
        shares = model.table([column])
        for cell in np.flatnonzero(np.bincount(drawn[column], minlength=len(shares)) < _FEWEST):
            others = drawn[column] != cell
            known: list[Indices | None] = [None] * len(drawn)
            known[column] = np.full(_FEWEST, cell)
            more = model.draw(_FEWEST, known, dice)
            drawn = [np.concatenate([some[others], new]) for some, new in zip(drawn, more, strict=True)]
            weights = np.concatenate([weights[others], np.full(_FEWEST, shares[cell] / _FEWEST)])
    return drawn, weights / weights.sum()


def _within(axis: Cells, places: Indices, known: Histogram | None, dice: np.random.Generator) -> Indices:
    """A code of each cell, as likely as is known of the number, or any."""
    if known is None:
        edges, cell, likely = axis.edges, axis.runs, np.diff(axis.edges).astype(float)
    else:
        edges, cell, likely = known.within(axis)
    order = np.argsort(cell, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(likely[order])])
    starts = np.searchsorted(cell[order], np.arange(axis.size + 1))
    low, high = below[starts[:-1]][places], below[starts[1:]][places]
    run = np.clip(
        np.searchsorted(below, low + (high - low) * dice.random(len(places)), side="right") - 1,
        starts[:-1][places],
        starts[1:][places] - 1,
    )
    chosen = order[run]
    return np.asarray(edges[chosen] + (np.diff(edges)[chosen] * dice.random(len(places))).astype(np.int64))


def _calibrated(functions: Array, weights: Array, moments: TrueMoments, worth: float) -> Array:
    """Weights under which moments are as the tells have them.

    The model is worth some records, m: where tells are so unsure of a moment that fewer would tell it better, it stays
    nearly the model's. Weights w·exp(φλ) minimise m times their divergence from the model plus half of the squares by
    which their moments θ(λ) miss those of the tells, in the tells' covariance C: θ(λ) + mCλ is what tells say. Newton's
    steps lead there; all is convex.
    """
    chance, tilt = worth * moments.covariance, np.zeros(len(moments.names))
    tilted, loss = _tilted(functions, weights, tilt, moments.values, chance)
    for _ in range(_MOST_STEPS):
        mean = tilted @ functions
        centred = functions - mean
        spread = (centred * tilted[:, None]).T @ centred
        slope = mean + chance @ tilt - moments.values
        step = np.linalg.lstsq(spread + chance, slope, rcond=_SINGULAR)[0]
        gain, stride = float(slope @ step), 1.0
        if gain < _SETTLED:
            break
        while stride > _SETTLED:
            moved, after = _tilted(functions, weights, tilt - stride * step, moments.values, chance)
            if after < loss - 1e-4 * stride * gain:
                break
            stride /= 2
        else:
            break
        tilt, tilted, loss = tilt - stride * step, moved, after
    return tilted


def _as_strong(functions: Array, weights: Array, moments: TrueMoments) -> Array:
    """Weights under which every two columns go together as strongly as told, and where they do as in the model.

    Models are drawn towards independent columns. With u how far the model's moments of two columns are from those of
    independent ones, tells say how many times u there is: Lᵀm by least squares, L = C⁻¹U(UᵀC⁻¹U)⁻¹.
    """
    apart = _apart(moments.names, weights @ functions)
    if not apart.size:
        return weights
    sure = np.linalg.pinv(moments.covariance, rcond=_SINGULAR, hermitian=True) @ apart
    pulls = sure @ np.linalg.pinv(apart.T @ sure, hermitian=True)
    pulls = pulls / np.sqrt(np.diag(pulls.T @ moments.covariance @ pulls))
    strengths = replace(
        moments,
        names=moments.names[: pulls.shape[1]],
        values=pulls.T @ moments.values,
        covariance=pulls.T @ moments.covariance @ pulls,
    )
    return _calibrated(functions @ pulls, weights, strengths, MODEL_WORTH)


def _apart(names: Sequence[Moment], values: Array) -> Array:
    """How far moments are from those of independent columns: moments × columns that go together."""
    places = {name: place for place, name in enumerate(names)}
    found: dict[tuple[int, ...], Array] = {}
    for place, name in enumerate(names):
        columns = tuple(axis for axis, function in enumerate(name) if function)
        if len(columns) > 1:
            alone = [tuple(int(axis == column) * function for axis, function in enumerate(name)) for column in columns]
            independent = math.prod(values[places[one]] for one in alone)
            found.setdefault(columns, np.zeros(len(names)))[place] = values[place] - independent
    every = np.array([some for some in found.values() if np.abs(some).max() > _SINGULAR])
    return every.T


def _tilted(functions: Array, weights: Array, tilt: Array, wanted: Array, chance: Array) -> tuple[Array, float]:
    """Weights times exp(φλ), and what λ is chosen to make least."""
    scores = functions @ tilt
    most = float(scores.max())
    made = weights * np.exp(scores - most)
    total = float(made.sum())
    return made / total, most + math.log(total) - float(tilt @ wanted) + float(tilt @ chance @ tilt) / 2
