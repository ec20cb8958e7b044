import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kakuran.answers.tree.splits import CRITERIA, best_split

tables = st.integers(2, 4).flatmap(
    lambda classes: st.lists(
        st.lists(st.integers(0, 60), min_size=5, max_size=5), min_size=classes, max_size=classes
    ).map(lambda rows: np.array(rows, float))
)


def gain_by_definition(table, left, criterion):
    """S4 Table 2, with |S_i| in χ²."""
    whole, parts = table.sum(axis=1), (table[:, left].sum(axis=1), table[:, ~left].sum(axis=1))

    def share(counts):
        return counts / counts.sum()

    def entropy(counts):
        shares = share(counts)[counts > 0]
        return -(shares * np.log(shares)).sum()

    def impurity(counts):
        return entropy(counts) if criterion == "entropy" else 1 - (share(counts) ** 2).sum()

    if criterion == "chi2":
        seen = whole > 0
        return sum(
            part.sum() / whole.sum() * ((share(part) - share(whole))[seen] ** 2 / share(whole)[seen]).sum()
            for part in parts
        )
    return impurity(whole) - sum(part.sum() / whole.sum() * impurity(part) for part in parts)


def subsets(cells):
    for size in range(1, cells):
        for chosen in itertools.combinations(range(cells), size):
            yield np.isin(np.arange(cells), chosen)


@settings(deadline=None, max_examples=80)
@given(tables, st.sampled_from(sorted(CRITERIA)))
def test_a_threshold_is_the_best_of_all_and_its_gain_as_defined(table, criterion):
    found = best_split(table, 1, np.ones(5, bool), criterion, is_ordered=True, support=0)
    thresholds = [np.arange(5) < cut for cut in range(1, 5)]
    both = [left for left in thresholds if table[:, left].sum() > 0 and table[:, ~left].sum() > 0]
    best = max((gain_by_definition(table, left, criterion) for left in both), default=0.0)
    if found is None:
        assert best <= 1e-8
    else:
        assert found.gain == pytest.approx(best)
        assert found.gain == pytest.approx(gain_by_definition(table, found.left, criterion))


@settings(deadline=None, max_examples=80)
@given(tables.filter(lambda table: len(table) == 2), st.sampled_from(["entropy", "gini"]))
def test_with_two_classes_the_best_subset_of_categories_is_found(table, criterion):
    found = best_split(table, 1, np.ones(5, bool), criterion, is_ordered=False, support=0)
    both = [left for left in subsets(5) if table[:, left].sum() > 0 and table[:, ~left].sum() > 0]
    best = max((gain_by_definition(table, left, criterion) for left in both), default=0.0)
    assert (found.gain if found else 0.0) == pytest.approx(best, abs=1e-8)


def test_support_and_the_path_limit_what_is_tried():
    table = np.array([[50.0, 1.0, 0.0, 40.0], [0.0, 9.0, 30.0, 2.0]])
    allowed = np.array([True, True, True, False])
    assert not best_split(table, 1, allowed, "gini", is_ordered=True, support=0).left[3]
    assert best_split(table, 1, allowed, "gini", is_ordered=True, support=60) is None
    assert best_split(table, 1, np.array([False, True, False, False]), "gini", is_ordered=True, support=0) is None


def test_a_side_must_hold_more_than_the_support():
    table = np.array([[10.0, 0.0], [0.0, 30.0]])
    assert best_split(table, 1, np.ones(2, bool), "gini", is_ordered=True, support=9.9) is not None
    assert best_split(table, 1, np.ones(2, bool), "gini", is_ordered=True, support=10) is None
    assert best_split(table[:, ::-1], 1, np.ones(2, bool), "gini", is_ordered=True, support=10) is None


def test_with_three_classes_categories_are_ordered_by_how_many_records_say_so():
    """Counted alike, the two rare categories would turn the line away from the best subset."""
    table = np.array([[0.0, 80.0, 0.0, 99.0, 99.0], [5.0, 60.0, 4.0, 99.0, 99.0], [1.0, 20.0, 3.0, 40.0, 0.0]])
    found = best_split(table, 1, np.ones(5, bool), "entropy", is_ordered=False, support=0)
    assert found.gain == pytest.approx(max(gain_by_definition(table, left, "entropy") for left in subsets(5)))


def test_where_class_and_cell_are_independent_nothing_is_gained():
    assert (
        best_split(np.outer([30.0, 10.0], [1.0, 2.0, 3.0]), 1, np.ones(3, bool), "chi2", is_ordered=False, support=0)
        is None
    )
