"""Trees and naive Bayes where records tell some of their columns: judged by counts that the model never saw."""

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.answers import columns_for
from kakuran.answers.tree import ToldRecords

N = 6_000
SCHEMA = kk.Schema([kk.Categorical(name, ["n", "y"]) for name in ("ill", "old", "smokes", "tall")])


def people(strength: float) -> pa.Table:
    """The ill are old and smoke, the more so the stronger; who is tall says nothing."""
    dice = np.random.default_rng(1)
    old, smokes, tall = (dice.random(N) < 0.5 for _ in range(3))
    ill = dice.random(N) < 0.3 + strength * (old & smokes)
    columns = {"ill": ill, "old": old, "smokes": smokes, "tall": tall}
    return pa.table({name: np.where(column, "y", "n") for name, column in columns.items()})


def release(strength: float, k: float) -> kk.Release:
    """The same every time: of noise, too, one draw in some tens has a split to its name."""
    plan = kk.calibrate(SCHEMA, n=N, k=k, tell=2, about="ill")
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(people(strength), plan, seed=1)


@pytest.fixture(scope="module")
def telling() -> kk.Release:
    return release(0.6, 2)


@pytest.fixture(scope="module")
def silent() -> kk.Release:
    """Of a thousand that could hide anybody, hardly anything is left."""
    return release(0.0, 3_000)


def test_a_tree_of_what_hangs_together_splits_by_it_and_has_nothing_to_note(telling):
    tree = telling.tree("ill")
    assert tree.importances["old"] + tree.importances["smokes"] > 0.95
    assert tree.note == ""
    assert "tells nothing" not in str(tree)


def test_a_tree_of_noise_is_a_leaf_that_says_so_and_offers_naive_bayes(silent):
    tree = silent.tree("ill")
    assert tree.root.children is None
    assert "this tree tells nothing" in str(tree)
    assert "kakuran bayes" in tree.to_dict()["note"]


def test_naive_bayes_of_noise_claims_next_to_nothing(silent):
    everybody = people(0.0)
    likely = silent.bayes("ill").predict_proba(everybody)
    assert np.ptp(likely[:, 0]) < 0.35


def test_what_is_held_out_tells_what_knows_the_attributes_from_what_knows_shares_alone(telling):
    found = ToldRecords.of(columns_for(telling.plan, "ill"), telling.reader, int)
    trees = [telling.tree("ill").learned] * len(found.without)
    alone = [tree.down_to(0) for tree in trees]
    assert found.score(trees) > found.score(alone) + 20
    assert found.tellers == N


def test_what_is_learned_is_the_same_every_time(telling):
    once, again = (telling.tree("ill") for _ in range(2))
    assert str(once) == str(again)
    assert once.held_out == again.held_out


def test_levels_below_a_depth_are_cut_off(telling):
    grown = telling.tree("ill").learned
    assert len(list(grown.down_to(1).root.leaves())) == 2
    assert grown.down_to(9).probabilities.shape == grown.probabilities.shape
    assert grown.down_to(0).probabilities.sum() == pytest.approx(1)
