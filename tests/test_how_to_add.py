"""Each page on how to add something is followed to the letter, in a copy of the package."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r'^```python(?: title="(.+?)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of the package, that the pages may add to."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def follow(page, folder):
    """Do what a page says, which is to add one file and one line; what the code below them prints."""
    blocks = BLOCK.findall((ROOT / f"docs/how-to-add/{page}.md").read_text(encoding="utf-8"))
    lines = [text for path, text in blocks if path and (ROOT / path).exists()]
    files = [path for path, _ in blocks if path and not (ROOT / path).exists()]
    assert len(files) == 1
    assert [line.count("\n") for line in lines] == [1]
    for path, text in blocks:
        if path:
            with (folder / path).open("a", encoding="utf-8") as file:
                file.write(text)
    return run("".join(text for path, text in blocks if not path), folder)


def run(code, folder):
    command = [sys.executable, "-W", "ignore", "-c", code]
    environment = {"PYTHONPATH": str(folder / "src"), "PATH": "", "OPENBLAS_NUM_THREADS": "1"}
    told = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    return told.stdout


def test_a_mechanism_is_one_file_and_one_line(copied):
    told = follow("mechanism", copied)
    assert told.startswith("ordinal\njob")


def test_an_added_mechanism_keeps_its_promise_and_gives_true_counts_back(copied):
    code = """
import numpy as np
import kakuran as kk
from kakuran.samples import census, census_schema
table = census()
schema = kk.Schema(census_schema().some(["job", "sex"]))
plan = kk.calibrate(schema, n=50_000, k=10, mechanisms={"job": "ordinal"})
assert plan.k_for(50_000) >= 10 * (1 - 1e-9)
release = kk.perturb(table.select(["sex", "job"]), plan, seed=1)
answer = release.crosstab("job", level=1 - 1e-6)
jobs = table["job"].to_pylist()
true = np.array([jobs.count(value) for value in plan.schema["job"].values])
print(((answer.low <= true) & (true <= answer.high)).all())
print(abs(answer.counts - true).sum() < abs(answer.naive - true).sum())
"""
    assert run(code, copied) == "True\nTrue\n"
