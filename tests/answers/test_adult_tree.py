"""Trees and naive Bayes on the Adult data: perturbed with a fixed retention, accuracy on clean held-out records."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from kakuran.answers import Growth, fit_naive_bayes, grow_tree
from kakuran.mechanism import UniformMixture
from kakuran.model.latent_records import PlacedRecords

ADULT = Path(__file__).parents[3] / "shared/data/adult.data"
COLUMNS = {
    "age": 0,
    "workclass": 1,
    "education-num": 4,
    "marital": 5,
    "occupation": 6,
    "relationship": 7,
    "sex": 9,
    "hours": 12,
}
NUMBERS = ("age", "education-num", "hours")
DEPTH, BINS, SPLITS = 5, 16, 2
"""A split knows an accuracy to .004, from 10,854 records; at retention .3 the tree wins by .05, at k = 2 by .0125, and
one will do."""

pytestmark = pytest.mark.skipif(not ADULT.exists(), reason="the Adult data is not at hand")


@pytest.fixture(scope="module")
def adult():
    with ADULT.open(encoding="utf-8") as file:
        rows = [[value.strip() for value in row] for row in csv.reader(file) if row]
    codes = {
        name: np.array([int(row[place]) for row in rows])
        if name in NUMBERS
        else np.unique([row[place] for row in rows], return_inverse=True)[1]
        for name, place in COLUMNS.items()
    }
    codes = {name: column - column.min() for name, column in codes.items()}
    income = np.array([row[14].startswith(">") for row in rows]).astype(np.intp)
    return income, codes, {name: int(column.max()) + 1 for name, column in codes.items()}


def replaced(column, size, retention, rng):
    return np.where(rng.random(len(column)) < retention, column, rng.integers(0, size, len(column)))


def cells(size):
    return np.arange(size) * min(BINS, size) // size


def accuracies(adult, retention_of, *, splits=SPLITS, is_chosen=False):
    """Clean tree, naive tree, and reconstructed tree, or whichever of it and naive Bayes held-out records prefer."""
    income, codes, sizes = adult
    found = []
    for split in range(splits):
        rng = np.random.default_rng(split)
        order = rng.permutation(len(income))
        train, test = order[: len(order) * 2 // 3], order[len(order) * 2 // 3 :]
        target = replaced(income[train], 2, retention_of(2), rng)
        noisy = {name: replaced(codes[name][train], sizes[name], retention_of(sizes[name]), rng) for name in COLUMNS}
        binned = {name: cells(sizes[name]) if name in NUMBERS else np.arange(sizes[name]) for name in COLUMNS}
        shape = (2, *(int(bins.max()) + 1 for bins in binned.values()))
        transitions = (
            UniformMixture(retention_of(2), np.full(2, 0.5)),
            *(UniformMixture(retention_of(len(bins)), np.bincount(bins) / len(bins)) for bins in binned.values()),
        )
        records = PlacedRecords(
            (target, *(bins[noisy[name]] for name, bins in binned.items())), np.ones(len(train)), transitions, shape
        )
        clean = PlacedRecords(
            (income[test], *(bins[codes[name][test]] for name, bins in binned.items())),
            np.ones(len(test)),
            (None,) * 9,
            shape,
        )
        ordered = (False, *(name in NUMBERS for name in COLUMNS))
        models = [grow_tree(records, Growth(tuple(ordered), "entropy", DEPTH, 20), "auto")]
        if is_chosen:
            models.append(fit_naive_bayes(records, method="auto"))
        model = max(models, key=lambda one: one.held_out)

        def plain(features, classes, test=test):
            grown = DecisionTreeClassifier(criterion="entropy", max_depth=DEPTH, min_samples_leaf=20, random_state=0)
            fitted = grown.fit(np.column_stack(list(features.values())), classes)
            return fitted.score(np.column_stack([codes[name][test] for name in COLUMNS]), income[test])

        found.append(
            [
                plain({name: codes[name][train] for name in COLUMNS}, income[train]),
                plain(noisy, target),
                (model.predict(clean).argmax(axis=1) == income[test]).mean(),
            ]
        )
    return np.mean(found, axis=0)


def test_at_retention_half_the_tree_closes_at_least_half_of_the_gap(adult, record_property):
    clean, naive, tree = accuracies(adult, lambda size: 0.5)
    record_property("clean, naive, tree", str(np.round([clean, naive, tree], 4)))
    assert tree >= naive + (clean - naive) / 2


def test_at_retention_three_tenths_the_tree_is_a_point_better_than_the_naive_one(adult, record_property):
    clean, naive, tree = accuracies(adult, lambda size: 0.3, splits=1)
    record_property("clean, naive, tree", str(np.round([clean, naive, tree], 4)))
    assert tree >= naive + 0.01


def test_at_k_two_what_held_out_records_prefer_beats_the_naive_tree(adult, record_property):
    odds = math.exp(math.log(len(adult[0]) * 2 // 3 - 1) / 9 / 2)
    clean, naive, chosen = accuracies(adult, lambda size: (odds - 1) / (odds + size - 1), splits=1, is_chosen=True)
    record_property("clean, naive, chosen", str(np.round([clean, naive, chosen], 4)))
    assert chosen > naive
