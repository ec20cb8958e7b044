"""A steward's work so far: what was opened, said and chosen. Each step calls what a Python user would call."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import product, starmap
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.csv import write_csv

from kakuran.audit import Audit, Risk, TruePeople, quick_audit, risk_of, wrong_cells
from kakuran.charts import Labelled
from kakuran.counts import Cells, Tally
from kakuran.design import (
    CERTAINTY,
    Account,
    BandProposal,
    Design,
    Guarantee,
    Ledger,
    LedgerEntry,
    Plan,
    Spending,
    by_size,
    calibrate,
    designs,
    expected_error,
    group_sizes,
    preview,
    propose_bands,
    smallest_group,
)
from kakuran.errors import (
    CalibrationError,
    DataError,
    InferredDomainWarning,
    ReleaseError,
    ScatteredNumbersWarning,
    SchemaError,
    StrongerThanAskedWarning,
)
from kakuran.release import Release, neutral, perturb, perturb_file, read_release, targets
from kakuran.report import in_draw, pair_section, release_report, table as html_table
from kakuran.schema import (
    DELIMITED,
    DUCKDB,
    FORMATS,
    WRITERS,
    Attribute,
    CsvSource,
    Date,
    Dropped,
    Numeric,
    Schema,
    Source,
    encode_columns,
    found_format,
    open_source,
    problems_of,
)
from kakuran.studio.asking import PointedQuestion
from kakuran.studio.columns import Card, card_of, classes_of, first_rows, in_numbers, oddities, read_some, with_days
from kakuran.studio.script import NamedTable, Promised, Targets, commands_of, python_of
from kakuran.typing import Array
from kakuran.words import Phrase, Words
from kakuran.writing import check_free, write_text

USUAL_K = 10.0
CURVE = (2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
"""The k at which errors are compared."""
CLOSE_ENOUGH = 6
"""Points of the curve that are worked out where a table has many columns."""
MANY_COLUMNS = 8
COMMON_KINDS = (".csv", ".xlsx", ".parquet")
"""Of files that a release may be written to: those that colleagues open."""
USUAL_EPSILON = 0.1
"""What domains spend that are found privately."""
_WISHES = ("tell", "about", "purpose", "certainty", "person", "rows_a_person", "private")
MOST_ACROSS = 24
"""Cells on a side of a table that is rehearsed."""


@dataclass(frozen=True)
class Draft:
    """What is undone and redone: all that has been said of the table.

    Attributes
    ----------
    schema : Schema
        What is public of every column, and what the release is to be good for.
    k : float
        The promise.
    confirmed : frozenset[str]
        The columns whose domain the steward says is public, though it was read off the data.
    """

    schema: Schema
    k: float = USUAL_K
    confirmed: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class OpenTable:
    """A table that was opened, summed up.

    Attributes
    ----------
    opening : NamedTable
        What was asked for.
    source : Source
        All of its records.
    table : pa.Table
        Those in memory.
    is_whole : bool
        Whether these are all.
    inferred : Schema
        What its data look like.
    """

    opening: NamedTable
    source: Source
    table: pa.Table
    is_whole: bool
    inferred: Schema
    cards: Mapping[str, Card]
    _misfits: dict[str, tuple[Schema, DataError | None]] = field(default_factory=dict)

    @property
    def data(self) -> Any:
        """What to count: the records in memory, if these are all."""
        return self.table if self.is_whole else self.source

    @cached_property
    def rows(self) -> int:
        """How many records there are."""
        return self.table.num_rows if self.is_whole else smallest_group(self.inferred, self.source)

    def misfits(self, schema: Schema) -> Iterator[DataError]:
        """What is wrong with each column; one is looked at again only when something else is said of it."""
        alone = {one.name: Schema([one]) for one in schema.released}
        if schema.person is not None:
            alone[schema.person] = Schema([Dropped(schema.person)], person=schema.person)
        for name, said in alone.items():
            known, problem = self._misfits.get(name, (None, None))
            if known != said:
                problem = next(problems_of(open_source(self.table.select([name])), said), None)
                self._misfits[name] = said, problem
            if problem is not None:
                yield problem


@dataclass
class Made:
    """A release that was written, of what, and what the attacker found in it."""

    files: Targets
    source: Source
    commands: str
    audit: Audit | None = None


class Desk:
    """One steward's work on one table, and the release that is read.

    Parameters
    ----------
    folder : Path
        Where files are looked for, and releases are written unless somebody says where.

    Examples
    --------
    >>> import tempfile
    >>> from kakuran.release import write_table
    >>> from kakuran.samples import census
    >>> from kakuran.studio import Desk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(Path(folder, "people.parquet"), census(500))
    ...     desk = Desk(Path(folder))
    ...     desk.open(str(Path(folder, "people.parquet")))
    ...     desk.edit("region", {"role": "keep"})
    >>> [one.name for one in desk.draft.schema.kept], desk.opened.rows
    (['region'], 500)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.progress: list[dict[str, Any]] = []
        self._opened: OpenTable | None = None
        self._drafts: list[Draft] = []
        self._at = -1
        self._known: dict[Any, Any] = {}
        self._rehearsed: tuple[tuple[str, float], Release] | None = None
        self._made: Made | None = None
        self._spent: dict[str, list[tuple[Spending, str | None]]] = {}
        self._release: tuple[Path, Release] | None = None

    def look_into(self, folder: str | None) -> dict[str, Any]:
        """What lies in a folder: other folders, and files that may hold a table."""
        place = Path(folder).expanduser() if folder else self.folder
        try:
            found = sorted(one for one in place.resolve(strict=True).iterdir() if not one.name.startswith("."))
        except OSError as error:
            raise SchemaError(
                Phrase("{place}: cannot be looked into: {why}", place=place, why=error.strerror)
            ) from None
        return {
            "folder": str(place.resolve()),
            "parent": str(place.resolve().parent),
            "folders": [one.name for one in found if one.is_dir()],
            "files": [one.name for one in found if one.suffix in (*FORMATS, *DUCKDB) and one.is_file()],
        }

    def open(self, named: str, sql: str | None = None, **told: str) -> None:
        """Open a table and draft its schema; what is not told of a CSV file is found."""
        named = named.strip()
        if self._opened is not None and named == self._opened.opening.address:
            named = self._opened.opening.named  # the page does not know the password
        path = Path(named).expanduser()
        if path.exists():
            named = str(path.resolve())
        told = {name: value for name, value in told.items() if value}
        if told.keys() <= {"names"} and not sql and path.suffix in DELIMITED and path.is_file():
            told = {name: value for name, value in vars(found_format(path)).items() if value} | told
        opening = NamedTable(named, sql or None, told)
        with self._doing("reading", None) as advance:
            source = open_source(named, opening.sql, **told)
            table, is_whole = read_some(source, advance)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InferredDomainWarning)  # the page says so, column by column
                inferred = Schema.infer(table)
            cards = {name: _card(inferred[name], table.column(name)) for name in table.column_names}
        self._opened = OpenTable(opening, source, table, is_whole, inferred, cards)
        self._drafts, self._at, self._known, self._rehearsed = [], -1, {}, None
        self._say(Draft(inferred.confirmed(), min(USUAL_K, float(max(self._opened.rows, 2)))))

    @property
    def opened(self) -> OpenTable:
        """The table that is open."""
        if self._opened is None:
            raise SchemaError(Phrase("no table is open yet; open one first"))
        return self._opened

    @property
    def draft(self) -> Draft:
        """What has been said so far."""
        if not self._drafts:
            raise SchemaError(Phrase("no table is open yet; open one first"))
        return self._drafts[self._at]

    def edit(self, column: str, changes: Mapping[str, Any]) -> None:
        """Say something else of a column; what is changed to nothing is as if it had never been said.

        Besides those of a schema there is a role "person", of the column that says whose a row is.
        """
        draft, described = self.draft, self.draft.schema.to_dict()
        confirmed = draft.confirmed
        if column not in described:
            draft.schema[column]  # which says what there is
        before, was = described[column], described[column].get("role")
        role = changes.get("role", was)
        if role in ("drop", "person"):
            before, changes = {}, {"role": "drop"}
        elif role == "weight":
            before = before if was == "weight" else {"classes": classes_of(self.opened.cards[column])}
        elif was in ("drop", "weight") or changes.get("type", before.get("type")) != before.get("type"):
            before = self._domain_of(column, changes.get("type"))
            confirmed = confirmed - {column}  # which was said of another domain
        fields = _changed(before, changes)
        person = column if role == "person" else None if column == draft.schema.person else draft.schema.person
        schema = _with(draft.schema, described | {column: fields}, person)
        self._say(replace(draft, schema=schema, confirmed=confirmed))

    def _domain_of(self, column: str, kind: str | None) -> dict[str, Any]:
        """A domain to start from, of a kind, as the data look."""
        drafted, card = self.opened.inferred.to_dict()[column], self.opened.cards[column]
        if kind in (None, drafted.get("type")) and "type" in drafted:
            return drafted
        if kind != "numeric" and card.values is not None:
            return {"type": "categorical", "values": card.values}
        if kind != "categorical" and card.edges and not card.are_days:
            return {"type": "numeric", "low": math.floor(card.edges[0]), "high": math.ceil(card.edges[-1]), "step": 1}
        raise SchemaError(
            Phrase(
                "column {column!r}: its values are too many, or none of them is one of this kind; leave it out",
                column=column,
            )
        )

    def wish(self, **wishes: Any) -> None:
        """Say what the release is to promise (`k`, `certainty`) and to be good for (`tell`, `about`, `purpose`, …)."""
        draft = self.draft
        k = wishes.pop("k", None)
        schema = draft.schema if not wishes else replace(draft.schema, **wishes)
        self._say(replace(draft, schema=schema, k=draft.k if k is None else _checked_k(k)))

    def confirm(self, columns: Sequence[str], *, is_public: bool) -> None:
        """Say that domains that were read off the data are public all the same, or take that back."""
        before = self.draft.confirmed
        confirmed = before.union(columns) if is_public else before.difference(columns)
        self._say(replace(self.draft, confirmed=confirmed))

    def find_privately(self) -> None:
        """Say of all columns what is found privately: from the source, as what is in memory has types read off it."""
        draft, source = self.draft, self.opened.source
        with self._doing("reading", source.rows) as advance:
            found = Schema.infer(source, epsilon=USUAL_EPSILON, person=draft.schema.person, progress=advance)
        made = _with(replace(draft.schema, private=found.private), found.to_dict(), found.person)
        self._released.append((Spending.of_domains(self._suggested().name, *found.private or ()), None))
        self._say(replace(draft, schema=made, confirmed=frozenset(made.names)))

    def write(self, toml: str) -> None:
        """Say all of it in TOML; what is not marked there as drafted is said to be public."""
        schema = Schema.from_toml(toml)
        schema.check_columns(self.opened.source.names)
        confirmed = frozenset(schema.names).difference(schema.drafted)
        self._say(replace(self.draft, schema=schema.confirmed(), confirmed=confirmed))

    def _say(self, draft: Draft) -> None:
        """Add a draft, unless nothing changed; while only k moves, as on a slider, it is one change."""
        if self._at >= 0 and draft == self._drafts[self._at]:
            return
        if self._at > 0 and _differ_in_k(*self._drafts[self._at - 1 : self._at + 1], draft):
            self._at -= 1
        self._drafts[self._at + 1 :] = [draft]
        self._at += 1

    def undo(self) -> None:
        """Go back to what was said before."""
        self._at = max(self._at - 1, 0)

    def redo(self) -> None:
        """Say again what was undone."""
        self._at = min(self._at + 1, len(self._drafts) - 1)

    def to_dict(self, words: Words | None = None) -> dict[str, Any]:
        """All that the page shows of it, in some words; of the data no more than their first rows and sums."""
        if self._opened is None:
            return {"folder": str(self.folder), "opened": None}
        opened, draft = self._opened, self.draft
        described, drafted = draft.schema.to_dict(), opened.inferred.to_dict()
        return {
            "folder": str(self.folder),
            "opened": {
                "named": opened.opening.address,
                "sql": opened.opening.sql,
                "told": {**opened.opening.told, **_found(opened.source)},
                "rows": opened.rows,
                "is_whole": opened.is_whole,
                "names": opened.table.column_names,
                "first_rows": first_rows(opened.table),
                "cards": {name: asdict(card) for name, card in opened.cards.items()},
            },
            "columns": described,
            "drafted": {name: fields.get("type") for name, fields in drafted.items()},
            "remarks": {name: words.of(one) if words else one for name, one in opened.inferred.remarks.items()},
            "wishes": {name: getattr(draft.schema, name) for name in _WISHES},
            "toml": replace(draft.schema, drafted=self._read_off()).to_toml(),
            "k": draft.k,
            "certainty_offered": draft.schema.certainty or CERTAINTY,
            "read_off": self._read_off(),
            "confirmed": sorted(draft.confirmed),
            "odd": [*oddities(draft.schema, opened.cards, opened.inferred, opened.rows)],
            "misfits": [
                {"column": one.column, "message": words.error(one) if words else str(one)}
                for one in opened.misfits(draft.schema)
            ],
            "can_undo": self._at > 0,
            "can_redo": self._at < len(self._drafts) - 1,
            "targets": str(self._suggested()),
            "kinds": [*dict.fromkeys((self._suggested().suffix, *COMMON_KINDS))],
            "ledgers": [*map(str, sorted(self._suggested().parent.glob("*.ledger")))],
            "made_before": [ledger for one, ledger in self._released if one.kind != "domains"],
        }

    def _suggested(self) -> Path:
        """Where nothing is yet: a file of the kind that was opened, if that can be written."""
        path = self.opened.opening.path
        kind = ".csv" if path.suffix in DELIMITED else path.suffix if path.suffix in WRITERS else ".parquet"
        place, name = path.parent if path.exists() else self.folder, f"{path.stem or 'table'}-release"
        there = [file.name for file in place.iterdir() if file.name.startswith(name)]
        names = (name, *(f"{name}-{number}" for number in range(2, len(there) + 3)))
        free = (one for one in names if not any(file.startswith((f"{one}.", f"{one}-schema")) for file in there))
        return place / f"{next(free)}{kind}"

    @property
    def _released(self) -> list[tuple[Spending, str | None]]:
        """What releases of this table have spent since the studio runs, and the ledger that each was entered into."""
        return self._spent.setdefault(self.opened.opening.named, [])

    def joined(self) -> dict[str, Any]:
        """What one more release would leave of what people were promised by those made here before."""
        spent = [one for one, _ in self._released]
        more = [*spent, Spending.of(self._plan(), self._suggested().name)]
        apart, together = (
            _account_of([replace(one, joined=is_joined and one.kind != "domains") for one in more])
            for is_joined in (False, True)
        )
        return {
            "number": sum(one.kind != "domains" for one in more),
            "apart": apart.k,
            "joined": together.k,
            "epsilon": _finite(apart.epsilon),
        }

    def start_ledger(self) -> None:
        """Begin to keep account beside the table, with the releases made here of which no ledger knows yet."""
        path, place = self.opened.opening.path, self._suggested().parent
        least = min([self.draft.k, *(one.k for one, _ in self._released)])
        next_one = Spending.of(self._plan(), path.name)
        failure = math.fsum(one.failure for one in (*(spending for spending, _ in self._released), next_one))
        ledger = Ledger.create(
            place / f"{path.stem or 'table'}.ledger",
            path.name or "table",
            k=least,
            certainty=1 - failure if failure else None,
        )
        self._enter(ledger)

    def _enter(self, ledger: Ledger, *, only_domains: bool = False) -> None:
        """Enter what was made here and no ledger knows of yet."""
        for number, (spending, known) in enumerate(self._released):
            if known is None and (spending.kind == "domains" or not only_domains):
                ledger.mark(ledger.add(spending), "made")
                self._released[number] = spending, str(ledger.path)

    def choice(self, say: Words) -> dict[str, Any]:
        """What is promised and expected at this k, design by design."""
        draft, plan, n = self.draft, self._plan(), self._groups()[0]
        about = {draft.schema.about} - {None}
        errors = by_size([one for one in preview(plan) if len(one.columns) == 1 or about <= {*one.columns}])
        compared = self._designs(draft.k, draft.schema)
        chosen = _chosen(compared, draft.schema.tell)
        return {
            "n": n,
            "k": draft.k,
            "certainty": plan.certainty,
            **_epsilons(plan),
            "verdict": say.of(compared[chosen].expected.verdict) if chosen is not None else "",
            "scattered": [say.of(one) for one in plan.scattered],
            "designs": [_described(one) | {"is_chosen": place == chosen} for place, one in enumerate(compared)],
            "tables": [
                {"ways": one.ways, "columns": one.typical.columns, "count": one.typical.count,
                 "error": one.typical.error, "guessing": one.guessing, "tables": one.tables}
                for one in errors
            ],
        }  # fmt: skip

    def beside(self) -> list[dict[str, Any]]:
        """k in every draw and with certainty: what each promises and is expected to lose; nothing where one is all."""
        schema = self.draft.schema
        if schema.rows_a_person > 1:
            return []
        return [
            self._guaranteed(replace(schema, certainty=certainty)) | {"is_chosen": certainty == schema.certainty}
            for certainty in (None, schema.certainty or CERTAINTY)
        ]

    def _guaranteed(self, schema: Schema) -> dict[str, Any]:
        plan, compared = self._plan(schema), self._designs(self.draft.k, schema)
        chosen = _chosen(compared, schema.tell)
        design = None if chosen is None else compared[chosen]
        return {
            "certainty": plan.certainty,
            "tell": schema.tell if design is None else design.tell,
            "is_capped": design is not None and self._is_capped(design, plan),
            **_epsilons(plan),
            **asdict(expected_error(plan.tells, plan.n, schema.about)),
        }

    def _is_capped(self, design: Design, plan: Plan) -> bool:
        """Whether k alone would allow a larger ε₀ than the ceiling on the central ε does."""
        guarantee = Guarantee.of(plan.k, self._groups(), certainty=plan.certainty, central_ceiling=None)
        return guarantee.plan(design.recipe).epsilon > plan.epsilon * (1 + 1e-5)

    def bands(self) -> list[dict[str, Any]]:
        """Numbers that would come out better in bands, and by how much."""
        draft, n = self.draft, self._groups()[0]
        return self._once(("bands", draft.schema.to_toml(), draft.k), lambda: [*map(in_numbers, self._proposed(n))])

    def _proposed(self, n: int) -> list[BandProposal]:
        schema, table = self.draft.schema, self.opened.table
        odd = {one.column for one in self.opened.misfits(schema)}
        numbers = [one for one in schema.perturbed if isinstance(one, Numeric) and one.name not in odd]
        counts = {name: np.bincount(codes) for name, codes in encode_columns(numbers, table).items()}
        return propose_bands(schema, n=n, k=self.draft.k, counts=counts)

    def _read_off(self) -> list[str]:
        """The columns whose domains were read off the data, which nobody has called public."""
        described, drafted = self.draft.schema.to_dict(), self.opened.inferred.to_dict()
        gave = (name for name, card in self.opened.cards.items() if card.gave(described[name], drafted[name]))
        return [name for name in gave if name not in self.draft.confirmed]

    def leave_out_others(self, columns: Sequence[str]) -> None:
        """Drop all columns that would be told but some."""
        draft = self.draft
        others = {one.name: {"role": "drop"} for one in draft.schema.perturbed if one.name not in columns}
        schema = _with(draft.schema, draft.schema.to_dict() | others, draft.schema.person)
        self._say(replace(draft, schema=schema))

    def make_bands(self, columns: Sequence[str]) -> None:
        """Take the bands that are offered for some columns."""
        draft, described = self.draft, self.draft.schema.to_dict()
        offers = {one["column"]: one["changes"] for one in self.bands() if one["column"] in columns}
        made = {name: _changed(described[name], changes) for name, changes in offers.items()}
        self._say(replace(draft, schema=_with(draft.schema, described | made, draft.schema.person)))

    def curve(self) -> list[dict[str, Any]]:
        """What every design is expected to lose, k by k."""
        n, draft = self._groups()[0], self.draft
        ways = _ways(draft.schema)
        at = [k for k in CURVE if k <= n]
        if len(draft.schema.perturbed) > MANY_COLUMNS or draft.schema.certainty is not None:
            at = at[:: max(1, round(len(at) / CLOSE_ENOUGH))]
        compared = {k: self._designs(k, draft.schema) for k in at}
        return [{"k": k, "errors": {_key(one): one.expected.of(ways) for one in compared[k]}} for k in at]

    def risk(self) -> dict[str, Any]:
        """How easily people are found in the table as it is."""
        found: Risk = self._once(("risk", self.draft.schema.to_toml()), self._risk)
        return asdict(found) | {"worst": found.worst}

    def _risk(self) -> Risk:
        schema, table = self.draft.schema, self.opened.table
        if schema.person is None:
            return risk_of(schema.encode(table))
        people = TruePeople.of(schema, table)
        return risk_of(people.codes, people.person)

    def rehearse(self, down: str, across: str, say: Words, *, is_narrow: bool = False) -> dict[str, Any]:
        """Two columns as they are and as they would come back: a draw that is thrown away."""
        with self._doing("rehearsing", None), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self._rehearsal().crosstab(down, across)
        if max(found.counts.shape) > MOST_ACROSS:
            raise SchemaError(
                Phrase(
                    "{down} × {across} has {cells:,} cells, too many to look at",
                    down=down,
                    across=across,
                    cells=found.counts.size,
                )
            )
        truth = self._as_it_is(found.axes)
        down_side, across_side = ((axis.name, [say.of(label) for label in axis.labels]) for axis in found.axes)
        tables = {"original": truth, "reconstructed": found.counts}
        numbers = _cell_by_cell(say, down_side, across_side, tables)
        shown = pair_section(say, down_side, across_side, tables, numbers, unclear=found.unclear, stacked=[is_narrow])
        return {"html": shown, "wrong": wrong_cells(truth, found.counts), "unclear": bool(found.unclear.any())}

    def _as_it_is(self, axes: Sequence[Cells]) -> Array:
        """How many are in each cell of a table: rows, or people whose rows are drawn."""
        schema, table = self.draft.schema, self.opened.table
        if schema.person is not None:
            return TruePeople.of(schema, table).counts(axes)
        names = [axis.name for axis in axes]
        return Tally.of(encode_columns(schema.some(names), table.select(names)), axes).counts

    def _rehearsal(self) -> Release:
        """A draw of all records, which is as large as they are: only the last is remembered.

        Nobody sees its records, so that they are shuffled, which takes a while, only where nothing else is drawn.
        """
        draft, table = self.draft, self.opened.table
        asked = (draft.schema.to_toml(), draft.k)
        if self._rehearsed is None or self._rehearsed[0] != asked:
            schema = draft.schema
            plan = self._plan() if self.opened.is_whole else self._planned(schema, group_sizes(schema, table))
            self._rehearsed = None
            has_to_be = schema.person is not None or plan.certainty is not None
            self._rehearsed = asked, perturb(table, plan, shuffle=has_to_be)
        return self._rehearsed[1]

    def _plan(self, schema: Schema | None = None) -> Plan:
        """What `calibrate` gives, as was said or with another certainty; the best design is known already."""
        schema, k = schema or self.draft.schema, self.draft.k
        if schema.tell in (None, "auto") and schema.rows_a_person == 1:
            tells = self._designs(k, schema)[0].tells
            return Plan(schema, tells, self._groups()[0], k, "worst-case", schema.certainty)
        return self._once(("plan", schema.to_toml(), k), lambda: self._planned(schema, self._groups()))

    def _planned(self, schema: Schema, groups: Sequence[int]) -> Plan:
        with warnings.catch_warnings():
            for said in (ScatteredNumbersWarning, StrongerThanAskedWarning):  # which the page says in its own words
                warnings.simplefilter("ignore", said)
            return calibrate(schema, n=groups, k=self.draft.k)

    def _groups(self) -> list[int]:
        """How many people share what is kept, group by group, the fewest first."""
        schema, opened = self.draft.schema, self.opened
        if not (schema.kept or opened.is_whole):
            return [opened.rows]  # which was counted already
        asked = ("groups", replace(schema, certainty=None).to_toml())
        return self._once(asked, lambda: sorted(group_sizes(schema, opened.data)))

    def _designs(self, k: float, schema: Schema) -> list[Design]:
        wishes: Any = {"about": schema.about, "purpose": schema.purpose or "two-way", "certainty": schema.certainty}
        asked = ("designs", replace(schema, tell=None).to_toml(), k)
        return self._once(asked, lambda: designs(schema, n=self._groups(), k=k, **wishes))

    def _once(self, key: Any, work: Callable[[], Any]) -> Any:
        """What was worked out for the same question before, or now; of many, the last are remembered."""
        if key not in self._known:
            while len(self._known) >= 64:
                self._known.pop(next(iter(self._known)))
            self._known[key] = work()
        return self._known[key]

    def release(self, target: str, lang: str, *, force: bool = False, ledger: str | None = None) -> dict[str, Any]:
        """Draw and write the release, its schema and the script that does the same; then `attack` and `report`."""
        opened, draft = self.opened, self.draft
        if unsaid := self._read_off():
            raise SchemaError(
                Phrase(
                    "values and bounds of {columns} were read off the data and would be published; say that they are "
                    "public knowledge, or change them",
                    columns=", ".join(map(repr, unsaid)),
                )
            )
        files = Targets(Path(target).expanduser().absolute(), ledger)
        beside = [files.schema, files.report, files.public, files.commands, files.python]
        check_free(*targets(files.release), *beside, force=force)
        with self._doing("counting", opened.rows) as advance:
            groups = sorted(group_sizes(draft.schema, opened.source, advance))
        plan = self._plan() if groups == self._groups() else self._planned(draft.schema, groups)
        if ledger is not None:
            self._enter(Ledger(ledger), only_domains=True)
        with self._doing("perturbing", opened.rows) as advance:
            manifest = perturb_file(opened.source, files.release, plan, ledger=ledger, force=force, progress=advance)
        promised = Promised(draft.k, draft.schema.certainty)
        commands, python = (said(opened.opening, files, promised, lang) for said in (commands_of, python_of))
        draft.schema.save(files.schema)
        write_text(files.commands, commands, is_private=True)
        write_text(files.python, python, is_private=True)
        self._made = Made(files, opened.source, commands)
        self._released.append((Spending.of(plan, files.release.name), ledger))
        table, *manifest_file = targets(files.release)
        written = {"schema": files.schema, "commands": files.commands, "python": files.python}
        return {
            "records": manifest.records,
            "release": str(files.release),
            "files": [
                _sized("release", table),
                *(_sized("manifest", path) for path in manifest_file),
                *starmap(_sized, written.items()),
            ],
            "commands": commands,
            "python": python,
            "ledger": _spent(ledger) if ledger else None,
        }

    def attack(self, say: Words) -> dict[str, Any]:
        """Play the attacker on what was released."""
        made = self._last_made()
        with self._doing("attacking", None) as advance:
            audit = made.audit = quick_audit(made.source, made.files.release, advance)
        if audit is None:
            return {"passed": None, "verdict": ""}
        verdict = say.listed(audit.problems) or say("audit_passed", k=audit.k)
        return {"passed": audit.passed, "verdict": " ".join([verdict, *in_draw(audit, say)])}

    def report(self, lang: str) -> list[dict[str, Any]]:
        """Write both reports of what was released and attacked."""
        made = self._last_made()
        files, release = made.files, read_release(made.files.release)
        with self._doing("reporting", 3 * release.n) as advance:
            write_text(files.public, release_report(release, lang=lang, progress=advance))
            told: Any = {"original": made.source, "audit": made.audit, "command": made.commands}
            page = release_report(release, lang=lang, progress=advance, **told)
            write_text(files.report, page, is_private=True)
        return [_sized("public", files.public), _sized("internal", files.report)]

    def _last_made(self) -> Made:
        if self._made is None:
            raise ReleaseError(Phrase("nothing was released yet"))
        return self._made

    def read(self, path: str) -> dict[str, Any]:
        """Open a release, to ask things of it."""
        found = Path(path.strip()).expanduser().resolve()
        release = read_release(found)
        self._release = found, release
        plan = release.plan
        return {
            "path": str(found),
            "records": release.n,
            "k": release.k,
            "certainty": plan.certainty,
            "epsilon": _finite(release.epsilon),
            "central": release.manifest.central() if release.manifest.is_central else None,
            "columns": plan.schema.to_dict() | {one.name: None for one in plan.schema if isinstance(one, Dropped)},
            "about": plan.about,
            "seeded": release.manifest.seeded,
        }

    def ask(self, asked: Mapping[str, Any], say: Words) -> dict[str, Any]:
        """Ask something of the release; the answer as a report has it, and the code that asks the same."""
        if self._release is None:
            raise ReleaseError(Phrase("no release is open yet; open one first"))
        path, release = self._release
        question = PointedQuestion.of(asked)
        with self._doing("estimating", None), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # which cells are unclear, the answer says itself
            found = question.put_to(release)
        numbers = found.to_arrow()
        return {
            "html": question.shown(found, say),
            "is_at_end": _is_at_end(numbers),
            "csv": _as_csv(numbers),
            "python": question.python(str(path)),
            "command": question.command(str(path)),
        }

    @contextmanager
    def _doing(self, what: str, total: int | None) -> Iterator[Callable[[int], object]]:
        """Keep count of how far something is, for whoever asks meanwhile."""
        counted: dict[str, Any] = {"what": what, "done": 0, "total": total}
        self.progress.append(counted)

        def advance(records: int) -> None:
            counted["done"] += records

        try:
            yield advance
        finally:
            self.progress.remove(counted)


