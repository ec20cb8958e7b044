"""k-anonymity, l-diversity, t-closeness and the risk of every record, for any set of quasi-identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import ArgumentError, DataError
from kakuran.measure.diversity import Contents, EquivalenceClasses
from kakuran.schema.columns import check_there, columns_of, distinct_of, is_numeric


@dataclass(frozen=True)
class Diversity:
    """What the classes tell about one sensitive column.

    Attributes
    ----------
    distinct_l : the fewest distinct values in a class
    entropy_l : exp of the least entropy in a class
    equal_t : the greatest distance of a class from the whole table, all values equally far apart
    ordered_t : the same when values lie on a line, for numbers; None for categories

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


@dataclass(frozen=True)
class Anonymity:
    """How far the records of a table hide among each other; `kakuran.check_anonymity` makes one.

    Attributes
    ----------
    records, classes : how many there are
    k : records in the smallest class that shares all quasi-identifiers
    uniques : records nobody else is like
    risks : for every record the chance of picking it among its like
    sensitive : per sensitive column, how much a class gives away

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
    risks: NDArray[np.float64]
    sensitive: dict[str, Diversity]

    @property
    def expected_risk(self) -> float:
        """The chance of picking the right record of a person, on average."""
        return self.classes / self.records

    @property
    def highest_risk(self) -> float:
        """The same for the person who stands out most."""
        return 1 / self.k


def check_anonymity(data: Any, quasi: Sequence[str], sensitive: Sequence[str] = ()) -> Anonymity:
    """Check a table against k-anonymity, l-diversity and t-closeness.

    Parameters
    ----------
    data : a frame
    quasi : the columns an attacker may know of a person; a missing value counts as a value of its own
    sensitive : the columns nobody should learn

    Returns
    -------
    Anonymity

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
        raise ArgumentError("quasi", "names no column", f"Name some of {', '.join(columns)}.")
    check_there((*quasi, *sensitive), columns)
    if not len(columns[quasi[0]]):
        raise DataError(quasi[0], "the table is empty", "Nobody is in it to be found.")
    codes = [distinct_of(name, columns[name], missing_is_value=True)[1] for name in quasi]
    classes = EquivalenceClasses.sharing(codes)
    diversity = {name: _diversity_of(classes, name, columns[name]) for name in sensitive}
    return Anonymity(len(classes.of), classes.count, classes.k, classes.uniques, classes.risks, diversity)


def _diversity_of(classes: EquivalenceClasses, name: str, column: Any) -> Diversity:
    values, codes = distinct_of(name, column, missing_is_value=True)
    has_order = is_numeric(column) and None not in values
    if has_order:
        codes = np.argsort(np.argsort(values))[codes]
    contents = Contents.of(classes, codes, len(values))
    ordered = contents.ordered_t if has_order else None
    return Diversity(contents.distinct_l, contents.entropy_l, contents.equal_t, ordered)
