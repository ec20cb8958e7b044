"""The process that Spark's Python workers are copies of, with all that they import imported: each would take a second.

A task that fails takes its worker with it, so tests of failures start many.
"""

import numpy
import pandas
import pyarrow.parquet
from pyspark import daemon
from pyspark.sql.pandas import serializers

import kakuran.engine.spark
import kakuran.release

IMPORTED = (numpy, pandas, pyarrow.parquet, serializers, kakuran.engine.spark, kakuran.release)

if __name__ == "__main__":
    daemon.manager()
