"""A real cluster of two machines, as far as Spark can tell: speculative copies of a task need two."""

import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest

SPARK_CLASS = Path(pyspark.__file__).parent / "bin/spark-class"
DEPLOY = "org.apache.spark.deploy"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def master(executors, tmp_path):
    """A standalone cluster whose two workers lie at different addresses of this machine."""
    environment = os.environ | {"SPARK_DAEMON_MEMORY": "256m"}
    with ExitStack() as stack:

        def start(kind, *arguments):
            log = stack.enter_context((tmp_path / "log").open("a"))
            command = [SPARK_CLASS, f"{DEPLOY}.{kind}", "--webui-port", "0", *arguments]
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=tmp_path)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        address = f"127.0.0.1:{free_port()}"
        start("master.Master", "--host", "127.0.0.1", "--port", address.partition(":")[2])
        for host in ("127.0.0.1", "127.0.0.2"):
            work = ["--cores", "1", "--memory", "1g", "--work-dir", tmp_path / host]
            start("worker.Worker", "--host", host, *work, f"spark://{address}")
        yield f"spark://{address}"


def test_neither_a_task_that_ran_twice_nor_a_lost_machine_publishes_two_draws_of_a_record(master, tmp_path):
    script = Path(__file__).with_name("cluster_job.py")
    run = subprocess.run(
        [sys.executable, script, master, tmp_path], capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr
    drawn = run.stdout.split()
    assert drawn[2] == "2"
    assert (tmp_path / "out-diary/dawdle-2").exists()
    assert (tmp_path / "out-diary/while-writing/kill-1").exists()
