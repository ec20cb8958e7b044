from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kakuran.mechanism.base import TOTAL, AliasTable, integer_weights


@st.composite
def exact_weights(draw):
    """Whole weights that add up to 2⁶³, zeros and heavy skew included."""
    cuts = draw(
        st.lists(st.one_of(st.integers(0, TOTAL), st.integers(0, 100), st.sampled_from([0, TOTAL])), max_size=40)
    )
    edges = [0, *sorted(cuts), TOTAL]
    return np.array([upper - lower for lower, upper in pairwise(edges)], np.uint64)


@st.composite
def weights_in_whole_columns(draw):
    """Weights that are multiples of an eighth of a column, so that columns fill up exactly."""
    size = draw(st.integers(2, 17))
    parts = 8 << (size - 1).bit_length()
    cuts = sorted(draw(st.lists(st.integers(0, parts), min_size=size - 1, max_size=size - 1)))
    edges = [0, *cuts, parts]
    return np.array([(upper - lower) * (TOTAL // parts) for lower, upper in pairwise(edges)], np.uint64)


def share_of_words(table):
    """How many of the 2⁶⁴ words lead to each outcome, from the cuts and jumps alone."""
    width = (1 << 64) >> table.bits
    shares = [0] * len(table.cut)
    for column, (cut, jump) in enumerate(zip(table.cut.tolist(), table.jump.tolist(), strict=True)):
        staying = min(max(cut - column * width, 0), width)
        shares[column] += staying
        shares[column + jump] += width - staying
    return shares


def assert_exact(table, weights):
    shares = share_of_words(table)
    assert shares[: len(weights)] == [2 * weight for weight in weights.tolist()]
    assert not any(shares[len(weights) :])


@settings(deadline=None, max_examples=300)
@given(exact_weights())
def test_every_outcome_has_exactly_the_words_its_weight_says(weights):
    assert_exact(AliasTable.build(weights), weights)


@pytest.mark.parametrize(
    "weights",
    [
        [TOTAL],
        [TOTAL // 2] * 2,
        [TOTAL // 4] * 4,
        [TOTAL // 2, TOTAL // 4, TOTAL // 4],
        [TOTAL // 4, TOTAL // 4, TOTAL // 2],
        [TOTAL // 4, TOTAL // 2, TOTAL // 8, TOTAL // 8],
        [TOTAL // 8, TOTAL // 8, TOTAL // 2, TOTAL // 4],
        [TOTAL // 4, TOTAL // 4 + 100, TOTAL // 4 - 100, TOTAL // 4],
        [0, 0, TOTAL],
        [0, TOTAL, 0],
        [TOTAL - 1, 1],
        [1, TOTAL - 2, 1],
    ],
)
def test_so_it_is_where_columns_just_fill_or_hardly_anything_is_in_them(weights):
    weights = np.array(weights, np.uint64)
    assert_exact(AliasTable.build(weights), weights)


@settings(deadline=None, max_examples=300)
@given(weights_in_whole_columns())
def test_weights_that_fill_columns_exactly_are_kept_too(weights):
    assert_exact(AliasTable.build(weights), weights)


@settings(deadline=None, max_examples=100)
@given(exact_weights(), st.data())
def test_drawing_reads_the_table_as_it_was_counted(weights, data):
    table = AliasTable.build(weights)
    width = (1 << 64) >> table.bits
    words = data.draw(st.lists(st.integers(0, (1 << 64) - 1), max_size=20))
    words += [word for cut in table.cut.tolist() for word in (cut - 1, cut) if 0 <= word < 1 << 64]
    expected = []
    for word in words:
        column = word // width
        expected.append(column + (int(table.jump[column]) if word >= int(table.cut[column]) else 0))
    drawn = table.draw(np.array(words, np.uint64)).tolist()
    assert drawn == expected
    assert all(weights[outcome] > 0 for outcome in drawn)


def test_rows_pick_one_of_several_tables():
    tables = [AliasTable.build(np.array(weights, np.uint64)) for weights in ([TOTAL, 0], [0, TOTAL])]
    joined = AliasTable(
        tables[0].bits, np.concatenate([t.cut for t in tables]), np.concatenate([t.jump for t in tables])
    )
    words = np.arange(0, 1 << 64, 1 << 60, dtype=np.uint64)
    rows = np.arange(len(words)) % 2
    assert joined.draw(words, rows).tolist() == rows.tolist()


shapes = st.lists(
    st.one_of(st.just(0.0), st.floats(0, 1), st.floats(0, 1e-300), st.floats(0, 1e9)), min_size=1, max_size=60
).filter(lambda shape: sum(shape) > 1e-290)


@settings(deadline=None, max_examples=300)
@given(shapes, st.sampled_from([0, 1, 1000, 1 << 30]))
def test_integer_weights_add_up_and_stay_in_proportion(shape, floor):
    shape = np.array(shape)
    weights = integer_weights(shape, floor)
    assert sum(weights.tolist()) == TOTAL
    assert not weights[shape == 0].any()
    assert (weights[shape > 0] >= floor).all()
    spread = 1 - floor * (shape > 0).sum() / TOTAL
    ideal = shape / shape.sum() * spread + floor / TOTAL * (shape > 0)
    assert np.abs(weights / TOTAL - ideal).max() < 2.0**-48


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 300_000), st.floats(1e-7, 10), st.integers(0, 1 << 32))
def test_long_shapes_add_up_too(length, rate, seed):
    shape = np.exp(-rate * np.random.default_rng(seed).uniform(0, 30, length))
    assert sum(integer_weights(shape, 5).tolist()) == TOTAL
