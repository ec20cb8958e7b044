from __future__ import annotations

import math
import pickle
import re

import numpy as np
import pytest

from kakuran.errors import CalibrationError
from kakuran.mechanism import BoundedGaussian, BoundedLaplace, Laplace
from kakuran.mechanism.base import TOTAL
from kakuran.mechanism.noise import ROUNDING
from kakuran.randomness import Randomness

BOUNDED = [BoundedLaplace, BoundedGaussian]
ALL = [*BOUNDED, Laplace]


def density(kind, distance, scale):
    return np.exp(-0.5 * (distance / scale) ** 2) if kind is BoundedGaussian else np.exp(-np.abs(distance) / scale)


class TestClosedForms:
    @pytest.mark.parametrize("kind", [BoundedLaplace, Laplace])
    def test_laplace_epsilon_is_the_span_over_the_scale(self, kind):
        assert kind(74, 1, 14.05).epsilon == pytest.approx(73 / 14.05, abs=2 * ROUNDING)

    def test_gaussian_epsilon_is_the_squared_span_over_twice_the_variance(self):
        assert BoundedGaussian(31, 0.5, 6.0).epsilon == pytest.approx(15**2 / 72, abs=2 * ROUNDING)

    @pytest.mark.parametrize("kind", [BoundedLaplace, Laplace])
    def test_laplace_swaps_cost_twice_the_distance_over_the_scale(self, kind):
        cost = kind(21, 0.5, 3.0).swap_cost(np.array([0, 3, 20]), np.array([20, 7, 20]))
        assert cost == pytest.approx([20 / 3, 4 / 3, 0], abs=2 * ROUNDING)

    def test_gaussian_swaps_cost_the_distance_times_the_span_over_the_variance(self):
        cost = BoundedGaussian(21, 0.5, 3.0).swap_cost(np.array([0, 3, 20]), np.array([20, 7, 20]))
        assert cost == pytest.approx([100 / 9, 20 / 9, 0], abs=2 * ROUNDING)

    @pytest.mark.parametrize("cost", [0.01, 1.0, 9.5])
    def test_the_scale_for_a_swap_cost_follows_the_paper(self, cost):
        assert BoundedLaplace.for_swap_cost(74, 1, cost).scale == pytest.approx(2 * 73 / cost, rel=2 * ROUNDING / cost)
        assert Laplace.for_swap_cost(7, 1, cost).scale == pytest.approx(2 * 6 / cost, rel=2 * ROUNDING / cost)
        assert BoundedGaussian.for_swap_cost(74, 1, cost).scale == pytest.approx(
            73 / math.sqrt(cost), rel=2 * ROUNDING / cost
        )

    @pytest.mark.parametrize("kind", ALL)
    @pytest.mark.parametrize("cost", [1e-3, 1.0, 9.5, 300.0])
    def test_the_mechanism_for_a_swap_cost_has_it(self, kind, cost):
        mechanism = kind.for_swap_cost(5, 2.0, cost)
        assert mechanism.largest_swap_cost == pytest.approx(cost, rel=1e-9)
        assert mechanism.epsilon == pytest.approx(cost / 2, abs=2 * ROUNDING)

    @pytest.mark.parametrize("kind", BOUNDED)
    @pytest.mark.parametrize("scale", [0.4, 3.0, 50.0])
    def test_likelihoods_follow_the_density_renormalised_over_the_bounds(self, kind, scale):
        codes = np.arange(11, dtype=np.int32)
        ideal = density(kind, (codes[None, :] - codes[:, None]) * 0.5, scale)
        ideal /= ideal.sum(axis=1, keepdims=True)
        actual = np.exp(kind(11, 0.5, scale).log_likelihood(codes[None, :], codes[:, None]))
        assert actual == pytest.approx(ideal, abs=1e-5)

    def test_laplace_without_bounds_is_the_same_at_every_distance_from_the_bounds(self):
        noise = Laplace(11, 1, 4.0)
        distances = np.arange(-20, 21)
        at = [noise.log_likelihood(distances + code, np.int32(code)) for code in (0, 5, 10)]
        assert at[0] == pytest.approx(at[1], abs=1e-6)
        assert at[2] == pytest.approx(at[1], abs=1e-6)
        ideal = np.exp(-np.abs(distances) / 4) * math.tanh(1 / 8)
        assert np.exp(at[1]) == pytest.approx(ideal, abs=1e-5)

    def test_the_variance_of_laplace_noise_is_twice_the_squared_scale(self):
        assert Laplace(11, 1, 40.0).variance() == pytest.approx(np.full(11, 2 * 40.0**2), rel=3e-3)

    def test_narrow_gaussian_noise_far_from_the_bounds_has_its_own_variance(self):
        assert BoundedGaussian(101, 1, 5.0).variance()[50] == pytest.approx(25, rel=1e-2)

    def test_noise_is_symmetric_about_the_middle(self):
        for kind in ALL:
            variance = kind(8, 1, 2.5).variance()
            assert variance == pytest.approx(variance[::-1], rel=1e-9)


