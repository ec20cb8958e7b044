"""The leakage meter: what the others could have learned of our columns, beyond the result.

Whoever knows r directions of the space our columns span, and r of our records, can solve for all the rest: every column
is a combination of the directions, and r equations determine the combination. Moments are equations too, one a column
of the other side, but on N unknowns each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.typing import Array
from kakuran.vertical.earlier import Told
from kakuran.vertical.own import OwnColumns
from kakuran.vertical.regression import Moments
from kakuran.words import Phrase

_RELATIVE = 1e-13
"""Directions weaker than this share of the strongest drown in rounding; a peer could let us answer with weak ones."""
_REPEATED = 1e-10
"""Directions of a set of columns that are weaker than this share of the strongest are none."""
_NOTHING = Told()
BITS_A_SUM = 58
"""What one opened sum can tell, with whatever weights."""
_FINEST = 2.0**-24
"""Steps of a column smaller than this share of its spread are no steps."""
_A_GROUP, _GROUPS, _ORIGINS = 5, 32, 4
"""Values that show the grid they lie on, how many times it is looked for, and values one of which lies on it."""
_COINCIDENCE = 16
"""Few values lie on a grid of so many times the finest step by chance, and many on hardly any."""
TARGET = Phrase("(target)")
"""What the column to explain is called among ours, if it is ours."""


@dataclass(frozen=True)
class Exposure:
    """What was shown of our columns.

    Parameters
    ----------
    rank, columns : int
        Directions of our column space the others know record by record, of how many there are.
    shares : dict[str, float]
        For each of our columns, how much of its variance the others can rebuild record by record.
    unlocking_records : int
        Known records of ours from which the others could compute all our columns for all the others.
    pinned_down : tuple[str, ...]
        Columns that sums have told more bits of than it takes to write them down: no record need be known to find them.
    earlier_runs : int
        Runs before this one that told sums over the same people; they are counted in what is said above.
    sums : int
        Sums of each of our columns, weighted as they like, that others who cheat could have read in this run.
    bits_told : int
        The most that the sums of this and earlier runs tell of each of our columns.
    bits : dict[str, int]
        What writing each down takes.
    """

    protocol: str
    records: int
    rank: int
    columns: int
    shares: dict[str, float]
    unlocking_records: int
    pinned_down: tuple[str, ...] = ()
    earlier_runs: int = 0
    sums: int = 0
    bits_told: int = 0
    bits: dict[str, int] = field(default_factory=dict)

    @property
    def by_column(self) -> list[tuple[str, float]]:
        """The share of every column, the target by a name that can be said in any language."""
        return [(TARGET if name == TARGET else name, share) for name, share in self.shares.items()]

    def sentences(self) -> list[Phrase]:
        """The meter in plain words."""
        said = [
            Phrase(
                "the others know {rank} of the directions our columns span ({columns} in all), record by record",
                rank=self.rank,
                columns=self.columns,
            ),
            Phrase(
                "who knows {known:,} of our {records:,} records could compute the rest",
                known=self.unlocking_records,
                records=self.records,
            ),
        ]
        if self.shares:
            worst, share = max(self.by_column, key=lambda one: one[1])
            how = Phrase("rebuilt") if self.protocol == "residual" else Phrase("predicted from the others' columns")
            said.append(
                Phrase(
                    "most exposed is {column!r}: {share:.1%} of its variance can be {how}",
                    column=worst,
                    share=share,
                    how=how,
                )
            )
        if self.pinned_down:
            said.append(
                Phrase(
                    "the sums pin down the columns {columns}: no records need be known to compute them",
                    columns=", ".join(self.pinned_down),
                )
            )
        if self.bits:
            least = min(self.bits, key=lambda name: self.bits[name])
            said.append(
                Phrase(
                    "sums could have told {told:,} bits of each column; to write {column!r} down takes {bits:,}",
                    told=self.bits_told,
                    column=TARGET if least == TARGET else least,
                    bits=self.bits[least],
                )
            )
        if self.earlier_runs:
            said.append(Phrase("earlier runs that told sums over the same people: {runs:,}", runs=self.earlier_runs))
        return said

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


class DirectionMeter:
    """Keeps account of vectors that are combinations of our columns, as the residual protocol sends them.

    A direction is kept as it was first shown, and what is sent lies in those kept, so that nothing is sent uncounted.
    """

    def __init__(self, names: Sequence[str], standardised: Array) -> None:
        self.names = tuple(names)
        self._basis, self._coordinates = np.linalg.qr(standardised)
        self._records = len(standardised)
        self.seen = np.zeros((0, len(self.names)))

    def note(self, vectors: Array) -> Array:
        """Vectors (as columns) that are about to be sent, without what is too weak to count."""
        coordinates = self._basis.T @ vectors.reshape(self._records, -1)
        for shown in coordinates.T:
            rest = shown - self.seen.T @ (self.seen @ shown)
            if np.linalg.norm(rest) > _RELATIVE * np.linalg.norm(shown):
                rest = rest - self.seen.T @ (self.seen @ rest)
                self.seen = np.vstack([self.seen, rest / np.linalg.norm(rest)])
        return np.asarray((self._basis @ (self.seen.T @ (self.seen @ coordinates))).reshape(vectors.shape))

    def exposure(self) -> Exposure:
        """What the vectors sent so far give away."""
        known = self.seen
        lengths = (self._coordinates**2).sum(axis=0)
        shares = np.minimum(((known @ self._coordinates) ** 2).sum(axis=0) / lengths, 1)
        # One record more than directions, because means are not known either.
        unlocking = len(known) + 1 if len(known) == len(self.names) else self._records
        return Exposure(
            "residual",
            self._records,
            len(known),
            len(self.names),
            dict(zip(self.names, shares.tolist(), strict=True)),
            unlocking,
        )


def exposure_of_moments(
    moments: Moments, party: str, holder: str, own: OwnColumns, earlier: Told = _NOTHING, sums: int = 0
) -> Exposure:
    """What all others together know of a party's columns once they hold the moments and their own columns.

    `sums` of each column were told in this run, those only a cheat could have read among them.
    """
    is_ours = np.array([owner == party for owner in (*moments.owners, holder)])
    ours, theirs = np.flatnonzero(is_ours), np.flatnonzero(~is_ours)
    between = moments.matrix[np.ix_(theirs, ours)]
    rebuilt = (between * (np.linalg.pinv(moments.matrix[np.ix_(theirs, theirs)]) @ between)).sum(axis=0)
    names = [(*moments.names, TARGET)[place] for place in ours]
    shares = np.clip(rebuilt / np.diag(moments.matrix)[ours], 0, 1)
    told = bits_told(sums + earlier.sums, len(ours))
    bits = dict(zip(names, map(int, map(bits_of, own.values.T)), strict=True))
    known = len(theirs) + math.ceil(earlier.sums)
    # Moments among our own columns are equations as well: (m + 1) / 2 for each of m columns.
    unlocking = max(0, moments.records - known - int(moments.intercept) - math.ceil((len(ours) + 1) / 2))
    return Exposure(
        "gram",
        moments.records,
        0,
        len(ours),
        dict(zip(names, shares.tolist(), strict=True)),
        unlocking,
        tuple(name for name in names if bits[name] <= told),
        earlier.runs,
        sums,
        math.ceil(told),
        bits,
    )


def bits_told(sums: float, columns: int) -> float:
    """The most that so many sums with the others' columns, and those among our own, tell of each of our columns."""
    # As many moments among our own columns as (m + 1) / 2 for each of m columns, the squares and the means among them.
    return BITS_A_SUM * (sums + (columns + 1) / 2)


