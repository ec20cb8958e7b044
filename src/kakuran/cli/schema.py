"""kakuran schema: propose a schema, check a table against one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kakuran.cli.console import answer_done, check_new, progress, say
from kakuran.cli.options import (
    CsvOptions,
    Data,
    Force,
    Json,
    SchemaFile,
    Sql,
    check_fits,
    grouped,
    say_wide_ends,
    to_write,
)
from kakuran.words import Phrase, so_many_records

USUAL_K = 10
"""The k at which bands are weighed before anybody has chosen one."""

app = typer.Typer(no_args_is_help=True, help="Propose a schema, or check a table against one.")


@app.command()
@grouped
def infer(
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Schema file to write (TOML).", callback=to_write(".toml"))
    ],
    sql: Sql = None,
    force: Force = False,
    json: Json = False,
    *,
    csv: CsvOptions,
) -> None:
    """Propose a schema, to be edited until all it says is public."""
    from kakuran.counts import every_code
    from kakuran.design import propose_bands
    from kakuran.engine import count_tables
    from kakuran.schema import Layout, Numeric, Schema

    check_new(output, force=force)
    source = csv.open(data, sql)
    records = 0

    def read(more: int) -> None:
        nonlocal records
        records += more
        advance(more)

    with progress("reading", source.rows) as advance:
        schema = Schema.infer(source, progress=read)
    schema.save(output)
    facts = {"columns": len(schema), "perturbed": len(schema.perturbed)}
    say(Phrase("wrote {file}: {columns} columns, of which {perturbed} will be perturbed", file=output, **facts))
    numbers = [one for one in schema.perturbed if isinstance(one, Numeric)]
    with progress("counting", source.rows) as advance:
        cells = [[every_code(one)] for one in numbers]
        tallies = count_tables(source, Layout(schema, is_released=False), cells, advance) if numbers else []
    counts = {one.name: tally.counts for one, tally in zip(numbers, tallies, strict=True)}
    proposals = propose_bands(schema, n=records, k=USUAL_K, counts=counts)
    if proposals:
        say(
            Phrase(
                "in bands, numbers would come out better (error of a typical cell at k = {k}, with `bands = […]`; what "
                "they hold of the people is for your eyes alone):",
                k=USUAL_K,
            )
        )
    for proposal in proposals:
        say(f"  {proposal}")
    answer_done(json, schema=output, columns=len(schema), perturbed=[one.name for one in schema.perturbed])


@app.command()
@grouped
def check(data: Data, schema: SchemaFile, sql: Sql = None, json: Json = False, *, csv: CsvOptions) -> None:
    """Check all values against a schema; name columns that do not fit."""
    from kakuran.schema import Schema

    declared = Schema.load(schema)
    say_wide_ends(declared)
    records = check_fits(csv.open(data, sql), declared)
    say(Phrase("{schema} fits {records}", schema=schema, records=so_many_records(records)))
    answer_done(json, schema=schema, records=records)