class TestWeights:
    @pytest.mark.parametrize("kind", ALL)
    @pytest.mark.parametrize("scale", [0.01, 0.3, 5.0, 1000.0])
    def test_every_output_is_possible_from_every_input(self, kind, scale):
        noise = kind(12, 1, scale)
        released = np.arange(-noise.reach, 12 + noise.reach, dtype=np.int32)
        table = noise.log_likelihood(released[None, :], np.arange(12, dtype=np.int32)[:, None])
        assert np.isfinite(table).all()

    @pytest.mark.parametrize("kind", ALL)
    def test_weights_are_whole_and_add_up_to_two_to_the_63(self, kind):
        weights = kind(12, 1, 3.0).weights
        assert weights.sum() == pytest.approx(TOTAL)
        assert np.array_equal(weights, np.floor(weights))

    @pytest.mark.parametrize("kind", ALL)
    @pytest.mark.parametrize("scale", [0.01, 3.0])
    def test_at_most_four_millionths_are_spread_evenly(self, kind, scale):
        noise = kind(12, 1, scale)
        distances = np.arange(len(noise.weights)) - len(noise.weights) // 2
        ideal = density(kind, distances, scale)
        assert np.abs(noise.weights / TOTAL - ideal / ideal.sum()).sum() / 2 < 4e-6


class TestEdges:
    @pytest.mark.parametrize("kind", ALL)
    def test_no_scale_adds_nothing(self, kind):
        noise = kind(5, 1, 0.0)
        codes = np.arange(5, dtype=np.int32)
        assert noise.reach == 0
        assert noise.epsilon == math.inf
        assert noise.largest_swap_cost == math.inf
        assert noise.sample(codes, Randomness.seeded(1)).tolist() == codes.tolist()
        assert np.array_equal(noise.transition().matrix, np.eye(5))
        assert noise.swap_cost(codes, codes[::-1]).tolist() == [math.inf, math.inf, 0, math.inf, math.inf]
        assert noise.swap_sums(np.arange(5.0), 0).tolist() == [0, 1, 2, 3, 4]
        assert np.exp(noise.log_likelihood(codes, codes[::-1])).tolist() == [0, 0, 1, 0, 0]
        assert not noise.variance().any()

    @pytest.mark.parametrize("kind", BOUNDED)
    def test_an_infinite_scale_forgets_the_number(self, kind):
        noise = kind(5, 2.0, math.inf)
        assert noise.epsilon == pytest.approx(0, abs=ROUNDING)
        assert noise.largest_swap_cost == pytest.approx(0, abs=ROUNDING)
        assert noise.transition().matrix == pytest.approx(np.full((5, 5), 0.2), abs=1e-12)
        assert noise.variance() == pytest.approx(np.full(5, 8.0))
        assert noise.swap_sums(np.arange(5.0), 0) == pytest.approx(np.full(5, 10.0), rel=1e-5)
        drawn = noise.sample(np.zeros(5000, np.int32), Randomness.seeded(1))
        assert set(drawn.tolist()) == {0, 1, 2, 3, 4}

    @pytest.mark.parametrize("kind", BOUNDED)
    def test_no_swap_cost_means_an_infinite_scale_and_any_cost_means_none(self, kind):
        assert kind.for_swap_cost(5, 1, 0.0).scale == math.inf
        assert kind.for_swap_cost(5, 1, math.inf).scale == 0

    @pytest.mark.parametrize("kind", ALL)
    @pytest.mark.parametrize("scale", [1e-310, 1e-170, 1e-9])
    def test_a_scale_far_below_the_step_behaves_like_none(self, kind, scale):
        noise = kind(4, 1.0, scale)
        codes = np.arange(4, dtype=np.int32)
        assert noise.sample(codes, Randomness.seeded(1)).tolist() == [0, 1, 2, 3]
        assert noise.swap_cost(codes, codes).tolist() == [0, 0, 0, 0]
        assert noise.swap_sums(np.arange(4.0), 0) == pytest.approx([0, 1, 2, 3])

    @pytest.mark.parametrize("kind", BOUNDED)
    def test_a_scale_far_beyond_the_span_behaves_like_infinity(self, kind):
        assert kind(4, 1.0, 1e200).epsilon == pytest.approx(0, abs=ROUNDING)

    def test_a_grid_of_two_points_is_enough(self):
        assert BoundedLaplace(2, 1, 1.0).transition().matrix[0, 0] == pytest.approx(1 / (1 + math.exp(-1)), abs=1e-5)

    def test_long_columns_are_drawn_chunk_by_chunk(self):
        drawn = BoundedLaplace(1000, 1, math.inf).sample(np.zeros(1 << 17, np.int32), Randomness.seeded(1))
        assert len({part.tobytes() for part in drawn.reshape(4, -1)}) == 4

    def test_equal_noise_is_equal_and_hashes_alike(self):
        assert BoundedLaplace(5, 1, 2.0) == BoundedLaplace(5, 1, 2.0)
        assert len({BoundedLaplace(5, 1, 2.0), BoundedLaplace(5, 1, 2.0), Laplace(5, 1, 2.0)}) == 2

    def test_a_pickled_copy_does_not_carry_its_tables(self):
        noise = BoundedLaplace(1 << 16, 1, 100.0)
        noise.sample(np.zeros(3, np.int32), Randomness.seeded(1))
        assert len(pickle.dumps(noise)) < 1000


