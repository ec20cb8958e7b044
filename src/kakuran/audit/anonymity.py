"""k-anonymity, l-diversity, t-closeness and the risk of every record, for any set of quasi-identifiers.

Everything works on the pairs (class, value) that occur, so the cost follows the records and not classes × values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kakuran.counts import DistinctRows, distinct_rows
from kakuran.errors import ArgumentError, DataError, counted
from kakuran.schema import check_there, columns_of, distinct_of, is_numeric
from kakuran.typing import Array, Codes, Indices
from kakuran.words import Phrase


@dataclass(frozen=True)
class SensitiveContents:
    """How often each value of a sensitive column occurs in each class; sorted by class, then value."""

    classes: DistinctRows
    class_of: Indices
    value_of: Indices
    counts: Indices
    values: int

    @classmethod
    def of(cls, classes: DistinctRows, codes: Indices, values: int) -> SensitiveContents:
        """Count the pairs that occur."""
        pairs = distinct_rows([classes.place, codes])
        class_of, value_of = pairs.columns
        return cls(classes, class_of, value_of, pairs.counts, values)

    @cached_property
    def _shares(self) -> Array:
        return self.counts / self.classes.counts[self.class_of]

    @cached_property
    def _overall(self) -> Array:
        return np.bincount(self.value_of, self.counts, minlength=self.values) / self.counts.sum()

    def _per_class(self, parts: Array) -> Array:
        sums: Array = np.bincount(self.class_of, parts, minlength=len(self.classes)).astype(float)
        return sums

    @property
    def distinct_l(self) -> int:
        """The fewest distinct values in any class."""
        return int(np.bincount(self.class_of, minlength=len(self.classes)).min())

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


@dataclass(frozen=True)
class Diversity:
    """What the classes tell about one sensitive column.

    Attributes
    ----------
    distinct_l : int
        The fewest distinct values in a class.
    entropy_l : float
        Exp of the least entropy in a class.
    equal_t : float
        The greatest distance of a class from the whole table, all values equally far apart.
    ordered_t : float | None
        The same when values lie on a line, for numbers; None for categories.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> people = pa.table({"age": [30, 30, 40, 40], "pay": [1, 2, 2, 2]})
    >>> kk.check_anonymity(people, ["age"], ["pay"]).sensitive["pay"].equal_t
    0.25
    """

    distinct_l: int
    entropy_l: float
    equal_t: float
    ordered_t: float | None

    @property
    def t(self) -> float:
        """The distance on a line where there is one, else that of equally far values."""
        return self.equal_t if self.ordered_t is None else self.ordered_t


@dataclass(frozen=True)
class Anonymity:
    """How far the records of a table hide among each other; `kakuran.check_anonymity` makes one.

    Attributes
    ----------
    records, classes : int
        How many there are.
    k : int
        Records in the smallest class that shares all quasi-identifiers.
    uniques : int
        Records nobody else is like.
    risks : Array
        For every record the chance of picking it among its like.
    sensitive : dict[str, Diversity]
        Per sensitive column, how much a class gives away.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> table = pa.table({"age": [30, 30, 40, 40, 40], "ill": ["flu", "cold", "flu", "flu", "cold"]})
    >>> found = kk.check_anonymity(table, ["age"], ["ill"])
    >>> found.k, found.uniques, found.sensitive["ill"].distinct_l, round(found.sensitive["ill"].equal_t, 3)
    (2, 0, 2, 0.1)
    """

    records: int
    classes: int
    k: int
    uniques: int
    risks: Array
    sensitive: dict[str, Diversity]

    @property
    def expected_risk(self) -> float:
        """The chance of picking the right record of a person, on average."""
        return self.classes / self.records

    @property
    def highest_risk(self) -> float:
        """The same for the person who stands out most."""
        return 1 / self.k

    def problems(self, k: int | None = None, l: float | None = None, t: float | None = None) -> list[str]:  # noqa: E741
        """What keeps the table from being k-anonymous, l-diverse by entropy and t-close, as far as that is asked.

        Parameters
        ----------
        k : int
            Every class has at least so many records.
        l : float
            Of every sensitive column, every class is so diverse.
        t : float
            And so close to the whole table: on a line for numbers, all values equally far apart for categories.

        Examples
        --------
        >>> import kakuran as kk, pyarrow as pa
        >>> kk.check_anonymity(pa.table({"age": [30, 30, 40]}), ["age"]).problems(k=2)
        ['the smallest class has 1 record, fewer than 2']
        """
        problems = []
        if k is not None and self.k < k:
            problems.append(f"the smallest class has {counted(self.k, 'record')}, fewer than {k}")
        for name, one in self.sensitive.items():
            if l is not None and one.entropy_l < l:
                problems.append(f"{name}: a class is {one.entropy_l:.3g}-diverse, less than {l:g}")
            if t is not None and one.t > t:
                problems.append(f"{name}: a class is {one.t:.3g}-close, farther than {t:g}")
        return problems

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "records": self.records,
            "classes": self.classes,
            "k": self.k,
            "uniques": self.uniques,
            "expected_risk": self.expected_risk,
            "highest_risk": self.highest_risk,
            "sensitive": {name: asdict(diversity) for name, diversity in self.sensitive.items()},
        }


def check_anonymity(data: Any, quasi: Sequence[str], sensitive: Sequence[str] = ()) -> Anonymity:
    """Check a table against k-anonymity, l-diversity and t-closeness.

    Parameters
    ----------
    data : Any
        A frame.
    quasi : Sequence[str]
        The columns an attacker may know of a person; a missing value counts as a value of its own.
    sensitive : Sequence[str]
        The columns nobody should learn.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> people = pa.table({"age": [30, 30, 40, 40], "ill": ["no", "yes", "no", "no"]})
    >>> found = kk.check_anonymity(people, ["age"], ["ill"])
    >>> found.k, found.sensitive["ill"].distinct_l
    (2, 1)
    """
    columns = columns_of(data)
    if not quasi:
        raise ArgumentError(
            "quasi", Phrase("names no column"), Phrase("Name some of {columns}.", columns=", ".join(columns))
        )
    check_there((*quasi, *sensitive), columns)
    if not len(columns[quasi[0]]):
        raise DataError(quasi[0], Phrase("the table is empty"), Phrase("Nobody is in it to be found."))
    codes = [distinct_of(name, columns[name], missing_is_value=True)[1] for name in quasi]
    classes = distinct_rows(codes)
    diversity = {name: _diversity_of(classes, name, columns[name]) for name in sensitive}
    smallest, uniques = int(classes.counts.min()), int((classes.counts == 1).sum())
    return Anonymity(
        len(classes.place), len(classes), smallest, uniques, (1 / classes.counts)[classes.place], diversity
    )


def _diversity_of(classes: DistinctRows, name: str, column: Any) -> Diversity:
    values, codes = distinct_of(name, column, missing_is_value=True)
    has_order = is_numeric(column) and None not in values
    if has_order:
        codes = np.argsort(np.argsort(values))[codes]
    contents = SensitiveContents.of(classes, codes, len(values))
    ordered = contents.ordered_t if has_order else None
    return Diversity(contents.distinct_l, contents.entropy_l, contents.equal_t, ordered)


@dataclass(frozen=True)
class Risk:
    """What somebody who knows a person's values could do with the table itself.

    Attributes
    ----------
    uniques : float
        Share of people whose record nobody else has.
    smallest_class : int
        The fewest people who share a record.
    prosecutor : float
        Chance of picking the right record of somebody known to be in the table, on average.
    """

    uniques: float
    smallest_class: int
    prosecutor: float

    @property
    def worst(self) -> float:
        """The same chance for the person who stands out most."""
        return 1 / self.smallest_class


def risk_of(codes: Mapping[str, Codes], person: Indices | None = None) -> Risk:
    """The risk of a table given by the codes of its columns.

    Parameters
    ----------
    codes : Mapping[str, Codes]
        The columns.
    person : Indices, optional
        Whose each row is, from 0 on, where people have several. Then people are counted, not rows, and each is found by
        the row of theirs that fewest others have.
    """
    classes = distinct_rows(list(codes.values()))
    if person is None:
        records = len(classes.place)
        return Risk(float((classes.counts == 1).sum()) / records, int(classes.counts.min()), len(classes) / records)
    held = distinct_rows([classes.place, person])
    place, holder = held.columns
    fewest = np.full(person.max() + 1, len(person))
    np.minimum.at(fewest, holder, np.bincount(place)[place])
    return Risk(float((fewest == 1).mean()), int(fewest.min()), float((1 / fewest).mean()))
