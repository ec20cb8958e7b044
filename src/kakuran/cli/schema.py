"""kakuran schema: propose a schema, check a table against one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kakuran.cli.console import answer_done, check_new, complain, progress, say, so_many_records
from kakuran.cli.options import CsvOptions, Data, Force, Json, SchemaFile, Sql, grouped, to_write
from kakuran.errors import DataError
from kakuran.words import Phrase

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
    from kakuran.schema import Schema

    check_new(output, force=force)
    source = csv.open(data, sql)
    with progress("reading", source.rows) as advance:
        schema = Schema.infer(source, progress=advance)
    schema.save(output)
    facts = {"columns": len(schema), "perturbed": len(schema.perturbed)}
    say(Phrase("wrote {file}: {columns} columns, of which {perturbed} will be perturbed", file=output, **facts))
    answer_done(json, schema=output, columns=len(schema), perturbed=[one.name for one in schema.perturbed])


@app.command()
@grouped
def check(data: Data, schema: SchemaFile, sql: Sql = None, json: Json = False, *, csv: CsvOptions) -> None:
    """Check all values against a schema; name columns that do not fit."""
    from kakuran.engine import check_values
    from kakuran.schema import Schema, problems_of

    source = csv.open(data, sql)
    declared = Schema.load(schema)
    try:
        with progress("checking", source.rows) as advance:
            records = check_values(source, declared, advance)
    except DataError as first:
        problems = [*problems_of(source, declared)]
        for problem in problems[:-1]:
            complain(problem)
        raise (problems or [first])[-1] from None
    say(Phrase("{schema} fits {records}", schema=schema, records=so_many_records(records)))
    answer_done(json, schema=schema, records=records)
