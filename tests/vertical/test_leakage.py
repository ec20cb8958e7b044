"""The meter measures what was shown, and the guard stops what the plan forbids."""

import dataclasses
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kakuran.errors import GuardError, LeakageWarning
from kakuran.vertical import Limits, fit_vertically
from kakuran.vertical.guard import leverages
from kakuran.vertical.leakage import DirectionMeter, exposure_of_moments, pins_down

from .companies import Companies, companies
from .pooled import moments_of, pooled_ols, tables


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
    exposure = exposure_of_moments(moments_of(A, B, y), "alice", "bob", {})
    for place, name in enumerate(("a0", "a1", "a2")):
        assert exposure.shares[name] == pytest.approx(pooled_ols(np.column_stack([B, y]), A[:, place]).rsquared)
    assert exposure.rank == 0
    assert exposure.unlocking_records == 200 - 5 - 2
    assert "predicted from the others' columns" in exposure.sentences()[-1]


def test_a_yes_no_column_is_pinned_down_by_enough_exact_sums():
    assert pins_down(records=100, rare=50, equations=5, bits=23)
    assert not pins_down(records=1000, rare=500, equations=5, bits=23)
    A, B, y = tables(100, 3, 3)
    exposure = exposure_of_moments(moments_of(A, B, y), "alice", "bob", {"a1": 50})
    assert exposure.pinned_down == ("a1",)
    assert "pin down the yes/no columns a1" in exposure.sentences()[-1]


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
    case = Companies(A, B, y)
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
