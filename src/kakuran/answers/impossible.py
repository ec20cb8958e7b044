"""What no true table can have brought about: signs of made-up records.

A mechanism keeps every value from being too common: however people answer, no released answer is likelier than the
mechanism makes it for the true answer that suits it best. Made-up records need not care. Two tests look for that. Both
hold for every true table and any number of records, so the rate of false alarms is a bound, not an approximation; and
both are silent about records made up to look as if they had been perturbed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kakuran.answers.answer import Answer
from kakuran.answers.reader import counted_cells
from kakuran.counts import Cells, cells_of, rows_of_each
from kakuran.design import Plan, Tell
from kakuran.errors import SchemaError
from kakuran.model import Operator, reconstruct, transition_between
from kakuran.schema import Numeric, Schema
from kakuran.typing import Array, Codes, Number
from kakuran.words import Phrase

FALSE_ALARM = 0.001
MOST_KINDS = 1 << 22
MOST_POINTS = 512
"""Numbers with more points are left out: their transition would be a large matrix."""


@dataclass(frozen=True)
class Impossible:
    """Answers that records perturbed as the plan says would hardly give.

    Attributes
    ----------
    columns : tuple of str
        Where: one column whose counts no true counts explain, or all of them for a repeated record.
    chance : float
        How likely this or worse is, at most, whatever is true.
    records : int, optional
        How often the record is there, where one is repeated.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> from kakuran.release import Manifest
    >>> plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=1000, k=300)
    >>> flooded = kk.Release(pa.table({"job": ["nurse"] * 1000}), Manifest(plan, 1000, "shuffled", seeded=False))
    >>> [(one.columns, one.records) for one in flooded.impossible()]
    [(('job',), 1000), (('job',), None)]
    """

    columns: tuple[str, ...]
    chance: float
    records: int | None = None

    def __str__(self) -> str:
        what = "these counts" if self.records is None else f"one record {self.records:,} times"
        return f"{', '.join(self.columns)}: {what}, with a chance of {self.chance:.2g} at most, whatever is true"


class ImpossibleFindings(list[Impossible], Answer):
    """All that no true table can have brought about, as a list; `Release.impossible` makes one.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.samples import census, census_schema
    >>> found = kk.perturb(census(200), kk.calibrate(census_schema(), n=200, k=5)).impossible()
    >>> found == [], str(found)
    (True, 'nothing that no true table can have brought about')
    """

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs."""
        return {"impossible": [asdict(one) for one in self]}

    def _table(self) -> dict[str, pa.Array]:
        """One row a finding: where, how likely it is at most, and how often a repeated record is there."""
        return {
            "columns": pa.array([", ".join(one.columns) for one in self], pa.string()),
            "chance": pa.array([one.chance for one in self], pa.float64()),
            "records": pa.array([one.records for one in self], pa.int64()),
        }

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "nothing that no true table can have brought about"


def impossible(plan: Plan, codes: Mapping[str, Codes], false_alarm: float) -> ImpossibleFindings:
    """Everything that either test finds; all together they give a false alarm at this rate or less.

    Half of it is left to each: columns one by one, and records as a whole.
    """
    if not isinstance(false_alarm, Number) or not 0 < false_alarm < 1:
        raise SchemaError(Phrase("false_alarm must lie between 0 and 1, got {false_alarm!r}", false_alarm=false_alarm))
    axes = {name: axis for name in plan.mechanisms if (axis := points_of(plan.schema, name)).size <= MOST_POINTS}
    if not axes:
        return ImpossibleFindings()
    found = [_repeated(plan, axes, codes)]
    tests = len(axes) + len(plan.layout.telling)
    for name in plan.layout.telling:
        times = np.bincount(codes[name], minlength=len(plan.tells)).astype(float)
        chance = math.exp(log_chance_of(times, times.sum() * np.array([tell.share for tell in plan.tells])))
        found.append(Impossible((name,), 2 * tests * chance))
    for name, truth in axes.items():
        told = codes[name][codes[name] != plan.layout.untold(name)] if plan.layout.told else codes[name]
        axis = counted_cells(plan, truth)
        counts: Array = np.bincount(axis.place(told, plan.reach(name)), minlength=axis.size).astype(float)
        chance = _chance_of_misfit(counts, Operator([transition_between(truth, plan[name], axis)]))
        found.append(Impossible((name,), 2 * tests * chance))
    return ImpossibleFindings(one for one in found if one.chance <= false_alarm)


