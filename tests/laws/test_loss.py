"""Laws of the information-loss index."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

import kakuran as kk
from kakuran.audit import ilssdm, information_capacity

NUMBERS = arrays(np.float64, st.tuples(st.integers(2, 12), st.integers(1, 3)), elements=st.integers(-50, 50).map(float))
LEAVES = list(range(6))
TREE = kk.Tree({"top": ["l", "r"], "l": [0, 1, "m"], "m": [2, 3], "r": [4, 5]})


def pair_by_pair(records, distance, p):
    return sum(distance(x, y) ** p for x in records for y in records)


@settings(deadline=None)
@given(NUMBERS, st.integers(0, 2**32 - 1))
def test_group_means_lose_the_same_by_ild_and_by_ilssdm(numbers, seed):
    groups = np.random.default_rng(seed).integers(0, 3, len(numbers))
    means = pd.DataFrame(numbers).groupby(groups).transform("mean").to_numpy()
    assert kk.information_loss(numbers, means) == pytest.approx(ilssdm(numbers, means), abs=1e-12)


@settings(deadline=None)
@given(NUMBERS, st.sampled_from([1, 2, 3, 2.5]))
def test_capacity_of_numbers_is_the_sum_over_all_pairs(numbers, p):
    expected = sum(pair_by_pair(column, lambda x, y: abs(x - y), p) for column in numbers.T)
    assert information_capacity(numbers, p=p) == pytest.approx(expected, abs=1e-6)


@settings(deadline=None)
@given(st.lists(st.sampled_from(LEAVES), min_size=1, max_size=15), st.sampled_from([1, 2]))
def test_capacity_in_a_tree_is_the_sum_over_all_paths(leaves, p):
    def edges(a, b):
        return len(set(TREE.path(a)) ^ set(TREE.path(b)))

    assert information_capacity(leaves, TREE, p) == pair_by_pair(leaves, edges, p)


@settings(deadline=None)
@given(st.lists(st.sampled_from(LEAVES), min_size=1, max_size=30))
def test_capacity_in_a_tree_at_p_1_follows_from_the_counts_below_every_edge(leaves):
    below = [sum(node in TREE.path(leaf) for leaf in leaves) for node in TREE.parents]
    assert information_capacity(leaves, TREE, 1) == 2 * sum(count * (len(leaves) - count) for count in below)


@settings(deadline=None)
@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=20), st.permutations(range(3)))
def test_renaming_values_loses_nothing_discrete(values, order):
    renamed = ["xyz"[order["abc".index(value)]] for value in values]
    assert kk.information_loss(values, renamed, "discrete") == 0
