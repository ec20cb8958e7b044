"""kakuran schema: propose a schema, check a table against one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kakuran.cli.console import progress, say
from kakuran.cli.options import Force, SchemaFile
from kakuran.errors import SchemaError

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
    """Check every value of a table against a schema."""
    from kakuran.engine.local import read_batches
    from kakuran.schema import Schema
    from kakuran.schema.files import row_count

    declared = Schema.load(schema)
    records = 0
    with progress("checking", row_count(data)) as advance:
        for batch in read_batches(data, declared):
            declared.validate(batch)
            records += batch.num_rows
            advance(batch.num_rows)
    say(f"{records:,} records fit {schema}")
