"""S3's index, with every number the paper prints."""

import itertools

import numpy as np
import pandas as pd
import pytest

import kakuran as kk
from kakuran.audit import capacity_of_counts, ilssdm, information_capacity, losses_by_column

PREFECTURES = ["Nagano", "Niigata", "Tokyo", "Kanagawa", "Osaka", "Nara", "Fukuoka", "Kumamoto"]
REGIONS = ["Koshinetsu", "Kanto", "Kansai", "Kyushu"]
RELEASED = [region for region in REGIONS for _ in range(2)]
JAPAN = kk.Tree(
    {
        "Japan": ["east", "west"],
        "east": REGIONS[:2],
        "west": REGIONS[2:],
        **{region: PREFECTURES[2 * place : 2 * place + 2] for place, region in enumerate(REGIONS)},
    }
)


def roads() -> kk.Graph:
    """1 inside a region; between regions 6, 4, 4, 2, 2, 2 (S3 figures 3 and 4)."""
    between = dict(zip(itertools.combinations(REGIONS, 2), (2, 2, 6, 2, 4, 4), strict=True))
    inside = {tuple(PREFECTURES[2 * place : 2 * place + 2]): 1 for place in range(4)}
    across = {
        (PREFECTURES[2 * REGIONS.index(a) + i], PREFECTURES[2 * REGIONS.index(b) + j]): weight
        for (a, b), weight in between.items()
        for i in range(2)
        for j in range(2)
    }
    return kk.Graph(inside | across | between)


@pytest.mark.parametrize(
    ("distance", "p", "before", "after", "lost"),
    [
        ("discrete", 2, 56, 48, 0.14285),
        (JAPAN, 2, 1440, 576, 0.6),
        (roads(), 2, 648, 640, 0.01234),
        ("discrete", 1, 56, 48, 0.14285),
        (JAPAN, 1, 272, 160, 0.41176),
        (roads(), 1, 168, 160, 0.04762),
    ],
)
def test_the_prefectures_of_s3_lose_what_tables_1_and_2_say(distance, p, before, after, lost):
    assert information_capacity(PREFECTURES, distance, p) == before
    assert information_capacity(RELEASED, distance, p) == after
    assert kk.information_loss(PREFECTURES, RELEASED, distance, p) == pytest.approx(lost, abs=1e-5)


def test_the_numbers_of_example_2_1_lose_a_fifth():
    assert information_capacity([1, 2, 3, 4]) == 40
    assert information_capacity([1.5, 1.5, 3.5, 3.5]) == 32
    assert kk.information_loss([1, 2, 3, 4], [1.5, 1.5, 3.5, 3.5]) == 0.2


def test_of_absolute_differences_numbers_lose_what_adding_up_all_pairs_says():
    assert information_capacity([1, 2, 3, 4], p=1) == 20
    numbers = np.random.default_rng(0).normal(size=60).round(1)
    pairs = np.abs(np.subtract.outer(numbers, numbers)).sum()
    assert information_capacity(numbers, p=1) == pytest.approx(pairs)
    values, counts = np.unique(numbers, return_counts=True)
    assert capacity_of_counts("x", values, counts, "euclidean", 1) == pytest.approx(pairs)


def test_the_symbols_of_example_2_2_lose_seven_ninths_and_all_at_the_root():
    tree = kk.Tree({"a": ["a1", "a2"], "a1": ["a11", "a12"], "a2": ["a21", "a22"]})
    symbols = ["a11", "a12", "a21", "a22"]
    assert information_capacity(symbols, tree) == 144
    assert information_capacity(["a1", "a1", "a2", "a2"], tree) == 32
    assert kk.information_loss(symbols, ["a1", "a1", "a2", "a2"], tree) == pytest.approx(0.778, abs=5e-4)
    assert kk.information_loss(symbols, ["a"] * 4, tree) == 1


def test_a_function_gives_what_the_built_in_distance_gives():
    assert information_capacity(PREFECTURES, lambda a, b: float(a != b)) == 56
    assert information_capacity([1.0, 2.0, 5.0], lambda a, b: abs(a - b), p=3) == information_capacity(
        [1.0, 2.0, 5.0], p=3
    )


