"""Releases that stay on disk: a large file, a folder of files."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran.counts import MemoryRecords
from kakuran.release import release as opening
from kakuran.release.files import FOLDER_MANIFEST
from kakuran.release.streamed import FileRecords

SCHEMA = kk.Schema(
    [kk.Categorical("job", ["clerk", "", "nurse"], missing="category"), kk.Numeric("age", 0, 99, step=1)]
)
PLAN = kk.calibrate(SCHEMA, n=3000, k=5, tell="all")


@pytest.fixture(scope="module")
def made():
    table = pa.table({"job": ["clerk", "", None] * 1000, "age": [row % 100 for row in range(3000)]})
    return kk.perturb(table, PLAN)


@pytest.fixture(params=["parquet", "csv", "folder"])
def path(request, made, tmp_path):
    if request.param != "folder":
        made.save(tmp_path / f"out.{request.param}")
        return tmp_path / f"out.{request.param}"
    return folder_of(made, tmp_path / "out")


def folder_of(release, path):
    path.mkdir()
    for number in range(3):
        pq.write_table(release.table.slice(1000 * number, 1000), path / f"part-{number}.parquet")
    (path / FOLDER_MANIFEST).write_text(release.manifest.to_json(), encoding="utf-8")
    (path / "_SUCCESS").touch()
    return path


@pytest.fixture
def large(monkeypatch):
    """Every release is too large for memory."""
    monkeypatch.setattr(opening, "ROWS_IN_MEMORY", 10)


def test_a_small_release_is_read_at_once_and_a_large_one_is_not(path, monkeypatch):
    assert isinstance(kk.read_release(path).source, MemoryRecords)
    monkeypatch.setattr(opening, "ROWS_IN_MEMORY", 10)
    assert isinstance(kk.read_release(path).source, FileRecords)


@pytest.mark.filterwarnings("ignore::kakuran.UnclearCellsWarning")
def test_a_large_release_answers_as_a_small_one(path, made, large):
    opened = kk.read_release(path)
    assert (opened.crosstab("job", "age").counts == made.crosstab("job", "age").counts).all()
    assert opened.count("age < 30").counts == made.count("age < 30").counts


def test_a_question_reads_no_other_column(path, large, monkeypatch):
    opened = kk.read_release(path)
    read = []
    parts = type(opened.source.source).parts

    def watched(self, wanted=None):
        read.append(list(wanted))
        return parts(self, wanted)

    monkeypatch.setattr(type(opened.source.source), "parts", watched)
    opened.count("age < 30")
    assert read == [["age"]]


def test_its_records_are_read_when_they_are_asked_for(path, made, large):
    opened = kk.read_release(path)
    assert opened.table.equals(kk.read_release(path).table)
    assert all((opened.codes()[name] == made.codes()[name]).all() for name in ("job", "age"))


def test_it_can_be_saved_elsewhere(path, made, large, tmp_path):
    kk.read_release(path).save(tmp_path / "again.parquet")
    assert (kk.read_release(tmp_path / "again.parquet").codes()["age"] == made.codes()["age"]).all()


def test_a_value_that_cannot_be_released_is_refused_when_it_is_counted(made, large, tmp_path):
    path = folder_of(made, tmp_path / "out")
    ages = np.full(1000, 300)
    pq.write_table(made.table.slice(0, 1000).set_column(1, "age", pa.array(ages)), path / "part-2.parquet")
    opened = kk.read_release(path)
    told = r"not a release that can be read: column 'age': .*part-2\.parquet, row group 0"
    with pytest.raises(kk.ReleaseError, match=told):
        opened.count("age < 30")


def test_a_part_that_is_missing_is_noticed(made, tmp_path):
    path = folder_of(made, tmp_path / "out")
    (path / "part-1.parquet").unlink()
    with pytest.raises(kk.ReleaseError, match="it has 2,000 records, but its manifest speaks of 3,000"):
        kk.read_release(path)


def test_rows_missing_from_a_large_csv_file_are_noticed_when_it_is_counted(made, large, tmp_path):
    made.save(tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text().splitlines(keepends=True)
    (tmp_path / "out.csv").write_text("".join(lines[:-1]))
    opened = kk.read_release(tmp_path / "out.csv")
    with pytest.raises(kk.ReleaseError, match="it has 2,999 records, but its manifest speaks of 3,000"):
        opened.count("age < 30")


def test_a_folder_without_a_manifest_is_no_release(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(kk.ReleaseError, match=r"has no manifest _release\.json in it"):
        kk.read_release(tmp_path / "out")
