"""One measure for all methods: the share of people that one- and two-way tables count in the wrong cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kakuran.counts import Tally, cells_of
from kakuran.measure import wrong_cells
from kakuran.mechanism.base import Array, Codes
from kakuran.schema import Schema

MOST_COLUMNS = 6
"""Columns whose tables are looked at; of more, those that vary most."""
MOST_CELLS = 1 << 12


@dataclass(frozen=True)
class Errors:
    """The share of people in the wrong cell, ½ Σ|p − q|, of one-way and of two-way tables on average."""

    one_way: float
    two_way: float | None

    @property
    def both(self) -> float:
        """Both kinds of table counting alike."""
        return self.one_way if self.two_way is None else (self.one_way + self.two_way) / 2


@dataclass(frozen=True, eq=False)
class Yardstick:
    """The tables by which methods are compared, and what they truly hold.

    Attributes
    ----------
    tables : names of the columns of each table
    truths : its true counts, over every value of a category and ten intervals of a number
    """

    tables: tuple[tuple[str, ...], ...]
    truths: tuple[Array, ...]

    @classmethod
    def of(cls, schema: Schema, codes: Mapping[str, Codes]) -> Yardstick:
        """One- and two-way tables of the columns that vary most."""
        names = _most_varied(schema, codes)
        sizes = {name: cells_of(schema, name, None).size for name in names}
        pairs = [pair for pair in combinations(names, 2) if sizes[pair[0]] * sizes[pair[1]] <= MOST_CELLS]
        tables = (*((name,) for name in names), *pairs)
        return cls(tables, tuple(count_table(schema, codes, table) for table in tables))

    def errors(self, estimated: Callable[[tuple[str, ...]], Array]) -> Errors:
        """How far estimated tables lie from the true ones."""
        wrong = [wrong_cells(truth, estimated(table)) for table, truth in zip(self.tables, self.truths, strict=True)]
        return _averaged(self.tables, wrong)

    def guess(self) -> Errors:
        """What is wrong without any release: all cells alike, or everybody in one, whichever is nearer."""
        shares = [truth / truth.sum() for truth in self.truths]
        wrong = [min(float(np.abs(share - 1 / share.size).sum()) / 2, 1 - float(share.max())) for share in shares]
        return _averaged(self.tables, wrong)


def count_table(schema: Schema, codes: Mapping[str, Codes], table: Sequence[str]) -> Array:
    """The counts of a table over every value of a category and ten intervals of a number."""
    return Tally.of(codes, [cells_of(schema, name, None) for name in table]).counts


def _most_varied(schema: Schema, codes: Mapping[str, Codes]) -> list[str]:
    """The columns whose records spread most over their cells, in the order of the table."""
    names = [attribute.name for attribute in schema.perturbed]
    shares = {name: count_table(schema, codes, [name]) / len(codes[name]) for name in names}
    spread = {name: 1 - float((share**2).sum()) for name, share in shares.items()}
    chosen = sorted(names, key=lambda name: -spread[name])[:MOST_COLUMNS]
    return [name for name in names if name in chosen]


def _averaged(tables: Sequence[tuple[str, ...]], values: Sequence[float]) -> Errors:
    one, two = ([value for table, value in zip(tables, values, strict=True) if len(table) == ways] for ways in (1, 2))
    return Errors(float(np.mean(one)), float(np.mean(two)) if two else None)
