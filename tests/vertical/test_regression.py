"""Selection and inference from moments equal those on the pooled table."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kakuran.defaults import DEFAULT_LEVEL
from kakuran.errors import DataError, GuardError
from kakuran.vertical.regression import Rules, infer, score, select

from .pooled import backward, moments_of, names, pooled_ols, tables


@pytest.mark.parametrize("intercept", [True, False])
def test_inference_from_moments_equals_statsmodels(intercept):
    A, B, y = tables(correlation=0.7, shift=3.0 if intercept else 0.5)
    moments, pooled = moments_of(A, B, y, intercept=intercept), pooled_ols(np.hstack([A, B]), y, intercept=intercept)
    found = infer(moments, moments.names)
    X = np.hstack([A, B])
    units = moments.target_scale / (X.std(axis=0) if intercept else np.sqrt((X**2).mean(axis=0)))
    slopes = slice(int(intercept), None)
    np.testing.assert_allclose(found.coefficients * units, pooled.params[slopes], rtol=1e-9)
    np.testing.assert_allclose(found.standard_errors * units, pooled.bse[slopes], rtol=1e-9)
    np.testing.assert_allclose(found.t, pooled.tvalues[slopes], rtol=1e-9)
    np.testing.assert_allclose(found.p, pooled.pvalues[slopes], rtol=1e-6, atol=1e-300)
    interval = pooled.conf_int(1 - DEFAULT_LEVEL)[slopes]
    np.testing.assert_allclose(np.column_stack([found.low, found.high]) * units[:, None], interval, rtol=1e-8)
    quality = found.quality
    assert quality.r_squared == pytest.approx(pooled.rsquared, rel=1e-10)
    assert quality.adjusted_r_squared == pytest.approx(pooled.rsquared_adj, rel=1e-10)
    # S2 eq. 11 counts the variance as a parameter, statsmodels does not.
    assert quality.aic == pytest.approx(pooled.aic + 2, rel=1e-12)
    assert quality.bic == pytest.approx(pooled.bic + np.log(len(y)), rel=1e-12)


def test_variance_inflation_factors_are_those_of_regressing_each_column_on_the_rest():
    A, B, y = tables(correlation=0.9)
    moments, X = moments_of(A, B, y), np.hstack([A, B])
    for place, vif in enumerate(infer(moments, moments.names).vif):
        rest = pooled_ols(np.delete(X, place, axis=1), X[:, place])
        assert vif == pytest.approx(1 / (1 - rest.rsquared), rel=1e-8)


@pytest.mark.parametrize(("criterion", "ranking"), list(itertools.product(["aic", "aicc", "bic"], ["exact", "s2"])))
def test_backward_selection_equals_refitting_the_pooled_table(criterion, ranking):
    for seed in range(5):
        A, B, y = tables(records=80, p=5, q=6, correlation=0.8, seed=seed, noise=3.0)
        moments = moments_of(A, B, y)
        rules = Rules(criterion=criterion, ranking=ranking)
        expected = backward(np.hstack([A, B]), y, moments.owners, criterion=criterion, ranking=ranking)
        assert select(moments, rules).chosen == tuple(moments.names[j] for j in expected)


def test_s2_ranking_and_the_exact_one_part_ways_on_correlated_columns():
    differ = 0
    for seed in range(40):
        moments = moments_of(*tables(records=80, p=6, q=6, correlation=0.9, seed=seed, noise=5.0))
        chosen = [select(moments, Rules(ranking=ranking)).chosen for ranking in ("exact", "s2")]
        differ += chosen[0] != chosen[1]
    assert differ >= 10


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    search=st.sampled_from(["backward", "forward", "both"]),
    criterion=st.sampled_from(["aic", "aicc", "bic"]),
    least=st.integers(0, 3),
)
def test_a_search_ends_where_no_allowed_step_is_better(seed, search, criterion, least):
    A, B, y = tables(records=60, p=4, q=3, correlation=0.6, seed=seed, noise=4.0)
    moments = moments_of(A, B, y)
    rules = Rules(search=search, criterion=criterion, least=least, forced=frozenset({"a1"}))
    found = select(moments, rules)

    def value(chosen):
        return score(criterion, moments.variance(moments.fit(chosen)), 60, len(chosen) + 2)

    assert "a1" in found.chosen
    for letter, held in (("a", 4), ("b", 3)):
        assert sum(name.startswith(letter) for name in found.chosen) >= min(least, held)
    here = value(found.chosen)
    if search in ("backward", "both"):
        for name in set(found.chosen) - {"a1"}:
            if sum(other[0] == name[0] for other in found.chosen) > least:
                assert value(tuple(other for other in found.chosen if other != name)) >= here - 1e-9
    if search in ("forward", "both"):
        for name in set(moments.names) - set(found.chosen):
            assert value((*found.chosen, name)) >= here - 1e-9
    scores = [step.score for step in found.steps if step.accepted]
    if search == "both" or least == 0:
        assert scores == sorted(scores, reverse=True)


def test_backward_selection_finds_its_way_out_of_models_too_large_for_the_criterion():
    """AICc is infinite for these 10 records with 7 or 8 columns: going on at a tie leads to where it is defined."""
    moments = moments_of(*tables(records=10, p=4, q=4))
    found = select(moments, Rules(criterion="aicc"))
    assert [np.isinf(step.score) for step in found.steps][:3] == [True, True, False]
    assert len(found.chosen) < 7


def test_without_a_search_every_column_stays():
    moments = moments_of(*tables())
    found = select(moments, Rules(search="none"))
    assert found.chosen == moments.names
    assert len(found.steps) == 1


def test_a_column_that_is_a_combination_of_others_is_refused_by_name():
    A, B, y = tables()
    B[:, 1] = A[:, 0] + A[:, 1] - B[:, 0]
    moments = moments_of(A, B, y)
    with pytest.raises(DataError, match="is a combination of other columns"):
        select(moments, Rules())
    forward = select(moments, Rules(search="forward", least=1))
    assert not {"a0", "a1", "b0", "b1"} <= set(forward.chosen)


def test_a_model_without_spare_records_is_refused():
    A, B, y = tables(records=9, p=4, q=4)
    with pytest.raises(GuardError, match="9 shared records cannot carry 8 variables"):
        infer(moments_of(A, B, y), [*names(4, 4)[0], *names(4, 4)[1]])


def test_aicc_is_infinite_where_it_is_not_defined():
    assert score("aicc", 1.0, 10, 9) == float("inf")
