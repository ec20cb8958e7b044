"""Tables that Spark itself reads."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kakuran.engine.spark.complaints import COMPLAINTS, gist, told_plainly
from kakuran.engine.spark.folders import address
from kakuran.engine.spark.originals import Originals
from kakuran.errors import SchemaError
from kakuran.schema import Schema
from kakuran.schema.files import CSV


@told_plainly()
def start_session() -> SparkSession:
    """The session that is running, or one as SPARK_REMOTE or spark-defaults.conf ask for; local otherwise.

    Executors use the Python that runs here, unless PYSPARK_PYTHON names another.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return SparkSession.builder.appName("kakuran").getOrCreate()


def read_originals(session: SparkSession, path: Path, schema: Schema) -> Originals:
    """A Parquet or CSV file, or a folder of such files."""
    if not path.exists():
        raise SchemaError(f"{path}: no such file or folder")
    are_text = _is_csv(path)
    try:
        frame = _read_csv(session, path) if are_text else session.read.parquet(address(path))
        return Originals(frame, schema, are_text)
    except COMPLAINTS as error:
        raise SchemaError(f"{path}: cannot be read: {gist(error)}") from error


def _is_csv(path: Path) -> bool:
    return path.suffix in CSV or (path.is_dir() and any(file.suffix in CSV for file in path.rglob("*")))


def _read_csv(session: SparkSession, path: Path) -> DataFrame:
    """As text: whether a cell is a number is for the schema to say, and what is not one may not become missing."""
    reader = session.read.options(header=True, enforceSchema=False, multiLine=True, quote='"', escape='"')
    return reader.csv(address(path))
