"""A release on a cluster, of which one task is so slow that it is run twice, and during which a machine is lost."""

import sys
from pathlib import Path

from faulty import RECORDS, Fault, assert_one_attempt_a_partition_was_published, release
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from kakuran.engine.spark import originals

MEMORY = 1024

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


def started_cluster(folder):
    """The address of a standalone cluster whose two workers lie at different addresses of this machine.

    Master and workers live in the driver's JVM, for three more take longer to start than the release takes to make;
    executors, which do the work and get lost, are processes of their own.
    """
    SparkContext._ensure_initialized()
    jvm, gateway = SparkContext._jvm, SparkContext._gateway
    conf, deploy = SparkConf(loadDefaults=False)._jconf, jvm.org.apache.spark.deploy
    started = deploy.master.Master.startRpcEnvAndEndpoint("127.0.0.1", 0, 0, conf)
    address = f"spark://{started._1().address().toString()}"
    masters = gateway.new_array(jvm.java.lang.String, 1)
    masters[0] = address
    for number, host in enumerate(("127.0.0.1", "127.0.0.2")):
        place, nothing = str(folder / host), jvm.scala.Option.apply(None)
        deploy.worker.Worker.startRpcEnvAndEndpoint(
            host, 0, 0, 1, MEMORY, masters, place, jvm.scala.Option.apply(number), conf, nothing
        )
    return address


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    builder = SparkSession.builder.master(started_cluster(folder)).appName("a release")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    originals.ROWS_A_FILE = RECORDS // 4

    slow, lost = Fault("dawdle", partitions=(2,)), Fault("kill", partitions=(1,), after=0)
    values, attempts = release(spark, folder / "out", drawing=slow, writing=lost)
    assert_one_attempt_a_partition_was_published(values, attempts)
    print(*map(len, attempts), flush=True)
    spark.stop()
