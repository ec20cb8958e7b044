"""The R package, by R's own check of it, whose tests ask a release made here and compare with Python's answers."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pyarrow.csv
import pytest

import kakuran as kk
from kakuran.samples import census, census_schema

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def made_in_python(tmp_path_factory):
    """A table, its schema, its release, and what Python answers to the questions that R will ask."""
    folder, people = tmp_path_factory.mktemp("made"), census(2_000)
    pyarrow.csv.write_csv(people, folder / "people.csv")
    census_schema().save(folder / "schema.toml")
    release = kk.perturb(people, kk.calibrate(census_schema(), n=2_000, k=10))
    release.save(folder / "out.parquet")
    answers = {
        "crosstab": release.crosstab("job", "sex"),
        "bins": release.crosstab("age", bins={"age": [20, 40]}),
        "mean": release.mean("age", by="sex"),
        "share": release.share("job == 'care'", where="age < 40"),
        "correlation": release.correlation("job", "sex"),
        "quantile": release.quantile("age", 0.25),
        "regress": release.regress("age ~ sex"),
    }
    for name, answer in answers.items():
        pyarrow.csv.write_csv(answer.to_arrow(), folder / f"{name}.csv")
    return folder


def can_be_embedded():
    """Whether this Python has a shared library, in which R can run it; not every one is built with one."""
    version = "{}.{}".format(*sys.version_info)
    places = map(sysconfig.get_config_var, ("LIBPL", "LIBDIR"))
    return any(list(Path(place).glob(f"libpython{version}*.so*")) for place in places if place)


def test_r_checks_the_package_and_gets_the_answers_that_python_gives(made_in_python, tmp_path):
    assert shutil.which("R"), "this test needs R: tests/system-packages installs it"
    if not can_be_embedded():
        pytest.skip("this Python has no shared library that R could load")
    environment = os.environ | {
        "KAKURAN_MADE_IN_PYTHON": str(made_in_python),
        "RETICULATE_PYTHON": sys.executable,
        "LC_ALL": "C.UTF-8",
        "R_PROFILE": os.devnull,  # Debian's names a repository, which would be asked for an index
        "_R_CHECK_TESTS_NLINES_": "0",
    }

    def run(*command):
        done = subprocess.run(
            ["R", "CMD", *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("build", "--no-manual", str(ROOT / "r"))
    assert "Status: OK" in run("check", "--no-manual", next(tmp_path.glob("kakuran_*.tar.gz")).name)
    told = next(tmp_path.glob("kakuran.Rcheck/tests/testthat.Rout")).read_text(encoding="utf-8")
    assert "FAIL 0 | WARN 0 | SKIP 0 | PASS" in told


def test_the_r_package_has_the_version_and_the_licence_of_the_python_package():
    described = (ROOT / "r/DESCRIPTION").read_text(encoding="utf-8")
    assert f"\nVersion: {kk.__version__}\n" in described
    assert "\nLicense: Apache License (== 2.0)\n" in described