class TestLargeGrids:
    """The finest grids the schema allows, where rounding weighs most."""

    SIZE = 1 << 20

    @staticmethod
    def costs_between(noise, a, b):
        """The true swap cost of two codes and the largest log-ratio between them, in exact whole numbers' logs."""
        centre = noise.size - 1 + noise.reach
        released = np.arange(-noise.reach, noise.size + noise.reach)
        ratios = np.log(noise.weights[released - a + centre]) - np.log(noise.weights[released - b + centre])
        normalisers = [noise.weights[released - code + centre].sum() for code in (a, b)]
        return ratios.max() - ratios.min(), ratios.max() + math.log(normalisers[1] / normalisers[0])

    @pytest.mark.parametrize("kind", BOUNDED)
    @pytest.mark.parametrize("scale", [1.0, 1e3, 1e5, 1e7, 1e9, 1e12, math.inf])
    def test_rounding_stays_within_what_is_counted_for_it(self, kind, scale):
        noise = kind(self.SIZE, 1, scale)
        for a, b in [(0, 1), (0, self.SIZE - 1), (self.SIZE - 1, 0), (self.SIZE // 2, self.SIZE // 2 + 1)]:
            swap, ratio = self.costs_between(noise, a, b)
            assert swap <= float(noise.swap_cost(np.int64(a), np.int64(b))) + 1e-12
            assert ratio <= noise.epsilon + 1e-12

    def test_what_rounding_leaves_over_stays_within_what_is_counted_for_it(self):
        """On this many nearly equal points almost a unit a point is left over, and goes to a single one."""
        noise = BoundedLaplace(1_048_567, 1, 1e22)
        swap, _ = self.costs_between(noise, 524_283, 524_284)
        assert swap <= float(noise.swap_cost(np.int64(0), np.int64(1)))

    def test_rounding_stays_within_bounds_for_the_widest_laplace(self):
        noise = Laplace(1000, 1, 65_000.0)
        for a, b in [(0, 1), (0, 999), (500, 501)]:
            swap, ratio = self.costs_between(noise, a, b)
            assert swap <= float(noise.swap_cost(np.int64(a), np.int64(b))) + 1e-12
            assert ratio <= noise.epsilon + 1e-12

    def test_a_coarse_transition_of_a_fine_grid_is_made_of_distributions(self):
        matrix = BoundedLaplace(self.SIZE, 1, 2e5).transition(np.linspace(0, self.SIZE, 9).astype(int)).matrix
        assert matrix.sum(axis=0) == pytest.approx(1, abs=1e-9)
        assert (matrix.argmax(axis=0) == np.arange(8)).all()


class TestRefusals:
    @pytest.mark.parametrize("kind", ALL)
    @pytest.mark.parametrize("size", [1, 0])
    def test_a_single_grid_point_is_refused(self, kind, size):
        with pytest.raises(CalibrationError, match=f"at least 2 grid points, got {size}"):
            kind(size, 1, 1.0)

    @pytest.mark.parametrize("kind", ALL)
    @pytest.mark.parametrize("scale", [-1.0, math.nan, -math.inf])
    def test_a_negative_scale_is_refused(self, kind, scale):
        with pytest.raises(CalibrationError, match=f"must be 0 or more, got {scale}"):
            kind(5, 1, scale)

    @pytest.mark.parametrize("kind", ALL)
    @pytest.mark.parametrize("step", [0, -1.0, math.nan])
    def test_a_step_that_is_not_positive_is_refused(self, kind, step):
        with pytest.raises(CalibrationError, match="step"):
            kind(5, step, 1.0)

    def test_laplace_on_too_fine_a_grid_is_refused_with_a_step_that_would_do(self):
        with pytest.raises(CalibrationError, match="too fine to draw exactly") as refusal:
            Laplace(1001, 0.001, 100.0)
        suggested = float(re.search(r"step of at least (\S+),", str(refusal.value)).group(1))
        assert Laplace(1001, suggested, 100.0).step < 0.002

    def test_laplace_of_infinite_scale_is_refused(self):
        with pytest.raises(CalibrationError, match="bounded-laplace"):
            Laplace(5, 1, math.inf)


@pytest.mark.parametrize("kind", ALL)
def test_released_codes_may_have_cells_of_their_own(kind):
    noise = kind(9, 1, 2.0)
    edges, released = np.array([0, 2, 3, 9]), np.array([-noise.reach, 1, 4, 5, 9 + noise.reach])
    found = noise.transition(edges, released).matrix
    codes = np.arange(-noise.reach, 9 + noise.reach, dtype=np.int32)
    points = np.exp(noise.log_likelihood(codes[:, None], np.arange(9, dtype=np.int32)))
    wanted = np.add.reduceat(points, released[:-1] + noise.reach, axis=0)
    wanted = np.add.reduceat(wanted, edges[:-1], axis=1) / np.diff(edges)
    assert found == pytest.approx(wanted)
    assert found.sum(axis=0) == pytest.approx(np.ones(3))
