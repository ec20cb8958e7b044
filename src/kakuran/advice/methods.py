"""One measure for all methods: the share of people that one- and two-way tables count in the wrong cell.

What each method would cost: tried on the data, or on what is assumed of them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from kakuran.answers import Reader, ask
from kakuran.audit import wrong_cells
from kakuran.counts import MemoryRecords, SparseTally, Tally, cells_of
from kakuran.design import Plan, calibrate, preview
from kakuran.errors import NotForPublicationWarning
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness
from kakuran.schema import Numeric, Schema
from kakuran.typing import Array, Codes
from kakuran.wide import microaggregate, release_matrix
from kakuran.words import Phrase

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
    tables : tuple[tuple[str, ...], ...]
        Names of the columns of each table.
    truths : tuple[Array, ...]
        Its true counts, over every value of a category and ten intervals of a number.
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


MethodName: TypeAlias = Literal["perturb", "perturb-data-dependent", "microaggregate", "factorise"]

GROUPED = 3_000
"""Records, chosen at random, on which grouping and factorising are tried."""
MOST_DISTINCT = 20_000
"""Records up to which noise is fitted to a table whose possible records cannot all be counted."""
WIDE = 8
"""Columns of two values from which a table counts as wide."""
PREVIEWED = 12
"""Columns whose tables are previewed where there are no data."""
PK_ANONYMITY, K_ANONYMITY = Phrase("Pk-anonymity"), Phrase("k-anonymity")
FLAT_GUESS = math.sqrt(2 / math.pi) / 2
"""People in the wrong cell when errors are as large as cells: about 40 %."""
REHEARSED = Phrase("rehearsed on the data and reconstructed")


@dataclass(frozen=True)
class Outlook:
    """What one method would do at one k.

    Attributes
    ----------
    method : MethodName
        ``perturb``, ``perturb-data-dependent``, ``microaggregate`` or ``factorise``.
    k : float
        What is promised.
    promise : str
        ``Pk-anonymity`` or ``k-anonymity``; empty where the method cannot be assessed.
    errors : Errors | None
        Expected share of people in the wrong cell; None where the method cannot be assessed.
    note : str
        How that was found, or why it was not.
    """

    method: MethodName
    k: float
    promise: str
    errors: Errors | None
    note: str


@dataclass(frozen=True, eq=False)
class Trial:
    """A table to try methods on.

    Attributes
    ----------
    schema : Schema
        Its columns.
    codes : Mapping[str, Codes]
        Its records.
    n : int
        People everybody can hide among: all, or the smallest group that shares what is kept.
    is_assumed : bool
        Whether the records are made up, for want of data.
    """

    schema: Schema
    codes: Mapping[str, Codes]
    n: int
    is_assumed: bool

    @property
    def records(self) -> int:
        """How many there are to try on."""
        return len(next(iter(self.codes.values())))

    @property
    def is_wide(self) -> bool:
        """Whether it is a matrix of people × items."""
        perturbed = self.schema.perturbed
        return len(perturbed) >= WIDE and all(attribute.size == 2 for attribute in perturbed)

    def some(self, most: int) -> Trial:
        """All records, or as many as wanted at random."""
        if self.records <= most:
            return self
        rows = Randomness.seeded(0).permutation(self.records)[:most]
        return Trial(self.schema, {name: codes[rows] for name, codes in self.codes.items()}, most, self.is_assumed)


def perturbed(trial: Trial, k: float) -> Outlook:
    """Perturbation that holds whatever the attacker believes."""
    plan = calibrate(trial.schema, k=k, n=trial.n)
    if trial.is_assumed:
        note = Phrase("expected when every table is equally likely beforehand")
        return Outlook("perturb", k, PK_ANONYMITY, _previewed(plan, trial.n), note)
    return Outlook("perturb", k, PK_ANONYMITY, _rehearsed(plan, trial), REHEARSED)


def perturbed_for_the_data(trial: Trial, k: float) -> Outlook:
    """Perturbation with just the noise this table needs."""
    if trial.is_assumed:
        return _not_assessed("perturb-data-dependent", k, Phrase("its noise depends on the data: give them"))
    tally = Tally.of_columns(trial.schema.released)
    if isinstance(tally, SparseTally) and trial.records > MOST_DISTINCT:
        why = Phrase("fitting noise to so many distinct records takes long")
        return _not_assessed("perturb-data-dependent", k, why)
    tally.update(trial.codes)
    plan = calibrate(trial.schema, k=k, data=tally)
    return Outlook("perturb-data-dependent", k, PK_ANONYMITY, _rehearsed(plan, trial), REHEARSED)


def microaggregated(trial: Trial, k: float) -> Outlook:
    """Groups of at least k alike records."""
    tried = trial.some(max(GROUPED, 20 * math.ceil(k)))
    made = microaggregate(_comparable(tried), math.ceil(k), method="local-search").table
    after = dict(tried.codes) | {name: _codes_again(made.column(name)) for name in made.column_names}
    yardstick = Yardstick.of(tried.schema, tried.codes)
    errors = yardstick.errors(lambda table: count_table(tried.schema, after, table))
    return Outlook("microaggregate", k, K_ANONYMITY, errors, _tried_on(tried))


def factorised(trial: Trial, k: float) -> Outlook:
    """A wide table of zeros and ones, perturbed or aggregated by its factors."""
    if not trial.is_wide:
        return _not_assessed("factorise", k, Phrase("for tables of {count} and more columns of two values", count=WIDE))
    if trial.is_assumed:
        return _not_assessed("factorise", k, Phrase("it depends on the patterns in the data: give them"))
    tried = trial.some(max(GROUPED, 20 * math.ceil(k)))
    names = [attribute.name for attribute in trial.schema.perturbed]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotForPublicationWarning)
        made = release_matrix(
            np.column_stack([tried.codes[name] for name in names]), math.ceil(k), seed=0, shuffle=False
        )
    columns = made.matrix.toarray().astype(np.int32).T
    after = dict(tried.codes) | dict(zip(names, columns, strict=True))
    errors = Yardstick.of(tried.schema, tried.codes).errors(lambda table: count_table(tried.schema, after, table))
    promise, way = (
        (PK_ANONYMITY, Phrase("perturbed factors"))
        if made.manifest["protect"] == "perturb"
        else (K_ANONYMITY, Phrase("aggregated rows"))
    )
    return Outlook("factorise", k, promise, errors, Phrase("{way}, {tried}", way=way, tried=_tried_on(tried)))


def _tried_on(tried: Trial) -> Phrase:
    if tried.is_assumed:
        return Phrase(
            "tried on {count:,} made-up records of independent columns, each distribution as likely as any",
            count=tried.records,
        )
    return Phrase("tried on {count:,} records of the data", count=tried.records)


def _previewed(plan: Plan, n: int) -> Errors:
    """From the expected error of a typical cell to people in the wrong cell.

    Errors of a cell are about normal: their mean size is √(2/π) of their standard deviation, and every person counted
    in the wrong cell is one too many there and one too few elsewhere.
    """
    tables = preview(_first_columns(plan), n)
    one, two = ([min(table.relative, 1.0) for table in tables if len(table.columns) == ways] for ways in (1, 2))
    return Errors(FLAT_GUESS * float(np.mean(one)), FLAT_GUESS * float(np.mean(two)) if two else None)


def _first_columns(plan: Plan) -> Plan:
    """The plan of a few columns, perturbed as they are among all: of hundreds of columns the pairs are too many."""
    few = plan.schema.perturbed[:PREVIEWED]
    return Plan.of_mechanisms(Schema(few), {one.name: plan[one.name] for one in few}, plan.n, plan.k, plan.calibration)


def _rehearsed(plan: Plan, trial: Trial) -> Errors:
    """Perturb once, ask for every table, and compare; what is drawn here is never released."""
    drawn = Kernel(plan).sample(trial.codes, Randomness.seeded(0))
    reader = Reader(MemoryRecords(plan.layout, known=drawn), plan, len(next(iter(drawn.values()))))

    def estimated(table: tuple[str, ...]) -> Array:
        question = ask(plan, table, {}, None)
        (counts,) = reader.count([question])
        return reader.estimate(question, counts).counts

    return Yardstick.of(trial.schema, trial.codes).errors(estimated)


def _comparable(trial: Trial) -> pa.Table:
    """Numbers to group by their distance, everything else by being the same."""
    return pa.table(
        {
            one.name: trial.codes[one.name].astype(float) if _is_number(one) else trial.codes[one.name].astype(str)
            for one in trial.schema.perturbed
        }
    )


def _codes_again(column: Any) -> Codes:
    return np.rint(column.to_numpy().astype(float)).astype(np.int32)


def _is_number(attribute: Any) -> bool:
    return isinstance(attribute, Numeric) and attribute.missing == "error"


def _not_assessed(method: MethodName, k: float, why: Phrase) -> Outlook:
    return Outlook(method, k, "", None, Phrase("not assessed: {why}", why=why))
