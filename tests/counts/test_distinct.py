"""Distinct rows: what numpy finds by sorting whole rows, found column by column."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as arrays

from kakuran.counts import distinct_rows

tables = arrays.arrays(
    np.int64,
    st.tuples(st.integers(1, 40), st.integers(1, 5)),
    elements=st.one_of(st.integers(0, 2), st.integers(-(2**60), 2**60)),
)


@settings(deadline=None)
@given(table=tables)
def test_they_are_those_that_sorting_whole_rows_finds(table):
    rows, first, place, counts = np.unique(table, axis=0, return_index=True, return_inverse=True, return_counts=True)
    found = distinct_rows(list(table.T))
    assert np.array_equal(np.column_stack(found.columns), rows)
    assert np.array_equal(found.first, first)
    assert np.array_equal(found.place, place.ravel())
    assert np.array_equal(found.counts, counts)
    assert len(found) == len(rows)


def test_weights_are_added_up():
    found = distinct_rows([np.array([3, 1, 3])], np.array([0.5, 2.0, 0.25]))
    assert found.counts.tolist() == [2.0, 0.75]


@pytest.mark.parametrize("columns", [1, 3])
def test_of_no_rows_none_differ(columns):
    found = distinct_rows([np.empty(0, np.int64)] * columns)
    assert (len(found), len(found.place), len(found.columns)) == (0, 0, columns)
