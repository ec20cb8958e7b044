"""Every method, tried on a table or on what is assumed of one: the share of people whom it puts into the wrong cell.

One measure for all: tables of one, two and three columns are counted, and compared with the true ones.
"""

from __future__ import annotations

import math
import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from kakuran.answers import Reader, ask
from kakuran.audit import wrong_cells
from kakuran.counts import MemoryRecords, SparseTally, Tally, cells_of
from kakuran.design import (
    HARDLY_PERTURBED,
    WAYS,
    Crowd,
    Design,
    ExpectedError,
    Plan,
    Purpose,
    TellChoice,
    calibrate,
    designs,
    expected_error,
)
from kakuran.errors import DataError, NotForPublicationWarning, StrongerThanAskedWarning
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness
from kakuran.schema import Numeric, Schema
from kakuran.typing import Array, Codes
from kakuran.wide import microaggregate, release_matrix
from kakuran.words import Phrase

MOST_COLUMNS = 10
"""Columns whose tables are looked at; of more, those that vary most."""
MOST_TABLES = {1: MOST_COLUMNS, 2: 20, 3: 10}
"""Tables of one, two and three columns that are looked at; of more, some in regular distances."""
MOST_CELLS = 1 << 12
MOST_IN_ALL = 1 << 14
"""Cells of all those tables together; of more, the largest tables are left out."""
_FINE = 20
"""The joint model cuts numbers into so many cells."""
_FINEST = 100
"""What records tell directly is reconstructed in so many."""

ColumnNames: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Errors:
    """The share of people in the wrong cell, ½ Σ|p − q|, on average over tables of one, two and three columns.

    Attributes
    ----------
    one_way : float
        Of one column.
    two_way, three_way : float | None
        Of two and three columns; None where there are not so many.
    two_by_margins, three_by_margins : float | None
        The same, if columns were taken to be independent, and nothing but its one-way tables from the release; None
        where that is not known either.
    """

    one_way: float
    two_way: float | None
    three_way: float | None = None
    two_by_margins: float | None = None
    three_by_margins: float | None = None

    @classmethod
    def expected(cls, expected: ExpectedError, columns: int) -> Errors:
        """What is expected of so many columns, from their number and domains alone."""
        two, three, margins = expected.two_way, expected.three_way, expected.by_margins
        return cls(expected.one_way, *((two, three if columns > 2 else None, margins) if columns > 1 else [None]))

    def of(self, ways: int) -> float:
        """By the number of columns, or of as many as there are."""
        found = [error for error in (self.one_way, self.two_way, self.three_way)[:ways] if error is not None]
        return found[-1]

    @property
    def tells_pairs(self) -> bool:
        """Whether two-way tables come out better than the product of the release's own margins would."""
        return self.two_way is not None and self._as_expected.tells_pairs

    @property
    def is_by_margins(self) -> bool:
        """Whether there are two-way tables, and the product of the release's own margins would do as well."""
        return self.two_way is not None and not self.tells_pairs

    @property
    def verdict(self) -> Phrase:
        """What a release is good for, in a line."""
        return self.verdict_about(None)

    def verdict_about(self, about: str | None) -> Phrase:
        """The same, where all tables of several columns have a column that questions are about."""
        if self.two_way is None:
            return Phrase("its one column ({one:.1%} in the wrong cell)", one=self.one_way)
        return replace(self._as_expected, about=about).verdict

    @property
    def _as_expected(self) -> ExpectedError:
        return ExpectedError(self.one_way, self.two_way or 0.0, self.three_way or 0.0, self.two_by_margins or 0.0)