def test_a_function_alone_measures_whole_records():
    table = pd.DataFrame({"a": [0, 0, 1, 1], "b": ["x", "y", "x", "x"]})
    differing = information_capacity(table, lambda one, other: sum(x != y for x, y in zip(one, other, strict=True)), 1)
    assert differing == information_capacity(table, "discrete", 1)


def test_mixed_records_add_up_by_column_with_their_weights():
    before = pd.DataFrame({"age": [1, 2, 3, 4], "home": ["a11", "a12", "a21", "a22"]})
    after = pd.DataFrame({"age": [1.5, 1.5, 3.5, 3.5], "home": ["a1", "a1", "a2", "a2"]})
    tree = kk.Tree({"a": ["a1", "a2"], "a1": ["a11", "a12"], "a2": ["a21", "a22"]})
    distance, weights = {"age": "euclidean", "home": tree}, {"age": 3}
    lost = kk.information_loss(before, after, distance, weights=weights)
    assert lost == pytest.approx((3 * 8 + 112) / (3 * 40 + 144))
    columns = losses_by_column(before, after, distance, weights=weights)
    assert [(one.name, one.before, one.after) for one in columns] == [("age", 120, 96), ("home", 144, 32)]


def test_paths_through_a_graph_are_the_edges_of_a_tree():
    tree = kk.Tree({"a": ["a1", "a2"], "a1": ["a11", "a12"], "a2": ["a21", "a22"]})
    edges = kk.Graph({(parent, child): 1 for child, parent in tree.parents.items()}, shortest_paths=True)
    nodes = ["a11", "a12", "a21", "a22", "a1", "a"]
    assert information_capacity(nodes, edges) == information_capacity(nodes, tree)


def test_a_table_without_any_difference_has_nothing_to_lose():
    assert kk.information_loss([5, 5, 5], [5, 5, 5]) == 0
    assert kk.information_loss([5, 5, 5], [5, 5, 6]) == -np.inf
    assert kk.information_loss(np.empty(0), np.empty(0)) == 0


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: kk.information_loss(["Tokyo"], ["Mars"], JAPAN), "tree lacks a value, for example 'Mars'"),
        (lambda: kk.information_loss(["Tokyo"], ["Mars"], roads()), None),
        (lambda: kk.information_loss(["Tokyo", "Mars"], ["Tokyo", "Mars"], roads()), "no edge between 'Tokyo' and 'M"),
        (lambda: kk.information_loss([1.0, np.nan], [1.0, 2.0]), "missing or infinite"),
        (lambda: kk.information_loss(["a"], ["b"]), "does not hold numbers"),
        (lambda: kk.information_loss([1, 2], [1]), "2 records before and 1 after"),
        (lambda: ilssdm([1, 2], [1]), "2 records before and 1 after"),
        (lambda: kk.information_loss([1, 2], [1, 2], "nearest"), "unknown distance 'nearest'"),
        (lambda: kk.information_loss([1, 2], [1, 2], p=0.5), "p must be at least 1"),
        (lambda: kk.information_loss([1, 2], [1, 2], p=np.inf), "p must be at least 1 and finite"),
        (lambda: kk.information_loss([1, 2], [1, 2], weights={"b": 1}), "a weight is given for 'b'"),
        (lambda: kk.information_loss([1, 2], [1, 2], {"b": "discrete"}), "no distance is given for column '0'"),
        (lambda: kk.Graph({("a", "b"): -1}), "must be a number of at least 0"),
        (lambda: kk.Graph({("a", "b"): 1, ("b", "a"): 2}), "has two weights"),
        (lambda: kk.Graph({("a", "b"): 1}, shortest_paths=True).distances(["a", "c"]), "lacks the value 'c'"),
    ],
)
def test_what_cannot_be_measured_is_refused_and_named(call, problem):
    if problem is None:
        assert call() == 0
        return
    with pytest.raises((kk.SchemaError, kk.DataError), match=problem):
        call()
