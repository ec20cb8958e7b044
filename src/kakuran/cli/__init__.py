"""The kakuran command; every sub-command imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from kakuran.cli import (
    advise,
    audit,
    calibrate,
    check,
    collect,
    crosstab,
    demo,
    factorise,
    loss,
    microaggregate,
    mixture,
    perturb,
    reproduce,
    schema,
    tree,
    vertical,
)
from kakuran.cli.console import run

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Perturb every record so that nobody can be linked above 1/k, and reconstruct the true statistics.",
)
app.command()(demo.demo)
app.add_typer(schema.app, name="schema")
app.command()(calibrate.calibrate)
app.command()(advise.advise)
app.command()(perturb.perturb)
app.command()(audit.audit)
app.command()(crosstab.crosstab)
app.command()(crosstab.count)
app.command()(tree.tree)
app.command()(mixture.mixture)
app.command()(microaggregate.microaggregate)
app.command()(factorise.factorise)
app.command()(loss.loss)
app.command()(check.check)
app.add_typer(collect.app, name="collect")
app.add_typer(vertical.app, name="vertical")
app.command()(reproduce.reproduce)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)] = False,
) -> None:
    """Perturb every record so that nobody can be linked above 1/k, and reconstruct the true statistics."""
    if show:
        from kakuran import __version__

        typer.echo(f"kakuran {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line."""
    run(app)
