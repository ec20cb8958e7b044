"""Boolean factorisation."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

import kakuran as kk
from kakuran.wide import encode_rows, factorise_boolean
from kakuran.wide.boolean import boolean_product


def columns(matrix):
    return sorted(map(bytes, np.asarray(matrix, np.uint8).T))


@pytest.mark.parametrize("rank", [3, 5, 10, 20])
@pytest.mark.parametrize("seed", range(3))
def test_planted_factors_are_recovered_exactly_through_flips(planted, rank, seed):
    X, U, V = planted(rank, seed)
    found = factorise_boolean(X, rank)
    assert columns(found.U) == columns(U)
    assert columns(found.V) == columns(V)


@pytest.mark.parametrize("rank", [3, 10])
def test_the_rank_that_guesses_hidden_entries_best_is_the_planted_one(planted, rank):
    X, *_ = planted(rank, 7)
    assert factorise_boolean(X).rank == rank


def test_rows_are_encoded_as_well_as_by_trying_every_combination():
    rng = np.random.default_rng(0)
    V = (rng.random((40, 4)) < 0.3).astype(np.uint8)
    X = csr_array((rng.random((60, 40)) < 0.25).astype(np.int8))
    combinations = np.array(list(product((0, 1), repeat=4)), np.uint8)
    rebuilt = boolean_product(combinations, V).toarray()
    best = (X.toarray()[:, None, :] != rebuilt[None]).sum(axis=2).min(axis=1)
    found = (boolean_product(encode_rows(X, V), V).toarray() != X.toarray()).sum(axis=1)
    # Single steps can end beside the best combination, but not often and not far.
    assert (found == best).mean() > 0.9
    assert (found - best).max() <= 3


def test_patterns_found_on_some_rows_fit_all_rows(planted, monkeypatch):
    X, _, V = planted(5, 1, rows=3000)
    monkeypatch.setattr("kakuran.wide.boolean.SAMPLE", 800)
    found = factorise_boolean(X, 5)
    assert columns(found.V) == columns(V)
    assert found.U.shape == (3000, 5)


def test_empty_rows_and_columns_have_no_pattern(planted):
    X, *_ = planted(3, 2, rows=300, columns=200)
    dense = X.toarray()
    dense[17], dense[:, 5] = 0, 0
    found = factorise_boolean(dense, 3)
    assert not found.U[17].any()
    assert not found.V[5].any()


@pytest.mark.parametrize(
    ("matrix", "rank", "problem"),
    [
        (np.eye(5), 5, "from 1 to 4, below both sides"),
        (np.eye(5), 0, "got 0"),
        (np.eye(5), 1.5, "whole number"),
        (np.eye(5), np.nan, "whole number"),
        (np.eye(5), "3", "got '3'"),
        (np.eye(5) * 2, 2, "not binary, got 2"),
        (-np.eye(5), 2, "negative entries, got -1"),
        (np.full((5, 5), np.nan), 2, "missing or infinite"),
        (np.zeros((0, 5)), 2, r"shape \(0, 5\)"),
    ],
)
def test_what_cannot_be_factorised_is_refused(matrix, rank, problem):
    with pytest.raises((kk.CalibrationError, kk.DataError), match=problem):
        factorise_boolean(matrix, rank)
    if isinstance(rank, int) and 1 <= rank < 5:
        with pytest.raises(kk.DataError, match=problem):
            factorise_boolean(csr_array(matrix), rank)


def test_the_estimator_rebuilds_what_it_was_fitted_to(planted):
    X, *_ = planted(3, 0, rows=300, columns=200, flips=0)
    model = kk.BooleanFactorisation(rank=3)
    U = model.fit_transform(X)
    assert (model.inverse_transform(U) != X).sum() == 0
    assert (model.transform(X) == U).all()
    assert model.fit(X).rank_ == 3
