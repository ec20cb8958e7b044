"""How Spark hands rows over: cheaply where nobody minds, as the session says where somebody does."""

from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

import kakuran as kk
from kakuran.engine.spark import Originals
from kakuran.engine.spark.partials import BYTES_A_BATCH, ROWS_A_BATCH, folded, joined, running_task, unmeasured
from kakuran.errors import ReleaseError
from kakuran.samples import census, census_schema

UNMEASURED = str(2**31 - 1)


@pytest.fixture
def session(spark):
    yield spark
    for setting in (BYTES_A_BATCH, ROWS_A_BATCH):
        spark.conf.unset(setting)


def limit_seen_by_a_task(session):
    """And how many rows were handed to it at a time."""

    def of_partition(batches):
        rows = [len(batch) for batch in batches]
        return [(running_task().getLocalProperty(BYTES_A_BATCH), max(rows))]

    return folded(session.range(0, 30_000, 1, 1), of_partition, list.__add__, [], is_large=False)


def test_a_batch_is_not_measured_row_by_row_and_the_setting_is_as_before_afterwards(session):
    assert limit_seen_by_a_task(session) == [(UNMEASURED, 10_000)]
    assert session.conf.get(BYTES_A_BATCH, None) is None


def test_the_setting_is_as_before_after_a_failure_too(session):
    with pytest.raises(ReleaseError, match=UNMEASURED), unmeasured(session):
        raise ReleaseError(session.conf.get(BYTES_A_BATCH))
    assert session.conf.get(BYTES_A_BATCH, None) is None


def test_a_limit_that_somebody_chose_stays(session):
    session.conf.set(BYTES_A_BATCH, "20k")
    ((limit, rows),) = limit_seen_by_a_task(session)
    assert limit == session.conf.get(BYTES_A_BATCH) == "20k"
    assert rows < 10_000


def test_where_rows_have_no_limit_bytes_keep_theirs(session):
    session.conf.set(ROWS_A_BATCH, "0")
    assert limit_seen_by_a_task(session) == [(None, 30_000)]


def test_a_cluster_that_locks_its_settings_is_left_as_it_is():
    def locked(*_):
        raise AnalysisException("[CONFIG_NOT_AVAILABLE] not available")

    with unmeasured(SimpleNamespace(conf=SimpleNamespace(get=locked))):
        pass
    with unmeasured(SimpleNamespace(conf=SimpleNamespace(get={ROWS_A_BATCH: "10000"}.get, set=locked))):
        pass


def test_however_rows_are_handed_over_the_crowd_is_the_same(session):
    schema, people = census_schema(), census(3_000)
    originals = Originals(session.createDataFrame(people).repartition(2), schema)
    expected = kk.calibrate(schema, data=people, calibration="data-dependent", k=5, tell="all")
    assert (
        kk.calibrate(
            schema, data=originals.count_columns(schema.released), calibration="data-dependent", k=5, tell="all"
        )
        == expected
    )
    session.conf.set(BYTES_A_BATCH, "1k")
    assert (
        kk.calibrate(
            schema, data=originals.count_columns(schema.released), calibration="data-dependent", k=5, tell="all"
        )
        == expected
    )


def test_small_batches_are_joined_in_their_order():
    batches = [pa.record_batch({"n": list(range(start, start + 10_000))}) for start in range(0, 150_000, 10_000)]
    found = list(joined(iter(batches)))
    assert list(map(len, found)) == [70_000, 70_000, 10_000]
    assert pa.Table.from_batches(found).column("n").to_pylist() == list(range(150_000))
