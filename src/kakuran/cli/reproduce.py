"""kakuran reproduce: the papers' experiments, run again."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from kakuran.cli.console import say

PAPERS = ("s0", "s1", "s2", "s3", "s4")
_WITH_DATA = ("s0", "s1")


def reproduce(
    paper: Annotated[str, typer.Argument(help="s0, s1, s2, s3, s4 or all.")],
    folder: Annotated[Path, typer.Option("--folder", "-o", help="Where to put tables and figures.")] = Path(
        "reproduced"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="A small run that shows that it works, not what is true.")
    ] = False,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder with the real data some tables need (adult.data, …).")
    ] = None,
) -> None:
    """Print the tables of a paper beside ours and draw its figures."""
    chosen = PAPERS if paper == "all" else (paper,)
    if not set(chosen) <= set(PAPERS):
        raise typer.BadParameter(f"choose one of {', '.join(PAPERS)} or all, got {paper!r}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        say(f"reproducing {name} …")
        options = {"data": data} if name in _WITH_DATA else {}
        text = import_module(f"kakuran.reproduction.{name}").reproduce(folder, quick=quick, **options)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
        typer.echo(text)
        say(f"wrote {folder / name}.md")
