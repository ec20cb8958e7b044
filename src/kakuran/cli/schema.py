"""kakuran schema: propose a schema, check a table against one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kakuran.cli.console import complain, progress, say
from kakuran.cli.options import Force, SchemaFile
from kakuran.errors import DataError, SchemaError

if TYPE_CHECKING:
    from kakuran.schema import Schema

app = typer.Typer(no_args_is_help=True, help="Propose a schema, or check a table against one.")


@app.command()
def infer(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Schema file to write (TOML).")],
    force: Force = False,
) -> None:
    """Propose a schema for a table; edit it until it says what is public knowledge anyway."""
    from kakuran.schema import Schema

    if output.exists() and not force:
        raise SchemaError(f"{output}: exists already; use --force to replace it")
    schema = Schema.infer(data)
    schema.save(output)
    say(f"wrote {output}: {len(schema)} columns, of which {len(schema.perturbed)} will be perturbed")


@app.command()
def check(data: Annotated[Path, typer.Argument(help="CSV or Parquet file.")], schema: SchemaFile) -> None:
    """Check every value of a table against a schema; name every column that does not fit."""
    from kakuran.engine.local import read_batches
    from kakuran.schema import Schema
    from kakuran.schema.files import row_count

    declared = Schema.load(schema)
    records = 0
    try:
        with progress("checking", row_count(data)) as advance:
            for batch in read_batches(data, declared):
                declared.validate(batch)
                records += batch.num_rows
                advance(batch.num_rows)
    except DataError as first:
        problems = [*_problems(data, declared)]
        for problem in problems[:-1]:
            complain(problem)
        raise (problems or [first])[-1] from None
    say(f"{records:,} records fit {schema}")


def _problems(data: Path, declared: Schema) -> Iterator[DataError]:
    """The first thing wrong with each column; they are read one by one, so that none hides another."""
    from kakuran.engine.local import read_batches
    from kakuran.schema.codes import encode
    from kakuran.schema.files import column_names

    declared.check_columns(column_names(data))
    for attribute in declared.released:
        try:
            for batch in read_batches(data, declared, [attribute.name]):
                encode(attribute, batch.column(attribute.name))
        except DataError as problem:
            yield problem
