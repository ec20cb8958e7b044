"""Run the benchmarks, print the table, and keep it: `python -m benchmarks [--quick]`."""

from __future__ import annotations

import argparse
import os
import platform
from importlib.metadata import version
from pathlib import Path

from benchmarks import foundations, peers
from benchmarks.claims import HEADER, Claim, table

RESULTS = Path(__file__).parent / "results" / "foundations.md"


def main() -> None:
    """Print each row as it is measured; only full runs are kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes; prints the table but does not keep it")
    quick = parser.parse_args().quick
    print(HEADER, end="", flush=True)
    claims: list[Claim] = []
    for claim in foundations.measure(quick=quick):
        print(claim, flush=True)
        claims.append(claim)
    if not quick:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(report(claims), encoding="utf-8")


def report(claims: list[Claim]) -> str:
    """The table with what it was measured on and how."""
    return f"# Foundations\n\n{table(claims)}\n{_setting()}\n\nMade by `python -m benchmarks`.\n"


def _setting() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("kakuran", "numpy", "pyarrow", "cryptography"))
    machine = f"{os.cpu_count()} cores, {platform.processor() or platform.machine()}, {platform.system()}"
    return (
        f"Measured on {machine}, Python {platform.python_version()}, {packages}; peers: {peers.versions()}. "
        "Times are the best of several runs taken in turns, two runs a turn, so with warm memory; per value where they "
        "are in ns. Peers were timed on fewer values, as the rows say."
    )


if __name__ == "__main__":
    main()
