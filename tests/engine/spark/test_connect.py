"""Spark Connect: a client without Java, a server with the executors."""

import subprocess
import sys
from pathlib import Path


def test_a_connect_session_makes_and_counts_releases_as_a_classic_one_does(executors, tmp_path):
    script = Path(__file__).with_name("connected.py")
    run = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    session, counted, read, error = run.stdout.splitlines()
    assert session == "pyspark.sql.connect.session"
    assert counted == read
    assert counted.startswith("3000 ")
    assert error.startswith("column 'age': 1 row outside")
    assert f"in {tmp_path / 'people.csv'}" in error
