"""What the Spark engine claims: partitions add speed up to the number of cores; beside the local engine."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import people
from benchmarks.claims import Claim, at_most_times, no_peer
from benchmarks.timing import Contestant, race
from kakuran import perturb_file, read_release
from kakuran.counts import cells_of

PARTITIONS = (1, 2, 4, 8)
BAR = 1.5
NOTE = (
    "Times are the best of several runs taken in turns, two runs a turn. A table of so many partitions is perturbed "
    "into as many files. Spark runs on this machine, one task a core, in one Java process with as many Python ones."
)
PACKAGES = ("pyspark",)


def measure(*, quick: bool) -> Iterator[Claim]:
    """Every claim in turn."""
    if shutil.which("java") is None:
        yield no_peer("perturb and count on Spark", "not measured", "no Java here", f"≥ {BAR:g}×")
        return
    rows, rounds = (200_000, 1) if quick else (4_000_000, 1)
    with tempfile.TemporaryDirectory() as folder:
        yield from _measure(Path(folder), rows, rounds)


def _measure(folder: Path, rows: int, rounds: int) -> Iterator[Claim]:
    from kakuran.engine.spark import originals

    plan, source = people.plan(rows), folder / "people"
    source.mkdir()
    for number in range(max(PARTITIONS)):
        people.write(source / f"{number}.parquet", rows // max(PARTITIONS))
    spark = _session()
    frame = spark.read.parquet(str(source))

    def perturbing(partitions: int) -> Callable[[], Any]:
        def run() -> None:
            originals.ROWS_A_FILE = -(-rows // partitions)
            perturb_file(frame.coalesce(partitions), folder / "out", plan, force=True)

        return run

    def locally() -> None:
        perturb_file(source, folder / "out.parquet", plan, force=True)

    contestants = [Contestant(str(partitions), perturbing(partitions)) for partitions in PARTITIONS]
    times = race([*contestants, Contestant("local", locally)], rounds)
    yield from _scaling(f"perturb {rows:,} rows", times)
    fastest = min(times[str(partitions)] for partitions in PARTITIONS)
    yield at_most_times(f"perturb {rows:,} rows, Spark beside the local engine", fastest, times["local"], "s", "local")

    axes = [cells_of(plan.schema, name, None) for name in people.CATEGORIES]
    release = read_release(folder / "out", spark=spark).table
    counts = {partitions: _counting(release.coalesce(partitions), plan, axes) for partitions in PARTITIONS}
    here = read_release(folder / "out.parquet")
    contestants = [Contestant(str(partitions), counts[partitions]) for partitions in PARTITIONS]
    times = race([*contestants, Contestant("local", lambda: here.records.tallies([axes]))], rounds)
    yield from _scaling(f"count a 3-way table of {rows:,} rows", times)
    fastest = min(times[str(partitions)] for partitions in PARTITIONS)
    yield at_most_times(f"count {rows:,} rows, Spark beside the local engine", fastest, times["local"], "s", "local")
    spark.stop()


def _counting(frame: Any, plan: Any, axes: Any) -> Callable[[], Any]:
    from kakuran.engine.spark import SparkRecords

    return lambda: SparkRecords(frame, plan).tallies([axes])


def _scaling(text: str, times: dict[str, float]) -> Iterator[Claim]:
    """One partition beside more; with as many as there are cores they have to pay."""
    cores = os.cpu_count() or 1
    one = times["1"]
    for partitions in PARTITIONS[1:]:
        taken = times[str(partitions)]
        has_bar = partitions == cores
        yield Claim(
            f"{text}, {partitions} partitions",
            f"{taken:.2f} s",
            f"1 partition: {one:.2f} s",
            f"{one / taken:.2f}×",
            f"≥ {BAR:g}×" if has_bar else "—",
            one / taken >= BAR if has_bar else None,
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