def bits_of(column: Array) -> float:
    """What it takes to write a column down for one who knows how often each value occurs and how fine they are.

    Whoever is told fewer bits is left with many columns that fit. A value that occurs once is taken for one of all
    those between the quartiles of such values, and as many outside.
    """
    values, counts = np.unique(column, return_counts=True)
    repeated, single = counts[counts > 1], values[counts == 1]
    bits = float(-repeated @ np.log2(repeated / len(column)))
    if len(single) > 1:
        spread = 2 * float(np.subtract(*np.quantile(single, [0.75, 0.25])))
        bits += min(_bits_on_grid(single, step, spread) for step in _steps(values, _FINEST * spread))
    return bits


def _bits_on_grid(single: Array, step: float, spread: float) -> float:
    """For each value on the grid that most lie on its place there; for others which they are, and all their digits."""
    finest, count, off = _FINEST * spread, len(single), 0
    if step > finest:
        distances = single - single[:: max(1, count // _ORIGINS), None]
        off = int((np.abs(distances - np.rint(distances / step) * step) > finest).sum(axis=1).min())
    which = sum(part * math.log2(count / part) for part in (off, count - off) if part)
    return (count - off) * math.log2(1 + spread / step) + off * math.log2(1 + spread / finest) + which


def _steps(values: Array, finest: float) -> set[float]:
    """The step of all values, and those of some groups of few: one value off the grid is not in most of them."""
    places = [np.unique((start + np.arange(_A_GROUP) * (start + 1)) % len(values)) for start in range(_GROUPS)]
    steps = {_step(values[some], finest) for some in places if len(some) > 1}
    return {_step(values, finest), *(step for step in steps if step > _COINCIDENCE * finest)}


_SETS = 5_000
"""So many sets of columns are looked at: all of them for up to twelve columns, and of more the small ones."""
_GROWN = 10_000
"""So many more are looked at, about: the sets that tell most, each with one column more."""


def most_told(parts: Array, correlations: Array, bits: Array, of_any: float = 0.0) -> tuple[list[int], float, float]:
    """The columns of which parts of predictions tell most: their places, the bits told and those there are, per person.

    Columns and rounding are taken to be jointly normal.

    Parameters
    ----------
    parts : Array
        What each part that was told is made of: of every column the standard deviation, in steps it was rounded to.
    correlations : Array
        Of the columns.
    bits : Array
        What it takes to write one value of each column down.
    of_any : float
        Bits that were told of nobody knows which columns: they count in every set.
    """
    columns, looked_at = len(bits), 0
    strongest: list[tuple[int, ...]] = [()]
    worst, found = -1.0, ([0], 0.0, 0.0)
    with_columns = parts @ correlations
    total = with_columns @ parts.T + np.eye(len(parts)) / 12  # what rounding adds to the parts' variance
    for size in range(1, columns + 1):
        looked_at += math.comb(columns, size)
        are_few = looked_at <= _SETS or size == 1
        sets = list(combinations(range(columns), size)) if are_few else _grown(strongest, columns)
        places = np.array(sets)
        among = correlations[places[:, :, None], places[:, None, :]]
        shared = np.linalg.slogdet(among + _RELATIVE * np.eye(size)).logabsdet
        held = np.maximum(bits[places].max(axis=1), bits[places].sum(axis=1) + shared / math.log(4))
        across = with_columns[:, places].transpose(1, 0, 2)
        explained = across @ np.linalg.pinv(among, _REPEATED, hermitian=True) @ across.transpose(0, 2, 1)
        told = np.linalg.slogdet(total).logabsdet - np.linalg.slogdet(total - explained).logabsdet
        told = np.maximum(told / math.log(4), 0) + of_any
        strengths = np.divide(told, held, out=np.full(len(sets), math.inf), where=held > 0)
        at = int(strengths.argmax())
        if strengths[at] > worst:
            worst, found = strengths[at], (places[at].tolist(), float(told[at]), float(held[at]))
        strongest = [sets[at] for at in np.argsort(-strengths)[: max(1, _GROWN // columns**2)]]
    return found


def _grown(sets: Sequence[tuple[int, ...]], columns: int) -> list[tuple[int, ...]]:
    """The sets with one column more, whichever."""
    return sorted({tuple(sorted({*places, more})) for places in sets for more in range(columns)} - {*sets})


_TIMES = 5
"""So often values of a column, or pairs of two columns, occur on average where what is told of them is counted."""


def most_read_off(steps: NDArray[np.int64], own: OwnColumns) -> tuple[tuple[str, ...], float, float]:
    """The columns of few values, one or two, of which rounded parts tell most, by how often they occur together.

    A rare yes may be the only one that makes a step, of which nothing is seen if columns are taken to be normal.
    """
    codes = [np.unique(values, return_inverse=True)[1] for values in (steps, *own.values.T)]
    told_by = codes.pop(0)
    strongest, worst = 0.0, (tuple[str, ...](), 0.0, 0.0)
    few = [place for place, code in enumerate(codes) if code.max(initial=0) < len(steps) / _TIMES]
    for places in (list(chosen) for size in (1, 2) for chosen in combinations(few, size)):
        code = codes[places[0]] * (codes[places[-1]].max() + 1) + codes[places[-1]]
        held, values = entropy(code)
        if not held or values > len(steps) / _TIMES:
            continue
        (sent, kinds), (both, pairs) = entropy(told_by), entropy(code * (told_by.max() + 1) + told_by)
        # What chance makes of few records is taken off, after Miller and Madow.
        told = held + sent - both + (values + kinds - pairs - 1) / (2 * len(steps) * math.log(2))
        if told > strongest * held:
            strongest, worst = told / held, (tuple(own.names[place] for place in places), told, held)
    return worst


def entropy(codes: NDArray[np.int64]) -> tuple[float, int]:
    """Bits a record of these whole numbers, and how many different ones there are."""
    _, counts = np.unique(codes, return_counts=True)
    return float(-counts @ np.log2(counts / len(codes))) / max(1, len(codes)), len(counts)


def _step(values: Array, finest: float) -> float:
    """The largest step of which all distances of these values are multiples, or the finest that counts."""
    distances = np.diff(values)
    while True:
        step = float(distances.min())
        rest = np.abs(distances - np.rint(distances / step) * step)
        if step <= finest or not (rest > finest).any():
            return max(step, finest)
        distances = np.append(rest[rest > finest], step)
