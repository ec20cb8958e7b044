"""A level of a tree is one counting pass, and the tree is the one that all records together give."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.answers import Reader
from kakuran.answers.tree import columns as columns_module
from kakuran.answers.tree.columns import columns_for
from kakuran.answers.tree.counts import Passes, PathCounts
from kakuran.answers.tree.decision import grow_tree
from kakuran.answers.tree.growth import Growth, Node
from kakuran.answers.tree.splits import best_split
from kakuran.model import Operator, reconstruct

SCHEMA = kk.Schema(
    [
        kk.Categorical("ill", ["no", "yes", "unsure"]),
        kk.Numeric("age", 0, 79, step=1),
        kk.Categorical("smokes", ["no", "yes"]),
        kk.Categorical("job", ["clerk", "cook", "nurse", "smith"], missing="category"),
        kk.Categorical("region", ["east", "west"], role="keep"),
        kk.Numeric("income", 0, 99, step=1),
    ]
)
NUMBERS_ONLY = kk.Schema(
    [replace(one, role="perturb" if one.name in ("age", "income") else "keep") for one in SCHEMA.released]
)
WEIGHTS = {"ill": 0.3, "age": 0.3, "smokes": 0.2, "job": 0.18, "income": 0.02}
PLANS = {
    "retention": kk.calibrate(SCHEMA, n=9_000, k=2, weights=WEIGHTS, mechanisms={"age": "retention"}),
    "noise": kk.calibrate(SCHEMA, n=9_000, k=2, weights=WEIGHTS, mechanisms={"age": "laplace"}),
    "most columns kept": kk.calibrate(NUMBERS_ONLY, n=15, k=1.1, tell="all"),
}
METHOD = "simplex"


def people(rows):
    dice = np.random.default_rng(3)
    age, smokes = dice.integers(0, 80, rows), dice.random(rows) < 0.4
    job, east = dice.integers(0, 5, rows), dice.random(rows) < 0.5
    ill = np.where((age > 50) & smokes, 1, np.where((job == 2) & east, 2, 0))
    ill = np.where(dice.random(rows) < 0.1, dice.integers(0, 3, rows), ill)
    return pa.table(
        {
            "ill": np.array(["no", "yes", "unsure"])[ill],
            "age": age,
            "smokes": np.array(["no", "yes"])[smokes.astype(int)],
            "job": pa.array(np.array(["clerk", "cook", "nurse", "smith", None])[job]),
            "region": np.array(["east", "west"])[east.astype(int)],
            "income": dice.integers(0, 100, rows),
        }
    )


@pytest.fixture(scope="module", params=PLANS)
def release(request):
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(people(20_000), PLANS[request.param], seed=4)


class Watched:
    """Counts a release, and keeps the tables that were asked for in every pass."""

    def __init__(self, release, target="ill"):
        self.columns = columns_for(release.plan, target)
        self.passes = []
        self._release = release

    def tallies(self, tables, progress=int):
        self.passes.append(tables)
        return self._release.tallies(tables, progress)

    def growth(self, depth):
        return Growth(self.columns.is_ordered, "entropy", depth, 20)

    def counted(self):
        return self.columns.counted(Reader(self, self._release.plan, self._release.n), int)


@pytest.fixture
def never_in_memory(monkeypatch):
    monkeypatch.setattr(columns_module, "MOST_DISTINCT", 0)


def grown_depth_first(records, growth, path, depth, counts=None):
    """The same tree by S4's equations straight from the joint: every node looks at all records by itself."""

    def table(axis):
        others = [other for other in range(1, len(path)) if other != axis and not path[other].all()]
        joint = np.zeros([records.sizes[0], records.sizes[axis], *[2] * len(others)])
        on_path = [path[other][records.places[other]].astype(int) for other in others]
        np.add.at(joint, (records.places[0], records.places[axis], *on_path), records.weights)
        transitions = [records.transitions[0], records.transitions[axis]]
        transitions += [PathCounts(records, METHOD).marginals.lumped(one, path[one].astype(int)) for one in others]
        found = reconstruct(joint, Operator(transitions), METHOD).counts[(..., *[1] * len(others))]
        return np.maximum(found, 0) * path[axis]

    if counts is None:
        counts = table(1).sum(axis=1)
    node = Node(path, counts)
    if depth == 0 or counts.sum() <= 2 * growth.min_support:
        return node
    tables = {axis: table(axis) for axis in range(1, len(path))}
    cuts = [
        best_split(found, axis, path[axis], growth.criterion, is_ordered=growth.is_ordered[axis], support=20)
        for axis, found in tables.items()
    ]
    best = max(filter(None, cuts), key=lambda cut: cut.gain, default=None)
    if best is None:
        return node
    children = []
    for side in (best.left, ~best.left):
        below = [allowed & side if axis == best.axis else allowed for axis, allowed in enumerate(path)]
        found = tables[best.axis][:, below[best.axis]].sum(axis=1)
        if found.sum() <= PathCounts(records, METHOD).marginals.spread(below):
            return node
        children.append((below, found))
    left, right = (grown_depth_first(records, growth, below, depth - 1, found) for below, found in children)
    return replace(node, split=best, children=(left, right))


