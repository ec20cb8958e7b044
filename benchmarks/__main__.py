"""Run the benchmarks, print their tables, and keep them: `python -m benchmarks [--quick] [--draws N] [part …]`."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks import (
    accuracy,
    audit,
    bands,
    central,
    certainty,
    collector,
    dashboard,
    densities,
    designs,
    engine,
    foundations,
    inference,
    kinds,
    learners,
    matrices,
    mixtures,
    peers,
    reconstruction,
    spark,
    studio,
    subsets,
    synthetic,
    vertical,
)
from benchmarks.claims import HEADER, Claim, table
from benchmarks.pictures import Picture

RESULTS = Path(__file__).parent / "results"
PARTS = {
    "foundations": foundations,
    "engine": engine,
    "spark": spark,
    "reconstruction": reconstruction,
    "accuracy": accuracy,
    "designs": designs,
    "central": central,
    "certainty": certainty,
    "statistics": inference,
    "bands": bands,
    "kinds": kinds,
    "densities": densities,
    "subsets": subsets,
    "synthetic": synthetic,
    "learners": learners,
    "audit": audit,
    "mixtures": mixtures,
    "matrices": matrices,
    "vertical": vertical,
    "collector": collector,
    "dashboard": dashboard,
    "studio": studio,
}


def main() -> None:
    """Print each row as it is measured; only full runs are kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes; prints the table but does not keep it")
    parser.add_argument(
        "--draws", type=int, help=f"how many releases statistics are asked of; {inference.DRAWS} by default"
    )
    parser.add_argument("parts", nargs="*", help=f"which to run, of {', '.join(PARTS)}; all by default")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.parts) - set(PARTS))
    if unknown:
        parser.error(f"no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    if arguments.draws is not None and (arguments.draws < 1 or arguments.parts != ["statistics"]):
        parser.error("--draws is a number from 1 on, and for statistics alone")
    failed = [name for name in arguments.parts or PARTS if not _has_run(name, arguments.draws, quick=arguments.quick)]
    if failed:
        sys.exit(f"stopped by an error above, nothing kept: {', '.join(failed)}")


def _has_run(name: str, draws: int | None, *, quick: bool) -> bool:
    """Whether a part came to its end; one that stops leaves the others their hour."""
    try:
        _run(name, draws, quick=quick)
    except Exception:
        traceback.print_exc()
        return False
    return True


def _run(name: str, draws: int | None, *, quick: bool) -> None:
    more = {} if draws is None else {"draws": draws}
    print(f"{name}\n\n{HEADER}", end="", flush=True)
    claims: list[Claim] = []
    pictures: list[Picture] = []
    for found in PARTS[name].measure(quick=quick, **more):
        if isinstance(found, Picture):
            pictures.append(found)
        else:
            print(found, flush=True)
            claims.append(found)
    print()
    if not quick:
        RESULTS.mkdir(exist_ok=True)
        for picture in pictures:
            picture.draw().savefig(RESULTS / f"{picture.name}.png", dpi=144)
        (RESULTS / f"{name}.md").write_text(report(name, claims, pictures, draws), encoding="utf-8")


def report(name: str, claims: Sequence[Claim], pictures: Sequence[Picture], draws: int | None = None) -> str:
    """The table and the pictures with what they were measured on and how."""
    parts = [
        f"# {name.capitalize()}",
        table(claims).rstrip(),
        *(f"![{picture.text}]({picture.name}.png)" for picture in pictures),
        _setting(PARTS[name].PACKAGES, PARTS[name].NOTE),
        f"Made by `python -m benchmarks {name}{'' if draws is None else f' --draws {draws}'}`.",
    ]
    return "\n\n".join(parts) + "\n"


def _setting(packages_of_peers: Sequence[str], note: str) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("kakuran", "numpy", "pyarrow", "cryptography"))
    computer = f"{os.cpu_count()} cores, {platform.processor() or platform.machine()}, {platform.system()}"
    told = f"; peers: {peers.versions(packages_of_peers)}" if packages_of_peers else ""
    program = f"one thread of linear algebra, Python {platform.python_version()}, {packages}"
    return f"Measured on {computer}, {program}{told}. {note}"


if __name__ == "__main__":
    main()
