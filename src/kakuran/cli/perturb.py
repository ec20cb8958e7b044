"""kakuran calibrate and kakuran perturb: what k costs, and the release."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kakuran.cli.console import STANDARD, answer_table, in_words, progress, said, say, speaking
from kakuran.cli.ledger import say_spent, say_what_would_be_spent
from kakuran.cli.options import (
    AboutOption,
    CertaintyOption,
    CsvOptions,
    Data,
    KeepOrder,
    LedgerFile,
    PurposeOption,
    ReleaseResults,
    Results,
    SchemaFile,
    SeedOption,
    Sql,
    TellOption,
    check_fits,
    grouped,
    numbers,
    pairs,
    say_wide_ends,
    to_read,
    to_tell,
    to_write,
)
from kakuran.errors import CalibrationError
from kakuran.words import Phrase, so_many_records

if TYPE_CHECKING:
    from kakuran.design import Design, ExpectedError, Plan, TableError, TablesOfSize
    from kakuran.engine import Originals
    from kakuran.mechanism import Mechanism
    from kakuran.release import Manifest
    from kakuran.schema import Schema
    from kakuran.typing import Progress

_CALIBRATIONS = {"worst-case": Phrase("worst-case"), "data-dependent": Phrase("data-dependent")}
_WAYS = (Phrase("one-way"), Phrase("two-way"), Phrase("three-way"))


@dataclass(frozen=True)
class PlanOptions:
    """The promise, and how the noise that keeps it is shared out."""

    schema: SchemaFile
    k: Annotated[float | None, typer.Option("--k", help="Nobody can be linked with probability above 1/k.")] = None
    central_epsilon: Annotated[
        float | None,
        typer.Option(
            "--central-epsilon",
            help="Or: the shuffled release as a whole is (ε, δ)-differentially private. The stronger of both is kept.",
        ),
    ] = None
    delta: Annotated[float, typer.Option("--delta", help="δ of --central-epsilon.")] = 1e-6
    certainty: CertaintyOption = None
    central_ceiling: Annotated[
        float,
        typer.Option("--central-ceiling", help="With --certainty: ε of the whole release, at most; inf for any."),
    ] = 1.0
    data_dependent: Annotated[
        bool,
        typer.Option(
            "--data-dependent",
            help="Calibrate to this very table: less noise, but the published parameters then depend on the data.",
        ),
    ] = False
    tell: TellOption = None
    about: AboutOption = None
    purpose: PurposeOption = None
    weight: Annotated[
        list[str] | None,
        typer.Option(
            "--weight",
            metavar="COLUMN=SHARE",
            help="A column's share of the budget, as age=0.5; the others share the rest. Repeatable.",
        ),
    ] = None
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            "--mechanism",
            metavar="COLUMN=MECHANISM",
            help="A column's mechanism, as age=laplace: retention, square-wave, laplace, bounded-laplace, "
            "bounded-gaussian, or pram:FILE with a row-stochastic matrix as CSV without header. Repeatable.",
        ),
    ] = None

    def people(
        self, schema: Schema, data: Any, n: int | None = None, progress: Progress = int
    ) -> dict[str, list[int] | Any]:
        """Who is hidden among whom: in the worst case so many in each group, or else the data themselves."""
        from kakuran.design import group_sizes
        from kakuran.parsing import naming

        with naming(self.schema):
            schema.check_confirmed()
        if self.k is None and self.central_epsilon is None:
            raise typer.BadParameter(said(Phrase("give a promise to keep: --k, or --central-epsilon")))
        if self.data_dependent and (data is None or n is not None):
            raise CalibrationError(Phrase("--data-dependent needs the data and not --n"))
        if data is None and n is None:
            raise CalibrationError(Phrase("how many records? name the data file or give --n"))
        if self.data_dependent or n is not None:
            return {"data": data, "progress": progress} if n is None else {"n": n}
        return {"n": group_sizes(schema, data, progress)}

    def plan(self, schema: Schema, people: Mapping[str, Any]) -> Plan:
        """The plan that the options ask for."""
        from kakuran.design import calibrate

        return calibrate(
            schema,
            k=self.k,
            **people,
            certainty=self.certainty,
            central_ceiling=self.central_ceiling,
            central_epsilon=self.central_epsilon,
            delta=self.delta,
            calibration="data-dependent" if self.data_dependent else "worst-case",
            tell=to_tell(self.tell),
            about=self.about,
            purpose=self.purpose,  # type: ignore[arg-type]
            weights=numbers("--weight", self.weight) or None,
            mechanisms={name: _mechanism(value) for name, value in pairs("--mechanism", self.mechanism).items()},
        )

    def compared(self, plan: Plan, people: Mapping[str, Any]) -> list[Design]:
        """What every design would lose with the same guarantee."""
        from kakuran.design import designs

        wishes = {"about": plan.about, "purpose": self.purpose or plan.schema.purpose or "two-way"}
        certain = {"certainty": plan.certainty, "central_ceiling": self.central_ceiling}
        return designs(plan.schema, n=people.get("n", plan.n), k=plan.k, **certain, **wishes)  # type: ignore[arg-type]

    def beside(self, plan: Plan, people: Mapping[str, Any]) -> Plan | None:
        """The plan for the same k with certainty, or of one with certainty that for every draw; None where none is."""
        from kakuran.design import CERTAINTY

        if self.k is None or self.central_epsilon is not None or not plan.is_central:
            return None
        every_draw = replace(plan.schema, certainty=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said of the plan itself, where it matters
            other = replace(self, certainty=CERTAINTY if plan.certainty is None else None)
            return other.plan(every_draw, people)


def _mechanism(value: str) -> str | Mechanism:
    kind, sign, path = value.partition(":")
    if not sign:
        return kind
    from kakuran.mechanism import PRAM

    if kind != PRAM.kind:
        raise typer.BadParameter(said(Phrase("only pram takes a file, got {value!r}", value=value)))
    return PRAM.load(path)


@grouped
def calibrate(
    promise: PlanOptions,
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="The table, as for perturb; or give --n.", callback=to_read)
    ] = None,
    sql: Sql = None,
    n: Annotated[
        int | None,
        typer.Option(
            "--n", help="Records in the table; with kept columns, in the smallest group sharing their values."
        ),
    ] = None,
    *,
    csv: CsvOptions,
    results: Annotated[Results, "json"],
) -> None:
    """Show the noise that keeps the promise and the error it will cause."""
    from kakuran.schema import Schema

    source, schema = None if data is None else csv.open(data, sql), Schema.load(promise.schema)
    say_wide_ends(schema)
    if source is not None:
        check_fits(source, schema)
    with progress("counting", None) as advance:
        people = promise.people(schema, source, n, advance)
        plan = promise.plan(schema, people)
    _answer(plan, results, promise, people)


class Engine(StrEnum):
    """Where the work is done."""

    local = "local"
    spark = "spark"


@grouped
def perturb(
    data: Data,
    promise: PlanOptions,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Release: .parquet, .csv, .xlsx, .sav or .dta; - is Parquet; on Spark a folder.",
            callback=to_write(".parquet"),
        ),
    ],
    sql: Sql = None,
    engine: Annotated[
        Engine, typer.Option("--engine", help="spark: read, perturb and write a folder with Spark.")
    ] = Engine.local,
    keep_order: KeepOrder = False,
    seed: SeedOption = None,
    ledger: LedgerFile = None,
    joined: Annotated[
        bool,
        typer.Option(
            "--joined",
            help="For the ledger: records can be joined, person by person, with those of other joined releases.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and its cost; write nothing.")] = False,
    *,
    csv: CsvOptions,
    results: ReleaseResults,
) -> None:
    """Perturb a table so that nobody can be linked to a record with probability above 1/k."""
    from kakuran.design import Ledger, Spending
    from kakuran.release import check_folder, check_target, perturb_file, targets
    from kakuran.schema import Schema, clipped_of

    schema, on_spark = Schema.load(promise.schema), engine == Engine.spark
    if on_spark:
        _check_options_for_spark(sql, keep_order=keep_order)
    if not dry_run:
        results.check()
        (check_folder if on_spark else check_target)(output, force=results.force)
    source: Any = _read_on_spark(data, csv, schema) if on_spark else csv.open(data, sql)

    def bar(title: str, records: int | None) -> AbstractContextManager[Progress]:
        """How far it is, which Spark shows itself."""
        return nullcontext(int) if on_spark else progress(title, records)

    with bar("counting", None) as advance:
        people = promise.people(schema, source, progress=advance)
        plan = promise.plan(schema, people)
    if dry_run and ledger is not None:
        say_what_would_be_spent(ledger, Spending.of(plan, output.name, shuffled=not keep_order, joined=joined))
    if not dry_run:
        order: Any = {"shuffle": not keep_order, "seed": seed, "ledger": ledger, "joined": joined}
        with bar("perturbing", getattr(source, "rows", None)) as advance:
            manifest = perturb_file(source, output, plan, force=results.force, progress=advance, **order)
        _say_written(f"the folder {output}" if on_spark else " and ".join(map(str, targets(output))), manifest)
        for beyond in () if on_spark else clipped_of(source, schema):
            say(beyond, "note")
        _say_what_to_ask(output, manifest.plan)
        if keep_order:
            say(Phrase("records keep their order: not for publication"), "warning")
        if ledger is not None:
            say_spent(Ledger(ledger).account())
        results.tell_release(output, lambda: csv.open(data, sql))
    if results.json or dry_run:
        _answer(plan, results, promise, people)


def _check_options_for_spark(sql: str | None, *, keep_order: bool) -> None:
    if sql is not None:
        raise typer.BadParameter(said(Phrase("--sql is for the local engine; on Spark query the table from Python")))
    if keep_order:
        raise typer.BadParameter(said(Phrase("--keep-order: Spark has no order of records that could be kept")))


def _read_on_spark(data: str, csv: CsvOptions, schema: Schema) -> Originals:
    from kakuran.engine import read_originals, start_session

    return read_originals(start_session(), Path(data), schema, **vars(csv))


def _say_written(where: str, manifest: Manifest) -> None:
    from kakuran.design import DELTA, HARDLY_PERTURBED

    plan = manifest.plan
    is_of_people = plan.counted_as[0] == "person"
    people = Phrase("{count:,} people", count=manifest.records)
    facts: dict[str, Any] = {
        "records": people if is_of_people else so_many_records(manifest.records),
        "promised": _promised(plan),
        "k": plan.k,
    }
    if plan.guaranteed_epsilon is not None:
        facts["epsilon"] = plan.guaranteed_epsilon
        say(Phrase("wrote {file}: {records}, {promised}, ε = {epsilon:.4g}", file=where, **facts))
    else:
        say(Phrase("wrote {file}: {records}, {promised}; its noise depends on the data: no ε", file=where, **facts))
    if plan.calibration == "data-dependent" and plan.kept > HARDLY_PERTURBED:
        say(
            Phrase(
                "warning: these data need so little noise for k = {k:g} that {kept:.0%} of what they say is released "
                "as it is; leave out --data-dependent to have every record perturbed",
                k=plan.k,
                kept=plan.kept,
            )
        )
    if plan.unit is not None:
        say(Phrase("counted are {unit}; {person!r} is not in the release", unit=plan.unit, person=plan.schema.person))
    if manifest.is_central:
        central: dict[str, Any] = {"epsilon": manifest.central(), "delta": DELTA}
        say(
            Phrase(
                "as a whole, shuffled: ε = {epsilon:.3g} at δ = {delta:f}, if nobody has two records in it", **central
            )
            if plan.unit is None
            else Phrase("as a whole, shuffled: ε = {epsilon:.3g} at δ = {delta:f}", **central)
        )
    if plan.layout.told:
        fewest, most = (end(map(len, plan.layout.told)) for end in (min, max))
        told = f"{most}" if fewest == most else f"{fewest}–{most}"
        say(
            "each record tells {told} of its {columns} perturbed columns; the others are empty",
            told=told,
            columns=len(plan.schema.perturbed),
        )
        if most == 1 and len(plan.schema.perturbed) > 1:
            say(Phrase("so nothing shows how columns go together; --about COLUMN tells how it goes with the others"))


def _say_what_to_ask(output: Path, plan: Plan) -> None:
    """A command that asks something of the release, unless it went through the standard output."""
    if in_words(str(output)) == STANDARD:
        return
    always = set.intersection(*(set(tell.columns) for tell in plan.tells))
    first = sorted(plan.tells[0].columns, key=lambda name: name not in always)  # what it is about, if anything
    asked = [in_words(str(output)), *first[:2]]
    ends_options = ["--"] if any(word.startswith("-") for word in asked) else []
    say(
        Phrase(
            "now it can be asked, as in {command}", command=shlex.join(["kakuran", "crosstab", *ends_options, *asked])
        )
    )


def _answer(plan: Plan, results: Results, promise: PlanOptions, people: Mapping[str, Any]) -> None:
    """A plan, what it will cost, and what others would."""
    from kakuran.design import expected_error, preview

    errors, expected = preview(plan), expected_error(plan.tells, plan.n, plan.about)
    compared, beside = promise.compared(plan, people), promise.beside(plan, people)
    central = plan.central(promise.delta) if plan.is_central else None
    described = plan.to_dict() | {
        "expected_errors": [table.to_dict() for table in errors],
        "verdict": str(expected.verdict),
        **({} if central is None else {"central": {"epsilon": central, "delta": promise.delta}}),
        **({} if beside is None else {"beside": _expected_beside(beside)}),
        "designs": [{"tell": design.tell, **asdict(design.expected)} for design in compared],
    }
    results.answer(described, lambda: _show_plan(plan, errors, compared))
    on_model = sum(table.rests_on == "model" for table in errors)
    if on_model and not results.json:
        say(
            Phrase(
                "{count:,} of {all:,} tables rest on the joint model: no record tells all of their columns",
                count=on_model,
                all=len(errors),
            )
        )
    if not results.json:
        _say_epsilons(plan, promise.delta)
        if beside is not None:
            _say_both(plan, beside)
        say(Phrase("expected from n, k and the schema alone, it will tell {verdict}", verdict=expected.verdict))
        say(Phrase("kakuran advise DATA tries it on the data: their errors may be smaller or larger"))


def _promised(plan: Plan) -> Phrase:
    if plan.certainty is None:
        return Phrase("k = {k:g}", k=plan.k)
    return Phrase("k = {k:g} with certainty {certainty:.10g}", k=plan.k, certainty=plan.certainty)


def _say_epsilons(plan: Plan, delta: float) -> None:
    """Both ε, and against whom each is."""
    if plan.guaranteed_epsilon is not None:
        say(
            Phrase(
                "against an attacker who knows which record is yours: ε = {epsilon:.3g}",
                epsilon=plan.guaranteed_epsilon,
            )
        )
    if plan.is_central:
        say(
            Phrase(
                "against one who knows everybody else and sees the shuffled release: ε = {epsilon:.3g} at δ = "
                "{delta:g}",
                epsilon=plan.central(delta),
                delta=delta,
            )
        )


def _expected_beside(plan: Plan) -> dict[str, Any]:
    from kakuran.design import expected_error

    promised = {"k": plan.k, "certainty": plan.certainty, "epsilon": plan.epsilon, "central": plan.central()}
    return promised | asdict(expected_error(plan.tells, plan.n, plan.about))


def _say_both(plan: Plan, beside: Plan) -> None:
    """What k costs in every draw, and what with certainty."""
    from kakuran.design import expected_error

    every, certain = (plan, beside) if plan.certainty is None else (beside, plan)
    wrong = [expected_error(one.tells, one.n, one.about).two_way for one in (every, certain)]
    say(
        Phrase(
            "expected in the wrong cell of two-way tables: k = {k:g} in every draw {every:.1%}; with certainty "
            "{certainty:.10g} {certain:.1%}",
            k=plan.k,
            every=wrong[0],
            certainty=certain.certainty,
            certain=wrong[1],
        )
    )


def _show_plan(plan: Plan, errors: Sequence[TableError], compared: Sequence[Design]) -> None:
    from kakuran.design import by_size
    from kakuran.report import plan_rows

    epsilon = "" if plan.guaranteed_epsilon is None else f", ε = {plan.guaranteed_epsilon:.4g}"
    title = f"{said(_promised(plan))}, n = {plan.n:,}{epsilon} ({said(_CALIBRATIONS[plan.calibration])})"
    words = speaking()
    header = [words("column"), words("mechanism"), words("parameter"), words("value"), "ε"]
    answer_table(title, header, plan_rows(plan, words), text_columns=2)
    answer_table(
        Phrase("Expected error of a typical cell"),
        [Phrase("tables"), Phrase("of"), Phrase("records in a cell"), "±"],
        [row for found in by_size(errors) for row in _in_short(found)],
        text_columns=2,
    )
    answer_table(
        _expected_of_designs(plan.about),
        [Phrase("each record tells"), Phrase("1-way"), Phrase("2-way"), Phrase("3-way"), Phrase("2-way by margins")],
        [[_named(design), *_in_percent(design.expected)] for design in compared],
    )


def _expected_of_designs(about: str | None) -> Phrase:
    if about is None:
        return Phrase("People in the wrong cell, as expected of each design")
    return Phrase("People in the wrong cell of tables with {about}, as expected of each design", about=about)


def _in_percent(expected: ExpectedError) -> list[str]:
    return [f"{share:.1%}" for share in (*map(expected.of, (1, 2, 3)), expected.by_margins)]


def _in_short(found: TablesOfSize) -> Iterator[list[str]]:
    """The best, the typical and the worst of all tables of so many columns; each of them once."""
    best = Phrase("best")
    ranked = {found.worst.columns: Phrase("worst"), found.typical.columns: Phrase("typical"), found.best.columns: best}
    counted = f"{found.tables:,} {said(_WAYS[found.ways - 1])}"
    for table in (found.best, found.typical, found.worst):
        if (rank := ranked.pop(table.columns, None)) is not None:
            of = f"{counted}: {said(rank)}" if found.tables > 1 else counted
            relative = f"{table.relative:.0%}{said(Phrase(' (guessing)')) if table.is_guessing else ''}"
            yield [of if rank is best else said(rank), " × ".join(table.columns), f"{table.count:,.0f}", relative]


def _named(design: Design) -> str:
    if design.tell == "all":
        even = len(set(design.recipe.shares.values())) <= 1
        return said(Phrase("all, in equal shares") if even else Phrase("all, shares by values"))
    told, sets = design.tell, len(design.tells)
    if told == 1:
        return said(Phrase("1 column of {sets:,} sets", sets=sets))
    return said(Phrase("{columns} columns of {sets:,} sets", columns=told, sets=sets))