@dataclass(frozen=True, eq=False)
class Yardstick:
    """The tables by which methods are compared, and what they truly hold.

    Attributes
    ----------
    truths : Mapping[tuple[str, ...], Array]
        The true counts of tables by the names of their columns, over every value of a category and ten intervals of a
        number.
    """

    truths: Mapping[ColumnNames, Array]

    @classmethod
    def of(cls, schema: Schema, codes: Mapping[str, Codes], about: str | None = None) -> Yardstick:
        """Tables of one, two and three of the columns that vary most, those of several with one that matters."""
        names = _most_varied(schema, codes, about)
        cells = {name: cells_of(schema, name, None).size for name in names}
        sizes = {name: max(_FINE * _is_number(schema[name]), cells[name]) for name in names}
        finest = {name: min(_FINEST, schema[name].size) if _is_number(schema[name]) else cells[name] for name in names}
        chosen: list[ColumnNames] = []
        for ways, most in MOST_TABLES.items():
            tables = [
                table
                for table in combinations(names, ways)
                if ways == 1 or (about in (None, *table) and math.prod(map(sizes.__getitem__, table)) <= MOST_CELLS)
            ]
            places = np.unique(np.linspace(0, len(tables) - 1, min(most, len(tables))).astype(int))
            chosen += [tables[place] for place in places]
        return cls({table: count_table(schema, codes, table) for table in _affordable(chosen, finest)})

    def errors(self, estimated: Callable[[ColumnNames], Array]) -> Errors:
        """How far estimated tables lie from the true ones, and how far the products of estimated margins."""
        found = {table: _shares(estimated(table)) for table in self.truths}
        wrong = {table: wrong_cells(truth, found[table]) for table, truth in self.truths.items()}
        by_margins = {
            table: wrong_cells(truth, reduce(np.multiply.outer, [found[name,] for name in table]))
            for table, truth in self.truths.items()
        }
        return _averaged(wrong, by_margins)

    def guess(self) -> Errors:
        """What is wrong without any release: all cells alike, or everybody in one, whichever is nearer."""
        shares = {table: truth / truth.sum() for table, truth in self.truths.items()}
        wrong = {
            table: min(float(np.abs(share - 1 / share.size).sum()) / 2, 1 - float(share.max()))
            for table, share in shares.items()
        }
        return _averaged(wrong, {})


def _affordable(tables: Sequence[ColumnNames], sizes: Mapping[str, int]) -> list[ColumnNames]:
    """All that can be reconstructed in a bearable time, again and again: of each kind the smallest, so many cells."""
    by_cells = sorted(tables, key=lambda table: math.prod(map(sizes.__getitem__, table)))
    reached = dict(
        zip(by_cells, np.cumsum([math.prod(map(sizes.__getitem__, table)) for table in by_cells]), strict=True)
    )
    first = {len(table): table for table in reversed(by_cells)}
    return [table for table in tables if reached[table] <= MOST_IN_ALL or len(table) == 1 or first[len(table)] == table]


def count_table(schema: Schema, codes: Mapping[str, Codes], table: Sequence[str]) -> Array:
    """The counts of a table over every value of a category and ten intervals of a number."""
    return Tally.of(codes, [cells_of(schema, name, None) for name in table]).counts


def _most_varied(schema: Schema, codes: Mapping[str, Codes], about: str | None) -> list[str]:
    """The columns whose records spread most over their cells, in the order of the table, and one that matters."""
    names = [attribute.name for attribute in schema.perturbed]
    shares = {name: count_table(schema, codes, [name]) / len(codes[name]) for name in names}
    spread = {name: 2.0 if name == about else 1 - float((share**2).sum()) for name, share in shares.items()}
    chosen = sorted(names, key=lambda name: -spread[name])[:MOST_COLUMNS]
    return [name for name in names if name in chosen]


def _shares(counts: Array) -> Array:
    """Of each cell; where nobody tells anything, all alike."""
    people = np.maximum(counts, 0.0)
    return people / people.sum() if people.any() else np.full(counts.shape, 1 / counts.size)


def _averaged(wrong: Mapping[ColumnNames, float], by_margins: Mapping[ColumnNames, float]) -> Errors:
    def mean(errors: Mapping[ColumnNames, float], ways: int) -> float | None:
        some = [error for table, error in errors.items() if len(table) == ways]
        return float(np.mean(some)) if some else None

    return Errors(mean(wrong, 1) or 0.0, mean(wrong, 2), mean(wrong, 3), mean(by_margins, 2), mean(by_margins, 3))


