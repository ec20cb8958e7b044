"""kakuran calibrate: what k costs, before anything is released."""

from __future__ import annotations

from typing import Annotated

import typer

from kakuran.cli.console import answer_json
from kakuran.cli.options import (
    AS_FOUND,
    DataDependent,
    Json,
    K,
    Mechanisms,
    SchemaFile,
    Sql,
    Weights,
    Written,
    make_plan,
    reads_csv,
)


@reads_csv
def calibrate(
    schema: SchemaFile,
    k: K,
    data: Annotated[str | None, typer.Argument(metavar="DATA", help="The table, as for perturb; or give --n.")] = None,
    sql: Sql = None,
    written: Written = AS_FOUND,
    n: Annotated[
        int | None,
        typer.Option(
            "--n", help="Records in the table; with kept columns, in the smallest group sharing their values."
        ),
    ] = None,
    data_dependent: DataDependent = False,
    weight: Weights = None,
    mechanism: Mechanisms = None,
    json: Json = False,
) -> None:
    """Show the noise that keeps the promise and the error it will cause."""
    from kakuran.cli.reporting import describe_plan, show_plan
    from kakuran.design import preview
    from kakuran.schema import Schema, open_source

    source = None if data is None else open_source(data, sql, **written)
    plan = make_plan(
        Schema.load(schema), source, k=k, n=n, data_dependent=data_dependent, weights=weight, mechanisms=mechanism
    )
    if json:
        answer_json(describe_plan(plan, preview(plan)))
    else:
        show_plan(plan, preview(plan))
