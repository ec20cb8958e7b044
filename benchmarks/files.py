"""Perturbing a Parquet file, beside merely copying it; and reading a file of Stata, beside its reader alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq

from benchmarks import people
from benchmarks.claims import Claim, at_most_times
from benchmarks.timing import Contestant, race
from kakuran.release import perturb_file, write_table
from kakuran.schema import open_source, read_table


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


def stata(rows: int, rounds: int) -> Iterator[Claim]:
    """Reading a .dta file as its schema says, in parts and with labels, beside the reader alone, whole and without."""
    import pyreadstat

    with TemporaryDirectory() as folder:
        original, source, schema = Path(folder) / "people.parquet", Path(folder) / "people.dta", people.schema()
        people.write(original, rows)
        labelled = pq.read_table(original, read_dictionary=list(people.CATEGORIES))
        write_table(source, labelled)
        best = race(
            [
                Contestant("ours", lambda: read_table(open_source(source), schema)),
                Contestant("pyreadstat into pandas", lambda: pyreadstat.read_dta(source)),
                Contestant("pyreadstat into lists", lambda: pyreadstat.read_dta(source, output_format="dict")),
            ],
            rounds,
        )
    ours = best.pop("ours")
    text = f"Stata → arrow, {rows:,} rows × 5 columns of which 3 have labels, in parts, vs its reader alone"
    for (name, peer), bar in zip(best.items(), (1.3, None), strict=True):
        yield at_most_times(text, ours, peer, "s", name, bar)


def copy_batches(source: Path, target: Path) -> None:
    """A copy with constant memory."""
    with pq.ParquetFile(source) as file, pq.ParquetWriter(target, file.schema_arrow) as writer:
        for batch in file.iter_batches():
            writer.write_batch(batch)
