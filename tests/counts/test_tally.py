import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import kakuran as kk
from kakuran.counts import Cells, Tally, cells_of
from kakuran.counts.tally import DENSE_CELLS, DenseTally, SparseTally

SCHEMA = kk.Schema(
    [
        kk.Categorical("job", ["clerk", "nurse", "cook"]),
        kk.Numeric("age", 0, 9, step=1, missing="category"),
        kk.Categorical("region", ["east", "west"], role="keep"),
    ]
)
AXES = (cells_of(SCHEMA, "job", None), cells_of(SCHEMA, "age", 3), cells_of(SCHEMA, "region", None))
RECORDS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 10), st.integers(0, 1)), max_size=40)
KINDS = pytest.mark.parametrize("kind", [DenseTally, SparseTally])


def columns(records):
    table = np.array(records, np.int32).reshape(-1, 3)
    return {axis.name: table[:, place] for place, axis in enumerate(AXES)}


def counted(kind, *batches):
    tally = kind(AXES)
    for batch in batches:
        tally.update(columns(batch))
    return tally


def content(tally):
    """What a tally of either kind says, cell by cell."""
    places, counts = tally.occupied()
    return dict(zip(zip(*(place.tolist() for place in places), strict=True), counts.tolist(), strict=True))


@KINDS
@given(one=RECORDS, two=RECORDS, three=RECORDS)
@settings(deadline=None, max_examples=50)
def test_merging_is_associative_and_commutative_and_zero_changes_nothing(kind, one, two, three):
    a, b, c = (counted(kind, records) for records in (one, two, three))
    assert content(a.merge(b).merge(c)) == content(a.merge(b.merge(c)))
    assert content(a.merge(b)) == content(b.merge(a))
    assert content(a.merge(kind(AXES))) == content(kind(AXES).merge(a)) == content(a)
    assert a.merge(b).n == len(one) + len(two)


@KINDS
@given(records=RECORDS, cuts=st.lists(st.integers(0, 40), max_size=4))
@settings(deadline=None, max_examples=50)
def test_batches_in_any_split_give_the_same_counts(kind, records, cuts):
    edges = [0, *sorted(cuts), len(records)]
    batches = [records[start:stop] for start, stop in itertools.pairwise(edges)]
    whole = counted(kind, records)
    assert content(counted(kind, *batches)) == content(whole)
    merged = kind(AXES)
    for batch in batches:
        merged = merged.merge(counted(kind, batch))
    assert content(merged) == content(whole)


@given(records=RECORDS)
@settings(deadline=None, max_examples=50)
def test_dense_and_sparse_tallies_count_what_a_loop_counts(records):
    expected = np.zeros((3, 4, 2))
    for job, age, region in records:
        expected[job, AXES[1].of_code[age], region] += 1
    dense, sparse = counted(DenseTally, records), counted(SparseTally, records)
    assert (dense.counts == expected).all()
    assert content(dense) == content(sparse)
    assert dense.n == sparse.n == len(records)


def test_a_merge_leaves_both_tallies_as_they_were():
    one, other = counted(DenseTally, [(0, 0, 0)]), counted(DenseTally, [(1, 1, 1)])
    one.merge(other).update(columns([(2, 2, 0)]))
    assert (one.n, other.n) == (1, 1)


@pytest.mark.parametrize("others", [AXES[:2], (AXES[0], cells_of(SCHEMA, "age", 4), AXES[2]), AXES[::-1]])
def test_tallies_of_different_tables_do_not_merge(others):
    with pytest.raises(
        kk.SchemaError, match=r"different tables cannot be merged: job \(3\) × age \(4\) × region \(2\)"
    ):
        Tally.zero(AXES).merge(Tally.zero(others))


def wide(size):
    return Cells(f"column of {size}", np.arange(size + 1), tuple(map(str, range(size))))


def test_a_table_of_more_cells_than_can_be_held_keeps_only_those_somebody_is_in():
    axes = [wide(2048), wide(2049)]
    tally = Tally.of({"column of 2048": np.array([2047, 0, 2047]), "column of 2049": np.array([2048, 5, 2048])}, axes)
    assert isinstance(Tally.zero([wide(2048)] * 2), DenseTally)
    assert DENSE_CELLS == 2048 * 2048
    assert content(tally) == {(0, 5): 1.0, (2047, 2048): 2.0}
    with pytest.raises(
        kk.SchemaError, match="has 4,196,352 cells, more than 4,194,304; use fewer columns or wider bins"
    ):
        _ = tally.counts


def test_a_table_of_more_cells_than_numbers_is_refused():
    with pytest.raises(kk.SchemaError, match=r"5\.07e\+30 cells cannot be counted; use fewer columns"):
        Tally.zero([wide(1 << 17)] * 6)
