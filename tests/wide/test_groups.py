"""Grouping, against published values and against every grouping there is."""

from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import kakuran as kk
from kakuran.wide import check_groups, group_records
from kakuran.wide.mdav import blocked, improve, mdav

CASC = Path(__file__).parents[3] / "shared/data/casc"
METHODS = ("mdav", "local-search", "blocked", "v-mdav")


def lost(points, groups):
    """SSE/SST in percent."""
    means = pd.DataFrame(points).groupby(groups).transform("mean").to_numpy()
    return 100 * ((points - means) ** 2).sum() / ((points - points.mean(axis=0)) ** 2).sum()


def mdav_by_the_book(points, k):
    """The algorithm as published, with lists."""
    left, groups = list(range(len(points))), []

    def farthest(place):
        return max(left, key=lambda i: ((points[i] - place) ** 2).sum())

    def take_around(record):
        nearest = sorted(left, key=lambda i: ((points[i] - points[record]) ** 2).sum())[:k]
        for i in nearest:
            left.remove(i)
        groups.append(nearest)

    while len(left) >= 3 * k:
        first = farthest(points[left].mean(axis=0))
        second = farthest(points[first])
        take_around(first)
        take_around(second)
    if len(left) >= 2 * k:
        take_around(farthest(points[left].mean(axis=0)))
    return [*groups, left]


@pytest.mark.skipif(not CASC.exists(), reason="the CASC data sets are not beside the checkout")
@pytest.mark.parametrize(
    ("name", "k", "expected"),
    [
        ("Tarragona", 3, 16.9326),
        ("Tarragona", 5, 22.4619),
        ("Tarragona", 10, 33.1929),
        ("CASCrefmicrodata", 3, 5.6922),
        ("CASCrefmicrodata", 5, 9.0884),
        ("CASCrefmicrodata", 10, 14.1559),
    ],
)
def test_mdav_gives_the_reference_values_of_casc(name, k, expected):
    points = pd.read_csv(CASC / f"{name}.csv").to_numpy(float)
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    assert lost(points, group_records(points, k)) == pytest.approx(expected, abs=0.01)
    assert lost(points, group_records(points, k, "local-search")) < expected


def test_mdav_groups_the_same_records_as_the_published_algorithm():
    for n, k in ((83, 2), (83, 5), (83, 7), (15, 5), (14, 5), (10, 5), (9, 5)):
        points = np.random.default_rng(1).normal(size=(n, 3))
        found = mdav(points, k)
        assert {frozenset(np.flatnonzero(found == group)) for group in range(found.max() + 1)} == {
            frozenset(group) for group in mdav_by_the_book(points, k)
        }


def test_normals_lose_what_sdcmicro_loses_and_less_after_local_search():
    points = np.random.default_rng(0).normal(size=(10_000, 5))
    assert lost(points, group_records(points, 5)) == pytest.approx(5.52, abs=0.005)
    assert lost(points, group_records(points, 5, "local-search")) <= 5.15
    assert lost(points, group_records(points, 5, "blocked")) <= 5.8


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 6).flatmap(lambda k: st.tuples(st.just(k), st.integers(k, 60))),
    st.integers(1, 4),
    st.sampled_from(METHODS),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_every_group_of_every_method_has_at_least_k_records(size, columns, method, seed, has_ties):
    k, n = size
    points = np.random.default_rng(seed).normal(size=(n, columns))
    groups = group_records(np.round(points) if has_ties else points, k, method)
    sizes = np.bincount(groups)
    assert len(groups) == n
    assert sizes[sizes > 0].min() >= k


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_local_search_never_loses_more_than_where_it_started(k, seed):
    points = np.random.default_rng(seed).normal(size=(40, 2))
    start = mdav(points, k)
    assert lost(points, improve(points, start, k)) <= lost(points, start) + 1e-9


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 4), st.lists(st.integers(-20, 20), min_size=4, max_size=14))
def test_the_optimum_of_one_number_beats_every_cut_into_runs(k, numbers):
    ordered = np.sort(np.array(numbers, float))
    k = min(k, len(ordered))

    @cache
    def best(stop):
        if stop == 0:
            return 0.0
        starts = [start for start in range(stop - k + 1) if start == 0 or start >= k]
        return min(best(start) + len(ordered[start:stop]) * ordered[start:stop].var() for start in starts)

    groups = group_records(np.array(numbers, float)[:, None], k, "optimal")
    found = sum(((part - part.mean()) ** 2).sum() for _, part in pd.Series(np.array(numbers, float)).groupby(groups))
    assert found == pytest.approx(best(len(ordered)), abs=1e-6)


def test_the_optimum_of_one_number_makes_runs_of_sorted_records():
    numbers = np.random.default_rng(3).normal(size=500)
    groups = group_records(numbers[:, None], 4, "optimal")
    runs = groups[np.argsort(numbers)]
    assert sum(a != b for a, b in pairwise(runs)) == groups.max()
    assert lost(numbers[:, None], groups) <= lost(numbers[:, None], mdav(numbers[:, None], 4))


def test_blocks_are_grouped_each_by_itself_and_numbered_apart():
    points = np.random.default_rng(0).normal(size=(1000, 3))
    groups = blocked(points, 5, block=100)
    assert np.bincount(groups).min() >= 5
    assert lost(points, groups) < 1.3 * lost(points, mdav(points, 5))


def test_groups_of_variable_size_follow_two_clusters_of_unequal_size():
    points = np.concatenate([np.zeros((4, 1)), np.full((5, 1), 100.0)]) + np.arange(9)[:, None] * 1e-3
    groups = group_records(points, 3, "v-mdav")
    assert len(set(groups[:4])) == len(set(groups[4:])) == 1


@pytest.mark.parametrize(
    ("points", "k", "method", "problem"),
    [
        (np.zeros((5, 1)), 6, "mdav", "k=6 is more than the 5 records"),
        (np.zeros((5, 1)), 1, "mdav", "k=1 hides nobody"),
        (np.zeros((5, 1)), 2.5, "mdav", "whole number"),
        (np.zeros((5, 1)), np.inf, "mdav", "whole number"),
        (np.zeros((5, 2)), 2, "optimal", "one number only, and records have 2"),
        (np.zeros((5, 2)), 2, "kmeans", "unknown method 'kmeans'"),
        (np.full((5, 1), np.nan), 2, "mdav", "missing or infinite"),
    ],
)
def test_what_cannot_be_grouped_is_refused(points, k, method, problem):
    with pytest.raises(kk.CalibrationError, match=problem):
        group_records(points, k, method)


def test_a_group_that_came_out_too_small_is_never_handed_out():
    with pytest.raises(kk.ReleaseError, match="a group of 1 record was made where 2 were promised"):
        check_groups(np.array([0, 0, 2]), 2)
