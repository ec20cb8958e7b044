"""`python -m benchmarks.engine_run TASK ROWS FOLDER` does one thing to the files in a folder, in a process of its own.

Prints the seconds it took, those of the processor, and the peak of its memory in bytes. `write` makes the files.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks import people
from benchmarks.own_peak import own_peak
from kakuran.counts import cells_of
from kakuran.engine.local import count_tables
from kakuran.release import perturb_file, read_release
from kakuran.schema import open_source

FILES = 8
THREE_WAY = ("job", "region", "age")
TARGET = "sex"


def write(rows: int, folder: Path) -> None:
    """The made-up people, in several files."""
    for number in range(FILES):
        count = rows * (number + 1) // FILES - rows * number // FILES
        people.write(folder / f"part-{number}.parquet", count, people.SIX_COLUMNS, seed=number)


def perturb(rows: int, folder: Path, *, shuffle: bool) -> None:
    """All files into one release."""
    target = folder / ("release.parquet" if shuffle else "kept.parquet")
    plan = people.plan(rows, people.SIX_COLUMNS)
    perturb_file(str(folder / "part-*.parquet"), target, plan, shuffle=shuffle, force=True)


def copy(_: int, folder: Path) -> None:
    """What a plain copy with constant memory takes: a row group at a time, on all cores."""
    for source in sorted(folder.glob("part-*.parquet")):
        with pq.ParquetFile(source) as file, pq.ParquetWriter(folder / "copy.parquet", file.schema_arrow) as writer:
            for group in range(file.num_row_groups):
                writer.write_table(file.read_row_group(group))


def count(rows: int, folder: Path) -> None:
    """A table of three columns of the release, every value a cell."""
    plan = people.plan(rows, people.SIX_COLUMNS)
    axes = [cells_of(plan.schema, name, 121 if name == "age" else None) for name in THREE_WAY]
    (tally,) = count_tables(open_source(folder / "release.parquet"), plan.layout, [axes])
    assert tally.n == rows


def duckdb_count(rows: int, folder: Path) -> None:
    """The same table from DuckDB."""
    import duckdb

    columns = ", ".join(THREE_WAY)
    query = f"select {columns}, count(*) from '{folder / 'release.parquet'}' group by {columns}"
    assert sum(found[-1] for found in duckdb.sql(query).fetchall()) == rows


def tree(rows: int, folder: Path) -> None:
    """A tree over all columns of the release, node by node: from 2²⁰ rows on, three passes and one to prune."""
    release = read_release(folder / "release.parquet")
    release.tree(TARGET, max_depth=3, method="ibt")


TASKS: Mapping[str, Callable[[int, Path], None]] = {
    "write": write,
    "perturb": partial(perturb, shuffle=True),
    "perturb-in-order": partial(perturb, shuffle=False),
    "copy": copy,
    "count": count,
    "tree": tree,
    "duckdb": duckdb_count,
}


def main(task: str, rows: str, folder: str) -> None:
    """Do it, then look back."""
    start, processor = time.perf_counter(), time.process_time()
    TASKS[task](int(rows), Path(folder))
    taken, busy = time.perf_counter() - start, time.process_time() - processor
    print(taken, busy, own_peak())


if __name__ == "__main__":
    main(*sys.argv[1:])
