"""Spark Connect: a client without Java, a server with the executors."""

import subprocess
import sys
from functools import reduce
from pathlib import Path

import pytest


@pytest.fixture
def server(spark):
    """Its address; it lives beside the other tests' session, which has the executors."""
    scala = "org.apache.spark.sql.connect.service.SparkConnectService$", "MODULE$"
    service = reduce(getattr, scala, spark._jvm)
    service.start(spark._jsc.sc())
    yield f"sc://127.0.0.1:{service.localPort()}"
    service.stop(spark._jvm.scala.Option.empty(), spark._jvm.scala.Option.empty())


def test_a_connect_session_makes_and_counts_releases_as_a_classic_one_does(server, tmp_path):
    command = [sys.executable, Path(__file__).with_name("connected.py"), server, tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    session, counted, read, error = run.stdout.splitlines()
    assert session == "pyspark.sql.connect.session"
    assert counted == read
    assert counted.startswith("3000 ")
    assert error.startswith("column 'age': 1 row outside")
    assert f"in {tmp_path / 'people.csv'}" in error
