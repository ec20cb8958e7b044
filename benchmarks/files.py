"""Perturbing a Parquet file, beside merely copying it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq

from benchmarks import people
from benchmarks.claims import Claim, at_most_times
from benchmarks.timing import Contestant, race
from kakuran.release import perturb_file


def parquet(rows: int, rounds: int) -> Iterator[Claim]:
    """`perturb_file` with its shuffle, which also syncs its target to disk; the copies do not."""
    with TemporaryDirectory() as folder:
        source, target, plan = Path(folder) / "people.parquet", Path(folder) / "made.parquet", people.plan(rows)
        people.write(source, rows)
        best = race(
            [
                Contestant("ours", lambda: perturb_file(source, target, plan, force=True)),
                Contestant("pyarrow, batch by batch", lambda: copy_batches(source, target)),
                Contestant("pyarrow, whole table", lambda: pq.write_table(pq.read_table(source), target)),
            ],
            rounds,
        )
    ours = best.pop("ours")
    text = f"Parquet → perturbed Parquet, {rows:,} rows × 5 columns, shuffled, vs a copy"
    for (name, peer), bar in zip(best.items(), (2.0, None), strict=True):
        yield at_most_times(text, ours, peer, "s", name, bar)


def copy_batches(source: Path, target: Path) -> None:
    """A copy with constant memory."""
    with pq.ParquetFile(source) as file, pq.ParquetWriter(target, file.schema_arrow) as writer:
        for batch in file.iter_batches():
            writer.write_batch(batch)