MethodName: TypeAlias = Literal["perturb", "perturb-data-dependent", "microaggregate", "factorise"]

GROUPED = 3_000
"""Records, chosen at random, on which grouping and factorising are tried."""
MOST_DISTINCT = 5_000
"""Records up to which noise is fitted to a table whose possible records cannot all be counted."""
WIDE = 8
"""Columns of two values from which a table counts as wide."""
PK_ANONYMITY, K_ANONYMITY = Phrase("Pk-anonymity"), Phrase("k-anonymity")
FLAT_GUESS = math.sqrt(2 / math.pi) / 2
"""People in the wrong cell when errors are as large as cells: about 40 %."""
REHEARSED = Phrase("rehearsed on the data and reconstructed")
WELL_HIDDEN = 2
"""Who stands in a crowd of so many times k needs less noise."""


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
    tell : TellChoice | None
        What each record tells, for `kakuran.calibrate`; None where nothing is perturbed.
    about : str | None
        The column that every record tells, if one was asked for.
    purpose : Purpose
        The tables that ``"auto"`` was asked to lose least of.
    certainty : float | None
        The probability over the draw with which k holds; None for every draw.
    """

    method: MethodName
    k: float
    promise: str
    errors: Errors | None
    note: str
    tell: TellChoice | None = None
    about: str | None = None
    purpose: Purpose = "two-way"
    certainty: float | None = None

    @property
    def name(self) -> Phrase:
        """What people call it."""
        if self.tell is None:
            return _NAMES[self.method]
        told = _TOLD.get(self.tell, _SETS) if isinstance(self.tell, str | int) else _SETS
        return told if self.method == "perturb" else Phrase("{told}, data-dependent", told=told)

    @property
    def command(self) -> str:
        """What to type for it."""
        if self.tell is None:
            return f"kakuran {self.method}"
        sets = "" if isinstance(self.tell, str | int) else ",".join("+".join(columns) for columns in self.tell)
        words = ["kakuran", "perturb", "--tell", sets or str(self.tell)]
        words += [] if self.about is None else ["--about", self.about]
        words += ["--purpose", self.purpose] if self.tell == "auto" else []
        words += [] if self.certainty is None else ["--certainty", f"{self.certainty:.10g}"]
        return shlex.join(words) + " --data-dependent" * (self.method != "perturb")

    def not_assessed(self, why: Phrase) -> Outlook:
        """The same with the reason why nothing is known of it."""
        return replace(self, promise="", errors=None, note=Phrase("not assessed: {why}", why=why))


_NAMES: Mapping[MethodName, Phrase] = {
    "perturb": Phrase("perturbation"),
    "perturb-data-dependent": Phrase("data-dependent perturbation"),
    "microaggregate": Phrase("microaggregation"),
    "factorise": Phrase("factorisation"),
}
_TOLD: Mapping[str | int, Phrase] = {
    "all": Phrase("whole records"),
    "auto": Phrase("whole records, shares by values"),
    1: Phrase("single columns"),
    2: Phrase("pairs of columns"),
    3: Phrase("triples of columns"),
}
_SETS = Phrase("sets of columns")


@dataclass(frozen=True, eq=False)
class Trial:
    """A table to try methods on.

    Attributes
    ----------
    schema : Schema
        Its columns.
    codes : Mapping[str, Codes]
        Its records.
    groups : tuple[int, ...]
        People everybody can hide among: all, or those of each group that shares what is kept.
    is_assumed : bool
        Whether the records are made up, for want of data.
    tell : TellChoice | None
        What the schema wishes records to tell.
    about : str | None
        The column that it wishes to ask about.
    purpose : Purpose
        The tables that should lose least.
    certainty : float | None
        How surely k should hold; None for every draw.
    """

    schema: Schema
    codes: Mapping[str, Codes]
    groups: tuple[int, ...]
    is_assumed: bool
    tell: TellChoice | None = None
    about: str | None = None
    purpose: Purpose = "two-way"
    certainty: float | None = None

    @classmethod
    def of(cls, schema: Schema, codes: Mapping[str, Codes], groups: Sequence[int], *, is_assumed: bool) -> Trial:
        """A table, and apart from it what its schema wishes: every design is to be tried."""
        wishes: Any = (schema.tell, schema.about, schema.purpose or "two-way", schema.certainty)
        return cls(Schema(list(schema)), codes, tuple(groups), is_assumed, *wishes)

    def wishing(self, **wishes: Any) -> Trial:
        """The same, with other wishes than the schema's where there are some."""
        return replace(self, **{name: value for name, value in wishes.items() if value is not None})

    @property
    def n(self) -> int:
        """People in the smallest group."""
        return min(self.groups)

    @cached_property
    def yardstick(self) -> Yardstick:
        """The tables that methods are compared by."""
        return Yardstick.of(self.schema, self.codes, self.about)

    @property
    def ways(self) -> int:
        """How many columns the tables have that should lose least."""
        return WAYS[self.purpose]

    def plan(self, k: float, tell: TellChoice | None, data: Tally | None = None) -> Plan:
        """How the table would be perturbed: for the worst case, or with just the noise that these data need."""
        about = None if tell == "all" else self.about
        worst_case = {"n": self.groups, "certainty": self.certainty}
        asked: Any = worst_case if data is None else {"data": data, "calibration": "data-dependent"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StrongerThanAskedWarning)  # the advice compares both
            return calibrate(self.schema, k=k, tell=tell, about=about, purpose=self.purpose, **asked)

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
        return replace(self, codes={name: codes[rows] for name, codes in self.codes.items()}, groups=(most,))


