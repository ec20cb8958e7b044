"""One committed file a partition, or nothing is published."""

import pytest

from kakuran.engine.spark.folders import check_parts, parts_of
from kakuran.errors import ReleaseError


def written(folder, *names):
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    return folder


def test_what_spark_leaves_beside_its_files_is_not_part_of_the_release(tmp_path):
    names = ["part-00010-1f-c000.snappy.parquet", "part-00002-1f-c000.snappy.parquet"]
    folder = written(tmp_path / "drawn", *names, "_SUCCESS", ".part-00002-1f-c000.snappy.parquet.crc")
    check_parts(folder)
    assert [path.name for path in parts_of(folder)] == names[::-1]


def test_a_partition_that_two_attempts_committed_is_refused(tmp_path):
    folder = written(tmp_path / "drawn", "part-00000-1f-c000.parquet", "part-00001-1f-c000.parquet")
    check_parts(folder)
    (folder / "part-00001-2e-c000.parquet").touch()
    with pytest.raises(ReleaseError, match="partition 1 was written twice; nothing was published"):
        check_parts(folder)


def test_files_that_do_not_arrive_here_are_missed(tmp_path):
    with pytest.raises(ReleaseError, match="name a folder that they and this program see"):
        check_parts(written(tmp_path / "drawn", "_SUCCESS"))
