"""Microaggregation of whole tables."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.audit import information_capacity
from kakuran.schema.codes import notes
from kakuran.wide import distances_for, microaggregate
from kakuran.wide.microaggregation import embed, represent

TREE = kk.Tree({"Japan": ["east", "west"], "east": ["Tokyo", "Chiba"], "west": ["Osaka", "Nara"]})


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, 300),
            "home": rng.choice(["Tokyo", "Chiba", "Osaka", "Nara"], 300),
            "smokes": rng.random(300) < 0.3,
            "income": rng.lognormal(10, 1, 300),
        }
    )


def test_a_mixed_table_comes_out_k_anonymous_and_other_columns_stay(people):
    masked = microaggregate(people, 6, columns=["age", "home", "smokes"], distance={"home": TREE})
    assert kk.check_anonymity(masked.table, ["age", "home", "smokes"]).k == masked.k >= 6
    assert masked.table["income"].equals(people["income"])
    assert masked.table.columns.tolist() == people.columns.tolist()
    assert masked.table["smokes"].dtype == bool


@pytest.mark.parametrize(
    ("columns", "expected"),
    [(["0"], [[1.5, 10], [1.5, 20], [9.5, 40], [9.5, 30]]), (["1", "0"], [[1.5, 15], [1.5, 15], [9.5, 35], [9.5, 35]])],
)
def test_the_columns_of_an_array_keep_their_places(columns, expected):
    numbers = np.array([[1.0, 10], [2, 20], [9, 40], [10, 30]])
    assert microaggregate(numbers, 2, columns=columns).table.tolist() == expected


def test_polars_in_is_polars_out(people):
    masked = microaggregate(pl.from_pandas(people), 5, columns=["age"], method="optimal").table
    assert isinstance(masked, pl.DataFrame)
    assert kk.check_anonymity(masked, ["age"]).k >= 5


def test_groups_in_a_tree_become_their_lowest_common_ancestor():
    groups = np.array([0, 0, 1, 1, 2, 2])
    homes = ["Tokyo", "Chiba", "Nara", "Nara", "Tokyo", "Nara"]
    assert represent("home", homes, groups, TREE).tolist() == ["east", "east", "Nara", "Nara", "Japan", "Japan"]


def test_numbers_generalised_to_named_groups_become_text():
    tree = kk.Tree({"all": ["low", "high"], "low": [1, 2], "high": [3, 4]})
    table = pd.DataFrame({"grade": [1, 2, 4, 4]})
    masked = microaggregate(table, 2, distance={"grade": tree}).table
    assert masked["grade"].tolist() == ["low", "low", "4", "4"]


def test_s3s_symbols_aggregate_to_the_groups_of_example_2_2():
    tree = kk.Tree({"a": ["a1", "a2"], "a1": ["a11", "a12"], "a2": ["a21", "a22"]})
    symbols = pd.DataFrame({"s": ["a11", "a12", "a21", "a22"]})
    masked = microaggregate(symbols, 2, distance={"s": tree}).table
    assert masked["s"].tolist() == ["a1", "a1", "a2", "a2"]
    assert kk.information_loss(symbols, masked, {"s": tree}) == pytest.approx(0.778, abs=5e-4)


@pytest.mark.parametrize(
    ("centre", "expected"),
    [("mean", [4.0, 4, 4, 2.5, 2.5]), ("median", [2, 2, 2, 2.5, 2.5]), ("mode", [2, 2, 2, 2, 2])],
)
def test_a_group_is_represented_as_asked(centre, expected):
    numbers, groups = np.array([2.0, 2.0, 8.0, 2.0, 3.0]), np.array([0, 0, 0, 1, 1])
    assert represent("x", numbers, groups, centre).tolist() == expected


def test_the_mode_of_a_bit_is_the_vote_of_the_majority_and_a_tie_goes_with_the_whole_table():
    bits, groups = np.array([1, 1, 0, 0, 1, 0, 0]), np.array([0, 0, 0, 1, 1, 2, 2])
    assert represent("bit", bits, groups, "mode").tolist() == [1, 1, 1, 0, 0, 0, 0]


def test_embedded_categories_keep_their_distances_exactly():
    names = ["Tokyo", "Chiba", "Osaka", "Nara", "Tokyo"]
    points = embed({"home": names}, {"home": TREE}, {})
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    edges = np.array([[len(set(TREE.path(a)) ^ set(TREE.path(b))) for b in names] for a in names])
    scale = information_capacity(names, TREE, 1) / 2 / len(names) ** 2
    assert squares == pytest.approx(edges / scale, abs=1e-9)


def test_a_weight_makes_a_column_count_more():
    table = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    by_a = microaggregate(table, 2, weights={"a": 100}).table
    by_b = microaggregate(table, 2, weights={"b": 100}).table
    assert by_a["a"].tolist() == [0, 0, 1, 1]
    assert by_b["b"].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("column", [["x"] * 7, [1.0] * 7, pd.Categorical(["x"] * 7, categories=["x", "unused"])])
def test_records_that_are_all_the_same_are_one_class(column):
    assert microaggregate(pd.DataFrame({"a": column}), 3).k == 7


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"columns": ["height"]}, "column 'height': is not in the table"),
        ({"columns": []}, "at least one column"),
        ({"columns": ["age"], "weights": {"home": 2}}, "'home' is not aggregated"),
        ({"columns": ["age"], "weights": {"age": -1}}, "weight of 'age' must be a number of at least 0, got -1"),
        ({"columns": ["home"], "centre": {"home": "mean"}}, "does not hold numbers"),
        ({"columns": ["age"], "centre": {"age": "middle"}}, "unknown centre 'middle'"),
        ({"columns": ["home"], "distance": {"home": kk.Tree({"x": ["Tokyo"]})}}, "tree lacks a value"),
        (
            {"columns": ["home"], "distance": {"home": kk.Tree({"e": ["Tokyo", "Chiba"], "w": ["Osaka", "Nara"]})}},
            "spans several tops",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_and_named(people, options, problem):
    table = people.iloc[:4].assign(home=["Tokyo", "Chiba", "Osaka", "Nara"], age=[1, 2, 3, 4])
    with pytest.raises((kk.SchemaError, kk.DataError), match=problem):
        microaggregate(table, 4, **options)


def test_missing_values_are_refused(people):
    with pytest.raises(kk.DataError, match=r"'age'.*missing"):
        microaggregate(people.astype({"age": float}).assign(age=lambda t: t["age"].where(t["age"] > 30)), 3)


def test_a_shuffled_table_holds_the_same_records_in_the_kind_of_frame_given(people):
    made = microaggregate(people, 6, columns=["age"])
    for table in (made, microaggregate(pl.from_pandas(people), 6, columns=["age"])):
        shuffled = table.shuffled()
        assert type(shuffled) is type(table.table)
        assert sorted(shuffled["income"]) == sorted(people["income"])
        assert list(shuffled["income"]) != list(people["income"])


def test_distances_are_those_asked_for_then_those_of_the_schema_then_by_what_a_column_holds(people):
    schema = kk.Schema([kk.Categorical("home", ["Tokyo", "Chiba", "Osaka", "Nara"], tree=TREE), kk.Dropped("age")])
    found = distances_for(people[["age", "home", "smokes"]], schema, {"age": "discrete"})
    assert found == {"age": "discrete", "home": TREE, "smokes": "discrete"}
    assert distances_for(people, None, {})["age"] == "euclidean"


def test_nothing_beside_the_values_tells_of_originals():
    """Metadata, labels of codes that no record has any more, and categories nobody has would be published."""
    jobs = ["nurse", "clerk"] * 10
    kept = pa.array(["b"] * 10 + ["a"] * 9 + [None]).dictionary_encode()
    unused = pa.DictionaryArray.from_arrays(kept.indices, pa.array(["b", "a", "GHOST"]))
    ordered = pa.DictionaryArray.from_arrays(kept.indices, pa.array(["b", "a", "GHOST"]), ordered=True)
    columns = {
        "job": pa.array(["SECRET", *jobs[1:]]).dictionary_encode(),
        "code": pa.array([4.0, *([1.0, 2.0] * 10)[1:]]),
        "age": pa.array([30.0, 40.0] * 10),
        "ward": pa.array([1.0, 2.0] * 10),
        "unused": unused,
        "ordered": ordered,
    }
    labels = notes({1.0: "one", 2.0: "two", 4.0: "SECRET", 35.0: "SECRET"}, [(77777.0, 77777.0)])
    fields = [pa.field(name, one.type, metadata=labels | {b"note": b"SECRET"}) for name, one in columns.items()]
    table = pa.table([*columns.values()], schema=pa.schema(fields, metadata={b"author": b"SECRET"}))
    made = microaggregate(
        table, 5, columns=["job", "code", "age"], distance={"code": "discrete"}, centre={"code": "mode"}
    )
    for released in (made.table, made.shuffled()):
        assert not {"SECRET", "GHOST", "77777"} & set(re.findall(r"[A-Z]{5,}|7{5}", repr(released.schema)))
        assert {field.name: field.metadata for field in released.schema if field.metadata} == {
            "code": notes({1.0: "one", 2.0: "two"}),
            "ward": notes({1.0: "one", 2.0: "two"}),
        }
        assert released["unused"].combine_chunks().dictionary.to_pylist() == ["a", "b"]
        assert released["ordered"].combine_chunks().dictionary.to_pylist() == ["b", "a"]
        assert released["ordered"].type.ordered
    assert made.table["unused"].to_pylist() == kept.to_pylist() == made.table["ordered"].to_pylist()
    frame = microaggregate(table.to_pandas(), 5, columns=["age"]).table
    assert [*frame["unused"].cat.categories] == ["a", "b"]
    assert [*frame["ordered"].cat.categories] == ["b", "a"]
