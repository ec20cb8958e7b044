"""What every mechanism promises, checked against its own log-likelihood by brute force."""

from __future__ import annotations

import dataclasses
import math
import pickle

import numpy as np
import pytest

from kakuran.counts import Cells
from kakuran.mechanism.noise import ROUNDING
from kakuran.randomness import Randomness

CLOSE = 2e-3


def all_pairs(mechanism):
    codes = np.arange(mechanism.size, dtype=np.int32)
    return codes[:, None], codes[None, :]


def released_codes(mechanism):
    return np.arange(-mechanism.reach, mechanism.size + mechanism.reach)


def may_be_missing(mechanism):
    """Whether the last code is that of a number that is missing."""
    return getattr(mechanism, "may_be_missing", False)


def log_ratios(matrix):
    """max over y of log p(y|a)/p(y|b), for every a, b; −∞ never, +∞ where some output rules b out."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(matrix)
        differences = logs[:, None, :] - logs[None, :, :]
    return np.where(np.isfinite(logs)[:, None, :], differences, -np.inf).max(axis=2)


def true_swap_costs(matrix):
    """−log of the least likelihood ratio over all y_s, y_t that a and b can have released."""
    ratios = log_ratios(matrix)
    return ratios + ratios.T


class TestObject:
    def test_fields_cannot_be_set(self, mechanism):
        for field in dataclasses.fields(mechanism):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(mechanism, field.name, 1)

    def test_a_pickled_copy_is_the_same_mechanism(self, mechanism, probabilities):
        twin = pickle.loads(pickle.dumps(mechanism))
        assert type(twin) is type(mechanism)
        assert twin.parameters() == mechanism.parameters()
        assert np.array_equal(probabilities(twin), probabilities(mechanism))

    def test_a_pickled_copy_draws_the_same_numbers_after_the_original_was_used(self, mechanism):
        codes = np.tile(np.arange(mechanism.size, dtype=np.int32), 100)
        drawn = mechanism.sample(codes, Randomness.seeded(1))
        twin = pickle.loads(pickle.dumps(mechanism))
        assert np.array_equal(twin.sample(codes, Randomness.seeded(1)), drawn)

    def test_being_used_does_not_make_the_pickle_grow(self, mechanism):
        before = len(pickle.dumps(mechanism))
        mechanism.sample(np.zeros(10, np.int32), Randomness.seeded(1))
        mechanism.variance()
        mechanism.swap_cost(*all_pairs(mechanism))
        assert len(pickle.dumps(mechanism)) == before


class TestSampling:
    def test_the_column_given_is_left_alone(self, mechanism):
        codes = np.tile(np.arange(mechanism.size, dtype=np.int32), 50)
        given = codes.copy()
        mechanism.sample(codes, Randomness.seeded(1))
        assert np.array_equal(codes, given)

    def test_released_codes_are_32_bit_and_within_reach(self, mechanism):
        codes = np.tile(np.arange(mechanism.size, dtype=np.int32), 20_000)
        drawn = mechanism.sample(codes, Randomness.seeded(1))
        assert drawn.dtype == np.int32
        assert drawn.shape == codes.shape
        assert drawn.min() >= -mechanism.reach
        assert drawn.max() < mechanism.size + mechanism.reach

    def test_only_possible_outputs_are_released(self, mechanism):
        codes = np.tile(np.arange(mechanism.size, dtype=np.int32), 20_000)
        drawn = mechanism.sample(codes, Randomness.seeded(1))
        assert np.isfinite(mechanism.log_likelihood(drawn, codes)).all()

    def test_the_seed_decides_what_is_drawn(self, mechanism):
        codes = np.tile(np.arange(mechanism.size, dtype=np.int32), 100_000 // mechanism.size)
        first, again, other = (mechanism.sample(codes, Randomness.seeded(seed)) for seed in (1, 1, 2))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)

    def test_an_empty_column_stays_empty(self, mechanism):
        assert mechanism.sample(np.empty(0, np.int32), Randomness.seeded(1)).shape == (0,)


class TestLikelihood:
    def test_the_likelihoods_of_all_outputs_add_up_to_one(self, mechanism, probabilities):
        assert probabilities(mechanism).sum(axis=1) == pytest.approx(1, abs=1e-12)

    def test_likelihoods_broadcast(self, mechanism):
        a, b = all_pairs(mechanism)
        table = mechanism.log_likelihood(a, b)
        assert table.shape == (mechanism.size, mechanism.size)
        assert table[1, 0] == mechanism.log_likelihood(np.int32(1), np.int32(0))


class TestTransition:
    @staticmethod
    def cuts(mechanism):
        size = mechanism.size
        return [None, np.arange(size + 1), np.array([0, 1, size]), np.array([0, size // 2, size]), np.array([0, size])]

    @staticmethod
    def aggregated(matrix, mechanism, edges):
        """The transition between cells, from p(y|x): outputs add up, inputs average, outer cells have no end."""
        edges = np.arange(mechanism.size + 1) if edges is None else edges
        cells = Cells("x", edges, ("",) * (len(edges) - 1), has_missing=may_be_missing(mechanism))
        outputs = np.zeros((len(matrix), cells.size))
        np.add.at(outputs.T, cells.place(released_codes(mechanism), mechanism.reach), matrix.T)
        return (np.add.reduceat(outputs, edges[:-1], axis=0) / np.diff(edges)[:, None]).T

    def test_columns_are_distributions(self, mechanism):
        for edges in self.cuts(mechanism):
            matrix = mechanism.transition(edges).matrix
            assert (matrix >= 0).all()
            assert matrix.sum(axis=0) == pytest.approx(1, abs=1e-12)

    def test_the_matrix_is_the_likelihood_added_up_over_cells(self, mechanism, probabilities):
        for edges in self.cuts(mechanism):
            expected = self.aggregated(probabilities(mechanism), mechanism, edges)
            assert mechanism.transition(edges).matrix == pytest.approx(expected, abs=1e-12)

    def test_released_codes_may_lie_in_cells_of_their_own(self, mechanism, probabilities):
        edges, released = np.array([0, 1, mechanism.size]), np.array([0, mechanism.size - 1, mechanism.size])
        inside = probabilities(mechanism)[:, mechanism.reach : mechanism.reach + mechanism.size]
        outputs = np.add.reduceat(inside, [0, mechanism.size - 1], axis=1)
        expected = (np.add.reduceat(outputs, [0, 1], axis=0) / [[1], [mechanism.size - 1]]).T
        assert mechanism.transition(edges, released).matrix == pytest.approx(expected, abs=1e-12)

    def test_the_cells_of_released_codes_hold_all_of_them(self, mechanism):
        edges = np.array([0, 1, mechanism.size])
        codes = released_codes(mechanism)[: -1 if may_be_missing(mechanism) else None]
        released = mechanism.released_cells(edges, codes)
        assert released[0] <= codes.min()
        assert codes.max() < released[-1]
        assert (np.diff(released) > 0).all()

    @pytest.mark.parametrize("axis", [0, 1, 2, -1])
    def test_forward_and_adjoint_apply_the_matrix_along_an_axis(self, mechanism, axis):
        for edges in self.cuts(mechanism):
            transition = mechanism.transition(edges)
            cells = len(transition.matrix)
            shape = [3, 2, 4]
            shape[axis] = cells
            counts = np.random.default_rng(0).uniform(0, 10, shape)
            for method, matrix in ((transition.forward, transition.matrix), (transition.adjoint, transition.matrix.T)):
                expected = np.apply_along_axis(lambda column, matrix=matrix: matrix @ column, axis, counts)
                assert method(counts, axis) == pytest.approx(expected, rel=1e-12, abs=1e-12)

    def test_adjoint_is_the_transpose_of_forward(self, mechanism):
        transition = mechanism.transition()
        generator = np.random.default_rng(1)
        x, y = generator.uniform(-1, 1, (2, 2, mechanism.size, 3))
        left = (transition.forward(x, 1) * y).sum()
        assert left == pytest.approx((x * transition.adjoint(y, 1)).sum(), rel=1e-10)

    @pytest.mark.parametrize("axis", [0, 1, 2])
    def test_solve_undoes_forward(self, mechanism, axis):
        # From every code that may be released: fewer cells may not tell all of the true ones.
        released = np.arange(-mechanism.reach, mechanism.size + mechanism.reach + 1)
        transition = mechanism.transition(np.arange(mechanism.size + 1), released)
        shape = [2, 3, 2]
        shape[axis] = mechanism.size
        counts = np.random.default_rng(2).uniform(0, 10, shape)
        assert transition.solve(transition.forward(counts, axis), axis) == pytest.approx(counts, rel=1e-6, abs=1e-6)

    def test_forward_keeps_the_total(self, mechanism):
        counts = np.random.default_rng(3).uniform(0, 10, (mechanism.size, 4))
        assert mechanism.transition().forward(counts, 0).sum(axis=0) == pytest.approx(counts.sum(axis=0))


class TestPrivacy:
    def test_swapping_never_costs_more_than_promised(self, mechanism, probabilities):
        promised = mechanism.swap_cost(*all_pairs(mechanism))
        assert (true_swap_costs(probabilities(mechanism)) <= promised + 1e-12).all()

    def test_the_promised_swap_cost_is_no_more_than_needed(self, tight_mechanism, probabilities):
        promised = tight_mechanism.swap_cost(*all_pairs(tight_mechanism))
        needed = true_swap_costs(probabilities(tight_mechanism))
        assert promised == pytest.approx(needed, rel=CLOSE, abs=2 * ROUNDING)

    def test_swap_costs_are_symmetric_and_nothing_between_equals(self, mechanism):
        costs = mechanism.swap_cost(*all_pairs(mechanism))
        assert np.array_equal(costs, costs.T)
        assert not costs.diagonal().any()
        assert (costs >= 0).all()

    def test_the_largest_swap_cost_is_the_largest(self, mechanism):
        largest = mechanism.swap_cost(*all_pairs(mechanism)).max()
        assert mechanism.largest_swap_cost == pytest.approx(largest, rel=1e-12)

    def test_epsilon_covers_every_log_ratio(self, mechanism, probabilities):
        assert log_ratios(probabilities(mechanism)).max() <= mechanism.epsilon + 1e-12

    def test_epsilon_is_no_more_than_needed(self, tight_mechanism, probabilities):
        needed = log_ratios(probabilities(tight_mechanism)).max()
        assert tight_mechanism.epsilon == pytest.approx(needed, rel=CLOSE)

    def test_a_swap_costs_at_most_twice_epsilon(self, mechanism):
        assert mechanism.largest_swap_cost <= 2 * mechanism.epsilon + 1e-12

    @pytest.mark.parametrize("axis", [0, 1, 2, -1])
    def test_swap_sums_are_the_sums_over_everybody(self, mechanism, axis):
        shape = [3, 2, 4]
        shape[axis] = mechanism.size
        counts = np.random.default_rng(4).integers(0, 20, shape).astype(float)
        factors = np.exp(-mechanism.swap_cost(*all_pairs(mechanism)))
        expected = np.apply_along_axis(lambda line: factors @ line, axis, counts)
        assert mechanism.swap_sums(counts, axis) == pytest.approx(expected, rel=1e-9, abs=1e-9)


class TestVariance:
    def test_the_variance_is_that_of_the_distribution(self, mechanism, probabilities):
        if getattr(mechanism, "step", None) is None:
            expected = self.of_estimated_counts(probabilities(mechanism))
        else:
            expected = self.of_released_numbers(mechanism, probabilities(mechanism))
        assert mechanism.variance() == pytest.approx(expected, rel=1e-9)

    @staticmethod
    def of_released_numbers(mechanism, matrix):
        released = released_codes(mechanism) * mechanism.step
        if may_be_missing(mechanism):
            released, matrix = released[:-1], matrix[:, :-1] / matrix[:, :-1].sum(axis=1, keepdims=True)
        means = matrix @ released
        return (matrix * (released - means[:, None]) ** 2).sum(axis=1)

    @staticmethod
    def of_estimated_counts(matrix):
        """Per value v, over records x ≠ v: the variance of what each adds to the unbiased estimate of v's count."""
        estimate = np.linalg.inv(matrix)
        size = len(matrix)
        variances = [
            [matrix[x] @ estimate[:, v] ** 2 - (matrix[x] @ estimate[:, v]) ** 2 for x in range(size) if x != v]
            for v in range(size)
        ]
        return np.mean(variances, axis=1)


class TestParameters:
    def test_parameters_are_plain_values(self, mechanism):
        def is_plain(value):
            if isinstance(value, list):
                return all(map(is_plain, value))
            return type(value) in (int, float, str)

        assert mechanism.parameters()
        assert all(map(is_plain, mechanism.parameters().values()))

    def test_the_size_and_reach_are_whole_numbers(self, mechanism):
        assert isinstance(mechanism.size, int)
        assert isinstance(mechanism.reach, int)
        assert math.isfinite(mechanism.reach)
