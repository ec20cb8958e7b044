import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kakuran.counts import Reading, cells as reading


@st.composite
def readings(draw):
    """A table, and a reading of some of its first axes."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
    ways = draw(st.integers(0, len(shape)))
    answer = tuple(draw(st.integers(1, 3)) for _ in range(ways))
    groups = tuple(
        np.array(draw(st.lists(st.integers(0, size - 1), min_size=cells, max_size=cells)), np.intp)
        for size, cells in zip(answer, shape, strict=False)
    )
    dice = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    counted = dice.random(shape) < 0.6 if draw(st.booleans()) else None
    return Reading(answer, groups, counted), dice.integers(0, 100, shape).astype(float)


def by_hand(asked, table):
    answer = np.zeros(asked.shape)
    for cell in itertools.product(*map(range, table.shape)):
        if asked.counted is None or asked.counted[cell]:
            place = tuple(int(group[at]) for group, at in zip(asked.groups, cell, strict=False))
            answer[place] += table[cell]
    return answer


@given(readings())
@settings(deadline=None)
def test_an_answer_is_the_sum_over_the_cells_that_belong_to_it(example):
    asked, table = example
    assert (asked.of(table) == by_hand(asked, table)).all()


@given(readings(), st.sampled_from([1, 5, 1 << 22]))
@settings(deadline=None)
def test_weights_read_the_same_answer_however_many_are_made_at_once(example, at_once):
    asked, table = example
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_AT_ONCE", at_once)
        parts = list(asked.weights(table.shape))
    weights = np.concatenate(parts)
    assert len(parts) == -(-len(weights) // max(1, at_once // table.size))
    answers = (weights * table).sum(axis=tuple(range(1, weights.ndim)))
    assert (answers.reshape(asked.shape) == asked.of(table)).all()
    assert (weights.sum(axis=0) <= 1).all()


def test_only_the_table_itself_is_plain():
    assert Reading.all_of((2, 3)).is_plain
    assert not Reading((2,), (np.array([1, 0]),)).is_plain
    assert not Reading((2,), (np.array([0, 1]),), np.array([True, False])).is_plain
