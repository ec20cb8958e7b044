"""The risk of publishing a table as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kakuran.measure.diversity import EquivalenceClasses
from kakuran.mechanism.base import Codes


@dataclass(frozen=True)
class Risk:
    """What somebody who knows a person's values could do with the table itself.

    Attributes
    ----------
    uniques : share of people whose record nobody else has
    smallest_class : the fewest people who share a record
    prosecutor : chance of picking the right record of somebody known to be in the table, on average
    """

    uniques: float
    smallest_class: int
    prosecutor: float

    @property
    def worst(self) -> float:
        """The same chance for the person who stands out most."""
        return 1 / self.smallest_class


def risk_of(codes: Mapping[str, Codes]) -> Risk:
    """The risk of a table given by the codes of its columns."""
    classes = EquivalenceClasses.sharing(list(codes.values()))
    records = len(classes.of)
    return Risk(classes.uniques / records, classes.k, classes.count / records)
