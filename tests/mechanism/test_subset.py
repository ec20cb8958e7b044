from __future__ import annotations

import math
import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from scipy import stats

import kakuran as kk
from kakuran.errors import CalibrationError
from kakuran.mechanism import CirculantTransition, DenseTransition, RetentionReplacement, Shifts, SubsetSelection
from kakuran.mechanism.subset import spread_out
from kakuran.randomness import Randomness

SEVEN = Shifts(7, (0, 1, 3))
FALSE_ALARMS = 1e-6


def category(size):
    return kk.Categorical("item", [f"{value:04}" for value in range(size)])


def matrix_of(shifts):
    """K by brute force, true values along columns: each of its outputs once."""
    found = np.zeros((shifts.size, shifts.size))
    for value in range(shifts.size):
        for shift in shifts.shifts:
            found[(value + shift) % shifts.size, value] += 1 / shifts.near
    return found


def loss(size, shifts):
    """How much larger the variance of estimates is than with flat waves."""
    heights = np.abs(np.fft.fft(np.isin(np.arange(size), shifts))[1:]) ** 2
    return float((heights.mean() / heights).mean())


class TestShifts:
    def test_the_kernel_moves_every_value_by_each_shift(self):
        assert SEVEN.kernel().matrix == pytest.approx(matrix_of(SEVEN), abs=1e-15)

    def test_coarser_cells_add_outputs_up_and_average_inputs(self):
        edges = np.array([0, 2, 3, 7])
        expected = np.add.reduceat(np.add.reduceat(matrix_of(SEVEN), edges[:-1], 0), edges[:-1], 1) / np.diff(edges)
        assert SEVEN.kernel(edges).matrix == pytest.approx(expected, abs=1e-15)
        assert SEVEN.shares(edges) == pytest.approx(np.diff(edges) / 7)

    def test_held_are_the_codes_that_the_kernel_reaches(self):
        released, original = np.ogrid[:7, :7]
        assert np.array_equal(SEVEN.holds(released, original), matrix_of(SEVEN) > 0)

    def test_places_run_through_what_is_near_once(self):
        places = np.arange(SEVEN.near)
        for value in range(7):
            around = SEVEN.around(np.full(SEVEN.near, value), places)
            assert sorted(around) == sorted(np.flatnonzero(SEVEN.holds(np.arange(7), value)))
        assert SEVEN.anywhere(np.arange(7)).tolist() == list(range(7))


class TestSearch:
    def test_the_same_numbers_give_the_same_set(self):
        first = spread_out(100, 27)
        spread_out.cache_clear()
        assert spread_out(100, 27) == first

    def test_a_set_has_as_many_members_as_asked_for_and_zero(self):
        all_of_few = [(few, near) for few in range(2, 9) for near in range(1, few)]
        some_of_many = [(many, near) for many in (31, 60) for near in (1, 2, 17, many - 1)]
        for size, near in all_of_few + some_of_many:
            found = spread_out(size, near)
            assert found[0] == 0
            assert len(set(found)) == near
            assert all(0 <= one < size for one in found)

    def test_a_difference_set_is_found_where_there_is_one(self):
        assert loss(7, spread_out(7, 3)) == pytest.approx(1)
        assert loss(13, spread_out(13, 4)) == pytest.approx(1)

    @pytest.mark.parametrize(("size", "epsilon", "most"), [(226, 1, 1.25), (226, 2, 1.45), (1000, 1, 1.25)])
    def test_waves_are_nearly_flat(self, size, epsilon, most):
        assert 1 <= loss(size, spread_out(size, round(size / (math.exp(epsilon) + 1)))) < most

    def test_a_thousand_values_take_a_moment(self):
        spread_out.cache_clear()
        before = time.process_time()
        spread_out(1000, 269)
        assert time.process_time() - before < 1


class TestCirculant:
    @given(st.integers(2, 40), st.integers(0, 2**32))
    def test_it_does_what_its_matrix_does(self, size, seed):
        dice = np.random.default_rng(seed)
        moves = dice.dirichlet(np.full(size, 0.5))
        circulant, dense = CirculantTransition(moves), DenseTransition(CirculantTransition(moves).matrix)
        table = dice.uniform(0, 10, (3, size, 2))
        close = 1e-13 * dense.condition**2
        for verb in ("forward", "adjoint", "squared_adjoint", "solve", "adjoint_solve", "squared_solve"):
            expected = getattr(dense, verb)(table, 1)
            assert getattr(circulant, verb)(table, 1) == pytest.approx(expected, rel=close, abs=close * 10)
        assert np.sort(circulant.singular_values) == pytest.approx(np.sort(dense.singular_values), abs=1e-12)

    def test_mixed_evenly_it_stays_circulant(self):
        circulant = CirculantTransition(np.array([0.5, 0.2, 0.3]))
        even, uneven = np.full(3, 1 / 3), np.array([0.5, 0.25, 0.25])
        assert isinstance(circulant.mixed(0.4, even), CirculantTransition)
        for shares in (even, uneven):
            expected = 0.4 * circulant.matrix + 0.6 * shares[:, None]
            assert circulant.mixed(0.4, shares).matrix == pytest.approx(expected, abs=1e-15)

    def test_what_cannot_be_undone_has_no_end_of_condition(self):
        assert CirculantTransition(np.array([0.5, 0.5, 0.0, 0.0])).condition > 1e12
        assert CirculantTransition(np.full(4, 0.25)).is_forgetful


