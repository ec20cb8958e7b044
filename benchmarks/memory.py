"""Peak memory of perturbing a file, which must not grow with the file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.claims import Claim, at_most_times


def peak_memory(few: int, many: int) -> Iterator[Claim]:
    """`perturb_file` in a process of its own, on a file written by another."""
    small, large = (peak_of(rows) / 2**20 for rows in (few, many))
    text = f"peak memory of perturbing a file of {many:,} rows, vs one of {few:,}"
    yield at_most_times(text, large, small, "MiB", "ours, the smaller file", 1.1)


def peak_of(rows: int) -> int:
    """Bytes, for a file of so many rows."""
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "people.parquet", Path(folder) / "made.parquet"
        _run("people", rows, source)
        return int(_run("peak", rows, source, target))


def _run(module: str, *arguments: object) -> str:
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
