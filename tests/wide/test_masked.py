"""Factors of the non-zero entries."""

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.sparse import csr_array

import kakuran as kk
from kakuran.wide import factorise_masked
from kakuran.wide.masked import solve_rows


@pytest.fixture
def ratings():
    rng = np.random.default_rng(0)
    U, V = rng.gamma(1, 1, (400, 4)), rng.gamma(1, 1, (150, 4))
    seen = rng.random((400, 150)) < 0.2
    return csr_array(np.where(seen, U @ V.T + 0.01, 0.0))


def multiplicative_updates(X, rank, epochs):
    """Lee and Seung's updates on the same entries, as the yardstick."""
    rng = np.random.default_rng(0)
    dense, seen = X.toarray(), X.toarray() > 0
    U, V = (rng.uniform(0.5, 1.5, (side, rank)) * np.sqrt(X.data.mean() / rank) for side in X.shape)
    for _ in range(epochs):
        U *= (dense @ V) / ((seen * (U @ V.T)) @ V + 1e-12)
        V *= (dense.T @ U) / ((seen * (U @ V.T)).T @ U + 1e-12)
    return float(np.sqrt(((dense - U @ V.T)[seen] ** 2).mean()))


def test_five_epochs_come_nearer_than_multiplicative_updates(ratings):
    found = factorise_masked(ratings, 4, epochs=5, tolerance=0)
    assert found.errors[-1] < 0.8 * multiplicative_updates(ratings, 4, 5)


def test_the_error_never_rises_and_is_that_of_the_non_zero_entries(ratings):
    found = factorise_masked(ratings, 4, epochs=15, tolerance=0)
    assert (np.diff(found.errors) <= 1e-9).all()
    dense = ratings.toarray()
    assert found.errors[-1] == pytest.approx(np.sqrt(((dense - found.U @ found.V.T)[dense > 0] ** 2).mean()))
    assert found.U.min() >= 0
    assert found.V.min() >= 0


def test_rows_are_solved_as_non_negative_least_squares(ratings):
    V = np.random.default_rng(1).random((150, 4))
    U = solve_rows(ratings, V)
    for row in range(5):
        seen = ratings[[row]].toarray()[0] > 0
        assert U[row] == pytest.approx(nnls(V[seen], ratings[[row]].toarray()[0][seen])[0], abs=1e-4)


def test_the_planted_rank_guesses_hidden_entries_best(ratings):
    assert factorise_masked(ratings).rank in (3, 4, 5)


def test_people_who_rated_nothing_have_no_factors(ratings):
    dense = ratings.toarray()
    dense[3], dense[:, 9] = 0, 0
    found = factorise_masked(dense, 4)
    assert not found.U[3].any()
    assert not found.V[9].any()


def test_a_matrix_of_zeros_has_factors_of_zeros():
    assert not factorise_masked(np.zeros((6, 5)), 2).U.any()


@pytest.mark.parametrize(
    ("matrix", "rank", "problem"),
    [
        (np.eye(4), 4, "below both sides of a 4 × 4 matrix"),
        (-np.eye(4), 2, "negative"),
        (np.full((4, 4), np.inf), 2, "missing or infinite"),
    ],
)
def test_what_cannot_be_factorised_is_refused(matrix, rank, problem):
    with pytest.raises((kk.CalibrationError, kk.DataError), match=problem):
        factorise_masked(matrix, rank)


def test_the_estimator_fits_and_transforms(ratings):
    model = kk.MaskedNMF(rank=4)
    U = model.fit_transform(ratings)
    seen = ratings.toarray() > 0
    assert np.abs((model.inverse_transform(U) - ratings.toarray())[seen]).mean() < 0.5
    assert model.n_iter_ == len(model.errors_)
    assert model.fit(ratings).transform(ratings) == pytest.approx(U, abs=0.5)
