"""Bands that are proposed, and whether they gain what is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import kakuran as kk
from kakuran.design.bands import FULLEST, MOST_BANDS, in_bands

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
        (kk.Numeric("profit", -9_000, 20_000, step=1), [-9_000, -5_000, 0, 2_000, 5_000, 10_000, 20_000]),
        (kk.Numeric("debt", -20_000, 0, step=1), [-20_000, -10_000, -5_000, -2_000, -1_000, -500, 0]),
    ],
)
def test_bands_begin_at_round_numbers_that_the_grid_has(number, bands):
    found = in_bands(number)
    assert (found.low, found.high, found.step) == (number.low, number.high, number.step)
    assert list(found.bands) == bands


@pytest.mark.parametrize("high", [10_000, 123_456, 480_000, 1_000_000])
def test_bands_of_what_grows_by_factors_spread_people_over_more_of_them(high):
    incomes = np.minimum(high * np.random.default_rng(0).lognormal(-3.5, 0.8, 10_000), high)
    assert np.histogram(incomes, in_bands(kk.Numeric("income", 0, high, step=1)).bands)[0].max() < 0.6 * len(incomes)


def balances(rows=20_000):
    """A long tail of balances, some of them overdrawn."""
    dice = np.random.default_rng(7)
    found = np.where(dice.random(rows) < 0.08, -dice.lognormal(5.2, 1.0, rows), dice.lognormal(6.2, 1.35, rows))
    return np.append(np.clip(np.rint(found), -8_019, 102_127), [-8_019, 102_127])


DICE = np.random.default_rng(1)
PARETO = np.rint(100 * (1 + DICE.pareto(1.5, 5_000))).clip(100, 50_359)
ZEROS = np.where(DICE.random(5_000) < 0.92, 0, DICE.lognormal(7, 1.2, 5_000).round().clip(1, 99_999))
HOURS = np.where(DICE.random(5_000) < 0.47, 40, DICE.normal(40, 14, 5_000).round().clip(1, 99))
TAILS = {
    "balance": (balances(), [-10_000, -3_000, -1_000, 0, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000], None),
    "wage": (np.rint(DICE.lognormal(10, 0.8, 5_000)), None, None),
    "pareto": (PARETO, None, None),
    "gain": (ZEROS, None, 0),
    "losses": (-ZEROS, None, 0),
    "hours": (HOURS, [1, 20, 40, 41, 60, 80, 100], 40),
    "age": (np.rint(DICE.normal(45, 12, 5_000)).clip(17, 93), [10, 20, 30, 40, 50, 60, 70, 80, 90, 100], None),
    "score": (np.rint(DICE.uniform(3, 597, 5_000)), [0, 100, 200, 300, 400, 500, 600], None),
}


@pytest.mark.parametrize("name", TAILS)
class TestBandsThatFollowPeople:
    @pytest.fixture
    def proposal(self, name):
        numbers = TAILS[name][0]
        number = kk.Numeric(name, float(numbers.min()), float(numbers.max()), step=1)
        counts = {name: np.bincount(number.codes_of(numbers).astype(int))}
        (found,) = kk.propose_bands(kk.Schema([number]), n=len(numbers), k=10, counts=counts)
        return found

    def test_no_band_holds_most_people_unless_one_value_does(self, name, proposal):
        _, shares = np.unique(TAILS[name][0], return_counts=True)
        assert max(proposal.shares) <= max(FULLEST, shares.max() / shares.sum())
        assert len(proposal.shares) <= MOST_BANDS[0]

    def test_what_each_holds_is_counted_and_said(self, name, proposal):
        numbers = TAILS[name][0]
        codes = proposal.column.codes_of(numbers).astype(int)
        assert proposal.shares == pytest.approx(np.bincount(codes, minlength=proposal.column.points) / len(numbers))
        assert "of the people they hold" in str(proposal)

    def test_ends_are_round_and_nobodys_own(self, name, proposal):
        numbers, (low, *_, high) = TAILS[name][0], proposal.column.bands
        for end, own in ((low, numbers.min()), (high, numbers.max())):
            assert len(f"{abs(end):.0f}".rstrip("0")) <= 1
            assert end != own or len(f"{abs(own):.0f}".rstrip("0")) <= 1

    def test_a_heap_is_a_band_of_its_own_and_it_is_said(self, name, proposal):
        heap = TAILS[name][2]
        assert proposal.heap == heap
        if heap is not None:
            code = int(proposal.column.codes_of(np.array([heap]))[0])
            assert proposal.column.ends_of(np.array([code]))[0][0] == heap
            assert proposal.shares[code] == pytest.approx((TAILS[name][0] == heap).mean())
            assert f"{heap} is a band of its own" in str(proposal)

    def test_they_grow_where_people_have_a_tail_and_are_even_where_they_have_none(self, name, proposal):
        edges = TAILS[name][1]
        assert edges is None or list(proposal.column.bands) == edges


def test_bounds_that_are_public_stay():
    numbers = kk.Numeric("age", 0, 120, step=1)
    counts = {"age": np.bincount(np.rint(np.random.default_rng(0).normal(45, 12, 5_000)).clip(17, 93).astype(int))}
    (found,) = kk.propose_bands(kk.Schema([numbers]), n=5_000, k=10, counts=counts)
    assert (found.column.low, found.column.high) == (0, 120)


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
    "number",
    [kk.Numeric("x", 1, 301, step=3), kk.Numeric("x", 5, 960, step=1, missing="category", missing_codes=[999])],
    ids=["off the grid", "a code between"],
)
def test_bounds_stay_where_round_ones_cannot_be(number):
    counts = {"x": np.ones(number.points)}
    (found,) = kk.propose_bands(kk.Schema([number]), n=5_000, k=10, counts=counts)
    assert (found.column.low, found.column.high) == (number.low, number.high)


@given(
    st.integers(-(10**6), 10**6),
    st.integers(20, 10**5),
    st.sampled_from([1.0, 0.5, 0.1, 0.01, 10.0]),
    st.integers(0, 2**32 - 1),
)
def test_proposals_hold_everybody_whatever_the_numbers(first, steps, step, seed):
    number = kk.Numeric("x", *(float(f"{end * step:.12g}") for end in (first, first + steps)), step=step)
    codes = np.rint(np.random.default_rng(seed).lognormal(0, 3, 50)).clip(0, steps).astype(int)
    counts = {"x": np.bincount(codes)}
    for found in kk.propose_bands(kk.Schema([number]), n=500, k=5, counts=counts):
        assert found.column.low <= number.low
        assert number.high <= found.column.high
        assert sum(found.shares) == pytest.approx(1)