def _card(attribute: Attribute, column: pa.ChunkedArray) -> Card:
    card = card_of(attribute.name, column)
    if isinstance(attribute, Date) and not card.are_days:
        return with_days(card, attribute, column)
    return card


def _cell_by_cell(say: Words, down: Labelled, across: Labelled, tables: Mapping[str, Array]) -> str:
    """The numbers of tables that are compared, a row a cell."""
    cells = [*product(down[1], across[1])]
    counts = zip(*(one.ravel() for one in tables.values()), strict=True)
    rows = [[*cell, *(f"{count:,.0f}" for count in found)] for cell, found in zip(cells, counts, strict=True)]
    header = [down[0], across[0], *map(say, tables)]
    return html_table(say("pair", one=down[0], other=across[0]), header, rows, text_columns=2)


def _changed(fields: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**fields, **changes}.items() if value is not None}


def _with(schema: Schema, described: Mapping[str, Mapping[str, Any]], person: str | None) -> Schema:
    """The schema with other columns; it is no longer about one that is not perturbed, nor tells more than there are."""
    rows = schema.rows_a_person if person else 1
    made = replace(schema, attributes=Schema.from_dict(described).attributes, person=person, rows_a_person=rows)
    if schema.about not in [None, *(one.name for one in made.perturbed)]:
        made = replace(made, about=None)
    if isinstance(schema.tell, int) and schema.tell > len(made.perturbed):
        made = replace(made, tell=None)
    return made


