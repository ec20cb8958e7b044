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
from benchmarks.processor import family_seconds, on_one_core
from kakuran import Plan, open_source, perturb_file
from kakuran.counts import cells_of
from kakuran.engine.local import count_tables

PARTITIONS = (1, 2, 4, 8)
ONE_CORE = "1 partition on 1 core"
MEASURED = "batches limited in bytes"
LOCAL = "the local engine"
FASTER, COSTLIER = 1.5, 3.0
NOTE = (
    "What a row costs is the difference between a large table and a small one, the best runs of each, divided by the "
    "rows between them; what the start of a job costs, which any table pays, is told apart. Processor time is of all "
    "processes together; over time, it is the cores kept busy. Spark runs on this machine, one task a core, in one "
    "Java process with as many Python ones. Tasks read files by themselves. Rows of a DataFrame pass through Java, "
    "which works beside Python: one partition keeps more than one core busy, if there is more than one, so a second "
    "adds less to it than a second core does. Hence ratios are to one partition with all processes kept to one core. "
    "A table of so many partitions is perturbed into as many files. To count, the files of a release are taken several "
    "times over. Limited in bytes, as Spark does by itself, batches are measured anew for every row."
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

    def frame(self, spark: Any, partitions: int) -> Any:
        """As a DataFrame of so many partitions."""
        return spark.read.parquet(str(self.folder)).coalesce(partitions)


Run: TypeAlias = Callable[[Table], object]


@dataclass(frozen=True)
class Perturb:
    """Perturb a table into a release."""

    spark: Any
    plan: Plan
    folder: Path
    text: str = "perturb"
    peer: str = "Spark reading the rows, and no more"

    def files(self, table: Table, partitions: int) -> None:
        """As the command does."""
        from kakuran.engine.spark import read_originals
        from kakuran.release.perturbing import perturb_on_spark

        table.divide(partitions)
        originals = read_originals(self.spark, table.folder, self.plan.schema)
        perturb_on_spark(originals, self.folder / "release", self.plan, seed=None, force=True)

    def frame(self, table: Table, partitions: int) -> None:
        """As on one's own DataFrame."""
        table.divide(partitions)
        perturb_file(table.frame(self.spark, partitions), self.folder / "release", self.plan, force=True)

    def by_spark(self, table: Table, partitions: int) -> None:
        """What anybody pays who looks at every row."""
        table.frame(self.spark, partitions).write.format("noop").mode("overwrite").save()

    def locally(self, table: Table) -> None:
        """Without Spark."""
        perturb_file(table.folder, self.folder / "release.parquet", self.plan, force=True)


@dataclass(frozen=True)
class Count:
    """Count three columns of a release."""

    spark: Any
    plan: Plan
    text: str = "count a 3-way table"
    peer: str = "Spark's own groupBy"

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

        SparkRecords(table.frame(self.spark, partitions), self.plan).tallies([self._axes])

    def by_spark(self, table: Table, partitions: int) -> None:
        """Without kakuran."""
        table.frame(self.spark, partitions).groupBy(*people.CATEGORIES).count().collect()

    def locally(self, table: Table) -> None:
        """Without Spark."""
        count_tables(open_source(table.folder), self.plan.layout, [self._axes])


@dataclass(frozen=True)
class Cost:
    """Nanoseconds a row, those of the processor, and the seconds that any table takes."""

    row: float
    processor: float
    start: float

    def __str__(self) -> str:
        return f"{self.row:.0f} ns a row, {self.processor:.0f} of the processor, {self.busy:.2f} cores kept busy"

    @property
    def busy(self) -> float:
        """Cores kept busy."""
        return self.processor / self.row


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
    small, large = (Table.of(source, files, rows_a_file) for files in (8, 32))
    perturb = Perturb(spark, plan, folder)
    yield from _told(perturb, (small, large), (small, large), rounds)

    perturb.files(large, 32)
    few, many, most = (Table.of(folder / "release", files, rows_a_file) for files in (8, 32, 192))
    yield from _told(Count(spark, plan), (many, most), (few, many), rounds)
    spark.stop()


def _told(
    verb: Perturb | Count, tables: tuple[Table, Table], for_frames: tuple[Table, Table], rounds: int
) -> Iterator[Claim]:
    """Files and a DataFrame by 1 to 8 partitions, both beside the local engine, a DataFrame beside other ways too."""
    cores = min(os.cpu_count() or 1, max(PARTITIONS))
    local: dict[str, Run] = {LOCAL: verb.locally}
    others: dict[str, Run] = {
        verb.peer: partial(verb.by_spark, partitions=cores),
        MEASURED: partial(_measured, verb, partitions=cores),
    }
    for kind, divided, sizes, ways, bar in (
        ("files", verb.files, tables, local, COSTLIER),
        ("a DataFrame", verb.frame, for_frames, local | others, None),
    ):
        text, runs = f"{verb.text} from {kind}", _by_partitions(divided, cores)
        costs = _costs(runs | ways, sizes, rounds)
        yield from _scaling(text, {name: costs[name] for name in runs}, cores)
        ours, beside = costs[_partitions(cores)], costs[LOCAL]
        yield at_most_times(f"{text}, beside {LOCAL}", ours.row, beside.row, "ns a row", "local", bar)
        for name in (_partitions(1), *ways):
            told = f"{text}, processor time beside {name}"
            yield at_most_times(told, ours.processor, costs[name].processor, "ns a row", "that")


def _by_partitions(divided: Callable[[Table, int], None], cores: int) -> dict[str, Run]:
    """One partition that may use one core, and then 1 to 8, and as many as there are cores, that may use all."""

    def alone(table: Table) -> None:
        with on_one_core():
            divided(table, 1)

    runs: dict[str, Run] = {_partitions(number): partial(divided, partitions=number) for number in (*PARTITIONS, cores)}
    return {ONE_CORE: alone, **runs} if hasattr(os, "sched_setaffinity") else runs


def _measured(verb: Perturb | Count, table: Table, partitions: int) -> None:
    """With the limit that Spark sets by itself; one that is chosen is kept to."""
    from kakuran.engine.spark.partials import BYTES_A_BATCH

    verb.spark.conf.set(BYTES_A_BATCH, "64m")
    verb.frame(table, partitions)
    verb.spark.conf.unset(BYTES_A_BATCH)


def _partitions(number: int) -> str:
    return "1 partition" if number == 1 else f"{number} partitions"


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


def _scaling(text: str, costs: Mapping[str, Cost], cores: int) -> Iterator[Claim]:
    """All beside one partition, on one core where it can be kept to one; as many partitions as cores have to pay."""
    one = ONE_CORE if ONE_CORE in costs else _partitions(1)
    for name, cost in costs.items():
        ratio, has_bar = costs[one].row / cost.row, name == _partitions(cores) != one
        yield Claim(
            f"{text}, {name}",
            str(cost) + (f", {cost.start:.2f} s to start" if name == _partitions(1) else ""),
            "—" if name == one else f"{one}: {costs[one].row:.0f} ns a row",
            "—" if name == one else f"{ratio:.2f}×",
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
