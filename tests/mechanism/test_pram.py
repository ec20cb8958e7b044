from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from kakuran.errors import CalibrationError
from kakuran.mechanism import PRAM, RetentionReplacement
from kakuran.randomness import Randomness

MATRIX = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.25, 0.05, 0.7]]


def test_epsilon_is_the_largest_log_ratio_in_a_column():
    assert PRAM(MATRIX).epsilon == pytest.approx(math.log(0.5 / 0.05))
    assert PRAM([[0.9, 0.1], [0.2, 0.8]]).epsilon == pytest.approx(math.log(8))


def test_the_swap_cost_is_the_worst_of_both_directions():
    costs = PRAM([[0.9, 0.1], [0.2, 0.8]]).swap_costs
    assert costs == pytest.approx(np.array([[0, math.log(36)], [math.log(36), 0]]))


def test_k_is_one_plus_the_others_at_the_largest_swap_cost():
    assert PRAM([[0.9, 0.1], [0.2, 0.8]]).k(361) == pytest.approx(1 + 360 / 36)


def test_an_output_that_tells_two_values_apart_costs_everything():
    split = PRAM([[1.0, 0.0], [0.5, 0.5]])
    assert split.epsilon == math.inf
    assert split.largest_swap_cost == math.inf
    assert split.k(1000) == 1


def test_values_that_are_treated_alike_cost_nothing_to_swap():
    assert PRAM([[0.3, 0.7], [0.3, 0.7]]).largest_swap_cost == pytest.approx(0, abs=1e-15)
    assert PRAM([[0.3, 0.7], [0.3, 0.7]]).epsilon == pytest.approx(0, abs=1e-15)


def test_zeros_common_to_all_values_cost_nothing():
    assert PRAM([[0.6, 0.4, 0], [0.4, 0.6, 0], [0.5, 0.5, 0]]).epsilon == pytest.approx(math.log(1.5))


def test_retention_replacement_is_a_pram_matrix():
    plain = RetentionReplacement(5, 0.37)
    matrix = PRAM(plain.transition().matrix.T)
    codes = np.arange(5)
    assert matrix.epsilon == pytest.approx(plain.epsilon)
    assert matrix.swap_costs == pytest.approx(plain.swap_cost(codes[:, None], codes[None, :]))
    assert matrix.variance() == pytest.approx(plain.variance())


def test_zero_entries_are_never_drawn():
    codes = np.tile(np.arange(3, dtype=np.int32), 50_000)
    drawn = PRAM([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]]).sample(codes, Randomness.seeded(1))
    assert not (drawn == (codes + 2) % 3).any()
    assert {*zip(codes.tolist(), drawn.tolist(), strict=True)} == {(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 0)}


def test_the_identity_changes_nothing():
    codes = np.arange(4, dtype=np.int32)
    assert PRAM(np.eye(4)).sample(codes, Randomness.seeded(1)).tolist() == [0, 1, 2, 3]


def test_rows_that_miss_one_by_rounding_are_taken_as_meant():
    tenths = PRAM([[0.1] * 10] * 10)
    assert tenths.transition().matrix.sum(axis=0) == pytest.approx(1, abs=1e-15)


class TestInvariant:
    COUNTS = (500.0, 300.0, 200.0)

    def test_the_counts_stay_as_they_are_on_average(self):
        invariant = PRAM.invariant(MATRIX, self.COUNTS)
        assert invariant.transition().forward(np.array(self.COUNTS), 0) == pytest.approx(self.COUNTS)

    def test_it_perturbs_nevertheless(self):
        invariant = PRAM.invariant(MATRIX, self.COUNTS)
        assert (invariant.transition().matrix.diagonal() < 0.95).all()
        assert invariant.epsilon < PRAM(MATRIX).epsilon

    @pytest.mark.parametrize("counts", [[1, 2], [1, 0, 2], [1, -1, 2], [[1, 2, 3]], [1, math.nan, 1]])
    def test_counts_that_do_not_fit_are_refused(self, counts):
        with pytest.raises(CalibrationError, match="needs 3 positive counts"):
            PRAM.invariant(MATRIX, counts)


class TestImmutability:
    def test_the_matrix_cannot_be_written_to(self):
        with pytest.raises(ValueError, match="read-only"):
            PRAM(MATRIX).matrix[0, 0] = 1

    def test_the_matrix_of_a_pickled_copy_cannot_be_written_to(self):
        with pytest.raises(ValueError, match="read-only"):
            pickle.loads(pickle.dumps(PRAM(MATRIX))).matrix[0, 0] = 1

    def test_changing_the_array_it_was_made_from_changes_nothing(self):
        given = np.array(MATRIX)
        mechanism = PRAM(given)
        given[:] = 1 / 3
        assert mechanism.epsilon == PRAM(MATRIX).epsilon

    def test_changing_what_it_hands_out_changes_nothing(self):
        mechanism = PRAM(MATRIX)
        mechanism.transition().matrix[:] = 1 / 3
        mechanism.parameters()["matrix"][0][0] = 0.0
        assert mechanism.epsilon == PRAM(MATRIX).epsilon
        assert mechanism.transition().matrix == pytest.approx(np.array(MATRIX).T)


class TestRefusals:
    @pytest.mark.parametrize("matrix", [[[0.5, 0.5]], [[1.0]], [0.5, 0.5], [[[0.5, 0.5], [0.5, 0.5]]]])
    def test_a_matrix_that_is_not_square_is_refused(self, matrix):
        with pytest.raises(CalibrationError, match="square, at least 2 × 2; got shape"):
            PRAM(matrix)

    def test_a_row_that_does_not_sum_to_one_is_named(self):
        with pytest.raises(CalibrationError, match=r"row 2 sums to 0\.9$"):
            PRAM([[0.5, 0.5], [0.5, 0.4]])

    def test_columns_instead_of_rows_are_refused(self):
        with pytest.raises(CalibrationError, match="every row of a PRAM matrix sums to 1"):
            PRAM(np.array(MATRIX).T)

    @pytest.mark.parametrize("entry", [-0.1, math.nan, math.inf])
    def test_entries_that_are_no_probabilities_are_refused(self, entry):
        with pytest.raises(CalibrationError, match="negative or non-finite"):
            PRAM([[entry, 1 - entry], [0.5, 0.5]])
