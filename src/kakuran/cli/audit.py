"""kakuran audit: attack a release before somebody else does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kakuran.cli.console import answer_json, check_picture, progress, say
from kakuran.cli.options import Force, Json, Plot, Sql


def audit(
    original: Annotated[str, typer.Argument(help="The true table, as given to perturb.")],
    release: Annotated[Path, typer.Argument(help="The release made from it.")],
    sql: Sql = None,
    plot: Plot = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Play the strongest attacker we can compute; exit with 1 if the promise is broken."""
    import pyarrow as pa

    from kakuran.cli.show import show_audit
    from kakuran.release import audit as run_audit
    from kakuran.release import read_release
    from kakuran.schema import open_source
    from kakuran.schema.reading import read_parts

    if plot is not None:
        check_picture(plot, force=force)
    released = read_release(release)
    parts = read_parts(open_source(original, sql), released.plan.schema)
    tables = [pa.Table.from_batches([part.records]) for part in parts]
    truth = pa.concat_tables(tables, promote_options="permissive")
    with progress("attacking", 2 * released.n) as advance:
        outcome = run_audit(truth, released, progress=advance)
    if json:
        answer_json(outcome.to_dict())
    else:
        show_audit(outcome)
    if plot is not None:
        outcome.plot().savefig(plot, dpi=144)
    for problem in outcome.problems:
        say(f"[bold red]failed:[/] {problem}")
    if outcome.passed:
        say(f"[bold green]passed:[/] no attack linked anybody with probability above 1/{outcome.k:g}")
    raise typer.Exit(0 if outcome.passed else 1)
