import os
import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from kakuran.samples import census, census_schema


@pytest.fixture
def folder(tmp_path):
    """A folder with a small census as CSV and Parquet, and its schema."""
    people = census(800)
    pyarrow.csv.write_csv(people, tmp_path / "people.csv")
    pq.write_table(people, tmp_path / "people.parquet")
    census_schema().save(tmp_path / "schema.toml")
    return tmp_path


@pytest.fixture
def kakuran(folder):
    """Run the real command in the folder."""

    def run(*arguments: object, columns: int = 200) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from kakuran.cli import main; main()", *map(str, arguments)]
        environment = os.environ | {"COLUMNS": str(columns), "NO_COLOR": "1", "TERM": "dumb"}
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env=environment, timeout=120, check=False
        )

    return run


@pytest.fixture
def listing(folder):
    """The names of everything in the folder, hidden or not."""
    return lambda: sorted(path.name for path in Path(folder).iterdir())