def _found(source: Source) -> dict[str, str]:
    """What the first line of a CSV file told."""
    return (
        {"delimiter": source.header.delimiter, "encoding": source.header.encoding}
        if isinstance(source, CsvSource)
        else {}
    )


def _spent(ledger: str) -> dict[str, Any]:
    """What is spent of what people were promised over all releases."""
    account = Ledger(ledger).account()
    promised = {"promised_k": account.promised_k, "promised_epsilon": account.promised_epsilon}
    return {"people": account.people, "k": account.k, "epsilon": account.epsilon, **promised}


def _account_of(spent: Sequence[Spending]) -> Account:
    """Releases that no ledger has refused, in an account of their own."""
    entries = [LedgerEntry(place, "", "made", one) for place, one in enumerate(spent, 1)]
    return Account("", promised_k=min(one.k for one in spent), entries=tuple(entries))


def _sized(kind: str, path: Path) -> dict[str, Any]:
    return {"kind": kind, "path": str(path), "bytes": path.stat().st_size}


def _differ_in_k(*drafts: Draft) -> bool:
    return len({repr(replace(draft, k=0.0)) for draft in drafts}) == 1


def _checked_k(k: Any) -> float:
    if isinstance(k, bool) or not isinstance(k, int | float) or not math.isfinite(k):
        raise CalibrationError(Phrase("k must be a number, got {k!r}", k=k))
    return float(k)


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def _epsilons(plan: Plan) -> dict[str, float | None]:
    """Of a record by itself, and of the whole release."""
    return {"epsilon": _finite(plan.epsilon), "central": _finite(plan.central()) if plan.is_central else None}


