"""A release on a cluster, of which one task is so slow that it is run twice, and during which a machine is lost."""

import sys
from pathlib import Path

from faulty import RECORDS, Fault, assert_one_attempt_a_partition_was_published, release
from pyspark.sql import SparkSession

from kakuran.engine.spark import originals

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "768m",
    "spark.python.daemon.module": "warm",
    "spark.shuffle.io.retryWait": "1s",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.5",
    "spark.log.level": "ERROR",
}

if __name__ == "__main__":
    master, folder = sys.argv[1], Path(sys.argv[2])
    builder = SparkSession.builder.master(master).appName("a release")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    originals.ROWS_A_FILE = RECORDS // 4

    slow, lost = Fault("dawdle", partitions=(2,)), Fault("kill", partitions=(1,), after=0)
    values, attempts = release(spark, folder / "out", drawing=slow, writing=lost)
    assert_one_attempt_a_partition_was_published(values, attempts)
    print(*map(len, attempts), flush=True)
    spark.stop()
