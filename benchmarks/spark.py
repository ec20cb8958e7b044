"""What the Spark engine claims: partitions add speed up to the number of cores; what a row costs beside locally."""

from __future__ import annotations

import itertools
import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks import people
from benchmarks.claims import Claim, at_most_times, no_peer
from benchmarks.processor import family_seconds
from kakuran import Plan, open_source, perturb_file
from kakuran.counts import cells_of
from kakuran.engine.local import count_tables

PARTITIONS = (1, 2, 4, 8)
FASTER, COSTLIER = 1.5, 3.0
NOTE = (
    "What a row costs is the difference between a large table and a small one, the best runs of each, divided by the "
    "rows between them; what the start of a job costs, which any table pays, is told apart. Cores kept busy are "
    "processor time over time, of all processes together. Spark runs on this machine, one task a core, in one Java "
    "process with as many Python ones. Tasks read files by themselves; rows of a DataFrame pass through Java, which "
    "works beside Python, so one partition can keep more than one core busy. A table of so many partitions is "
    "perturbed into as many files. To count, the files of a release are taken several times over."
)
PACKAGES = ("pyspark",)


@dataclass(frozen=True)
class Table:
    """A folder of files of equally many rows, some of which may be one and the same."""

    folder: Path
    files: int
    rows: int

    @classmethod
    def of(cls, source: Path, files: int, rows_a_file: int) -> Table:
        """So many files of another folder, over and over."""
        folder = source.with_name(f"{source.name}-{files}")
        folder.mkdir()
        found = sorted(source.glob("*.parquet"))
        for number in range(files):
            os.link(found[number % len(found)], folder / f"{number:03}.parquet")
        return cls(folder, files, files * rows_a_file)

    def divide(self, partitions: int) -> None:
        """Read and write it in so many tasks."""
        from kakuran.engine.spark import originals, tables

        # Files of a release are not quite of one size: half a file less, and every task has equally many.
        tables.ROWS_A_TASK = self.rows // partitions - self.rows // self.files // 2
        originals.ROWS_A_FILE = self.rows // partitions


Run: TypeAlias = Callable[[Table], object]


@dataclass(frozen=True)
class Perturb:
    """Perturb a table into a release."""

    spark: Any
    plan: Plan
    folder: Path
    text: str = "perturb"

    def files(self, table: Table, partitions: int) -> None:
        """As the command does."""
        from kakuran.engine.spark import read_originals
        from kakuran.release.spark import perturb_on_spark

        table.divide(partitions)
        originals = read_originals(self.spark, table.folder, self.plan.schema)
        perturb_on_spark(originals, self.folder / "release", self.plan, seed=None, force=True)

    def frame(self, table: Table, partitions: int) -> None:
        """As on one's own DataFrame."""
        table.divide(partitions)
        frame = self.spark.read.parquet(str(table.folder)).coalesce(partitions)
        perturb_file(frame, self.folder / "release", self.plan, force=True)

    def locally(self, table: Table) -> None:
        """Without Spark."""
        perturb_file(table.folder, self.folder / "release.parquet", self.plan, force=True)


@dataclass(frozen=True)
class Count:
    """Count three columns of a release."""

    spark: Any
    plan: Plan
    text: str = "count a 3-way table"

    @property
    def _axes(self) -> list[Any]:
        return [cells_of(self.plan.schema, name, None) for name in people.CATEGORIES]

    def files(self, table: Table, partitions: int) -> None:
        """As on a release that Spark opened."""
        from kakuran.engine.spark import Files, SparkRecords

        table.divide(partitions)
        SparkRecords(Files(self.spark, open_source(table.folder)), self.plan).tallies([self._axes])

    def frame(self, table: Table, partitions: int) -> None:
        """As on one's own DataFrame."""
        from kakuran.engine.spark import SparkRecords

        frame = self.spark.read.parquet(str(table.folder)).coalesce(partitions)
        SparkRecords(frame, self.plan).tallies([self._axes])

    def locally(self, table: Table) -> None:
        """Without Spark."""
        count_tables(open_source(table.folder), self.plan, [self._axes])


@dataclass(frozen=True)
class Cost:
    """Nanoseconds a row, those of the processor, and the seconds that any table takes."""

    row: float
    processor: float
    start: float


