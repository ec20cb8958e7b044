"""kakuran schema: propose a schema, confirm what was drafted, check a table against it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from kakuran.cli.console import answer_done, check_new, progress, said, say
from kakuran.cli.options import (
    CsvOptions,
    Data,
    Force,
    Json,
    SchemaFile,
    Sql,
    check_fits,
    grouped,
    say_drafted,
    say_formulas,
    say_wide_ends,
    to_write,
)
from kakuran.words import Phrase, so_many_records

USUAL_K = 10
"""The k at which bands are weighed before anybody has chosen one."""

app = typer.Typer(no_args_is_help=True, help="Propose a schema, confirm it, or check a table against one.")


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
    from kakuran.schema import Dropped, Layout, Numeric, Schema
    from kakuran.writing import write_text

    check_new(output, force=force)
    source = csv.open(data, sql)
    records = 0

    def read(more: int) -> None:
        nonlocal records
        records += more
        advance(more)

    with progress("reading", source.rows) as advance:
        schema = Schema.infer(source, progress=read)
    write_text(output, schema.to_toml(), is_private=True)  # it lists values of people until somebody has edited it
    say_formulas(schema)
    facts = {"columns": len(schema), "perturbed": len(schema.perturbed)}
    say(Phrase("wrote {file}: {columns} columns, of which {perturbed} will be perturbed", file=output, **facts))
    if schema.drafted:
        confirm_it = shlex.join(["kakuran", "schema", "confirm", str(output)])
        say(Phrase("once all that it says is public knowledge, say so: {command}", command=confirm_it))
    # What is missing is counted apart: a draft does not say yet what becomes of it.
    numbers = [replace(one, missing="category") for one in schema.perturbed if type(one) is Numeric]
    with progress("counting", source.rows) as advance:
        cells = [[every_code(one)] for one in numbers]
        others = [Dropped(name) for name in source.names if name not in {one.name for one in numbers}]
        layout = Layout(Schema([*numbers, *others]), is_released=False)
        tallies = count_tables(source, layout, cells, advance) if numbers else []
    counts = {one.name: tally.counts for one, tally in zip(numbers, tallies, strict=True)}
    proposals = propose_bands(schema.confirmed(), n=records, k=USUAL_K, counts=counts)
    if proposals:
        say(
            Phrase(
                "in bands, numbers would come out better (error of a typical cell at k = {k}, with `bands = […]`; what "
                "they hold of the people is for your eyes alone):",
                k=USUAL_K,
            )
        )
    for proposal in proposals:
        say(f"  {said(proposal.said)}")
    answer_done(json, schema=output, columns=len(schema), perturbed=[one.name for one in schema.perturbed])


@app.command()
def confirm(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="Schema file (TOML), checked and edited.")],
    json: Json = False,
) -> None:
    """Say of all that was drafted from the data that it is public."""
    from kakuran.parsing import toml_of
    from kakuran.schema import confirm_file

    before = confirm_file(schema)
    settings = before.to_dict()
    for name in before.drafted:
        told = ", ".join(f"{setting} = {toml_of(value)}" for setting, value in settings[name].items())
        say(Phrase("public, as you say: {column}: {told}", column=name, told=told))
    say(Phrase("{file} is confirmed", file=schema))
    answer_done(json, schema=schema, confirmed=[*before.drafted])


@app.command()
@grouped
def check(data: Data, schema: SchemaFile, sql: Sql = None, json: Json = False, *, csv: CsvOptions) -> None:
    """Check all values against a schema; name columns that do not fit."""
    from kakuran.schema import Schema

    declared = Schema.load(schema)
    say_drafted(declared)
    say_wide_ends(declared)
    say_formulas(declared)
    records = check_fits(csv.open(data, sql), declared)
    say(Phrase("{schema} fits {records}", schema=schema, records=so_many_records(records)))
    answer_done(json, schema=schema, records=records)
