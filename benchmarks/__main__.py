"""Run the benchmarks, print their tables, and keep them: `python -m benchmarks [--quick] [part …]`."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks import collector, dashboard, foundations, matrices, mixtures, peers, reconstruction, vertical
from benchmarks.claims import HEADER, Claim, table

RESULTS = Path(__file__).parent / "results"
PARTS = {
    "foundations": foundations,
    "reconstruction": reconstruction,
    "mixtures": mixtures,
    "matrices": matrices,
    "vertical": vertical,
    "collector": collector,
    "dashboard": dashboard,
}


def main() -> None:
    """Print each row as it is measured; only full runs are kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes; prints the table but does not keep it")
    parser.add_argument("parts", nargs="*", help=f"which to run, of {', '.join(PARTS)}; all by default")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.parts) - set(PARTS))
    if unknown:
        parser.error(f"no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    for name in arguments.parts or PARTS:
        print(f"{name}\n\n{HEADER}", end="", flush=True)
        claims: list[Claim] = []
        for claim in PARTS[name].measure(quick=arguments.quick):
            print(claim, flush=True)
            claims.append(claim)
        print()
        if not arguments.quick:
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / f"{name}.md").write_text(report(name, claims), encoding="utf-8")


def report(name: str, claims: list[Claim]) -> str:
    """The table with what it was measured on and how."""
    made = f"Made by `python -m benchmarks {name}`."
    return f"# {name.capitalize()}\n\n{table(claims)}\n{_setting(PARTS[name].PACKAGES, PARTS[name].NOTE)}\n\n{made}\n"


def _setting(packages_of_peers: Sequence[str], note: str) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("kakuran", "numpy", "pyarrow", "cryptography"))
    machine = f"{os.cpu_count()} cores, {platform.processor() or platform.machine()}, {platform.system()}"
    told = f"; peers: {peers.versions(packages_of_peers)}" if packages_of_peers else ""
    return f"Measured on {machine}, Python {platform.python_version()}, {packages}{told}. {note}"


if __name__ == "__main__":
    main()
