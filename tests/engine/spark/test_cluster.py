"""A real cluster of two machines, as far as Spark can tell: speculative copies of a task need two."""

import subprocess
import sys
from pathlib import Path


def test_neither_a_task_that_ran_twice_nor_a_lost_machine_publishes_two_draws_of_a_record(executors, tmp_path):
    script = Path(__file__).with_name("cluster_job.py")
    run = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    drawn = run.stdout.split()
    assert drawn[2] == "2"
    assert (tmp_path / "out-diary/dawdle-2").exists()
    assert (tmp_path / "out-diary/while-writing/kill-1").exists()
