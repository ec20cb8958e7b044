"""The kernel: one batch in, one perturbed batch out, and nothing of the original besides."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import chisquare

import kakuran as kk
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness

SCHEMA = kk.Schema(
    [
        kk.Dropped("name"),
        kk.Categorical("job", ["clerk", "nurse", "baker"], missing="category"),
        kk.Numeric("age", 0, 120, step=1),
        kk.Numeric("height", 1, 2.5, step=0.1),
        kk.Categorical("region", ["east", "west"], role="keep"),
    ]
)
PLAN = kk.calibrate(SCHEMA, n=50, k=20, tell="all")


def people(rows):
    return pa.RecordBatch.from_pydict(
        {
            "name": [f"person {row}" for row in range(rows)],
            "job": [["clerk", None, "baker"][row % 3] for row in range(rows)],
            "age": [row % 121 for row in range(rows)],
            "height": [1.0 + (row % 16) / 10 for row in range(rows)],
            "region": [["east", "west"][row % 2] for row in range(rows)],
        }
    )


def test_only_released_columns_come_out_in_the_order_of_the_schema():
    batch = people(10).select(["region", "height", "age", "job", "name"])
    assert Kernel(PLAN)(batch).schema.names == ["job", "age", "height", "region"]


def test_as_many_rows_come_out_as_went_in_and_kept_ones_are_unchanged():
    batch = people(1000)
    assert Kernel(PLAN)(batch).column("region").to_pylist() == batch.column("region").to_pylist()


def test_perturbed_columns_do_change():
    batch = people(1000)
    perturbed = Kernel(PLAN)(batch)
    for name in ("job", "age", "height"):
        assert perturbed.column(name).to_pylist() != batch.column(name).to_pylist()


def test_the_schema_is_announced_before_any_row_is_seen():
    kernel = Kernel(PLAN)
    assert kernel(people(5)).schema == kernel.schema
    assert kernel(people(5).slice(0, 0)).schema == kernel.schema


def test_no_metadata_of_the_batch_or_its_fields_survives():
    batch = people(5)
    fields = [field.with_metadata({"owner": "alice"}) for field in batch.schema]
    marked = batch.cast(pa.schema(fields, metadata={"pandas": "alice's index"}))
    schema = Kernel(PLAN)(marked).schema
    assert schema.metadata is None
    assert all(field.metadata is None for field in schema)


def test_no_dictionary_of_the_original_survives():
    column = pa.DictionaryArray.from_arrays([0] * 100, pa.array(["clerk", "a secret name"]))
    batch = people(100)
    batch = batch.set_column(batch.schema.get_field_index("job"), "job", column)
    assert Kernel(PLAN)(batch).column("job").dictionary.to_pylist() == ["clerk", "nurse", "baker"]


def test_only_grid_points_are_released():
    batch = people(1000)
    heights = batch.column("height").to_numpy()
    blurred = pa.array(heights + 0.0123456789 * np.sign(1.7 - heights))
    batch = batch.set_column(batch.schema.get_field_index("height"), "height", blurred)
    beyond = PLAN.reach("height")
    grid = {round(1 + step / 10, 1) for step in range(-beyond, 16 + beyond)}
    assert set(Kernel(PLAN)(batch).column("height").to_pylist()) <= grid


def test_kept_numbers_are_put_on_their_grid_too():
    schema = kk.Schema([kk.Categorical("job", ["x", "y"]), kk.Numeric("year", 2000, 2010, step=1, role="keep")])
    batch = pa.RecordBatch.from_pydict({"job": ["x"], "year": [2004.3]})
    assert Kernel(kk.calibrate(schema, n=50, k=20, tell="all"))(batch).column("year").to_pylist() == [2004]


def test_two_draws_of_one_batch_differ():
    batch = people(1000)
    kernel = Kernel(PLAN)
    assert not kernel(batch).equals(kernel(batch))


def test_a_seeded_stream_draws_the_same_again():
    batch = people(1000)
    kernel = Kernel(PLAN)
    first, second = (kernel(batch, Randomness.seeded(5)) for _ in range(2))
    assert first.equals(second)
    assert not first.equals(kernel(batch, Randomness.seeded(6)))


def test_a_kernel_can_be_sent_to_a_worker():
    kernel = pickle.loads(pickle.dumps(Kernel(PLAN)))
    batch = people(500)
    assert kernel(batch, Randomness.seeded(1)).equals(Kernel(PLAN)(batch, Randomness.seeded(1)))


def test_a_batch_that_does_not_fit_is_refused_by_column():
    batch = people(3)
    batch = batch.set_column(batch.schema.get_field_index("age"), "age", pa.array([1, 2, 121]))
    with pytest.raises(kk.DataError, match="column 'age': 1 row outside 0 … 120, for example 121"):
        Kernel(PLAN)(batch)


def test_released_values_follow_the_mechanism():
    schema = kk.Schema([kk.Categorical("job", ["a", "b", "c"])])
    plan = kk.calibrate(schema, n=1000, k=100, tell="all")
    batch = pa.RecordBatch.from_pydict({"job": ["b"] * 30_000})
    released = Kernel(plan)(batch).column("job").indices.to_numpy()
    expected = np.exp(plan["job"].log_likelihood(np.arange(3), np.full(3, 1))) * len(released)
    assert chisquare(np.bincount(released, minlength=3), expected).pvalue > 1e-7


class TestPacking:
    @settings(deadline=None)
    @given(st.integers(0, 50), st.integers(0, 2**32))
    def test_codes_survive_packing(self, rows, seed):
        kernel = Kernel(PLAN)
        rng = np.random.default_rng(seed)
        codes = {a.name: rng.integers(0, a.size, rows).astype(np.int32) for a in SCHEMA.released}
        again = kernel.unpack(kernel.pack(codes))
        assert list(again) == ["job", "age", "height", "region"]
        assert all((again[name] == codes[name]).all() and again[name].dtype == np.int32 for name in codes)

    @pytest.mark.parametrize("points", [2, 100, 127, 128, 129, 30_000, 32_767, 32_768, 100_000, 1 << 20])
    def test_the_lowest_and_highest_code_survive_packing(self, points):
        schema = kk.Schema([kk.Numeric("x", 0, points - 1, step=1)])
        kernel = Kernel(kk.calibrate(schema, n=50, k=20, tell="all"))
        codes = {"x": np.array([0, points - 1], np.int32)}
        assert kernel.unpack(kernel.pack(codes))["x"].tolist() == [0, points - 1]

    @pytest.mark.parametrize("points", [2, 64, 100, 1000, 32_000])
    def test_codes_as_far_beyond_the_bounds_as_noise_reaches_survive_packing(self, points):
        schema = kk.Schema([kk.Numeric("x", 0, points - 1, step=1)])
        plan = kk.calibrate(schema, n=1000, k=20, mechanisms={"x": "laplace"}, tell="all")
        reach = plan.reach("x")
        assert reach > 0
        codes = {"x": np.array([-reach, points - 1 + reach], np.int32)}
        assert Kernel(plan).unpack(Kernel(plan).pack(codes))["x"].tolist() == [-reach, points - 1 + reach]

    def test_packed_rows_are_as_narrow_as_the_domains_allow(self):
        assert Kernel(PLAN).row_type.itemsize == 5
        bounded = kk.calibrate(SCHEMA, n=50, k=20, mechanisms={"age": "bounded-laplace"}, tell="all")
        assert Kernel(bounded).row_type.itemsize == 4
        wide = kk.calibrate(
            kk.Schema([kk.Numeric("x", 0, 1000, step=1), kk.Numeric("y", 0, 9, step=1)]), n=50, k=20, tell="all"
        )
        assert Kernel(wide).row_type.itemsize == 3
