"""Of all files that attempts wrote, one a partition is kept, or nothing is published."""

import pytest

from kakuran.engine.spark.attempts import Attempt, commit
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