def designs_to_try(trial: Trial, k: float) -> list[TellChoice]:
    """What is wished or else expected to lose least, which comes first, the next best, whole records, one, and two."""
    trial.plan(k, "all")  # refuses what cannot be promised
    wishes: Any = {"certainty": trial.certainty, "about": trial.about, "purpose": trial.purpose}
    ranked = designs(trial.schema, n=trial.groups, k=k, **wishes)
    asked = [_asked(design, is_first=place == 0) for place, design in enumerate(ranked)]
    known = [tell for tell in asked if tell is not None]
    wished = [] if trial.tell in (None, "auto") else [trial.tell]
    found: list[Any] = []
    for tell in (*wished, *known[:2], *(tell for tell in ("all", 1, 2) if tell in known)):
        if tell not in found:
            found.append(tell)
    return found


def _asked(design: Design, *, is_first: bool) -> TellChoice | None:
    """How to ask for a design: whole records in shares by values come only where they are what ``"auto"`` takes."""
    is_by_values = design.tell == "all" and len(set(design.recipe.shares.values())) > 1
    return ("auto" if is_first else None) if is_by_values else design.tell


def perturbed(trial: Trial, k: float, tell: TellChoice | None) -> Outlook:
    """Perturbation for the worst case: k holds whatever the table, in every draw or as surely as is wished."""
    plan = trial.plan(k, tell)
    asked = (tell, None if tell == "all" else trial.about, trial.purpose, trial.certainty)
    if trial.is_assumed:
        errors = Errors.expected(expected_error(plan.tells, trial.n, trial.about), len(trial.schema.perturbed))
        return Outlook("perturb", k, PK_ANONYMITY, errors, Phrase("expected from n, k and the schema alone"), *asked)
    return Outlook("perturb", k, PK_ANONYMITY, rehearsed(plan, trial), REHEARSED, *asked)


