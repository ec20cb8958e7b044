"""The local engine: files in, counts and codes out, with constant memory."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.few_people import PLAN, SCHEMA, TABLE, write

import kakuran as kk
from kakuran.counts import cells_of
from kakuran.design import Crowd, count_columns
from kakuran.engine import local
from kakuran.engine.local import count_tables
from kakuran.mechanism import Apart
from kakuran.schema import in_order, open_source
from kakuran.schema.schema import read_parts


@pytest.fixture(params=["parquet", "csv"])
def source(request, tmp_path):
    return write(TABLE, tmp_path / f"in.{request.param}")


def read_batches(source, schema):
    for part in read_parts(open_source(source), schema):
        yield part.records


def count_cells(release, plan, axes, progress=int):
    return count_tables(open_source(release), plan.layout, [axes], progress)[0]


def open_files():
    """What this process has open at the moment (Linux)."""
    return {descriptor.resolve() for descriptor in Path("/proc/self/fd").iterdir()}


class TestReading:
    def test_only_released_columns_are_read(self, source):
        batches = list(read_batches(source, SCHEMA))
        assert all(batch.schema.names == ["job", "age", "region"] for batch in batches)

    def test_all_rows_arrive_in_order_and_in_pieces(self, source, small_memory):
        batches = list(read_batches(source, SCHEMA))
        codes = [SCHEMA.encode(batch) for batch in batches]
        expected = SCHEMA.encode(TABLE)
        assert len(batches) > 5
        for name, column in expected.items():
            assert (np.concatenate([code[name] for code in codes]) == column).all()

    def test_columns_in_another_order_are_found_by_name(self, tmp_path):
        turned = TABLE.select(["region", "age", "job", "name"])
        pa.csv.write_csv(turned, tmp_path / "in.csv")
        pq.write_table(turned, tmp_path / "in.parquet")
        for path in (tmp_path / "in.csv", tmp_path / "in.parquet"):
            (batch,) = read_batches(path, SCHEMA)
            assert (SCHEMA.encode(batch)["age"] == SCHEMA.encode(TABLE)["age"]).all()

    def test_a_csv_column_that_looks_like_numbers_is_read_as_the_text_it_is_declared(self, tmp_path):
        (tmp_path / "in.csv").write_text("zip\n01\n1\n001\n")
        (batch,) = read_batches(tmp_path / "in.csv", kk.Schema([kk.Categorical("zip", ["1", "01", "001"])]))
        assert batch.column("zip").to_pylist() == ["01", "1", "001"]

    def test_a_number_that_is_none_is_named_by_column_and_value(self, tmp_path):
        (tmp_path / "in.csv").write_text("name,job,age,region\nA,nurse,young,east\n")
        with pytest.raises(kk.DataError, match=r"column 'age': at least one row is not a valid double, .* 'young'"):
            list(read_batches(tmp_path / "in.csv", SCHEMA))

    def test_a_number_with_two_lines_is_named_by_column(self, tmp_path):
        (tmp_path / "in.csv").write_text('name,job,age,region\nA,nurse,"very\nyoung",east\n')
        with pytest.raises(kk.DataError, match="column 'age': at least one row is not a valid double"):
            list(read_batches(tmp_path / "in.csv", SCHEMA))

    def test_a_whole_category_that_is_none_is_named_by_column_and_value(self, tmp_path):
        (tmp_path / "in.csv").write_text("name,floor\nA,1\nB,top\n")
        schema = kk.Schema([kk.Dropped("name"), kk.Categorical("floor", [1, 2])])
        with pytest.raises(kk.DataError, match=r"column 'floor': .* for example 'top'"):
            list(read_batches(tmp_path / "in.csv", schema))

    @pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
    def test_a_file_is_closed_when_reading_stops_early(self, source, small_memory):
        batches = read_batches(source, SCHEMA)
        next(batches)
        assert source in open_files()
        batches.close()
        # Arrow's own thread may be in the middle of a block it reads ahead, and closes the file after it.
        deadline = time.monotonic() + 30
        while source in open_files() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert source not in open_files()


class TestCrowds:
    def test_the_count_columns_a_file_is_the_count_columns_its_table(self, source, small_memory):
        mechanisms = PLAN.mechanisms
        counted = count_columns(SCHEMA, open_source(source))
        expected = count_columns(SCHEMA, TABLE)
        assert counted.n == expected.n == 1000
        assert counted.fewest == expected.fewest
        assert Crowd(counted).smallest([Apart(mechanisms)]) == pytest.approx(
            Crowd(expected).smallest([Apart(mechanisms)])
        )

    def test_progress_hears_of_every_row(self, source, small_memory):
        heard = []
        count_columns(SCHEMA, open_source(source), SCHEMA.released, heard.append)
        assert sum(heard) == 1000


class TestCells:
    SCHEMA = kk.Schema(
        [
            kk.Categorical("job", ["clerk", "nurse"], missing="category"),
            kk.Numeric("age", 0, 9, step=1),
            kk.Numeric("visits", 0, 4, step=1, missing="category"),
            kk.Categorical("floor", [1, 2], role="keep"),
        ]
    )
    PLAN = kk.calibrate(SCHEMA, n=500, k=20, mechanisms={"age": "laplace", "visits": "retention"}, tell="all")
    TABLE = pa.table(
        {
            "job": ["clerk", "nurse", None, "nurse"] * 250,
            "age": list(range(10)) * 100,
            "visits": [0, 1, 2, 3, None] * 200,
            "floor": [1, 2] * 500,
        }
    )
    AXES = (
        cells_of(SCHEMA, "visits", 2),
        cells_of(SCHEMA, "age", 4),
        cells_of(SCHEMA, "job", None),
        cells_of(SCHEMA, "floor", None),
    )

    @pytest.fixture(params=["parquet", "csv"])
    def release(self, request, tmp_path):
        path = tmp_path / f"out.{request.param}"
        kk.perturb(self.TABLE, self.PLAN).save(path)
        return path

    def test_a_file_is_counted_as_its_release_is(self, release, small_memory):
        done = []
        found = count_cells(release, self.PLAN, self.AXES, done.append)
        assert (found.counts == kk.read_release(release).tally(self.AXES).counts).all()
        assert found.n == sum(done) == 1000
        assert len(done) > 5

    def test_any_number_of_cores_counts_the_same(self, release, small_memory, monkeypatch):
        expected = count_cells(release, self.PLAN, self.AXES).counts
        for cores in (1, 3, 16):
            monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
            assert (count_cells(release, self.PLAN, self.AXES).counts == expected).all()

    def test_noise_beyond_the_bounds_is_counted_in_the_outermost_cells(self, release):
        ages = kk.read_release(release).table.column("age").to_numpy()
        assert ages.min() < 0
        assert ages.max() > 9
        found = count_cells(release, self.PLAN, [cells_of(self.SCHEMA, "age", 2)])
        assert found.counts.tolist() == [(ages < 5).sum(), (ages >= 5).sum()]

    def test_only_the_columns_that_are_counted_are_read(self, release, monkeypatch):
        read = []

        def watched(*arguments, **options):
            for part in read_parts(*arguments, **options):
                read.append(part.records.schema.names)
                yield part

        monkeypatch.setattr(local, "read_parts", watched)
        count_cells(release, self.PLAN, [self.AXES[2]])
        assert read == [["job"]]

    def test_no_records_count_as_zero(self, tmp_path):
        pq.write_table(self.TABLE.slice(0, 0), tmp_path / "none.parquet")
        found = count_cells(tmp_path / "none.parquet", self.PLAN, self.AXES)
        assert found.counts.shape == (3, 4, 3, 2)
        assert found.n == 0


class TestInOrder:
    def test_results_come_in_the_order_of_the_items(self):
        def work(number):
            time.sleep(0.002 * (number % 3))
            return number * number

        assert list(in_order(work, range(40))) == [number * number for number in range(40)]

    def test_only_a_few_items_are_taken_ahead(self):
        taken = []

        def items():
            for number in itertools.count():
                taken.append(number)
                yield number

        results = in_order(lambda number: number, items())
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        results.close()
        assert len(taken) <= 3 + os.cpu_count() + 1

    def test_work_is_shared_between_threads(self, monkeypatch):
        monkeypatch.setattr("os.cpu_count", lambda: 2)
        together = threading.Barrier(2, timeout=20)
        assert list(in_order(lambda number: together.wait() >= 0, range(4))) == [True] * 4

    def test_an_error_of_the_work_reaches_the_caller_in_its_place(self):
        def work(number):
            if number == 5:
                raise kk.DataError("age", "wrong", "Correct it.")
            return number

        results = in_order(work, range(100))
        assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
        with pytest.raises(kk.DataError, match="column 'age'"):
            next(results)

    def test_an_error_of_the_items_reaches_the_caller(self):
        def items():
            yield 1
            raise kk.SchemaError("broken file")

        with pytest.raises(kk.SchemaError, match="broken file"):
            list(in_order(lambda number: number, items()))

    def test_no_thread_is_left_when_the_caller_stops_early(self):
        before = threading.active_count()
        results = in_order(lambda number: number, itertools.count())
        next(results)
        results.close()
        assert threading.active_count() == before

    def test_nothing_in_gives_nothing_out(self):
        assert list(in_order(lambda number: number, [])) == []
