"""Bands that are proposed, and whether they gain what is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import kakuran as kk
from kakuran.design.bands import in_bands, with_round_bounds

SCHEMA = kk.Schema(
    [kk.Numeric("age", 0, 120, step=1), kk.Numeric("weight", 0, 200, step=1), kk.Categorical("sex", ["f", "m"])]
)


@pytest.mark.parametrize(
    ("number", "bands"),
    [
        (kk.Numeric("x", 0, 120, step=1), [0, 20, 40, 60, 80, 100, 120]),
        (kk.Numeric("x", 15, 94, step=1), [15, 20, 30, 40, 50, 60, 70, 80, 94]),
        (kk.Numeric("x", 1.5, 2.13, step=0.01), [1.5, 1.6, 1.7, 1.8, 1.9, 2, 2.13]),
        (kk.Numeric("x", 15, 95, step=10), [15, 35, 55, 75, 95]),
        (kk.Numeric("x", -7, 7000, step=7), [-7, 1169, 2338, 3507, 4676, 5845, 7000]),
        (kk.Numeric("income", 0, 1_000_000, step=1), [0, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000]),
        (kk.Numeric("gain", 0, 99_999, step=1), [0, 2_000, 5_000, 10_000, 20_000, 50_000, 99_999]),
        (kk.Numeric("price", 0.5, 480, step=0.01), [0.5, 10, 20, 50, 100, 200, 480]),
        (kk.Numeric("born", 1_900, 2_025, step=0.01), [1_900, 1_920, 1_940, 1_960, 1_980, 2_000, 2_025]),
    ],
)
def test_bands_begin_at_round_numbers_that_the_grid_has(number, bands):
    found = in_bands(number)
    assert (found.low, found.high, found.step) == (number.low, number.high, number.step)
    assert list(found.bands) == bands


@pytest.mark.parametrize("high", [10_000, 123_456, 480_000, 1_000_000])
def test_bands_of_what_grows_by_factors_spread_people_over_more_of_them(high):
    incomes = np.minimum(high * np.random.default_rng(0).lognormal(-3.5, 0.8, 10_000), high)
    even, growing = (
        in_bands(kk.Numeric("income", 0, high, step=1), growing=growing).bands for growing in (False, None)
    )
    fullest = [np.histogram(incomes, edges)[0].max() for edges in (even, growing)]
    assert fullest[1] < 0.6 * len(incomes)
    assert fullest[0] > 0.9 * len(incomes)


def test_what_is_said_is_what_the_preview_of_such_a_plan_says():
    proposal = kk.propose_bands(SCHEMA, n=5_000, k=10)[0]
    plan = kk.calibrate(kk.Schema([proposal.column, *list(SCHEMA)[1:]]), n=5_000, k=10)
    expected = next(error for error in kk.preview(plan) if error.columns == ("age",))
    assert proposal.after == expected
    assert f"±{100 * expected.relative:.2g} % instead of" in str(proposal)


def test_a_column_of_one_value_stops_no_proposal():
    with_one = kk.Schema([*SCHEMA, kk.Categorical("city", ["Tokyo"])])
    assert kk.propose_bands(with_one, n=5_000, k=10) == kk.propose_bands(SCHEMA, n=5_000, k=10)


def test_nothing_is_proposed_where_bands_would_not_help_or_nobody_is_there():
    assert kk.propose_bands(kk.Schema([kk.Categorical("sex", ["f", "m"])]), n=5_000, k=10) == []
    assert kk.propose_bands(SCHEMA, n=5, k=10) == []


def test_numbers_with_too_many_values_to_be_told_together_get_a_plan_all_the_same():
    fine = kk.Schema([kk.Numeric(name, 0, 1_000_000, step=1) for name in ("income", "wealth")])
    assert kk.calibrate(fine, n=5_000, k=10).k >= 10
    assert kk.propose_bands(fine, n=5_000, k=10)


@pytest.mark.parametrize(
    ("low", "high", "step", "rounded"),
    [(2_870, 134_595, 1, (0, 150_000)), (17, 90, 1, (15, 90)), (0, 120, 1, (0, 150)), (-3.7, 41.2, 0.1, (-5, 45))],
)
def test_bounds_that_are_somebodys_are_moved_outwards_to_round_ones(low, high, step, rounded):
    found = with_round_bounds(kk.Numeric("x", low, high, step=step))
    assert (found.low, found.high) == pytest.approx(rounded)


@pytest.mark.parametrize(
    "number",
    [
        kk.Numeric("x", 1, 100, step=3),
        kk.Numeric("x", 5, 960, step=1, missing="category", missing_codes=[999]),
        kk.Numeric("x", bands=[3, 18, 77]),
        kk.Date("x", "2020-01-03", "2020-02-19", step="day"),
    ],
    ids=["off the grid", "a code between", "in bands", "days"],
)
def test_bounds_stay_where_round_ones_cannot_be(number):
    assert with_round_bounds(number) == number


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6), st.sampled_from([1.0, 0.5, 0.1, 0.01, 10.0]))
def test_round_bounds_hold_the_others_and_are_a_number_s(first, steps, step):
    number = kk.Numeric("x", *(float(f"{end * step:.12g}") for end in (first, first + steps)), step=step)
    found = with_round_bounds(number)
    assert found.low <= number.low
    assert number.high <= found.high
    assert found.span <= 3 * number.span
