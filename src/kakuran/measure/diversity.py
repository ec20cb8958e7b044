"""Equivalence classes and what a sensitive column looks like inside them.

Everything works on the pairs (class, value) that occur, so the cost follows the records and not classes × values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kakuran.schema.columns import joint_codes


@dataclass(frozen=True)
class EquivalenceClasses:
    """The records that share all their quasi-identifiers.

    Attributes
    ----------
    of : the class of every record
    count : how many classes there are
    """

    of: NDArray[np.intp]
    count: int

    @classmethod
    def sharing(cls, columns: Sequence[NDArray[np.integer]]) -> EquivalenceClasses:
        """The classes of records with the same codes in all columns."""
        return cls(*joint_codes(columns))

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Records in every class."""
        return np.bincount(self.of, minlength=self.count)

    @property
    def k(self) -> int:
        """The size of the smallest class."""
        return int(self.sizes.min())

    @property
    def uniques(self) -> int:
        """Records nobody else is like."""
        return int((self.sizes == 1).sum())

    @property
    def risks(self) -> NDArray[np.float64]:
        """For every record the chance of picking it among its like."""
        return 1 / self.sizes[self.of]


@dataclass(frozen=True)
class Contents:
    """How often each value of a sensitive column occurs in each class; sorted by class, then value."""

    classes: EquivalenceClasses
    class_of: NDArray[np.intp]
    value_of: NDArray[np.intp]
    counts: NDArray[np.intp]
    values: int

    @classmethod
    def of(cls, classes: EquivalenceClasses, codes: NDArray[np.intp], values: int) -> Contents:
        """Count the pairs that occur."""
        pairs, counts = np.unique(classes.of.astype(np.int64) * values + codes, return_counts=True)
        return cls(classes, pairs // values, pairs % values, counts, values)

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        return self.counts / self.classes.sizes[self.class_of]

    @cached_property
    def _overall(self) -> NDArray[np.float64]:
        return np.bincount(self.value_of, self.counts, minlength=self.values) / self.counts.sum()

    def _per_class(self, parts: NDArray[np.float64]) -> NDArray[np.float64]:
        sums: NDArray[np.float64] = np.bincount(self.class_of, parts, minlength=self.classes.count).astype(float)
        return sums

    @property
    def distinct_l(self) -> int:
        """The fewest distinct values in any class."""
        return int(np.bincount(self.class_of, minlength=self.classes.count).min())

    @property
    def entropy_l(self) -> float:
        """exp of the least entropy of any class."""
        return float(np.exp(-self._per_class(self._shares * np.log(self._shares)).max()))

    @property
    def equal_t(self) -> float:
        """The greatest distance ½Σ|q − p| of a class from the whole table; values are all equally far apart."""
        p = self._overall[self.value_of]
        return float((1 + self._per_class(np.abs(self._shares - p) - p)).max() / 2)

    @property
    def ordered_t(self) -> float:
        """The greatest earth mover's distance of a class from the whole table; neighbours are 1/(m−1) apart.

        Between two values that occur in a class its cumulative share Q stands still while that of the table, P, grows.
        So Σ|Q − P| over the values between is a difference of prefix sums, split where P overtakes Q.
        """
        if self.values < 2:
            return 0.0
        P = np.cumsum(self._overall)
        prefix = np.concatenate([[0.0], np.cumsum(P)])
        first = np.flatnonzero(np.diff(self.class_of, prepend=-1))
        Q = np.cumsum(self._shares)
        Q -= np.repeat((Q - self._shares)[first], np.diff(first, append=len(Q)))
        start, stop = self.value_of, np.append(self.value_of[1:], self.values)
        stop[first[1:] - 1] = self.values
        middle = np.clip(np.searchsorted(P, Q, side="right"), start, stop)
        below = Q * (middle - start) - (prefix[middle] - prefix[start])
        above = prefix[stop] - prefix[middle] - Q * (stop - middle)
        before = np.zeros(len(Q))
        before[first] = prefix[self.value_of[first]]
        return float(self._per_class(below + above + before).max() / (self.values - 1))
