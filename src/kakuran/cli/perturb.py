"""kakuran perturb: make a release."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kakuran.cli.console import answer_json, check_report, progress, say
from kakuran.cli.options import (
    AS_FOUND,
    Data,
    DataDependent,
    Force,
    Json,
    K,
    Lang,
    Language,
    Mechanisms,
    Public,
    Report,
    SchemaFile,
    Sql,
    Weights,
    Written,
    make_plan,
    reads_csv,
)
from kakuran.errors import counted

if TYPE_CHECKING:
    from kakuran.design import Plan
    from kakuran.engine import Originals
    from kakuran.release import Manifest
    from kakuran.schema import Schema, Source


class Engine(StrEnum):
    """Where the work is done."""

    local = "local"
    spark = "spark"


@reads_csv
def perturb(
    data: Data,
    schema: SchemaFile,
    k: K,
    output: Annotated[Path, typer.Option("--output", "-o", help="Release: .parquet, .csv; on Spark a folder.")],
    sql: Sql = None,
    written: Written = AS_FOUND,
    engine: Annotated[
        Engine, typer.Option("--engine", help="spark: read, perturb and write a folder with Spark.")
    ] = Engine.local,
    data_dependent: DataDependent = False,
    weight: Weights = None,
    mechanism: Mechanisms = None,
    keep_order: Annotated[
        bool,
        typer.Option("--keep-order", help="Insecure: leave records in their order, by which they can be linked."),
    ] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Insecure: a reproducible draw, marked as not for publication.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and its cost; write nothing.")] = False,
    report: Report = None,
    public: Public = False,
    lang: Lang = Language.en,
    force: Force = False,
    json: Json = False,
) -> None:
    """Perturb a table so that nobody can be linked to a record with probability above 1/k."""
    from kakuran.cli.reporting import describe_plan, quick_audit, report_release, show_plan
    from kakuran.design import preview
    from kakuran.schema import Schema, open_source

    if not dry_run:
        check_report(report, public=public, force=force)
    declared = Schema.load(schema)
    source: Source | Originals
    if engine == Engine.spark:
        _check_options_for_spark(sql, keep_order=keep_order)
        source, write = _on_spark(data, written, declared, output, seed=seed, force=force, dry_run=dry_run)
    else:
        source = open_source(data, sql, **written)
        write = _locally(source, output, seed=seed, keep_order=keep_order, force=force, dry_run=dry_run)
    plan = make_plan(declared, source, k=k, n=None, data_dependent=data_dependent, weights=weight, mechanisms=mechanism)
    if not dry_run:
        write(plan)
        if keep_order:
            say("records keep their order: not for publication", "warning")
        if report is not None:
            original = open_source(data, sql, **written)
            attacked = None if public else quick_audit(original, output)
            report_release(report, output, original=original, audit=attacked, public=public, lang=lang)
    if json:
        answer_json(describe_plan(plan, preview(plan)))
    elif dry_run:
        show_plan(plan, preview(plan))


def _locally(
    source: Source, output: Path, *, seed: int | None, keep_order: bool, force: bool, dry_run: bool
) -> Callable[[Plan], None]:
    """How to perturb the source."""
    from kakuran.release import check_target, perturb_file, targets

    if not dry_run:
        check_target(output, force=force)

    def write(plan: Plan) -> None:
        with progress("perturbing", source.rows) as advance:
            manifest = perturb_file(
                source, output, plan, seed=seed, shuffle=not keep_order, force=force, progress=advance
            )
        _say_written(" and ".join(str(path) for path in targets(output)), manifest)

    return write


def _on_spark(
    data: str,
    written: Written,
    schema: Schema,
    output: Path,
    *,
    seed: int | None,
    force: bool,
    dry_run: bool,
) -> tuple[Originals, Callable[[Plan], None]]:
    """The originals, and how to perturb them; Spark shows how far it is itself."""
    from kakuran.engine import read_originals, start_session
    from kakuran.release import check_folder, perturb_on_spark

    if not dry_run:
        check_folder(output, force=force)
    originals = read_originals(start_session(), Path(data), schema, **written)
    return originals, lambda plan: _say_written(
        f"the folder {output}", perturb_on_spark(originals, output, plan, seed=seed, force=force)
    )


def _check_options_for_spark(sql: str | None, *, keep_order: bool) -> None:
    if sql is not None:
        raise typer.BadParameter("--sql is for the local engine; on Spark query the table from Python")
    if keep_order:
        raise typer.BadParameter("--keep-order: Spark has no order of records that could be kept")


def _say_written(where: str, manifest: Manifest) -> None:
    plan = manifest.plan
    say(f"wrote {where}: {counted(manifest.records, 'record')}, k = {plan.k:g}, ε = {plan.epsilon:.4g}")
