"""Releases made and counted on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from narwhals.dependencies import is_pyspark_connect_dataframe, is_pyspark_dataframe

from kakuran.calibration import Plan
from kakuran.errors import ReleaseError
from kakuran.release.folders import check_folder, write_folder
from kakuran.release.manifest import Manifest, warn_if_seeded
from kakuran.release.streamed import StreamedRecords
from kakuran.schema.files import CSV

if TYPE_CHECKING:
    from kakuran.engine.spark import Originals, SparkRecords


def is_spark_frame(data: Any) -> bool:
    """Whether something is a Spark DataFrame, without importing Spark."""
    return is_pyspark_dataframe(data) or is_pyspark_connect_dataframe(data)


def perturb_on_spark(originals: Originals, target: Path, plan: Plan, *, seed: int | None, force: bool) -> Manifest:
    """Perturb a table on Spark into a folder of Parquet files, which appears whole or not at all."""
    warn_if_seeded(seed)
    check_folder(target, force=force)

    def drawn(private: Path) -> tuple[list[Path], Manifest]:
        parts, records = originals.draw(plan, private, seed)
        return parts, Manifest(plan, records, "shuffled", seeded=seed is not None)

    return write_folder(target, drawn)


def records_on_spark(path: Path, manifest: Manifest, session: Any) -> SparkRecords:
    """The records of a release in Parquet files, to be counted by Spark."""
    from kakuran.engine.spark import Files, SparkRecords

    if path.suffix in CSV:
        raise ReleaseError(f"{path}: Spark counts Parquet files, not CSV; leave out the session")
    source = StreamedRecords.open(path.absolute(), manifest).source
    return SparkRecords(Files(session, source), manifest.plan)