def perturbed_for_the_data(trial: Trial, worst_case: Outlook) -> Outlook:
    """Perturbation by the same design with just the noise this table needs."""
    k, tell = worst_case.k, worst_case.tell
    found = replace(worst_case, method="perturb-data-dependent", note="")
    if trial.certainty is not None:
        return found.not_assessed(Phrase("its noise depends on the data, and certainty needs the worst case"))
    if trial.is_assumed:
        return found.not_assessed(Phrase("its noise depends on the data: give them"))
    tally, plan = Tally.of_columns(trial.schema.released), trial.plan(k, tell)
    if isinstance(tally, SparseTally) and trial.records > MOST_DISTINCT and plan.is_apart:
        return found.not_assessed(Phrase("fitting noise to so many distinct records takes long"))
    tally.update(trial.codes)
    fitted = trial.plan(k, tell, tally)
    if fitted.kept > HARDLY_PERTURBED:
        return found.not_assessed(
            Phrase("these data need so little noise that {kept:.0%} of them would be released as is", kept=fitted.kept)
        )
    if fitted.tells == plan.tells:
        return replace(found, note=Phrase("these data need the noise of the worst case"))
    crowd = Crowd(tally).smallest([one.telling for one in plan.tells])
    note = Phrase(
        "{rehearsed}; the worst case would leave everybody in a crowd of {crowd:,.0f} where {k:g} were promised",
        rehearsed=REHEARSED,
        crowd=crowd,
        k=k,
    )
    return replace(found, errors=rehearsed(fitted, trial), note=note if crowd >= WELL_HIDDEN * k else REHEARSED)


def microaggregated(trial: Trial, k: float) -> Outlook:
    """Groups of at least k alike records."""
    tried = trial.some(max(GROUPED, 20 * math.ceil(k)))
    # Of made-up records there are as many as share what is kept.
    within = [] if trial.is_assumed else [one.name for one in trial.schema.kept]
    names, fewest = [one.name for one in trial.schema.perturbed], math.ceil(k)
    try:
        made = microaggregate(_comparable(tried), fewest, columns=names, within=within, method="local-search").table
    except DataError:
        few = Phrase("too few of the records that it is tried on share what is kept")
        return Outlook("microaggregate", k, "", None, "").not_assessed(few)
    after = dict(tried.codes) | {name: _codes_again(made.column(name)) for name in names}
    errors = tried.yardstick.errors(lambda table: count_table(tried.schema, after, table))
    return Outlook("microaggregate", k, K_ANONYMITY, errors, _tried_on(tried))


def factorised(trial: Trial, k: float) -> Outlook:
    """A wide table of zeros and ones, perturbed or aggregated by its factors."""
    found = Outlook("factorise", k, "", None, "")
    if not trial.is_wide:
        return found.not_assessed(Phrase("for tables of {count} and more columns of two values", count=WIDE))
    if trial.is_assumed:
        return found.not_assessed(Phrase("it depends on the patterns in the data: give them"))
    tried = trial.some(max(GROUPED, 20 * math.ceil(k)))
    names = [attribute.name for attribute in trial.schema.perturbed]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotForPublicationWarning)
        made = release_matrix(
            np.column_stack([tried.codes[name] for name in names]), math.ceil(k), seed=0, shuffle=False
        )
    columns = made.matrix.toarray().astype(np.int32).T
    after = dict(tried.codes) | dict(zip(names, columns, strict=True))
    errors = tried.yardstick.errors(lambda table: count_table(tried.schema, after, table))
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


def rehearsed(plan: Plan, trial: Trial) -> Errors:
    """Perturb once, ask for every table, and compare; what is drawn here is never released."""
    drawn = Kernel(plan).sample(trial.codes, Randomness.seeded(0))
    reader = Reader(MemoryRecords(plan.layout, known=drawn), plan, len(next(iter(drawn.values()))))
    questions = {table: ask(plan, table, {}, None) for table in trial.yardstick.truths}
    counted = dict(zip(questions, reader.count([*questions.values()]), strict=True))
    return trial.yardstick.errors(lambda table: reader.counts_alone(questions[table], counted[table]))


def _comparable(trial: Trial) -> pa.Table:
    """Numbers to group by their distance, everything else by being the same."""
    return pa.table(
        {
            one.name: trial.codes[one.name].astype(float) if _is_number(one) else trial.codes[one.name].astype(str)
            for one in trial.schema.released
        }
    )


def _codes_again(column: Any) -> Codes:
    return np.rint(column.to_numpy().astype(float)).astype(np.int32)


def _is_number(attribute: Any) -> bool:
    return isinstance(attribute, Numeric) and attribute.missing == "error"
