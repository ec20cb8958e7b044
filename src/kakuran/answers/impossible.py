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
from scipy.stats import binom

from kakuran.answers.answer import Answer
from kakuran.answers.question import counted_cells
from kakuran.counts import Cells, cells_of, count_codes
from kakuran.design import Plan
from kakuran.errors import SchemaError, is_real
from kakuran.mechanism import Transition
from kakuran.model import Operator, reconstruct, transition_between
from kakuran.schema import Numeric
from kakuran.typing import Array, Codes

FALSE_ALARM = 0.001
MOST_KINDS = 1 << 22
MOST_CELLS = 512
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
    if not is_real(false_alarm) or not 0 < false_alarm < 1:
        raise SchemaError(f"false_alarm must lie between 0 and 1, got {false_alarm!r}")
    truths = [axis for axis in (_points(plan, name) for name in plan.mechanisms) if axis.size <= MOST_CELLS]
    if not truths:
        return ImpossibleFindings()
    axes = [counted_cells(plan, axis) for axis in truths]
    transitions = [transition_between(truth, plan[truth.name], axis) for truth, axis in zip(truths, axes, strict=True)]
    tallies = count_codes(codes, [[axis] for axis in axes], reach=plan.reach)
    found = [_repeated(plan, axes, transitions, codes)]
    for axis, transition, tally in zip(axes, transitions, tallies, strict=True):
        chance = _chance_of_misfit(tally.counts, Operator([transition]))
        found.append(Impossible((axis.name,), 2 * len(axes) * chance))
    return ImpossibleFindings(one for one in found if one.chance <= false_alarm)


def _points(plan: Plan, name: str) -> Cells:
    """A cell for every value: intervals would take true values to be even within, and nobody promises that."""
    attribute = plan.schema[name]
    return cells_of(plan.schema, name, attribute.points if isinstance(attribute, Numeric) else None)


def _chance_of_misfit(counts: Array, operator: Operator) -> float:
    """A bound on the chance of counts that fit the best true ones this badly.

    The best ones fit no worse than those that are true, and for these the divergence from what is expected has
    P(n·KL ≥ t) ≤ e⁻ᵗ(et/(m−1))^(m−1) over m cells, whatever is expected (Agrawal 2020, theorem 1.2).
    """
    free = counts.size - 1
    best = reconstruct(counts, operator, "mle")
    expected = operator.forward(best.counts)
    filled = counts > 0
    misfit = float((counts[filled] * np.log(counts[filled] / expected[filled])).sum()) - (best.gap or 0.0)
    if misfit <= free or not free:
        return 1.0
    return math.exp(-misfit + free * math.log(math.e * misfit / free))


def _repeated(plan: Plan, axes: list[Cells], transitions: list[Transition], codes: Mapping[str, Codes]) -> Impossible:
    """The record that is there far too often, if any is.

    However people answered, each of n records is a given one with probability Π maxₚ A_qp at most, so its number is
    binomial with that or less; the chance is multiplied by how many different records there can be.
    """
    places = [axis.place(codes[axis.name], plan.reach(axis.name)) for axis in axes]
    kinds, kind = _kinds(places, [axis.size for axis in axes])
    times = np.bincount(kind, minlength=kinds)
    one_of = np.zeros(kinds, np.intp)
    one_of[kind] = np.arange(len(kind))
    several = np.flatnonzero(times > 1)
    likeliest = np.zeros(len(several))
    for transition, place in zip(transitions, places, strict=True):
        likeliest += np.log(transition.matrix.max(axis=1))[place[one_of[several]]]
    all_there_are = sum(math.log(axis.size) for axis in axes)
    chances = np.asarray(binom.logsf(times[several] - 1, len(kind), np.exp(likeliest)))
    worst = int(np.argmin(chances)) if len(chances) else None
    columns = tuple(axis.name for axis in axes)
    if worst is None:
        return Impossible(columns, 1.0, 1)
    chance = math.exp(min(chances[worst] + all_there_are + math.log(2), 0.0))
    return Impossible(columns, chance, int(times[several[worst]]))


def _kinds(places: list[NDArray[np.intp]], sizes: list[int]) -> tuple[int, NDArray[np.intp]]:
    """How many kinds of records are told apart, and the kind of each; those nobody has go where they are too many."""
    kinds, kind = 1, np.zeros(len(places[0]), np.intp)
    for place, size in zip(places, sizes, strict=True):
        kinds, kind = kinds * size, kind * size + place
        if kinds > MOST_KINDS:
            there, kind = np.unique(kind, return_inverse=True)
            kinds = len(there)
    return kinds, kind