def measure(*, quick: bool) -> Iterator[Claim]:
    """Every claim in turn; quick runs are to see that all works, their numbers mean little."""
    if shutil.which("java") is None:
        yield no_peer("perturb and count on Spark", "not measured", "no Java here", f"≥ {FASTER:g}×")
        return
    with tempfile.TemporaryDirectory() as folder:
        yield from _measure(Path(folder), *((20_000, 1) if quick else (250_000, 3)))


def _measure(folder: Path, rows_a_file: int, rounds: int) -> Iterator[Claim]:
    source, plan, spark = folder / "people", people.plan(8 * rows_a_file), _session()
    source.mkdir()
    for number in range(32):
        people.write(source / f"{number}.parquet", rows_a_file, seed=number)
    small, middle, large = (Table.of(source, files, rows_a_file) for files in (8, 16, 32))
    perturb = Perturb(spark, plan, folder)
    yield from _told(perturb, (small, large), (small, middle), rounds)

    perturb.files(large, 32)
    few, some, many, most = (Table.of(folder / "release", files, rows_a_file) for files in (8, 16, 32, 192))
    yield from _told(Count(spark, plan), (many, most), (few, some), rounds)
    spark.stop()


def _told(
    verb: Perturb | Count, tables: tuple[Table, Table], for_frames: tuple[Table, Table], rounds: int
) -> Iterator[Claim]:
    """Files by 1 to 8 partitions, a DataFrame by 1 and as many as there are cores, both beside the local engine."""
    cores = min(os.cpu_count() or 1, max(PARTITIONS))
    runs = {str(partitions): partial(verb.files, partitions=partitions) for partitions in (*PARTITIONS, cores)}
    costs = _costs(runs | {"local": verb.locally}, tables, rounds)
    frames = {str(partitions): partial(verb.frame, partitions=partitions) for partitions in (1, cores)}
    costs_of_frames = _costs(frames, for_frames, rounds)
    local = costs.pop("local")
    for kind, found, bar in (("files", costs, COSTLIER), ("a DataFrame", costs_of_frames, None)):
        text = f"{verb.text} from {kind}"
        yield from _scaling(text, found, cores if bar else None)
        ours = found[str(cores)]
        yield at_most_times(f"{text}, beside the local engine", ours.row, local.row, "ns a row", "local", bar)
        beside = f"{text}, processor time beside the local engine"
        yield at_most_times(beside, ours.processor, local.processor, "ns a row", "local")


def _costs(runs: Mapping[str, Run], tables: tuple[Table, Table], rounds: int) -> dict[str, Cost]:
    """What each costs; runs take turns, and the first of all turns, in which workers start, does not count."""
    seconds = {(name, table): math.inf for name in runs for table in tables}
    processor = dict(seconds)
    for turn in range(rounds + 1):
        for (name, run), table in itertools.product(runs.items(), tables if turn else tables[:1]):
            start, before = time.perf_counter(), family_seconds()
            run(table)
            taken, used = time.perf_counter() - start, family_seconds() - before
            if turn:
                seconds[name, table] = min(seconds[name, table], taken)
                processor[name, table] = min(processor[name, table], used)
    few, many = tables

    def a_row(best: Mapping[tuple[str, Table], float], name: str) -> float:
        return (best[name, many] - best[name, few]) / (many.rows - few.rows)

    return {
        name: Cost(
            1e9 * a_row(seconds, name),
            1e9 * a_row(processor, name),
            seconds[name, few] - few.rows * a_row(seconds, name),
        )
        for name in runs
    }


def _scaling(text: str, costs: Mapping[str, Cost], cores: int | None) -> Iterator[Claim]:
    """One partition beside more; with as many as there are cores, if these are told, they have to pay."""
    one = costs["1"]
    told = f"{one.row:.0f} ns a row, {one.processor / one.row:.2f} cores kept busy, {one.start:.2f} s to start"
    yield Claim(f"{text}, 1 partition", told, "—")
    for partitions, cost in costs.items():
        if partitions == "1":
            continue
        ratio, has_bar = one.row / cost.row, partitions == str(cores)
        yield Claim(
            f"{text}, {partitions} partitions",
            f"{cost.row:.0f} ns a row",
            f"1 partition: {one.row:.0f} ns a row",
            f"{ratio:.2f}×",
            f"≥ {FASTER:g}×" if has_bar else "—",
            ratio >= FASTER if has_bar else None,
        )


def _session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[*]").appName("benchmarks")
    settings = {
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "2g",
        "spark.sql.files.openCostInBytes": "128m",  # a partition of its own for every file
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
