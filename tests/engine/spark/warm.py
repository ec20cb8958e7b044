"""The process that Spark's Python workers are copies of, with all that they import imported: each would take a second.

A task that fails takes its worker with it, so tests of failures start many. PySpark comes from where it is installed:
out of the archives that Spark puts before it nothing stays compiled, and every worker reads their lists of files.
"""

import sys
from pathlib import Path

archives = {place for place in sys.path if Path(place).is_file()}
sys.path[:] = [place for place in sys.path if place not in archives]
for archive in archives:
    sys.path_importer_cache.pop(archive, None)

import faulty  # noqa: E402
import numpy  # noqa: E402
import pandas  # noqa: E402
import pyarrow.parquet  # noqa: E402
from pyspark import daemon, worker  # noqa: E402
from pyspark.sql.pandas import serializers  # noqa: E402

import kakuran.engine.spark  # noqa: E402
import kakuran.release  # noqa: E402

IMPORTED = (faulty, numpy, pandas, pyarrow.parquet, worker, serializers, kakuran.engine.spark, kakuran.release)

if __name__ == "__main__":
    daemon.manager()
