"""Spark is an extra: only its engine needs it."""

import os
import subprocess
import sys

from kakuran.samples import census_schema

WITHOUT = "import sys; sys.modules['pyspark'] = None\n"


def test_without_spark_the_engine_says_what_to_install(tmp_path):
    census_schema().save(tmp_path / "schema.toml")
    command = "sys.argv = 'kakuran perturb people -s schema.toml --k 2 -o out --engine spark'.split()"
    code = WITHOUT + command + "\nfrom kakuran.cli import main; main()"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 6
    assert "kakuran[spark]" in run.stderr


def test_without_java_the_command_says_so_in_one_line(tmp_path):
    census_schema().save(tmp_path / "schema.toml")
    command = ["perturb", ".", "-s", "schema.toml", "--k", "2", "-o", "out", "--engine", "spark"]
    run = subprocess.run(
        [sys.executable, "-c", "from kakuran.cli import main; main()", *command],
        env=os.environ | {"JAVA_HOME": str(tmp_path / "nothing")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 5
    assert "error: Spark failed: [JAVA_GATEWAY_EXITED]" in run.stderr
    assert "Traceback" not in run.stderr


def test_spark_is_not_imported_for_other_work():
    code = (
        "import sys, pyarrow as pa, kakuran as kk\n"
        "plan = kk.calibrate(kk.Schema([kk.Categorical('job', ['clerk', 'nurse'])]), n=100, k=2)\n"
        "kk.perturb(pa.table({'job': ['clerk'] * 100}), plan)\n"
        "print('pyspark' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
