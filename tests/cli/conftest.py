import os
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from kakuran.cli import main
from kakuran.samples import census, census_schema

os.environ.pop("KAKURAN_LANG", None)  # what is asked here of reports is asked in English
TERMINAL = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}


@pytest.fixture
def folder(tmp_path):
    """A folder with a small census as CSV and Parquet, and its schema."""
    people = census(800)
    pyarrow.csv.write_csv(people, tmp_path / "people.csv")
    pq.write_table(people, tmp_path / "people.parquet")
    census_schema().save(tmp_path / "schema.toml")
    return tmp_path


@pytest.fixture
def fewer_ks(monkeypatch):
    """Curves of advice through three k: two others, and the one that is asked for."""
    monkeypatch.setattr("kakuran.advice.comparison.OTHER_KS", (2, 20))


@pytest.fixture
def run_in(monkeypatch, capsys):
    """Run the command in a folder, in this process: starting one for each takes longer than all else."""

    def run(folder: Path, *arguments: object, columns: int = 200) -> subprocess.CompletedProcess[str]:
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("default")
            patch.chdir(folder)
            patch.setattr(sys, "argv", ["kakuran", *map(str, arguments)])
            patch.setattr("signal.signal", lambda *_: None)
            for name, value in (TERMINAL | {"COLUMNS": str(columns)}).items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main()
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, ended.value.code, shown.out, shown.err)

    return run


@pytest.fixture
def kakuran(folder, run_in):
    """Run the command in the folder."""
    return partial(run_in, folder)


@pytest.fixture
def process(folder):
    """Run the command in the folder as a process of its own."""

    def run(*arguments: object, columns: int = 200) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from kakuran.cli import main; main()", *map(str, arguments)]
        environment = os.environ | TERMINAL | {"COLUMNS": str(columns)}
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env=environment, timeout=120, check=False
        )

    return run


@pytest.fixture
def refused(kakuran, listing):
    """Make a mistake: it gets one clear sentence and its exit code, no answer, and leaves no file behind."""

    def check(arguments, code, words):
        before = listing()
        result = kakuran(*arguments)
        assert result.returncode == code, result.stderr
        assert words in " ".join(result.stderr.split())
        assert result.stdout == ""
        assert listing() == before

    return check


@pytest.fixture
def listing(folder):
    """The names of everything in the folder, hidden or not."""
    return lambda: sorted(path.name for path in Path(folder).iterdir())
