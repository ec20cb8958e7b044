"""The leakage meter: what the others could have learned of our columns, beyond the result.

Whoever knows r directions of the space our columns span, and r of our records, can solve for all the rest: every column
is a combination of the directions, and r equations determine the combination. Moments are equations too, one a column
of the other side, but on N unknowns each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kakuran.typing import Array
from kakuran.vertical.earlier import Told
from kakuran.vertical.regression import Moments
from kakuran.words import Phrase

_RELATIVE = 1e-13
"""Directions weaker than this share of the strongest drown in rounding; a peer could let us answer with weak ones."""
_ARITHMETIC = 53
"""Binary digits of columns that were not rounded."""
_NOTHING = Told()
_ANSWERS_A_SUM, _VALUES_A_SUM = 57, 2
"""What fits into the 58 bits of one sum with weights of the reader's choice."""
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
        Yes/no columns that the moments determine in principle, though finding them means a search.
    earlier_runs : int
        Runs before this one that told sums over the same people; they are counted in what is said above.
    sums : int
        Sums of each of our columns, weighted as they like, that others who cheat could have read in this run.
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
                    "exact moments pin down the yes/no columns {columns} for one who can search",
                    columns=", ".join(self.pinned_down),
                )
            )
        if self.sums:
            said.append(
                Phrase(
                    "others who cheat could have read {answers:,} yes/no answers, or {values:,} values, of each column",
                    answers=min(self.records, _ANSWERS_A_SUM * self.sums),
                    values=min(self.records, _VALUES_A_SUM * self.sums),
                )
            )
        if self.earlier_runs:
            said.append(Phrase("earlier runs that told sums over the same people: {runs:,}", runs=self.earlier_runs))
        return said

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


class DirectionMeter:
    """Keeps account of vectors that are combinations of our columns, as the residual protocol sends them."""

    def __init__(self, names: Sequence[str], standardised: Array) -> None:
        self.names = tuple(names)
        self._basis, self._coordinates = np.linalg.qr(standardised)
        self._records = len(standardised)
        self.seen = np.zeros((len(self.names), len(self.names)))

    def note(self, vectors: Array) -> None:
        """Vectors (as columns) that are about to be sent."""
        shown = (self._basis.T @ vectors.reshape(self._records, -1)).T
        lengths = np.linalg.norm(shown, axis=1, keepdims=True)
        shown = shown[lengths[:, 0] > 0] / lengths[lengths[:, 0] > 0]
        self.seen = np.linalg.qr(np.vstack([self.seen, shown])).R

    def exposure(self) -> Exposure:
        """What the vectors sent so far give away."""
        _, strengths, directions = np.linalg.svd(self.seen)
        known = directions[: int((strengths > _RELATIVE * max(strengths[0], np.finfo(float).tiny)).sum())]
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
    moments: Moments, party: str, holder: str, two_valued: dict[str, int], earlier: Told = _NOTHING, sums: int = 0
) -> Exposure:
    """What all others together know of a party's columns once they hold the moments and their own columns.

    `two_valued` has, for each yes/no column of the party, how many records are on its rarer side.
    """
    is_ours = np.array([owner == party for owner in (*moments.owners, holder)])
    ours, theirs = np.flatnonzero(is_ours), np.flatnonzero(~is_ours)
    between = moments.matrix[np.ix_(theirs, ours)]
    rebuilt = (between * (np.linalg.pinv(moments.matrix[np.ix_(theirs, theirs)]) @ between)).sum(axis=0)
    names = [(*moments.names, TARGET)[place] for place in ours]
    shares = np.clip(rebuilt / np.diag(moments.matrix)[ours], 0, 1)
    bits = _ARITHMETIC if moments.bits is None else moments.bits
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
        tuple(name for name, rare in two_valued.items() if pins_down(moments.records, rare, known, bits)),
        earlier.runs,
        sums,
    )


def pins_down(records: int, rare: int, equations: int, bits: int) -> bool:
    """Whether so many exact sums leave one yes/no column only, of all that have as many rare records."""
    told = equations * (bits + math.log2(records) / 2)
    choices = math.lgamma(records + 1) - math.lgamma(rare + 1) - math.lgamma(records - rare + 1)
    return told >= choices / math.log(2)
