"""One Spark session for all tests that need one (they share a group, so that one worker starts it), and IPv6."""

import os
import socket
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def ipv6():
    """Only where somebody can listen on it: Python may know it where the system has it switched off."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this system has no IPv6")


@pytest.fixture(scope="session")
def executors():
    """What Spark's own processes need to know: this Python, and where the faulty columns of some tests lie."""
    before = dict(os.environ)
    faulty = Path(__file__).parent / "engine/spark"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(faulty), *filter(None, [before.get("PYTHONPATH")])])
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def spark(executors, tmp_path_factory):
    """Two cores, and three more attempts at a task that fails."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,4]").appName("tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.log.level": "FATAL",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
