"""A source of any size in, perturbed batches out, with constant memory."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.few_people import PLAN, TABLE, write

import kakuran as kk
from kakuran.perturbation import Kernel, perturb_batches
from kakuran.randomness import Randomness
from kakuran.schema import open_source


@pytest.fixture(params=["parquet", "csv"])
def source(request, tmp_path):
    return write(TABLE, tmp_path / f"in.{request.param}")


def drawn(source, scratch, seed=None, shuffle=True, plan=PLAN, **settings):
    randomness = Randomness.from_seed(seed)
    batches = perturb_batches(
        open_source(source), plan, randomness=randomness, shuffle=shuffle, scratch=scratch, **settings
    )
    return list(batches)


@pytest.mark.parametrize("shuffle", [True, False])
def test_batches_announce_the_kernels_schema(source, tmp_path, shuffle, small_memory):
    batches = drawn(source, tmp_path, shuffle=shuffle)
    assert all(batch.schema == Kernel(PLAN).schema for batch in batches)
    assert sum(batch.num_rows for batch in batches) == 1000


def test_no_batch_is_larger_than_memory_allows(source, tmp_path, small_memory):
    assert max(batch.num_rows for batch in drawn(source, tmp_path)) <= 64


@pytest.mark.parametrize("shuffle", [True, False])
def test_a_seed_decides_everything_whatever_the_workers_do(source, tmp_path, shuffle, small_memory, monkeypatch):
    tables = []
    for cores in (1, 2, 7):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        tables.append(pa.Table.from_batches(drawn(source, tmp_path, seed=4, shuffle=shuffle)))
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_every_batch_draws_its_own_noise(tmp_path, small_memory):
    schema = kk.Schema([kk.Numeric("age", 0, 9, step=1)])
    plan = kk.calibrate(schema, n=100, k=90, tell="all")
    pq.write_table(pa.table({"age": [5] * 200}), tmp_path / "in.parquet")
    batches = drawn(tmp_path / "in.parquet", tmp_path, seed=1, shuffle=False, plan=plan)
    ages = pa.Table.from_batches(batches)["age"].to_pylist()
    assert len({tuple(ages[start : start + 50]) for start in range(0, 200, 50)}) == 4


def test_scratch_is_empty_once_all_rows_are_out(source, tmp_path, small_memory):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    drawn(source, scratch)
    assert list(scratch.iterdir()) == []


def test_without_shuffling_scratch_is_not_used(source, tmp_path, small_memory):
    assert len(drawn(source, tmp_path / "nowhere", shuffle=False)) > 5


def test_nothing_is_handed_out_before_the_promise_was_checked(tmp_path, small_memory):
    pq.write_table(TABLE.slice(0, 150), tmp_path / "in.parquet")
    batches = perturb_batches(
        open_source(tmp_path / "in.parquet"), PLAN, randomness=Randomness.secure(), shuffle=True, scratch=tmp_path
    )
    with pytest.raises(kk.CalibrationError, match="only 75 in the smallest group"):
        next(batches)


def test_a_bad_row_stops_the_work(tmp_path, small_memory):
    ages = pa.array([3] * 999 + [10])
    pq.write_table(TABLE.set_column(2, "age", ages), tmp_path / "in.parquet")
    with pytest.raises(kk.DataError, match="column 'age': 1 row outside 0 … 9, for example 10"):
        drawn(tmp_path / "in.parquet", tmp_path)


def test_many_small_row_groups_are_one_table(tmp_path):
    pq.write_table(TABLE, tmp_path / "in.parquet", row_group_size=7)
    assert sum(batch.num_rows for batch in drawn(tmp_path / "in.parquet", tmp_path)) == 1000
