"""The joint model of a release whose records each told only some columns: latent classes and a tree of pairs, weighed.

Latent classes, fewer and more, and a tree of pairs (Chow and Liu) count by how well they predict what was held out of
the fits (maths §10). Fits that held out other counts and started elsewhere are averaged: a mixture of mixtures of
latent classes is one more of them. Each kind gives the table of any columns, a column given others, and made-up
records.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import combinations
from typing import Protocol

import numpy as np

from kakuran.counts import Reading, distinct_rows
from kakuran.errors import ArgumentError
from kakuran.model.intervals import FoldTables, Smoothing, hidden_part, shrunk_interval
from kakuran.model.latent_tells import (
    LUCK,
    ClassMixture,
    HeldOut,
    KnownCells,
    ToldCounts,
    dice_of,
    draw_cells,
    known_columns,
    lump,
    more_and_more_classes,
    normalised,
    parts_held_out,
    rows_normalised,
    safe_log,
    softmax,
)
from kakuran.model.operator import Operator, one_thread
from kakuran.model.reconstruction import em_step
from kakuran.randomness import Randomness
from kakuran.typing import Array, Indices
from kakuran.words import Phrase

STOPS = (0, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64)
"""Steps of EM from the model towards the counts of the tells that hold a table."""

_PATIENT_STOPS = 4
_NODES = np.concatenate([np.linspace(-1, 1, 17), [1.25, 1.5, 2, 2.5, 3, 4, 5]])
"""Strengths at which the likelihood is computed; in between it is smooth, and tables are straight lines."""
_STRENGTHS = np.linspace(-1, 5, 601)
_BETWEEN_NODES = np.stack([np.interp(_STRENGTHS, _NODES, node) for node in np.eye(len(_NODES))], axis=1)
_WIDTHS = np.array([0.02, 0.1, 0.2, 0.35, 0.6, 1.0, 2.0])
"""Standard deviations that strengths may have."""
_STEPS_TO_COMMON = 30
_NO_WIDTH_IS_RULED_OUT = 0.5
_FLOOR = 0.02
"""The part of a cell that more association leaves of it at least."""
_MOST_PAIR_RAKES = 25
_MOST = 4.0
"""So many times the associations that the model has may be noise, and no more of them is lost."""
_MORE = 6.0
"""How many times more may hide where all is lost."""
_SHARES = 33
_DRAWN_AT_ONCE = 1 << 17
_LEAST = 1e-12
_MOST_RAKES = 1000


class Joint(Protocol):
    """A joint distribution."""

    def table(self, axes: Sequence[int], groups: Sequence[Indices | None]) -> Array:
        """The shares of the cells of a table."""

    def given(self, target: int, places: Sequence[Indices | None]) -> Array:
        """The logarithm of the probability of each cell of a column together with what is known: records × cells."""

    def draw(self, known: KnownCells, dice: np.random.Generator) -> list[Indices]:
        """The cells of made-up records along every column, those that are known as they are."""


@dataclass(frozen=True, eq=False)
class PairTree:
    """A tree of pairs: every column depends on its neighbours alone."""

    margins: tuple[Array, ...]
    steps: Mapping[tuple[int, int], Array]
    """From a column to a neighbour: the distribution of the second given the first, cells × cells."""
    neighbours: Mapping[int, Sequence[int]]

    @classmethod
    def of(cls, margins: Sequence[Array], pairs: Mapping[tuple[int, int], Array]) -> PairTree:
        """The tree of the pairs that tell most of each other (Chow and Liu 1968)."""
        steps: dict[tuple[int, int], Array] = {}
        neighbours: dict[int, list[int]] = {column: [] for column in range(len(margins))}
        for first, second in _spanning(len(margins), pairs):
            pair = _raked(pairs[first, second], margins[first], margins[second])
            steps[first, second], steps[second, first] = rows_normalised(pair), rows_normalised(pair.T)
            neighbours[first].append(second)
            neighbours[second].append(first)
        return cls(tuple(margins), steps, neighbours)

    @cached_property
    def _roots(self) -> list[int]:
        """The first column of each part that hangs together."""
        roots, reached = [], set[int]()
        for root in self.neighbours:
            if root not in reached:
                roots.append(root)
                reached |= self._reached(root, None)
        return roots

    def _reached(self, here: int, before: int | None) -> set[int]:
        further = (self._reached(there, here) for there in self.neighbours[here] if there != before)
        return {here}.union(*further)

    def table(self, axes: Sequence[int], groups: Sequence[Indices | None]) -> Array:
        """Every column that is not asked for is summed over as soon as its neighbours are."""
        asked = dict(zip(axes, groups, strict=True))
        found, order = np.ones(1), list[int]()
        for root in self._roots:
            rows, named = self._beyond(root, None, asked)
            found, order = np.outer(found, self.margins[root] @ rows).ravel(), order + named
        shape = [len(lump(self.margins[axis][:, None], asked[axis])) for axis in order]
        return found.reshape(shape).transpose([order.index(axis) for axis in axes])

    def _beyond(self, here: int, before: int | None, asked: Mapping[int, Indices | None]) -> tuple[Array, list[int]]:
        """The distribution of what is asked for from a column on, given its cells; and the order of what that is."""
        size = len(self.margins[here])
        rows, order = (lump(np.eye(size), asked[here]).T, [here]) if here in asked else (np.ones((size, 1)), [])
        for there in self.neighbours[here]:
            if there != before:
                further, named = self._beyond(there, here, asked)
                rows = (rows[:, :, None] * (self.steps[here, there] @ further)[:, None]).reshape(size, -1)
                order = order + named
        return rows, order

    def given(self, target: int, places: Sequence[Indices | None]) -> Array:
        """By what is known along each way from it, and of columns that do not hang together with it."""
        known = [None if axis == target else cells for axis, cells in enumerate(places)]
        found = safe_log(self.margins[target] * self._likely(target, None, known))
        for root in self._roots:
            if target not in self._reached(root, None):
                found = found + safe_log(self._likely(root, None, known) @ self.margins[root])[:, None]
        return found

    def _likely(self, here: int, before: int | None, known: Sequence[Indices | None]) -> Array:
        """How likely what is known from a column on is, given its cells: records × cells."""
        cells, size = known[here], len(self.margins[here])
        likely = np.ones((1, size)) if cells is None else np.eye(size)[cells]
        for there in self.neighbours[here]:
            if there != before:
                likely = likely * (self._likely(there, here, known) @ self.steps[here, there].T)
        return likely

    def draw(self, known: KnownCells, dice: np.random.Generator) -> list[Indices]:
        """Column by column from each root on."""
        drawn: dict[int, Indices] = {}
        for root in self._roots:
            self._draw_from(root, None, known, drawn, dice)
        return [drawn[axis] for axis in range(len(self.margins))]

    def _draw_from(
        self, here: int, before: int | None, known: KnownCells, drawn: dict[int, Indices], dice: np.random.Generator
    ) -> None:
        """A column, by what stands before it and by what is known from it on; then those beyond it."""
        cells = known.places[here]
        if cells is None:
            kinds, place = known.kinds
            alike = distinct_rows([place] if before is None else [place, drawn[before]])
            likely = self._likely(here, before, kinds)
            likely = likely[np.minimum(alike.columns[0], len(likely) - 1)]
            shares = self.margins[here] if before is None else self.steps[before, here][alike.columns[1]]
            cells = draw_cells(np.maximum(shares * likely, 1e-300), alike.place, dice)
        drawn[here] = cells
        for there in self.neighbours[here]:
            if there != before:
                self._draw_from(there, here, known, drawn, dice)


def _spanning(columns: int, pairs: Mapping[tuple[int, int], Array]) -> Iterator[tuple[int, int]]:
    """The pairs of a spanning tree with the most information in all."""
    part = list(range(columns))
    for first, second in sorted(pairs, key=lambda pair: -_information(pairs[pair])):
        if part[first] != part[second]:
            yield first, second
            joined = part[second]
            part = [part[first] if one == joined else one for one in part]


def _information(table: Array) -> float:
    """The mutual information of two columns."""
    independent = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    some = table > 0
    return float((table[some] * np.log(table[some] / independent[some])).sum())


def _raked(table: Array, rows: Array, columns: Array) -> Array:
    """A table scaled to margins that are known better (Deming and Stephan 1940)."""
    table = table + _LEAST
    for _ in range(_MOST_RAKES):
        table = table * (columns / table.sum(axis=0))
        found = table.sum(axis=1)
        if np.abs(found - rows).max() < _LEAST:
            break
        table = table * (rows / found)[:, None]
    return table


@dataclass(frozen=True, eq=False)
class Blend:
    """A mixture of joint distributions."""

    weights: Sequence[float]
    joints: Sequence[Joint]

    def table(self, axes: Sequence[int], groups: Sequence[Indices | None]) -> Array:
        """The average of theirs."""
        return np.asarray(sum(weight * joint.table(axes, groups) for weight, joint in self._merged))

    @cached_property
    def _merged(self) -> list[tuple[float, Joint]]:
        """The same with all latent classes as one mixture: one product of matrices instead of many."""
        weighted = list(zip(self.weights, self.joints, strict=True))
        classes = [(weight, one) for weight, one in weighted if isinstance(one, ClassMixture)]
        others = [(weight, one) for weight, one in weighted if not isinstance(one, ClassMixture)]
        if len(classes) < 2:
            return [*classes, *others]
        shares = np.concatenate([weight * one.shares for weight, one in classes])
        profiles = tuple(np.hstack(column) for column in zip(*(one.profiles for _, one in classes), strict=True))
        return [(1.0, ClassMixture(shares, profiles)), *others]

    def given(self, target: int, places: Sequence[Indices | None]) -> Array:
        """Each counts as much as it expects what is known."""
        found = [
            weight + joint.given(target, places)
            for weight, joint in zip(safe_log(np.array(self.weights)), self.joints, strict=True)
        ]
        return np.logaddexp.reduce(found)

    def draw(self, known: KnownCells, dice: np.random.Generator) -> list[Indices]:
        """Each record by one of them."""
        unknown = [axis for axis, cells in enumerate(known.places) if cells is None]
        if not unknown:
            return [cells for cells in known.places if cells is not None]
        kinds, place = known.kinds
        likely = safe_log(np.array(self.weights))[None]
        if len(unknown) < len(kinds):
            target = unknown[0]
            likely = likely + np.column_stack(
                [np.logaddexp.reduce(joint.given(target, kinds), axis=1) for joint in self.joints]
            )
        drawn_by = draw_cells(softmax(likely), place, dice)
        found = [np.empty(known.count, np.intp) for _ in known.places]
        for number, joint in enumerate(self.joints):
            records = np.flatnonzero(drawn_by == number)
            if len(records):
                for column, cells in zip(found, joint.draw(known.some(records), dice), strict=True):
                    column[records] = cells
        return found


@dataclass(frozen=True, eq=False)
class _Evidence:
    """The counts of all tells, without each part of the records and with all of them."""

    told: tuple[ToldCounts, ...]
    parts: tuple[HeldOut, ...]
    times: int
    """How often each record is counted."""
    records: float
    """How many there are, if that is known."""

    def about(self, axes: Sequence[int]) -> list[tuple[Operator, Array, Array]]:
        """Of the tells that hold some columns: how they were perturbed, counts without each part and all, the parts."""
        return [
            (
                one.of(axes).operator.stacked(),
                np.stack(
                    [replace(one, counts=part.kept[tell]).of(axes).counts for part in self.parts]
                    + [one.of(axes).counts]
                ),
                np.stack([replace(one, counts=part.held[tell]).of(axes).counts for part in self.parts]),
            )
            for tell, one in enumerate(self.told)
            if one.holds(axes)
        ]

    def expected(self, joints: Sequence[Joint]) -> Array:
        """The shares of all cells of the tells in a row, part by part, under the models without each part."""
        shares = [
            one.operator.forward(normalised(joint.table(one.axes, [None] * len(one.axes)))).ravel()
            for joint in joints[: len(self.parts)]
            for one in self.told
        ]
        return np.concatenate(shares)[self._held > 0]

    def score(self, expected: Array) -> float:
        """The log-likelihood of the parts, from such shares, as if each record were counted once."""
        return float((self._held[self._held > 0] * safe_log(expected)).sum()) / self.times

    @cached_property
    def _held(self) -> Array:
        return np.concatenate([counts.ravel() for part in self.parts for counts in part.held])

    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of columns that some tell holds."""
        return sorted({pair for one in self.told for pair in combinations(sorted(one.axes), 2)})

    def resampled(self, dice: np.random.Generator) -> _Evidence:
        """As many records drawn anew, each part from its own: copies of a record never judge a fit to it."""
        ends = np.cumsum([one.counts.size for one in self.told])[:-1]
        held = [np.concatenate([counts.ravel() for counts in part.held]) for part in self.parts]
        drawn = [self.times * _drawn_anew(counts, int(counts.sum()) // self.times, dice) for counts in held]
        everything = sum(drawn, np.zeros_like(drawn[0]))

        def laid(flat: Array) -> list[Array]:
            tables = np.split(flat, ends)
            return [table.reshape(one.counts.shape) for table, one in zip(tables, self.told, strict=True)]

        told = [replace(one, counts=counts) for one, counts in zip(self.told, laid(everything), strict=True)]
        parts = tuple(HeldOut(laid(everything - held), laid(held)) for held in drawn)
        return _Evidence(tuple(told), parts, self.times, self.records)


def _drawn_anew(counts: Array, total: int, dice: np.random.Generator) -> Array:
    """So many records, each like one of those that there are."""
    return dice.multinomial(total, counts / counts.sum()).astype(float) if total else np.zeros_like(counts)


def _joint_tables(joints: Sequence[Joint], axes: Sequence[int]) -> Array:
    """The table of some columns under each of some models: models × cells."""
    return np.stack([normalised(joint.table(axes, [None] * len(axes))) for joint in joints])


def _moved(tables: Array, told: Sequence[tuple[Operator, Array, Array]]) -> Array:
    """Tables of some models, moved towards the counts of the tells that hold them as far as held-out ones approve.

    The models are those without each part of the records, and of all of them. Of millions of records, counts know more
    than latent classes can hold.
    """
    best, found, judged = -math.inf, tables, 0
    for stop, at in enumerate(_towards(tables, told)):
        score = _predicts(at, told)
        if score > best:
            best, found, judged = score + (0 if stop else LUCK), at, stop
        elif stop - judged >= _PATIENT_STOPS:
            break
    return found


def _towards(tables: Array, told: Sequence[tuple[Operator, Array, Array]]) -> Iterator[Array]:
    """The path of EM from some tables to what the tells say of them, at the stops."""
    for step in range(STOPS[-1] + 1):
        if step in STOPS:
            yield tables
        further = sum((em_step(tables, counts, operator) for operator, counts, _ in told), np.zeros_like(tables))
        total = further.sum(axis=tuple(range(1, tables.ndim)), keepdims=True)
        tables = np.where(total > 0, further / np.maximum(total, 1e-300), tables)


def _predicts(tables: Array, told: Sequence[tuple[Operator, Array, Array]]) -> float:
    """The log-likelihood of the parts that were held out."""
    score = 0.0
    for operator, _, held in told:
        expected = np.maximum(operator.forward(tables[: len(held)]), 1e-300)
        score += float((held * np.log(expected)).sum())
    return score


def _along_strengths(table: Array) -> Array:
    """A table with more and less of the association that it has, at each node: m + λ(m − what its margins would give).

    No cell falls below a small part of what it was.
    """
    apart = table - np.outer(table.sum(axis=1), table.sum(axis=0))
    found = np.maximum(table + _NODES[:, None, None] * apart, _FLOOR * table)
    return found / found.sum(axis=(1, 2), keepdims=True)


def _likelihood_of_strengths(tables: Array, told: Sequence[tuple[Operator, Array, Array]]) -> Array:
    """The log-likelihood of what each fold held out, at each node, under the model that never saw it: folds × nodes."""
    found = []
    for fold, table in enumerate(tables[:-1]):
        changed = _along_strengths(table)
        scores = [(held[fold] * safe_log(operator.forward(changed))).sum(axis=(1, 2)) for operator, _, held in told]
        found.append(np.sum(scores, axis=0))
    return np.stack(found)


def _posterior_of_strengths(likelihoods: Array) -> Array:
    """The posterior of the strength of every pair, as weights of the nodes, from the log-likelihoods at these.

    Strengths are normal around 0, the model's own. How widely they vary, all pairs have in common: a distribution over
    a few widths, by maximum likelihood (empirical Bayes, maths §16).
    """
    from scipy.interpolate import CubicSpline

    logs = CubicSpline(_NODES, likelihoods, axis=1)(_STRENGTHS)
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    prior = softmax(-0.5 * (_STRENGTHS / _WIDTHS[:, None]) ** 2)
    evidence = np.maximum(likely @ prior.T, 1e-300)
    common = np.full(len(_WIDTHS), 1 / len(_WIDTHS))
    for _ in range(_STEPS_TO_COMMON):
        common = normalised(rows_normalised(evidence * common).sum(axis=0) + _NO_WIDTH_IS_RULED_OUT)
    mixed = (rows_normalised(evidence * common) / evidence) @ prior
    return rows_normalised(likely * mixed) @ _BETWEEN_NODES


@dataclass(frozen=True, eq=False)
class _Chance:
    """What chance makes of the tables of all pairs that are told, and what may hide in these.

    Attributes
    ----------
    variances : Mapping[tuple[int, int], Array]
        Of the cells of every pair, as a regression has them.
    worth : float
        How many folds the regression is worth.
    hidden : Mapping[tuple[int, int], float]
        How much association may hide in every pair.
    lost : float
        How far associations may be lost to the model, from 0 to 1: how much of those that it has may be noise.
    """

    variances: Mapping[tuple[int, int], Array]
    worth: float
    hidden: Mapping[tuple[int, int], float]
    lost: float

    @classmethod
    def of(cls, tables: Mapping[tuple[int, int], FoldTables]) -> _Chance:
        """Of all pairs at once."""
        smoothing = Smoothing.of(list(tables.values()))
        variances = dict(zip(tables, smoothing.variances, strict=True))
        noise = sum(one.in_units(variances[pair]) for pair, one in tables.items())
        held = sum(one.in_units((one.estimate - one.independent) ** 2) for one in tables.values())
        lost = min(noise / max(held, 1e-12) / _MOST, 1.0)
        hidden = {pair: (1 + _MORE * lost) * hidden_part(one, variances[pair]) for pair, one in tables.items()}
        return cls(variances, smoothing.worth, hidden, lost)


def joint_model(
    sizes: Sequence[int], told: Sequence[ToldCounts], times: int = 1, records: float = math.inf
) -> JointModel:
    """The joint distribution of all columns; a function of the counts alone.

    An average of latent classes, fewer and more, and of a tree of pairs, by how well they predict held-out counts.

    Parameters
    ----------
    sizes : Sequence[int]
        How many cells each column has.
    told : Sequence[ToldCounts]
        The perturbed counts of every tell.
    times : int
        In how many of them each record is counted, column by column.
    records : float
        How many there are: few pay for few latent classes.
    """
    _check(sizes, told)
    dice = dice_of(told).generator()
    evidence = _Evidence(tuple(told), tuple(parts_held_out(told, dice)), times, records)
    return _fitted(tuple(sizes), evidence, dice)


def _fitted(sizes: tuple[int, ...], evidence: _Evidence, dice: np.random.Generator) -> JointModel:
    with one_thread():
        independent, *more = _kinds(sizes, evidence, dice)
        found = reduce(_Weighed.joined_by, more, _Weighed.alone(independent, evidence))
        found = found.joined_by(_Kind(Phrase("a tree of pairs"), _trees(found.joints, evidence, len(sizes))))
    return JointModel(sizes, found.reason, found.joints, evidence)


def _check(sizes: Sequence[int], told: Sequence[ToldCounts]) -> None:
    if not told:
        raise ArgumentError("told", Phrase("holds no counts"), Phrase("Count at least one tell."))
    for one in told:
        one.operator.checked(one.counts)
        found, shape = one.operator.true_shape(one.counts), tuple(sizes[axis] for axis in one.axes)
        if found != shape:
            problem = Phrase(
                "has counts of {found} cells for columns {axes} of {shape}", found=found, axes=one.axes, shape=shape
            )
            raise ArgumentError("told", problem, Phrase("Count over all cells of the columns."))


@dataclass(frozen=True, eq=False)
class _Kind:
    """One kind of model without each part of the records and, last, with all of them."""

    name: Phrase
    joints: Sequence[Joint]


def _kinds(sizes: Sequence[int], evidence: _Evidence, dice: np.random.Generator) -> Iterator[_Kind]:
    """Latent classes, more and more of them."""
    for classes, joints in more_and_more_classes(sizes, evidence.told, evidence.parts, dice, evidence.records):
        name = Phrase("{classes} latent classes", classes=classes) if classes > 1 else Phrase("independent columns")
        yield _Kind(name, joints)


@dataclass(frozen=True, eq=False)
class _Weighed:
    """Kinds of models, how much each of them counts, and what they expect of what was held out."""

    evidence: _Evidence
    kinds: tuple[_Kind, ...]
    weights: tuple[float, ...]
    expected: Array

    @classmethod
    def alone(cls, kind: _Kind, evidence: _Evidence) -> _Weighed:
        """One kind."""
        return cls(evidence, (kind,), (1.0,), evidence.expected(kind.joints))

    def joined_by(self, kind: _Kind) -> _Weighed:
        """With one more kind, and as much of it as held-out counts make likely if before them any share was."""
        expected = self.evidence.expected(kind.joints)
        shares = np.linspace(0, 1, _SHARES)
        scores = np.array([self.evidence.score(share * expected + (1 - share) * self.expected) for share in shares])
        scores -= LUCK * shares
        share = float(np.average(shares, weights=np.exp(scores - scores.max())))
        return _Weighed(
            self.evidence,
            (*self.kinds, kind),
            (*(weight * (1 - share) for weight in self.weights), share),
            share * expected + (1 - share) * self.expected,
        )

    @property
    def joints(self) -> list[Blend]:
        """Their mixtures without each part of the records and, last, with all of them."""
        return [Blend(self.weights, joints) for joints in zip(*(kind.joints for kind in self.kinds), strict=True)]

    @property
    def reason(self) -> Phrase:
        """In words."""
        share, best = max(zip(self.weights, (kind.name for kind in self.kinds), strict=True))
        return Phrase(
            "average of {count} by held-out likelihood, most of all {best} ({share:.0%})",
            count=len(self.kinds),
            best=best,
            share=share,
        )


def _trees(joints: Sequence[Joint], evidence: _Evidence, columns: int) -> list[Joint]:
    """Trees of pairs that are moved from some models towards the counts."""
    pairs = {pair: _moved(_joint_tables(joints, pair), evidence.about(pair)) for pair in evidence.pairs()}
    return [
        PairTree.of(
            [normalised(joint.table([column], [None])) for column in range(columns)],
            {pair: tables[place] for pair, tables in pairs.items()},
        )
        for place, joint in enumerate(joints)
    ]


@dataclass(frozen=True, eq=False)
class JointModel:
    """A joint distribution of all columns of a release.

    Attributes
    ----------
    sizes : tuple[int, ...]
        How many cells each column has.
    reason : Phrase
        How it was found, in words.
    """

    sizes: tuple[int, ...]
    reason: Phrase
    _joints: Sequence[Blend] = field(repr=False)
    """Without each part of the records and, last, with all of them."""
    _evidence: _Evidence = field(repr=False)
    _pairs: dict[tuple[int, int], Array] = field(default_factory=dict, init=False, repr=False)

    def table(self, axes: Sequence[int], groups: Sequence[Indices | None] = ()) -> Array:
        """The shares of the cells of a table.

        Parameters
        ----------
        axes : Sequence[int]
            Its columns, in any order.
        groups : Sequence[Indices | None]
            Of each of them, the part that each cell is in; None, or nothing at all, where every cell is one.
        """
        return normalised(self._joints[-1].table(axes, groups or [None] * len(axes)))

    def given(self, target: int, places: Sequence[Indices | None]) -> Array:
        """The distribution of one column for records of which others are known: records × cells.

        Parameters
        ----------
        target : int
            The column.
        places : Sequence[Indices | None]
            Of every column, the cell that each record is in; None where it is not known. The target's own is not used.
        """
        if not known_columns(target, places):
            raise ArgumentError(
                "places", Phrase("say nothing about any other column"), Phrase("Ask for the table of the column.")
            )
        found = self._joints[-1].given(target, places)
        found = np.exp(found - found.max(axis=1, keepdims=True))
        return found / found.sum(axis=1, keepdims=True)

    def without(self, axes: Sequence[int]) -> list[Array]:
        """What `direct` would be without each part of the records: what chance makes of it."""
        return list(self._direct(axes)[:-1])

    def interval(
        self, axes: Sequence[int], reading: Reading, level: float, own: tuple[Array, Array] | None
    ) -> tuple[Array, Array]:
        """The ends of intervals of what is read off `direct`, in people; every two of the columns are told by somebody.

        Parameters
        ----------
        axes : Sequence[int]
            The columns of the table.
        reading : Reading
            What is read off it.
        level : float
            Which part of the intervals of a table should hold the truth.
        own : tuple[Array, Array] | None
            What the unbiased count says, as shares, and its variance, where somebody tells all of the columns.
        """
        people, chance = self._evidence.records, self._chance
        tables = FoldTables(people * self._direct(axes))
        keys = {
            places: (min(axes[places[0]], axes[places[1]]), max(axes[places[0]], axes[places[1]]))
            for places in combinations(range(len(axes)), 2)
        }
        hidden: dict[tuple[int, ...], float] = {places: chance.hidden[key] for places, key in keys.items()}
        if len(axes) == 2:
            variances, worth = chance.variances[keys[0, 1]], chance.worth
            variances = variances if axes[0] < axes[1] else variances.T
        else:
            smoothing = Smoothing.of([tables])
            (variances,), worth = smoothing.variances, smoothing.worth
            hidden[tuple(range(len(axes)))] = (1 + _MORE * chance.lost) * hidden_part(tables, variances)
        scaled = None if own is None else (people * own[0], people**2 * own[1])
        return shrunk_interval(tables, variances, worth, hidden, reading, level, scaled, chance.lost)

    @cached_property
    def _chance(self) -> _Chance:
        return _Chance.of({pair: FoldTables(self._evidence.records * self._pair(*pair)) for pair in self._strengths})

    def kinds(self, axes: Sequence[int]) -> list[tuple[float, Array]]:
        """The same table as each kind of model has it by itself, and how much it counts."""
        blend = self._joints[-1]
        return [
            (weight, normalised(joint.table(axes, [None] * len(axes))))
            for weight, joint in zip(blend.weights, blend.joints, strict=True)
        ]

    def predicts(self, axes: Sequence[int], tables: Sequence[Array]) -> Array:
        """The log-likelihood of what each part tells of some columns, under a table for each that never saw it."""
        scores = np.zeros(len(tables))
        for tell, one in enumerate(self._evidence.told):
            told = [axis for axis in axes if axis in one.axes]
            others = tuple(place for place, axis in enumerate(axes) if axis not in one.axes)
            if told:
                operator = one.of(told).operator
                for place, (part, table) in enumerate(zip(self._evidence.parts, tables, strict=True)):
                    held = replace(one, counts=part.held[tell]).of(told).counts
                    scores[place] += float((held * safe_log(operator.forward(table.sum(axis=others)))).sum())
        return scores

    @property
    def leaving_out(self) -> list[JointModel]:
        """The models without each part of the records."""
        return [replace(self, _joints=[joint]) for joint in self._joints[: len(self._evidence.parts)]]

    def foretells(
        self,
        part: int,
        axes: Sequence[int],
        cells: Sequence[Indices],
        weights: Array,
        by: tuple[int, Array] | None = None,
    ) -> tuple[float, float]:
        """How well made-up records foretell a column of one part, given the others: log-likelihood, and how many tell.

        Parameters
        ----------
        part : int
            The part.
        axes : Sequence[int]
            The column, then others that are known of the made-up records.
        cells : Sequence[Indices]
            Of each of the others, the cell that every made-up record is in.
        weights : Array
            How much of each made-up record is in every cell of the column: records × cells.
        by : tuple[int, Array] | None
            A column that is not perturbed, and how much records in each of its cells count.
        """
        likely, tellers = 0.0, 0.0
        weighing, worth = ([], np.ones(())) if by is None else ([by[0]], by[1])
        for one, held in zip(self._evidence.told, self._evidence.parts[part].held, strict=True):
            if {axes[0], *weighing} <= set(one.axes):
                known = {axis: some for axis, some in zip(axes[1:], cells, strict=True) if axis in one.axes}
                told = one.of([axes[0], *known])
                shape = [self.sizes[axis] for axis in known]
                place = np.zeros(len(weights), np.intp)
                for axis, some in known.items():
                    place = place * self.sizes[axis] + some
                table: Array = np.stack([np.bincount(place, some, math.prod(shape)) for some in weights.T]).astype(
                    float
                )
                seen = told.operator.forward(normalised(table).reshape(-1, *shape))
                counts = replace(one, counts=held).of([*weighing, axes[0], *known]).counts
                counts = np.tensordot(worth, counts, axes=len(weighing))
                likely += float((counts * (safe_log(seen) - safe_log(seen.sum(axis=0)))).sum())
                tellers += float(counts.sum())
        return likely, tellers

    @property
    def randomness(self) -> Randomness:
        """A stream that is the same for the same counts."""
        return dice_of(self._evidence.told)

    def draw(
        self, count: int, places: Sequence[Indices | None] = (), dice: np.random.Generator | None = None
    ) -> list[Indices]:
        """Made-up records: the cell of each along every column.

        Parameters
        ----------
        count : int
            How many.
        places : Sequence[Indices | None]
            Of every column, the cell that each record is to be in; None, or nothing at all, where the model draws it.
        dice : Generator | None
            What they are drawn with; without it they are always the same.
        """
        dice = self.randomness.generator() if dice is None else dice
        known = KnownCells(places or [None] * len(self.sizes), count)
        parts = np.array_split(np.arange(count), max(1, -(-count // _DRAWN_AT_ONCE)))
        drawn = [self._joints[-1].draw(known.some(part), dice) for part in parts]
        return [np.concatenate(cells) for cells in zip(*drawn, strict=True)]

    def resampled(self, dice: np.random.Generator) -> JointModel:
        """The model that as many other records, drawn from these, would have given: what chance makes of it."""
        return _fitted(self.sizes, self._evidence.resampled(dice), dice)

    def direct(self, axes: Sequence[int]) -> Array:
        """The shares of the cells of a table, with associations as strong as the counts of the tells have them.

        A table of more than two columns agrees with those of all pairs of them that a tell holds.
        """
        found: Array = self._direct(axes)[-1]
        return found

    def _direct(self, axes: Sequence[int]) -> Array:
        tables = _joint_tables(self._joints, axes)
        pairs = [
            (places, self._pair(axes[places[0]], axes[places[1]]))
            for places in combinations(range(len(axes)), 2)
            if tuple(sorted((axes[places[0]], axes[places[1]]))) in self._strengths
        ]
        if len(axes) == 2 and pairs:
            return pairs[0][1]
        for _ in range(_MOST_PAIR_RAKES if pairs else 0):
            for places, wanted in pairs:
                others = tuple(1 + place for place in range(len(axes)) if place not in places)
                found = tables.sum(axis=others)
                tables = tables * np.expand_dims(wanted / np.maximum(found, 1e-300), others)
        return tables

    def _pair(self, first: int, second: int) -> Array:
        """The tables of two columns that a tell holds, without each part of the records and, last, with all of them."""
        pair = min(first, second), max(first, second)
        if pair not in self._pairs:
            tables = _joint_tables(self._joints, pair)
            strong = [
                np.tensordot(weights, _along_strengths(table), axes=1)
                for table, weights in zip(tables, self._strengths[pair], strict=True)
            ]
            moved = _moved(np.stack(strong), self._evidence.about(pair))
            margins = tables.sum(axis=2), tables.sum(axis=1)
            self._pairs[pair] = np.stack([_raked(*some) for some in zip(moved, *margins, strict=True)])
        return self._pairs[pair] if first < second else self._pairs[pair].swapaxes(1, 2)

    @cached_property
    def _strengths(self) -> Mapping[tuple[int, int], Array]:
        """How much association to add to each pair of columns that a tell holds: models × weights of the nodes."""
        pairs, evidence = self._evidence.pairs(), self._evidence
        if not pairs:
            return {}
        with one_thread():
            folds = np.stack(
                [_likelihood_of_strengths(_joint_tables(self._joints, pair), evidence.about(pair)) for pair in pairs]
            )
        every = folds.sum(axis=1)
        without = [_posterior_of_strengths(every - folds[:, fold]) for fold in range(folds.shape[1])]
        return dict(zip(pairs, np.stack([*without, _posterior_of_strengths(every)], axis=1), strict=True))