def assert_same_nodes(one, other):
    assert len(list(one.nodes())) == len(list(other.nodes()))
    for left, right in zip(one.nodes(), other.nodes(), strict=True):
        assert all((a == b).all() for a, b in zip(left.path, right.path, strict=True))
        assert np.allclose(left.counts, right.counts, rtol=1e-12)
        assert (left.split is None) == (right.split is None)
        if left.split is not None:
            assert left.split.axis == right.split.axis
            assert (left.split.left == right.split.left).all()


def test_level_by_level_grows_what_depth_first_grows_from_the_joint(release, never_in_memory):
    watched = Watched(release)
    growth = watched.growth(3)
    source = PathCounts(watched.counted(), METHOD)
    found = growth.grown(source, source.marginals)
    records = watched.counted().distinct()
    everything = [np.ones(size, bool) for size in records.sizes]
    assert_same_nodes(found, grown_depth_first(records, growth, everything, 3))
    assert len(list(found.leaves())) > 3


@pytest.mark.parametrize("method", ["inverse", "simplex"])
def test_passes_and_distinct_records_in_memory_give_one_tree(release, method, monkeypatch):
    watched = Watched(release)
    at_once = grow_tree(watched.counted(), watched.growth(3), method)
    assert len(watched.passes) == 1
    monkeypatch.setattr(columns_module, "MOST_DISTINCT", 0)
    in_passes = grow_tree(watched.counted(), watched.growth(3), method)
    assert_same_nodes(at_once.root, in_passes.root)
    assert np.allclose(at_once.probabilities, in_passes.probabilities, rtol=1e-12)
    assert at_once.held_out == pytest.approx(in_passes.held_out, rel=1e-12)
    people = watched.columns.placed(release.codes(), release.plan)
    assert np.allclose(at_once.predict(people), in_passes.predict(people), rtol=1e-12)


def test_a_level_is_one_pass_and_pruning_one_more(release, never_in_memory):
    watched = Watched(release)
    for depth in (1, 2, 3):
        watched.passes.clear()
        grow_tree(watched.counted(), watched.growth(depth), "inverse")
        assert len(watched.passes) == depth + 1


def test_what_a_pass_counts_follows_the_splits_and_not_the_number_of_distinct_records(release, never_in_memory):
    watched = Watched(release)
    grow_tree(watched.counted(), watched.growth(2), "inverse")
    *levels, ((*sides,),) = watched.passes
    classes, *sizes = (axis.size for axis in watched.columns.axes)
    for level, tables in enumerate(levels):
        assert len(tables) <= 2**level * len(sizes)
        for axes in tables:
            assert math.prod(axis.size for axis in axes) <= classes * max(sizes) * 2**level
    three_splits = 2**3
    most_cells = classes * sizes[0] * three_splits
    assert math.prod(axis.size for axis in sides) <= most_cells
    assert len(watched.counted().distinct().weights) > 5 * most_cells


def test_tables_of_one_node_share_the_cells_they_begin_with(release, never_in_memory):
    watched = Watched(release)
    grow_tree(watched.counted(), watched.growth(2), "inverse")
    lumps = {axis for axes in watched.passes[1] for axis in axes[1:-1]}
    assert len(lumps) == 2  # the two sides of the first split, however many tables they are in


def test_a_release_of_many_possible_records_is_never_held_as_distinct_ones(release, never_in_memory):
    assert isinstance(Watched(release).counted(), Passes)
    tree = kk.ReconstructedTree(max_depth=2, method="ibt").fit(release, target="ill")
    assert "smokes is" in tree.export_text()
