"""What the shell offers when tab is pressed: the words of an option, the columns of the release that was named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import typer

from kakuran.cli.console import shown


def one_of(*words: str) -> Callable[[str], list[str]]:
    """The words that start with what was typed."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def columns_of_release(context: typer.Context, incomplete: str) -> list[str]:
    """The columns of the release on the command line that start with what was typed."""
    from kakuran.errors import KakuranError
    from kakuran.release.files import released_source

    release = context.params.get("release")
    try:
        names = released_source(Path(release)).names if release else []
    except KakuranError:
        names = []  # nothing to offer; the command itself will say what is wrong
    return [name for name in names if name.startswith(incomplete) and shown(name) == name]
