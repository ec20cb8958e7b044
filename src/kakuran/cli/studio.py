"""kakuran studio: the steward's work in a browser, on the steward's own machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from kakuran.cli.console import answer_json, answer_text, say
from kakuran.cli.options import CsvOptions, Json, Port, Sql, grouped
from kakuran.errors import needing
from kakuran.words import Phrase


@grouped
def studio(
    data: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A table to open at once.", show_default=False)
    ] = None,
    sql: Sql = None,
    port: Port = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address; open no browser at it.")] = False,
    json: Json = False,
    *,
    csv: CsvOptions,
) -> None:
    """Work on a release in the browser, from file to script; on this machine only, until Ctrl-C."""
    with needing(Phrase("the studio"), "studio"):
        from kakuran.studio import Desk, running
    desk = Desk(Path.cwd())
    if data is not None:
        desk.open(data, sql, **{name: value for name, value in vars(csv).items() if value})
    with running(desk, port) as (address, wait):
        if json:
            answer_json({"address": address})
        else:
            answer_text(address)
        say("whoever has this address can see the table: do not pass it on; Ctrl-C ends the studio")
        try:
            if no_browser:
                wait()
            else:
                with _shown(address):
                    wait()
        except KeyboardInterrupt:
            say("the studio is closed")


@contextmanager
def _shown(address: str) -> Iterator[None]:
    """Open the browser at the address, by way of a private file: others see what programs are started with."""
    import webbrowser
    from html import escape
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="kakuran-") as folder:
        page = Path(folder, "studio.html")
        page.touch(0o600)
        target = escape(address)
        page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={target}"><a href="{target}">→</a>')
        webbrowser.open(page.as_uri())
        yield
