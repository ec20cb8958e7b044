"""Run the benchmarks, print the tables, and keep them: `python -m benchmarks [--quick] [PART …]`."""

from __future__ import annotations

import argparse
import os
import platform
from importlib.metadata import version
from pathlib import Path

from benchmarks import foundations, peers, vertical
from benchmarks.claims import HEADER, Claim, table

RESULTS = Path(__file__).parent / "results"
PARTS = {"foundations": foundations, "vertical": vertical}


def main() -> None:
    """Print each row as it is measured; only full runs are kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes; prints the table but does not keep it")
    # argparse holds an empty list against the choices too.
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help=f"{', '.join(PARTS)}; all by default")
    chosen = parser.parse_args()
    for part in chosen.parts or PARTS:
        print(f"\n{part}\n\n{HEADER}", end="", flush=True)
        claims: list[Claim] = []
        for claim in PARTS[part].measure(quick=chosen.quick):
            print(claim, flush=True)
            claims.append(claim)
        if not chosen.quick:
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / f"{part}.md").write_text(report(part, claims), encoding="utf-8")


def report(part: str, claims: list[Claim]) -> str:
    """The table with what it was measured on and how."""
    return f"# {part.capitalize()}\n\n{table(claims)}\n{_setting()}\n\nMade by `python -m benchmarks {part}`.\n"


def _setting() -> str:
    names = ("kakuran", "numpy", "pyarrow", "cryptography", "tenseal")
    packages = ", ".join(f"{name} {version(name)}" for name in names)
    machine = f"{os.cpu_count()} cores, {platform.processor() or platform.machine()}, {platform.system()}"
    return (
        f"Measured on {machine}, Python {platform.python_version()}, {packages}; peers: {peers.versions()}. "
        "Times are the best of several runs taken in turns, two runs a turn, so with warm memory; per value where they "
        "are in ns. Peers were timed on fewer values, as the rows say."
    )


if __name__ == "__main__":
    main()
