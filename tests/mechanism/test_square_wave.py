from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import kakuran as kk
from kakuran.errors import CalibrationError
from kakuran.mechanism import RetentionReplacement, SquareWave, UniformMixture, Window
from kakuran.mechanism.square_wave import best_share, best_window, information
from kakuran.randomness import Randomness

AGE = kk.Numeric("age", 0, 120, step=1)
PERHAPS = kk.Numeric("age", 0, 120, step=1, missing="category")

windows = st.builds(Window, st.integers(2, 9), st.integers(0, 9), st.booleans())


def all_outputs(window):
    """The released code of every output, by the definition: numbers as far beyond the bounds as b, then missing."""
    numbers = range(-window.half_width, window.points + window.half_width)
    missing = [window.points + window.half_width] * (2 * window.half_width + 1) * window.may_be_missing
    return np.array([*numbers, *missing])


def outputs_near(window, code):
    if code == window.points:
        return np.full(window.near, window.points + window.half_width)
    return np.arange(code - window.half_width, code + window.half_width + 1)


class TestWindow:
    @given(windows)
    def test_every_value_has_equally_many_outputs_near_it(self, window):
        assert window.outputs == len(all_outputs(window))
        for code in range(window.size):
            places = np.arange(window.near)
            assert window.around(np.full(window.near, code), places).tolist() == outputs_near(window, code).tolist()

    @given(windows)
    def test_anywhere_is_any_output_once(self, window):
        assert window.anywhere(np.arange(window.outputs)).tolist() == all_outputs(window).tolist()

    @given(windows)
    def test_what_is_near_is_held(self, window):
        released = np.unique(all_outputs(window))
        held = window.holds(released[:, None], np.arange(window.size))
        for code in range(window.size):
            assert released[held[:, code]].tolist() == np.unique(outputs_near(window, code)).tolist()

    @given(windows)
    def test_a_released_code_stands_for_as_many_outputs_as_have_it(self, window):
        released, times = np.unique(all_outputs(window), return_counts=True)
        assert np.exp(np.broadcast_to(window.log_copies(released), released.shape)) == pytest.approx(times)

    @given(windows, st.data())
    @settings(max_examples=200)
    def test_kernel_and_shares_are_outputs_counted_one_by_one(self, window, data):
        edges = np.array([0, *sorted(data.draw(st.sets(st.integers(1, window.size - 1)))), window.size])
        inner = st.sets(st.integers(1 - window.half_width, window.size + window.half_width - 1))
        released = np.array([-window.half_width, *sorted(data.draw(inner)), window.size + window.half_width])
        released = np.unique(released)
        outputs = all_outputs(window)
        assert window.shares(edges, released) == pytest.approx(np.histogram(outputs, released)[0] / len(outputs))
        columns = []
        for low, high in itertools.pairwise(edges):
            near = np.concatenate([outputs_near(window, code) for code in range(low, high)])
            columns.append(np.histogram(near, released - 0.5)[0] / len(near))
        assert window.kernel(edges, released).matrix == pytest.approx(np.column_stack(columns), abs=1e-12)

    def test_a_window_of_one_point_keeps_all(self):
        assert isinstance(Window(5, 0).kernel(), UniformMixture)
        assert Window(5, 0).kernel().is_identity


