"""Files as tables of originals."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from kakuran.engine.spark.complaints import told_plainly
from kakuran.engine.spark.originals import Originals
from kakuran.engine.spark.tables import Files
from kakuran.schema import Schema, open_source


@told_plainly()
def start_session() -> SparkSession:
    """The session that is running, or one as SPARK_REMOTE or spark-defaults.conf ask for; local otherwise.

    Executors use the Python that runs here, unless PYSPARK_PYTHON names another.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return SparkSession.builder.appName("kakuran").getOrCreate()


def read_originals(session: SparkSession, path: Path, schema: Schema, **written: str | None) -> Originals:
    """A Parquet, CSV or Arrow file, or a folder or pattern of such files; CSV written as told to `open_source`."""
    return Originals(Files(session, open_source(path.absolute(), **written)), schema)
