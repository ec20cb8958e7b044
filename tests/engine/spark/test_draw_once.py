"""Whatever fails, is retried or runs twice: one draw of every record is published, or nothing is."""

import math

import pytest
from faulty import RECORDS, Fault, assert_one_attempt_a_partition_was_published, release

from kakuran.engine.spark import originals
from kakuran.engine.spark.tasks import commit


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    """Two files a release, each written in two batches."""
    monkeypatch.setattr(originals, "ROWS_A_FILE", RECORDS // 2)


@pytest.fixture
def commits(monkeypatch):
    """How many files lie in a folder before and after it is settled which attempts count."""
    seen = []

    def noted(folder, attempts):
        before = len(list(folder.iterdir()))
        kept = commit(folder, attempts)
        seen.append((before, len(list(folder.iterdir()))))
        return kept

    monkeypatch.setattr(originals, "commit", noted)
    return seen


def test_two_runs_with_failing_tasks_each_publish_one_draw_of_every_record(spark, tmp_path, commits, monkeypatch):
    drawing, writing = Fault(partitions=(1, 3)), Fault(partitions=(0, 1))
    runs = []
    for name, few in (("crowds merged by tasks", 0), ("crowds merged by the driver", math.inf)):
        monkeypatch.setattr(originals, "FEW_CELLS", few)
        runs.append(release(spark, tmp_path / name, drawing=drawing, writing=writing))
    for values, attempts in runs:
        assert list(map(len, attempts)) == [1, 2, 1, 2]
        assert_one_attempt_a_partition_was_published(values, attempts)
    assert (runs[0][0] == runs[1][0]).mean() < 0.001
    assert commits == [(6, 4), (4, 2)] * 2
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
