"""The meter measures what was shown, and the guard stops what the plan forbids."""

import dataclasses
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kakuran.errors import GuardError, LeakageWarning
from kakuran.vertical import Limits, VerticalPlan, fit_vertically, leakage
from kakuran.vertical.disclosure import check_columns, leverages
from kakuran.vertical.leakage import DirectionMeter, bits_of, exposure_of_moments, most_told
from kakuran.vertical.own import OwnColumns

from .companies import Companies, companies
from .pooled import moments_of, pooled_ols, tables

pytestmark = pytest.mark.usefixtures("ids_are_masked_only")


@given(st.integers(0, 5), st.integers(0, 1000))
def test_the_meter_counts_the_directions_that_were_shown(shown, seed):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(60, 5))
    meter = DirectionMeter("abcde", columns)
    vectors = columns @ rng.normal(size=(5, shown))
    for _ in range(2):
        for vector in vectors.T:
            meter.note(vector)
    exposure = meter.exposure()
    assert exposure.rank == shown
    for place, name in enumerate("abcde"):
        left = columns[:, place] - (
            vectors @ np.linalg.lstsq(vectors, columns[:, place], rcond=None)[0] if shown else 0
        )
        expected = 1 - (left @ left) / (columns[:, place] @ columns[:, place])
        assert exposure.shares[name] == pytest.approx(expected, abs=1e-9)
    assert exposure.unlocking_records == (6 if shown == 5 else 60)


def test_a_dropped_column_that_was_shown_counts_as_exposed():
    columns = np.random.default_rng(0).normal(size=(50, 3))
    meter = DirectionMeter("abc", columns)
    meter.note(columns[:, 1])
    assert meter.exposure().shares["b"] == pytest.approx(1)
    assert meter.exposure().shares["a"] < 0.5


def test_what_moments_expose_is_what_the_others_columns_predict():
    A, B, y = tables(200, 3, 3, 0.9)
    exposure = exposure_of_moments(moments_of(A, B, y), "alice", "bob", OwnColumns(("a0", "a1", "a2"), A))
    for place, name in enumerate(("a0", "a1", "a2")):
        assert exposure.shares[name] == pytest.approx(pooled_ols(np.column_stack([B, y]), A[:, place]).rsquared)
    assert exposure.rank == 0
    assert exposure.unlocking_records == 200 - 5 - 2
    assert "predicted from the others' columns" in exposure.sentences()[-2]


def test_a_column_is_pinned_down_by_as_many_bits_as_writing_it_down_takes():
    A, B, y = tables(300, 3, 3)
    A[:, 1] = np.arange(300) % 2
    own = OwnColumns(("a0", "a1", "a2"), A)
    few, many = (exposure_of_moments(moments_of(A, B, y), "alice", "bob", own, sums=sums) for sums in (3, 4))
    assert few.bits["a1"] == 300
    assert few.bits_told == 58 * (3 + 2)
    assert few.pinned_down == ()
    assert many.pinned_down == ("a1",)
    assert "no records need be known" in many.sentences()[-2]
    assert many.sentences()[-1] == "sums could have told 348 bits of each column; to write 'a1' down takes 300"


@pytest.mark.parametrize(
    ("column", "bits"),
    [
        (np.arange(1000) % 2, 1000),
        (np.repeat([0, 1], [19_980, 20]), 20 * np.log2(1000) + 19_980 * np.log2(20_000 / 19_980)),
        (np.arange(100) / 10, 100 * np.log2(100)),
        (np.random.default_rng(0).normal(size=500), 500 * 24),
        (np.minimum(np.random.default_rng(0).normal(size=500), 1), 435 * 24),
        (np.rint(np.random.default_rng(0).normal(45, 12, 2000)), 2000 * np.log2(12 * np.sqrt(2 * np.pi * np.e))),
    ],
    ids=["yes/no", "rarely yes", "tenths", "on no grid", "capped", "ages"],
)
def test_what_writing_a_column_down_takes(column, bits):
    assert bits_of(np.asarray(column, float)) == pytest.approx(bits, rel=0.05)


