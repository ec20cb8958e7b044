"""kakuran perturb: make a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kakuran.cli.console import answer_json, progress, say
from kakuran.cli.options import Data, DataDependent, Force, Json, K, Mechanisms, SchemaFile, Sql, Weights, make_plan


def perturb(
    data: Data,
    schema: SchemaFile,
    k: K,
    output: Annotated[Path, typer.Option("--output", "-o", help="Release to write (.parquet or .csv).")],
    sql: Sql = None,
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
    force: Force = False,
    json: Json = False,
) -> None:
    """Perturb a table so that nobody can be linked to a record with probability above 1/k."""
    from kakuran.calibration import preview
    from kakuran.cli.show import describe_plan, show_plan
    from kakuran.release import perturb_file
    from kakuran.release.files import check_target, targets
    from kakuran.schema import Schema, open_source

    if not dry_run:
        check_target(output, force=force)
    source = open_source(data, sql)
    plan = make_plan(
        Schema.load(schema), source, k=k, n=None, data_dependent=data_dependent, weights=weight, mechanisms=mechanism
    )
    if not dry_run:
        with progress("perturbing", source.rows) as advance:
            manifest = perturb_file(
                source, output, plan, seed=seed, shuffle=not keep_order, force=force, progress=advance
            )
        written = " and ".join(str(path) for path in targets(output))
        say(f"wrote {written}: {manifest.records:,} records, k = {plan.k:g}, ε = {plan.epsilon:.4g}")
        if keep_order:
            say("[bold yellow]warning:[/] records keep their order: not for publication")
    if json:
        answer_json(describe_plan(plan, preview(plan)))
    elif dry_run:
        show_plan(plan, preview(plan))