class TestMechanism:
    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
    def test_outputs_are_told_apart_by_e_to_the_epsilon_exactly(self, epsilon):
        mechanism = SubsetSelection.for_swap_cost(226, 2 * epsilon, 50)
        released, original = np.ogrid[:226, :226]
        chances = np.exp(mechanism.log_likelihood(released, original))
        ratios = chances.max(axis=1) / chances.min(axis=1)
        assert ratios == pytest.approx(math.exp(epsilon), rel=1e-12)
        assert mechanism.epsilon == pytest.approx(epsilon, rel=1e-12)
        assert mechanism.largest_swap_cost == pytest.approx(2 * epsilon, rel=1e-12)

    def test_draws_follow_the_likelihood(self):
        mechanism = SubsetSelection.for_swap_cost(30, 2.0, 8)
        for value in (0, 17, 29):
            drawn = mechanism.sample(np.full(60_000, value, np.int32), Randomness.seeded(value))
            expected = 60_000 * np.exp(mechanism.log_likelihood(np.arange(30), value))
            observed = np.bincount(drawn, minlength=30)
            assert stats.chisquare(observed, expected).pvalue > FALSE_ALARMS / 3

    def test_a_set_of_one_value_is_retention(self):
        subset, retention = SubsetSelection(9, 0.3, [0]), RetentionReplacement(9, 0.3)
        assert subset.epsilon == retention.epsilon
        assert subset.transition().matrix == pytest.approx(retention.transition().matrix, abs=1e-15)
        assert subset.variance() == pytest.approx(retention.variance())

    def test_counts_come_back_without_bias(self):
        mechanism = SubsetSelection.for_swap_cost(60, 2.0, 16)
        truth = np.random.default_rng(1).multinomial(200_000, np.arange(60, 0, -1) / 1830)
        codes = np.repeat(np.arange(60, dtype=np.int32), truth)
        seen = np.bincount(mechanism.sample(codes, Randomness.seeded(1)), minlength=60).astype(float)
        spread = math.sqrt(200_000 * mechanism.variance()[0])
        assert np.abs(mechanism.transition().solve(seen, 0) - truth).max() < 5 * spread

    def test_nothing_kept_tells_nothing(self):
        assert np.isinf(SubsetSelection(7, 0.0, [0, 1, 3]).variance()).all()


class TestChoice:
    @pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 3.0])
    def test_many_values_are_told_by_sets_and_few_by_themselves(self, epsilon):
        many, few = 3 * (3 * math.exp(epsilon) + 2), 3 * math.exp(epsilon)
        assert SubsetSelection.at_swap_cost(category(round(many)), 2 * epsilon).kind == "subset"
        assert SubsetSelection.at_swap_cost(category(max(2, round(few))), 2 * epsilon).kind == "retention"

    @pytest.mark.parametrize("size", [2, 5, 12, 40, 226])
    @pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.7, 2.0, 5.0, 800.0, math.inf])
    def test_the_choice_is_never_noisier_than_retention_and_costs_the_same(self, size, epsilon):
        chosen = SubsetSelection.at_swap_cost(category(size), 2 * epsilon)
        retention = RetentionReplacement.at_swap_cost(category(size), 2 * epsilon)
        assert chosen.variance()[0] <= retention.variance()[0]
        assert chosen.epsilon == pytest.approx(retention.epsilon, rel=1e-12)

    def test_numbers_are_refused(self):
        with pytest.raises(CalibrationError, match="column 'age': 'subset' is for categories; choose another"):
            SubsetSelection.at_swap_cost(kk.Numeric("age", 0, 100, step=1), 1.0)


@pytest.mark.parametrize(
    ("shifts", "problem"),
    [
        ([], "needs 1 to 6 shifts, got 0"),
        (list(range(7)), "needs 1 to 6 shifts, got 7"),
        ([0, 1, 1], r"must differ, got \[0, 1, 1\]"),
        ([0, 7], "whole numbers from 0 to 6, got 7"),
        ([0, -1], "whole numbers from 0 to 6, got -1"),
        ([0, 1.0], "whole numbers from 0 to 6, got 1.0"),
        ([0, True], "whole numbers from 0 to 6, got True"),
        (["0"], "whole numbers from 0 to 6, got '0'"),
    ],
)
def test_a_manifest_with_no_such_set_is_refused(shifts, problem):
    with pytest.raises(CalibrationError, match=problem):
        SubsetSelection.of(category(7), {"retention": 0.5, "shifts": shifts})


def test_a_release_travels_with_its_set(tmp_path):
    schema = kk.Schema([category(40)])
    plan = kk.calibrate(schema, n=500, k=20, mechanisms={"item": "subset"}, tell="all")
    kk.perturb(pa.table({"item": schema["item"].values[:20] * 25}), plan).save(tmp_path / "out.parquet")
    read = kk.read_release(tmp_path / "out.parquet").plan["item"]
    assert read.kind == "subset"
    assert read.shifts == plan["item"].shifts
    assert read.retention == plan["item"].retention
