"""A folder of Parquet files is published whole or not at all."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran.errors import ReleaseError
from kakuran.release.files import Manifest, check_folder, write_folder

SCHEMA = kk.Schema([kk.Categorical("job", ["clerk", "nurse"])])
PLAN = kk.calibrate(SCHEMA, n=100, k=2, tell="all")


def parts_with(*jobs):
    """Two files in the private folder, one record a job in each."""

    def make(private):
        parts = [private / f"some-{number}" for number in range(2)]
        for part in parts:
            pq.write_table(pa.table({"job": list(jobs)}), part)
        return parts, Manifest(PLAN, 2 * len(jobs), "shuffled", seeded=False)

    return make


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_files_and_the_manifest_appear_together_under_plain_names(tmp_path):
    write_folder(tmp_path / "out", parts_with("clerk", "nurse"))
    assert names_in(tmp_path) == ["out"]
    assert names_in(tmp_path / "out") == ["_release.json", "part-00000.parquet", "part-00001.parquet"]
    release = kk.read_release(tmp_path / "out")
    assert release.n == 4
    assert sorted(release.table.column("job").to_pylist()) == ["clerk", "clerk", "nurse", "nurse"]


def test_a_release_is_replaced_as_a_whole(tmp_path):
    write_folder(tmp_path / "out", parts_with("clerk", "nurse"))
    check_folder(tmp_path / "out", force=True)
    write_folder(tmp_path / "out", parts_with("nurse"))
    assert kk.read_release(tmp_path / "out").table.column("job").to_pylist() == ["nurse", "nurse"]
    assert names_in(tmp_path) == ["out"]


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt(), ReleaseError("no")])
def test_a_failure_leaves_nothing_new_and_the_old_release(tmp_path, failure):
    write_folder(tmp_path / "out", parts_with("clerk"))

    def fail(private):
        parts_with("nurse")(private)
        raise failure

    with pytest.raises(ReleaseError if isinstance(failure, Exception) else KeyboardInterrupt):
        write_folder(tmp_path / "out", fail)
    assert names_in(tmp_path) == ["out"]
    assert kk.read_release(tmp_path / "out").table.column("job").to_pylist() == ["clerk", "clerk"]


def test_a_task_that_comes_late_finds_no_folder_to_write_to(tmp_path, monkeypatch):
    """Otherwise a file could appear in the private folder while it is emptied, and stay."""
    privates, remove = [], shutil.rmtree

    def make(private):
        privates.append(private)
        return parts_with("clerk")(private)

    def remove_while_others_write(folder, **options):
        with pytest.raises(FileNotFoundError):
            (privates[0] / "late").touch()
        remove(folder, **options)

    monkeypatch.setattr(shutil, "rmtree", remove_while_others_write)
    write_folder(tmp_path / "out", make)
    assert privates
    assert names_in(tmp_path) == ["out"]


def test_the_old_release_comes_back_if_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    write_folder(tmp_path / "out", parts_with("clerk"))
    move = Path.replace

    def stuck(path, target):
        if path.name == "release":
            assert not (tmp_path / "out").exists()
            raise OSError("stuck")
        return move(path, target)

    monkeypatch.setattr(Path, "replace", stuck)
    with pytest.raises(ReleaseError, match="could not be written: stuck"):
        write_folder(tmp_path / "out", parts_with("nurse"))
    assert names_in(tmp_path) == ["out"]
    assert kk.read_release(tmp_path / "out").table.column("job").to_pylist() == ["clerk", "clerk"]


def test_a_target_that_cannot_be_meant_is_refused(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home/letters").touch()
    for path, force, told in (
        (tmp_path / "out.csv", False, "not CSV"),
        (tmp_path / "home", False, "exists already"),
        (tmp_path / "home", True, "is not a release in a folder"),
        (tmp_path / "nowhere/out", False, "there is no folder"),
    ):
        with pytest.raises(ReleaseError, match=told):
            check_folder(path, force=force)