def _ways(schema: Schema) -> int:
    """How many columns the tables have that are to lose least."""
    asked = {"one-way": 1, "two-way": 2, "three-way": 3}[schema.purpose or "two-way"]
    return min(asked + (schema.about is not None), 3, len(schema.perturbed))


def _chosen(compared: Sequence[Design], tell: Any) -> int | None:
    """The place of the design that a schema asks for; the first one where it leaves that open."""
    if tell in (None, "auto"):
        return 0
    return next((place for place, one in enumerate(compared) if _key(one) == str(tell)), None)


def _key(design: Design) -> str:
    return str(design.tell) if _is_even(design) else "weighed"


def _is_even(design: Design) -> bool:
    return design.tell != "all" or len(set(design.recipe.shares.values())) <= 1


def _described(design: Design) -> dict[str, Any]:
    return {"key": _key(design), "tell": design.tell, "sets": len(design.tells), **asdict(design.expected)}


def _is_at_end(answer: pa.Table) -> bool:
    """Whether some estimate stands at an end of its interval."""
    named = next((name for name in ("count", "estimate") if name in answer.column_names), None)
    if named is None or not {"low", "high"} <= {*answer.column_names}:
        return False
    estimate, low, high = (answer.column(name).to_numpy().astype(float) for name in (named, "low", "high"))
    return bool(((low < high) & ((estimate <= low) | (estimate >= high))).any())


def _as_csv(answer: pa.Table) -> str:
    """An answer for other programs: numbers are numbers, whatever the page writes between thousands."""
    content = io.BytesIO()
    write_csv(neutral(answer), content)
    return content.getvalue().decode()
