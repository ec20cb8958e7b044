"""kakuran schema: propose a schema, check a table against one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kakuran.cli.console import check_new, complain, progress, say
from kakuran.cli.options import AS_FOUND, Data, Force, SchemaFile, Sql, Written, reads_csv
from kakuran.errors import DataError, counted

if TYPE_CHECKING:
    from kakuran.schema import Schema, Source

app = typer.Typer(no_args_is_help=True, help="Propose a schema, or check a table against one.")


@app.command()
@reads_csv
def infer(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Schema file to write (TOML).")],
    sql: Sql = None,
    written: Written = AS_FOUND,
    force: Force = False,
) -> None:
    """Propose a schema, to be edited until all it says is public."""
    from kakuran.schema import Schema, open_source

    check_new(output, force=force)
    source = open_source(data, sql, **written)
    with progress("reading", source.rows) as advance:
        schema = Schema.infer(source, progress=advance)
    schema.save(output)
    say(f"wrote {output}: {counted(len(schema), 'column')}, of which {len(schema.perturbed)} will be perturbed")


@app.command()
@reads_csv
def check(
    data: Data,
    schema: SchemaFile,
    sql: Sql = None,
    written: Written = AS_FOUND,
) -> None:
    """Check all values against a schema; name columns that do not fit."""
    from kakuran.engine import check_values
    from kakuran.schema import Schema, open_source

    source = open_source(data, sql, **written)
    declared = Schema.load(schema)
    try:
        with progress("checking", source.rows) as advance:
            records = check_values(source, declared, advance)
    except DataError as first:
        problems = [*_problems(source, declared)]
        for problem in problems[:-1]:
            complain(problem)
        raise (problems or [first])[-1] from None
    say(f"{schema} fits {counted(records, 'record')}")


def _problems(source: Source, declared: Schema) -> Iterator[DataError]:
    """The first thing wrong with each column; they are read one by one, so that none hides another."""
    from kakuran.schema import encode, read_parts

    declared.check_columns(source.names)
    for attribute in declared.released:
        try:
            for part in read_parts(source, declared, [attribute.name]):
                part.through(lambda batch, one=attribute: encode(one, batch.column(one.name)))  # type: ignore[misc]
        except DataError as problem:
            yield problem
