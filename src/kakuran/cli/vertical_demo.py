"""Two companies on one machine, each in a folder and a process of its own."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kakuran.cli.console import answer_table, say
from kakuran.cli.vertical_run import EARLIER
from kakuran.errors import ProtocolError, ReleaseError

if TYPE_CHECKING:
    from kakuran.vertical import VerticalFit


def run_demo(folder: Path, n: int, protocol: str, *, force: bool) -> None:
    """Make a bank and a shop, let each run its command, and compare with what pooling would have given."""
    import pyarrow.csv

    from kakuran.samples import companies
    from kakuran.vertical import VerticalFit

    if folder.exists() and not force:
        raise ReleaseError(f"{folder}: exists already; use --force to replace it")
    tables = dict(zip(("bank", "shop"), companies(n), strict=True))
    for name, table in tables.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for made in ("plan.toml", f"{name}.key", f"{name}.fit.json", EARLIER):  # of a demo before; the rest is not ours
            (folder / name / made).unlink(missing_ok=True)
        pyarrow.csv.write_csv(table, folder / name / "customers.csv")
    bank, shop = (("--as", name, "--data", "customers.csv") for name in tables)
    _run(folder, bank=("init", *bank, "--id", "customer", "--target", "spending", "--protocol", protocol))
    shutil.copy(folder / "bank/plan.toml", folder / "shop")
    _run(folder, shop=("init", *shop, "--id", "customer"))
    shutil.copy(folder / "shop/plan.toml", folder / "bank")
    port = _free_port()
    _run(folder, bank=("serve", *bank, "--port", f"{port}"), shop=("join", f"127.0.0.1:{port}", *shop))
    fits = {name: VerticalFit.load(folder / name / f"{name}.fit.json") for name in tables}
    _compare(fits["bank"], fits["shop"], _pooled(tables["bank"], tables["shop"], fits["bank"].chosen))
    say(f"both folders are in {folder}; what travelled is in the transcripts of the *.fit.json")


def _pooled(bank: Any, shop: Any, chosen: tuple[str, ...]) -> dict[str, float]:
    """Least squares by somebody who sees both tables."""
    import numpy as np

    both = bank.join(shop, "customer", join_type="inner")
    design = np.column_stack([np.ones(both.num_rows), *(both.column(name).to_numpy() for name in chosen)])
    found = np.linalg.lstsq(design, both.column("spending").to_numpy(), rcond=None)[0]
    return dict(zip(("(intercept)", *chosen), found.tolist(), strict=True))


def _compare(bank: VerticalFit, shop: VerticalFit, pooled: dict[str, float]) -> None:
    ours = {"(intercept)": bank.intercept or 0.0}
    ours |= {name: own.coefficient for fit in (bank, shop) for name, own in fit.own.items()}
    rows = [[name, f"{ours[name]:.8g}", f"{value:.8g}"] for name, value in pooled.items()]
    answer_table("fitted by two companies, and by one that sees both tables", ["column", "together", "pooled"], rows)


def _run(folder: Path, **commands: Sequence[str]) -> None:
    """Every party's command at once, each a process of its own in its own folder."""
    with ThreadPoolExecutor(len(commands)) as pool:
        codes = list(pool.map(lambda name: _run_one(folder / name, commands[name]), commands))
    for (name, arguments), code in zip(commands.items(), codes, strict=True):
        if code:
            raise ProtocolError(f"{name}'s `kakuran vertical {arguments[0]}` ended with exit code {code}")


def _run_one(folder: Path, arguments: Sequence[str]) -> int:
    """Its exit code. What it answers is in its fit, so only its progress is shown, behind the name of the party."""
    command = [sys.executable, "-c", "from kakuran.cli import main; main()", "vertical", *arguments]
    pipes: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen(command, cwd=folder, **pipes) as process:  # noqa: S603 - our own command
        for line in process.stderr or ():
            say(f"{folder.name} │ {line.rstrip()}")
    return process.returncode


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as trial:
        return int(trial.getsockname()[1])
