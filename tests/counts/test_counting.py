"""Counting batches: any engine carries it to its workers."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.counts import Counting, Tally, cells_of, every_code, tally

SCHEMA = kk.Schema(
    [
        kk.Categorical("job", ["clerk", "nurse"], missing="category"),
        kk.Numeric("age", 0, 9, step=1),
        kk.Categorical("region", ["east", "west"], role="keep"),
    ]
)
PLAN = kk.calibrate(SCHEMA, n=100, k=20, mechanisms={"age": "laplace"}, tell="all")
AXES = [cells_of(SCHEMA, "job", None), cells_of(SCHEMA, "age", 5)]


@pytest.fixture(scope="module")
def batch():
    table = pa.table({"job": ["clerk", "nurse", None] * 100, "age": [3] * 300, "region": ["east", "west"] * 150})
    return kk.perturb(table, PLAN).table.combine_chunks().to_batches()[0]


def test_several_tables_are_counted_at_once_and_only_their_columns_are_needed(batch):
    counting = Counting(PLAN.layout, [AXES, [every_code(PLAN.schema["age"], PLAN.reach("age"))]])
    assert [attribute.name for attribute in counting.attributes] == ["job", "age"]
    found = counting(batch.select(["age", "job"]))
    assert found[0].n == found[1].n == 300
    assert found[0].shape == (3, 5)


def test_batches_merge_in_any_order_and_after_a_journey(batch):
    counting = pickle.loads(pickle.dumps(Counting(PLAN.layout, [AXES])))
    pieces = [pickle.loads(pickle.dumps(counting(batch.slice(start, 100)))) for start in (200, 0, 100)]
    total = counting.zero()
    for piece in pieces:
        total = counting.merged(total, piece)
    assert (total[0].counts == counting(batch)[0].counts).all()


def test_every_code_that_may_be_released_has_a_cell_beyond_the_bounds_too(batch):
    (tally_of_ages,) = Counting(PLAN.layout, [[every_code(PLAN.schema["age"], PLAN.reach("age"))]])(batch)
    (places,), counts = tally_of_ages.occupied()
    ages, expected = np.unique(batch.column("age").to_numpy(), return_counts=True)
    assert ages.min() < 0
    assert (places - PLAN.reach("age") == ages).all()
    assert (counts == expected).all()


def test_a_sparse_table_settles_now_and_then_and_whenever_it_is_asked(monkeypatch):
    monkeypatch.setattr(tally, "DENSE_CELLS", 3)
    monkeypatch.setattr(tally, "_FEW", 10)
    dice = np.random.default_rng(1)
    sparse, codes = Tally.zero(AXES), {"job": np.empty(0, np.int32), "age": np.empty(0, np.int32)}
    for _ in range(30):
        some = {"job": dice.integers(0, 3, 7).astype(np.int32), "age": dice.integers(0, 10, 7).astype(np.int32)}
        sparse.update(some)
        codes = {name: np.concatenate([codes[name], some[name]]) for name in codes}
        assert sparse.n == len(codes["job"])
    monkeypatch.undo()
    places, counts = sparse.merge(type(sparse)(AXES)).occupied()
    expected, numbers = Tally.of(codes, AXES).occupied()
    assert all((one == other).all() for one, other in zip(places, expected, strict=True))
    assert (counts == numbers).all()
