"""kakuran reproduce: the papers' experiments, run again."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from kakuran.cli.console import answer_done, answer_text, require_plots, say
from kakuran.cli.options import Json

PAPERS = ("s0", "s1", "s2", "s3", "s4")
_WITH_DATA = ("s0", "s1")


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(metavar="PAPER", help="s0, s1, s2, s3, s4 or all.", autocompletion=lambda: [*PAPERS, "all"]),
    ],
    folder: Annotated[Path, typer.Option("--folder", "-o", help="Where to put tables and figures.")] = Path(
        "reproduced"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="A small run that shows that it works, not what is true.")
    ] = False,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder with the real data some tables need (adult.data, …).")
    ] = None,
    json: Json = False,
) -> None:
    """Run the papers' experiments again: their tables and figures beside ours, and what does not reproduce."""
    from kakuran.reproduction import overview

    chosen = PAPERS if paper == "all" else (paper,)
    if not set(chosen) <= set(PAPERS):
        raise typer.BadParameter(f"choose one of {', '.join(PAPERS)} or all, got {paper!r}")
    require_plots("a figure")
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for name in chosen:
        say(f"reproducing {name} …")
        options = {"data": data} if name in _WITH_DATA else {}
        found[name] = import_module(f"kakuran.reproduction.{name}").reproduce(folder, quick=quick, **options)
        _keep(folder / f"{name}.md", found[name].text, name, quick=quick, has_data=bool(options.get("data")))
        if not json:
            answer_text(found[name].text)
    if not json:
        answer_text(overview(found))
    answer_done(json, folder=folder, papers={name: one.text for name, one in found.items()})
    if paper == "all":
        _keep(folder / "index.md", overview(found), "all", quick=quick, has_data=data is not None)


def _keep(path: Path, text: str, paper: str, *, quick: bool, has_data: bool) -> None:
    """Write a page, with the command that made it at its foot."""
    from kakuran.writing import write_text

    options = f"{' --quick' if quick else ''}{' --data FOLDER' if has_data else ''}"
    write_text(path, f"{text}\nMade by `kakuran reproduce {paper}{options}`.\n")
    say(f"wrote {path}")