class TestChoice:
    @pytest.mark.parametrize("attribute", [AGE, PERHAPS, kk.Numeric("x", 0, 1, step=0.25), kk.Numeric("x", 0, 1, 1)])
    @pytest.mark.parametrize("cost", [0.0, 1e-300, 1e-9, 1e-3, 0.5, 2.0, 8.0, 40.0, 500.0, 5000.0])
    def test_a_swap_costs_what_was_asked_or_a_trifle_less(self, attribute, cost):
        wave = SquareWave.at_swap_cost(attribute, cost)
        assert wave.largest_swap_cost <= cost
        if cost <= 40:
            assert wave.largest_swap_cost == pytest.approx(cost, rel=1e-6, abs=1e-9)

    def test_no_budget_tells_nothing_and_an_infinite_one_all(self):
        assert SquareWave.at_swap_cost(PERHAPS, 0.0).epsilon == 0
        free = SquareWave.at_swap_cost(PERHAPS, math.inf)
        codes = np.arange(122, dtype=np.int32)
        assert (free.half_width, free.retention, free.epsilon) == (0, 1.0, math.inf)
        assert np.array_equal(free.sample(codes, Randomness.seeded(1)), codes)

    @pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 2.0, 4.0, 8.0])
    @pytest.mark.parametrize("points", [11, 74, 1001])
    def test_no_other_half_width_tells_more_of_a_fine_number(self, points, epsilon):
        wave = SquareWave.at_swap_cost(kk.Numeric("x", 0, points - 1, step=1), 2 * epsilon)
        told = [information(Window(points, b).near / Window(points, b).outputs, epsilon) for b in range(points + 1)]
        best = wave.neighbourhood
        assert information(best.near / best.outputs, epsilon) == pytest.approx(max(told), rel=1e-9)

    def test_few_values_get_a_window_only_where_it_keeps_far_more(self):
        window = {epsilon: best_window(6, epsilon).half_width for epsilon in (0.1, 1.0, 2.0, 4.0)}
        assert window[0.1] > 0
        assert window[1.0] == window[2.0] == window[4.0] == 0

    @pytest.mark.parametrize(("points", "may_be_missing"), [(4, False), (6, False), (8, True), (10, True)])
    @pytest.mark.parametrize("half_width", [0, 1, 2])
    def test_sharpness_is_what_patterns_keep_in_the_root_mean_square(self, points, may_be_missing, half_width):
        window = Window(points, half_width, may_be_missing)
        released = np.arange(-half_width, points + half_width + may_be_missing + 1)
        kernel, shares = window.kernel(released=released).matrix, window.shares(released=released)
        left = np.sum(kernel**2 / shares[:, None]) / window.size
        assert window.levels == window.size
        assert window.sharpness == pytest.approx(math.sqrt((left - 1) / (window.size - 1)))

    def test_the_half_width_is_that_of_the_paper_on_a_fine_grid(self):
        for epsilon in (0.1, 1.0, 3.0):
            e = math.exp(epsilon)
            share = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
            assert best_share(epsilon) == pytest.approx(share, rel=1e-6)
            wave = SquareWave.at_swap_cost(kk.Numeric("x", 0, 99_999, step=1), 2 * epsilon)
            assert wave.half_width == pytest.approx(share * 100_000, abs=2)

    def test_the_share_has_its_limits(self):
        assert best_share(1e-12) == 0.5
        assert best_share(1.01e-4) == pytest.approx(0.5, abs=1e-3)
        assert best_share(math.inf) == 0

    def test_few_points_at_a_large_budget_are_kept_or_replaced(self):
        wave = SquareWave.at_swap_cost(kk.Numeric("x", 1, 16, step=1), 10.4)
        kept = RetentionReplacement.for_swap_cost(16, 10.4)
        assert wave.half_width == 0
        assert wave.transition().matrix == pytest.approx(kept.transition().matrix)

    def test_missing_costs_next_to_nothing(self):
        always, perhaps = (SquareWave.at_swap_cost(one, 4.0) for one in (AGE, PERHAPS))
        assert perhaps.half_width == pytest.approx(always.half_width, abs=3)
        assert perhaps.retention == pytest.approx(always.retention, rel=0.15)


class TestFit:
    def test_categories_are_refused_with_the_way_out(self):
        job = kk.Categorical("job", ["clerk", "nurse"])
        with pytest.raises(
            CalibrationError, match="'job' holds categories: a square wave is for numbers; use retention"
        ):
            SquareWave.at_swap_cost(job, 1.0)

    def test_a_wave_made_for_another_number_is_refused(self):
        wave = SquareWave.at_swap_cost(AGE, 1.0)
        wave.check_fits(AGE)
        with pytest.raises(CalibrationError, match="another step"):
            wave.check_fits(kk.Numeric("age", 0, 240, step=2))
        with pytest.raises(CalibrationError, match="121"):
            wave.check_fits(PERHAPS)

    @pytest.mark.parametrize("half_width", [-1, 11, 1.0, True])
    def test_a_half_width_that_is_none_is_refused(self, half_width):
        with pytest.raises(CalibrationError, match="a whole number of steps from 0 to 10, got"):
            SquareWave(10, half_width, 0.5)

    def test_a_manifest_makes_it_again(self):
        for attribute in (AGE, PERHAPS):
            wave = SquareWave.at_swap_cost(attribute, 3.0)
            assert SquareWave.of(attribute, wave.parameters()) == wave
