"""Trees over the values of a category."""

from __future__ import annotations

import pickle

import pytest

import kakuran as kk

REGIONS = {"Japan": ["Kanto", "Kansai"], "Kanto": ["Tokyo", "Chiba"], "Kansai": ["Osaka", "Nara"]}


def test_the_path_climbs_to_the_top():
    assert kk.Tree(REGIONS).path("Nara") == ("Nara", "Kansai", "Japan")


def test_the_path_of_a_top_node_is_itself():
    assert kk.Tree(REGIONS).path("Japan") == ("Japan",)


def test_leaves_are_the_nodes_without_children_in_written_order():
    assert kk.Tree(REGIONS).leaves == ("Tokyo", "Chiba", "Osaka", "Nara")


def test_parents_know_every_child():
    assert kk.Tree(REGIONS).parents == {
        "Kanto": "Japan",
        "Kansai": "Japan",
        "Tokyo": "Kanto",
        "Chiba": "Kanto",
        "Osaka": "Kansai",
        "Nara": "Kansai",
    }


@pytest.mark.parametrize("children", [{"a": ["a"]}, {"a": ["b"], "b": ["a"]}, {"a": ["b"], "b": ["c"], "c": ["a"]}])
def test_a_cycle_is_refused(children):
    with pytest.raises(kk.SchemaError, match=r"tree: .* is its own ancestor"):
        kk.Tree(children)


def test_a_child_of_two_parents_is_refused_and_both_are_named():
    with pytest.raises(kk.SchemaError, match="tree: 'Nara' stands under both 'Kanto' and 'Kansai'"):
        kk.Tree({"Kanto": ["Tokyo", "Nara"], "Kansai": ["Osaka", "Nara"]})


def test_a_child_listed_twice_is_refused():
    with pytest.raises(kk.SchemaError, match="tree: 'Nara' stands under both 'Kansai' and 'Kansai'"):
        kk.Tree({"Kansai": ["Nara", "Nara"]})


def test_a_parent_without_children_is_refused():
    with pytest.raises(kk.SchemaError, match="tree: 'Kanto' has no children"):
        kk.Tree({"Kanto": []})


@pytest.mark.parametrize(
    "children",
    [3, ["Tokyo"], "Tokyo", {"Kanto": 3}, {"Kanto": "Tokyo"}, {"Kanto": [["Tokyo"]]}],
    ids=["number", "list", "text", "a number of children", "text for children", "a list as a child"],
)
def test_anything_but_lists_of_children_is_refused(children):
    with pytest.raises(kk.SchemaError, match="tree"):
        kk.Tree(children)


def test_trees_are_equal_hashable_and_picklable():
    tree = kk.Tree(REGIONS)
    assert tree == kk.Tree({parent: tuple(kids) for parent, kids in REGIONS.items()})
    assert hash(tree) == hash(kk.Tree(REGIONS))
    copy = pickle.loads(pickle.dumps(tree))
    assert copy == tree
    assert copy.path("Nara") == ("Nara", "Kansai", "Japan")