def points_of(schema: Schema, name: str) -> Cells:
    """A cell for every value: intervals would take true values to be even within, and nobody promises that."""
    attribute = schema[name]
    return cells_of(schema, name, attribute.points if isinstance(attribute, Numeric) else None)


def _chance_of_misfit(counts: Array, operator: Operator) -> float:
    """A bound on the chance of counts that fit the best true ones this badly; these fit no worse than the true ones."""
    if not counts.sum():
        return 1.0
    best = reconstruct(counts, operator, "mle")
    return math.exp(log_chance_of(counts, operator.forward(best.counts), best.gap or 0.0))


def log_chance_of(counts: Array, expected: Array, gap: float = 0.0) -> float:
    """The log of a bound on the chance of counts this far, or less by `gap`, from those that were to be expected.

    For their divergence P(n·KL ≥ t) ≤ e⁻ᵗ(et/(m−1))^(m−1) over m cells, whatever is expected (Agrawal 2020, theorem
    1.2).
    """
    free, filled = counts.size - 1, counts > 0
    if (expected[filled] <= 0).any():
        return -math.inf
    misfit = float((counts[filled] * np.log(counts[filled] / expected[filled])).sum()) - gap
    if misfit <= free or not free:
        return 0.0
    return free * math.log(math.e * misfit / free) - misfit


def _repeated(plan: Plan, axes: Mapping[str, Cells], codes: Mapping[str, Codes]) -> Impossible:
    """The record that is there far too often, if any is.

    However people answered, each of n records is a given one with at most the probability that it tells these columns
    and the likeliest true values bring it about, so its number is binomial with that or less; the chance is multiplied
    by how many different records there can be.
    """
    n = len(next(iter(codes.values())))
    told = codes[plan.layout.telling[0]] if plan.layout.told else np.zeros(n, np.int32)
    counted = {name: counted_cells(plan, axis) for name, axis in axes.items()}
    columns = [[counted[name] for name in tell.columns if name in axes] for tell in plan.tells]
    all_there_are = sum(math.prod(axis.size for axis in some) for some in columns)
    found = [Impossible(tuple(axes), 1.0, 1)]
    for tell, some, rows in zip(plan.tells, columns, rows_of_each(told, len(plan.tells)), strict=True):
        if some and len(rows):
            places = [axis.place(codes[axis.name][rows], plan.reach(axis.name)) for axis in some]
            log_chance, times = _most_repeated(tell, axes, some, places, n)
            chance = math.exp(min(log_chance + math.log(2 * all_there_are), 0.0))
            found.append(Impossible(tuple(axis.name for axis in some), chance, times))
    return min(found, key=lambda one: one.chance)


def _most_repeated(
    tell: Tell, truths: Mapping[str, Cells], axes: list[Cells], places: list[NDArray[np.intp]], n: int
) -> tuple[float, int]:
    """The log of the least chance of a record to be there so often among n, and how often that one is."""
    from scipy.stats import binom  # slow to load, and most who read a release never ask this

    kinds, kind = _kinds(places, [axis.size for axis in axes])
    times = np.bincount(kind, minlength=kinds)
    one_of = np.zeros(kinds, np.intp)
    one_of[kind] = np.arange(len(kind))
    several = np.flatnonzero(times > 1)
    if not len(several):
        return 0.0, 1
    near, anywhere = np.full((2, len(several)), tell.share)
    for axis, place in zip(axes, places, strict=True):
        here, truth = place[one_of[several]], truths[axis.name]
        released = None if axis is truth else axis.edges
        order = slice(None) if axis.groups is None else np.argsort(axis.groups)
        shares = tell.telling.shares(axis.name, truth.edges, released)
        runs = tell.telling.transition(axis.name, truth.edges, released).matrix
        near *= runs[order].max(axis=1)[here]
        anywhere *= 0.0 if shares is None else shares[order][here]
    likeliest = tell.telling.together * near + (1 - tell.telling.together) * anywhere
    chances = np.asarray(binom.logsf(times[several] - 1, n, likeliest))
    worst = int(np.argmin(chances))
    return float(chances[worst]), int(times[several[worst]])


def _kinds(places: list[NDArray[np.intp]], sizes: list[int]) -> tuple[int, NDArray[np.intp]]:
    """How many kinds of records are told apart, and the kind of each; those nobody has go where they are too many."""
    kinds, kind = 1, np.zeros(len(places[0]), np.intp)
    for place, size in zip(places, sizes, strict=True):
        kinds, kind = kinds * size, kind * size + place
        if kinds > MOST_KINDS:
            there, kind = np.unique(kind, return_inverse=True)
            kinds = len(there)
    return kinds, kind