@pytest.mark.parametrize("off", [1, 3, 5])
def test_values_off_the_grid_add_no_more_than_their_own_digits(off):
    """Of 20 columns of 50 multiples of 5,000 with one a yen off, 7 passed the guard."""
    plan = VerticalPlan.of({"a": ["x", "v"], "b": [f"s{at}" for at in range(8)]}, target="y", holder="b")
    for seed in range(20):
        rng = np.random.default_rng(seed)
        column = rng.integers(1, 500, 50) * 5000.0
        on_grid = bits_of(column)
        column[rng.choice(50, off, replace=False)] += rng.integers(1, 4000, off)
        assert bits_of(column) < on_grid + off * 40
        with pytest.raises(GuardError, match="bits of 'x'"):
            check_columns(OwnColumns(("x", "v"), np.column_stack([column, rng.normal(size=50)])), plan, sums=10)


def test_leverages_are_those_of_the_hat_matrix():
    X = np.random.default_rng(0).normal(size=(30, 4)) + 5
    design = np.column_stack([np.ones(30), X])
    np.testing.assert_allclose(leverages(X), np.diag(design @ np.linalg.pinv(design)))


def test_too_few_records_for_the_columns_are_refused():
    case = companies(39, 4, 4)
    with pytest.raises(GuardError, match="39 shared records for 8 columns, fewer than 5 each"):
        fit_vertically(case.frames, case.plan)


def test_a_record_that_dominates_a_column_is_refused():
    A, B, y = tables(120, 2, 2)
    A[5, 1] = 1e4
    case = Companies(A, B, y)
    with pytest.raises(GuardError, match=r"leverage of 1\.00 among our columns, above 0\.4"):
        fit_vertically(case.frames, case.plan)
    allowed = dataclasses.replace(case.plan, limits=Limits(largest_leverage=1, smallest_group=1))
    assert fit_vertically(case.frames, allowed)["alice"].quality.records == 120


@pytest.mark.parametrize(("rare", "refused"), [(19, True), (20, False)])
def test_a_yes_no_column_with_a_tiny_side_is_refused(rare, refused):
    A, B, y = tables(600, 2, 2)
    B[:, 0] = np.arange(600) < rare
    case = Companies(A, B, y, limits=Limits(bits_per_bit_told=0))
    if refused:
        with pytest.raises(GuardError, match="'b0' has only 19 records on one side, fewer than 20"):
            fit_vertically(case.frames, case.plan)
    else:
        assert fit_vertically(case.frames, case.plan)["bob"].quality.records == 600


def test_residual_stops_before_it_shows_more_directions_than_allowed():
    case = companies(200, 4, 4, protocol="residual", limits=Limits(exposed_directions=2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakageWarning)
        with pytest.raises(GuardError, match="would show 3 directions of our columns, more than the 2"):
            fit_vertically(case.frames, case.plan)


def test_four_answers_among_many_columns_are_found_to_be_told():
    """Of 19 columns and more sets of four were not looked at, and a model made for it read four answers."""
    for columns in (19, 40):
        parts, bits = np.full((1, columns), 0.05), np.full(columns, 3.0)
        parts[0, 5:9], bits[5:9] = 2.0, 1.0
        places, told, held = most_told(parts, np.eye(columns), bits)
        assert (places, held) == ([5, 6, 7, 8], pytest.approx(4))
        assert told > 3


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_sets_that_are_grown_tell_as_much_as_all_sets(seed, models):
    rng = np.random.default_rng(seed)
    correlations = np.corrcoef(rng.normal(size=(8, 40)) + rng.normal(size=40) * rng.choice([0, 1], size=(8, 1)))
    parts = rng.normal(size=(models, 8)) * rng.choice([0.1, 1, 3], size=8)
    bits = rng.choice([0.3, 1, 2, 6, 20], size=8)
    _, told, held = most_told(parts, correlations, bits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leakage, "_SETS", 0)
        patch.setattr(leakage, "_GROWN", 1_000)
        _, found, of = most_told(parts, correlations, bits)
    assert found / of > 0.95 * told / held
