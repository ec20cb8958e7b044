"""Of all files that attempts wrote, one a partition is kept, or nothing is published."""

import pytest

from kakuran.engine.spark import tasks as attempts
from kakuran.engine.spark.tasks import Attempt, commit, writing
from kakuran.errors import ReleaseError


@pytest.fixture
def folder(tmp_path):
    """Two attempts at partition 2, one of which failed."""
    for name in ("10-4", "2-1", "2-3"):
        (tmp_path / name).touch()
    return tmp_path


def test_files_of_attempts_that_came_to_nothing_are_deleted(folder):
    assert [path.name for path in commit(folder, [Attempt(10, "10-4"), Attempt(2, "2-3")])] == ["2-3", "10-4"]
    assert sorted(path.name for path in folder.iterdir()) == ["10-4", "2-3"]


def test_a_partition_that_two_attempts_committed_is_refused(folder):
    with pytest.raises(ReleaseError, match="partition 2 was written twice; nothing was published"):
        commit(folder, [Attempt(2, "2-1"), Attempt(2, "2-3")])


def test_files_that_do_not_arrive_here_are_missed(folder):
    with pytest.raises(ReleaseError, match="name a folder that the executors and this program see"):
        commit(folder, [Attempt(2, "2-1"), Attempt(3, "3-2")])


class Task:
    """An attempt at partition 2."""

    def partitionId(self):  # noqa: N802
        return 2

    def taskAttemptId(self):  # noqa: N802
        return 3


def test_no_attempt_writes_to_the_file_of_another(folder, monkeypatch):
    monkeypatch.setattr(attempts, "running_task", Task)
    with pytest.raises(FileExistsError), writing(folder):
        pass
    (folder / "2-3").unlink()
    with writing(folder) as (file, attempt):
        file.write(b"drawn")
    assert (folder / attempt.name).read_bytes() == b"drawn"
    assert attempt == Attempt(2, "2-3")


def test_a_folder_that_an_executor_does_not_see_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(attempts, "running_task", Task)
    with pytest.raises(ReleaseError, match="not there on an executor; name a folder"), writing(tmp_path / "no/drawn"):
        pass
