"""kakuran schema: propose a schema, check a table against one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kakuran.cli.console import progress, say
from kakuran.cli.options import Data, Force, SchemaFile, Sql
from kakuran.errors import SchemaError

app = typer.Typer(no_args_is_help=True, help="Propose a schema, or check a table against one.")


@app.command()
def infer(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Schema file to write (TOML).")],
    sql: Sql = None,
    force: Force = False,
) -> None:
    """Propose a schema for a table; edit it until it says what is public knowledge anyway."""
    from kakuran.schema import Schema, open_source

    if output.exists() and not force:
        raise SchemaError(f"{output}: exists already; use --force to replace it")
    schema = Schema.infer(open_source(data, sql))
    schema.save(output)
    say(f"wrote {output}: {len(schema)} columns, of which {len(schema.perturbed)} will be perturbed")


@app.command()
def check(data: Data, schema: SchemaFile, sql: Sql = None) -> None:
    """Check every value of a table against a schema."""
    from kakuran.engine.local import check_values
    from kakuran.schema import Schema, open_source

    source, declared = open_source(data, sql), Schema.load(schema)
    with progress("checking", source.rows) as advance:
        records = check_values(source, declared, advance)
    say(f"{records:,} records fit {schema}")
