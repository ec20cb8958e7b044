"""k-anonymous rows, against an exact optimum."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, eye_array, hstack, kron

from kakuran.audit import mean_absolute_loss
from kakuran.wide import aggregate, factorise_boolean
from kakuran.wide.aggregate import aggregate_bits, majority_rows
from kakuran.wide.matrices import hamming


def lost(X, classes):
    return mean_absolute_loss(X, majority_rows(X, classes)[classes])


def least_loss(X, rows, k):
    """The least loss when everybody publishes one of the given rows and at least k each that is published."""
    dense = X.toarray().astype(int)
    costs = dense.sum(axis=1)[:, None] + rows.sum(axis=1) - 2 * dense @ rows.T
    n, count = costs.shape
    totals = kron(np.ones((1, n)), eye_array(count))
    constraints = [
        LinearConstraint(hstack([kron(eye_array(n), np.ones((1, count))), csr_array((n, count))]), 1, 1),
        LinearConstraint(hstack([totals, -k * eye_array(count)]), 0, np.inf),
        LinearConstraint(hstack([totals, -n * eye_array(count)]), -np.inf, 0),
    ]
    is_whole = np.r_[np.zeros(n * count), np.ones(count)]
    found = milp(
        np.r_[costs.ravel(), np.zeros(count)], constraints=constraints, integrality=is_whole, bounds=Bounds(0, 1)
    )
    assert found.success
    return found.fun / dense.size


@pytest.mark.parametrize("seed", [0, 1])
def test_the_loss_is_the_least_that_unions_of_patterns_allow(planted, seed):
    X, _, _ = planted(3, seed, columns=300)
    factors = factorise_boolean(X, 3)
    unions = np.array([[(code >> place) & 1 for place in range(3)] for code in range(8)])
    rows = (unions @ factors.V.T.astype(int) > 0).astype(int)
    assert lost(X, aggregate_bits(X, factors, 10)) <= least_loss(X, rows, 10) * 1.002


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 12), st.integers(0, 2**32 - 1), st.booleans())
def test_no_class_is_smaller_than_k_and_nothing_loses_more_than_the_empty_table(k, seed, is_large):
    rng = np.random.default_rng(seed)
    X = csr_array((rng.random((k + int(rng.integers(0, 60)), 30)) < rng.random() / 2).astype(np.int8))
    limit = 0 if is_large else aggregate._MOST_COMPARISONS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregate, "_MOST_COMPARISONS", limit)
        classes = aggregate_bits(X, factorise_boolean(X, min(5, X.shape[0] - 1)), k)
    assert np.bincount(classes).min() >= k
    assert lost(X, classes) <= X.sum() / np.prod(X.shape) + 1e-12


def test_polishing_brings_noisy_rows_nearer_to_what_their_classes_publish(monkeypatch):
    rng = np.random.default_rng(0)
    patterns = (rng.random((150, 4)) < 0.4).astype(int) @ (rng.random((4, 40)) < 0.3) > 0
    X = csr_array((patterns ^ (rng.random((150, 40)) < 0.15)).astype(np.int8))
    factors = factorise_boolean(X, 4)
    polished = lost(X, aggregate_bits(X, factors, 5))
    monkeypatch.setattr(aggregate, "_ROUNDS", 0)
    assert polished < lost(X, aggregate_bits(X, factors, 5))


@pytest.mark.parametrize(
    ("members", "donor", "cost"),
    [
        # Two classes can spare somebody, and only four people are asked: those of the nearer class.
        ({2: [0b11111111] * 4, 1: [0b1] * 4}, 5, 1),
        # Of one class whoever loses least, here even gains.
        ({2: [0b11111111, 0b11111111, 0b1, 0b1111111]}, 3, 1 - 7),
    ],
    ids=["the nearer class", "the nearer member"],
)
def test_a_class_is_filled_up_from_nearby(monkeypatch, members, donor, cost):
    """Class 0, which publishes nothing, lacks one member of two; classes 1 and 2 publish one bit and eight."""
    monkeypatch.setattr(aggregate, "_DONORS", 4)
    rows = np.array([[0], *([row] for rows in members.values() for row in rows)], np.uint64)
    candidates = np.array([[0], [0b1], [0b11111111]], np.uint64)
    sizes, first, following = np.zeros(3, np.intp), np.full(3, -1), np.full(len(rows), -1)
    classes = [0, *(giver for giver, rows in members.items() for _ in rows)]
    for person, giver in enumerate(classes):
        following[person], first[giver] = first[giver], person
        sizes[giver] += 1
    found, total = aggregate._cheapest_donors.py_func(rows, candidates, 0, 2, sizes, first, following)
    assert (classes[found[0]], total) == (classes[donor], cost)
    assert hamming(rows[found[0]], candidates[0]) == 1


def test_large_tables_are_aggregated_nearly_as_well_as_small_ones(planted, monkeypatch):
    X, _, _ = planted(10, 0)
    factors = factorise_boolean(X, 10)
    polished = lost(X, aggregate_bits(X, factors, 10))
    monkeypatch.setattr(aggregate, "_MOST_COMPARISONS", 0)
    assert lost(X, aggregate_bits(X, factors, 10)) <= 1.02 * polished
