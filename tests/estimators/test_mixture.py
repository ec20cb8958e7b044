import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import kakuran as kk


@parametrize_with_checks([kk.NoisyMixture(n_components=2)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def perturbed():
    dice = np.random.default_rng(0)
    truth = np.concatenate([dice.normal(30, 4, 6000), dice.normal(60, 6, 6000)])
    return (truth + dice.laplace(0, 8, truth.size)).reshape(-1, 1)


@pytest.fixture(scope="module")
def fitted(perturbed):
    return kk.NoisyMixture(n_components=2, scale=8).fit(perturbed)


def test_means_deviations_and_weights_come_back(fitted):
    assert fitted.means_[:, 0] == pytest.approx([30, 60], abs=0.8)
    assert np.sqrt(fitted.covariances_[:, 0]) == pytest.approx([4, 6], abs=1.2)
    assert fitted.weights_ == pytest.approx([0.5, 0.5], abs=0.03)


def test_the_bounds_rise_to_the_last(fitted, perturbed):
    assert (np.diff(fitted.lower_bounds_) >= -1e-12).all()
    assert fitted.lower_bound_ == fitted.lower_bounds_[-1]
    assert fitted.score(perturbed) == pytest.approx(fitted.lower_bound_, abs=1e-3)
    assert fitted.converged_
    assert fitted.n_iter_ == len(fitted.lower_bounds_)


def test_records_are_assigned_to_the_likelier_cluster(fitted, perturbed):
    shares = fitted.predict_proba([[20.0], [45.0], [75.0]])
    assert shares.sum(axis=1) == pytest.approx(np.ones(3))
    assert shares[0, 0] > 0.95
    assert shares[2, 1] > 0.95
    assert (fitted.predict(perturbed) == fitted.labels_).all()
    truth = np.repeat([0, 1], 6000)
    assert (fitted.labels_ == truth).mean() > 0.88


def test_everything_a_fit_is_asked_for_hangs_together(fitted):
    edges = np.array([-np.inf, 20, 40, 60, np.inf])
    assert fitted.bin_probabilities(edges).sum() == pytest.approx(1)
    assert fitted.cdf(fitted.quantile([0.1, 0.8])) == pytest.approx([0.1, 0.8])
    points = np.linspace(0, 100, 5001)
    assert np.trapezoid(fitted.density(points), points) == pytest.approx(1, abs=1e-4)
    drawn, labels = fitted.sample(4000)
    assert drawn.shape == (4000, 1)
    assert np.mean(drawn < 45) == pytest.approx(fitted.cdf([45.0])[0], abs=0.04)
    assert set(labels) == {0, 1}


def test_criteria_are_those_of_their_names(fitted, perturbed):
    height = fitted.score_samples(perturbed).sum()
    assert fitted.bic(perturbed) == pytest.approx(-2 * height + 5 * np.log(12_000))
    assert fitted.aic(perturbed) == pytest.approx(-2 * height + 10)


def test_intervals_lie_around_the_fit(fitted, perturbed):
    bounds = fitted.intervals(perturbed, points=[30.0, 45.0], n_draws=20)
    assert set(bounds) == {"weights", "means", "covariances", "density"}
    for name in ("weights", "means", "covariances"):
        low, high = bounds[name]
        assert (low <= getattr(fitted, f"{name}_") + 1e-9).all()
        assert (high >= getattr(fitted, f"{name}_") - 1e-9).all()
    assert (bounds["density"][0] < fitted.density([30.0, 45.0])).all()


def test_s0s_own_solver_reaches_nearly_as_high(fitted, perturbed):
    gradient = kk.NoisyMixture(
        n_components=2, scale=8, solver="gradient", learning_rate=1e-2, precision=1e-3, max_iter=20_000
    ).fit(perturbed)
    assert gradient.score(perturbed) == pytest.approx(fitted.score(perturbed), abs=1e-3)
    assert gradient.means_ == pytest.approx(fitted.means_, abs=1.5)


def test_auto_finds_two_clusters_from_a_pandas_frame(perturbed):
    found = kk.NoisyMixture(scale=8, max_components=4).fit(pd.DataFrame(perturbed, columns=["age"]))
    assert found.n_components_ == 2
    assert found.feature_names_in_.tolist() == ["age"]


def test_several_columns_may_have_noise_of_their_own():
    dice = np.random.default_rng(1)
    truth = np.where(dice.random((8000, 1)) < 0.5, [0.0, 100.0], [10.0, 400.0]) + dice.normal(0, [1, 30], (8000, 2))
    records = truth + dice.laplace(0, [2, 60], (8000, 2))
    found = kk.NoisyMixture(n_components=2, scale=[2, 60]).fit(records)
    assert found.means_ == pytest.approx(np.array([[0, 100], [10, 400]]), rel=0.05, abs=0.3)
    assert found.covariances_.shape == (2, 2)


def test_the_same_seed_gives_the_same_full_fit():
    dice = np.random.default_rng(2)
    records = dice.multivariate_normal([0, 0], [[2, 1], [1, 2]], 300) + dice.laplace(0, 1, (300, 2))
    one = kk.NoisyMixture(1, scale=1, covariance="full", sweeps=40)
    first, second = one.fit(records).covariances_, clone(one).fit(records).covariances_
    assert first.shape == (1, 2, 2)
    assert (first == second).all()


def test_a_climb_cut_short_warns(perturbed):
    with pytest.warns(ConvergenceWarning, match="cut short"):
        kk.NoisyMixture(n_components=2, scale=8, max_iter=1, tol=0).fit(perturbed)


def test_nothing_is_said_before_fitting():
    with pytest.raises(NotFittedError):
        kk.NoisyMixture().density([1.0])


@pytest.mark.parametrize(
    ("parameters", "records", "words"),
    [
        ({"scale": 0}, [[1.0], [2.0]], "scale.*above 0"),
        ({}, np.empty((0, 1)), "0 sample"),
        ({}, [[1.0], [np.nan]], "NaN"),
        ({"n_components": 5}, [[1.0], [2.0], [2.0]], "more components than the 2 distinct"),
        ({"noise": "bounded-laplace", "bounds": (0, 3)}, [[1.0], [9.0]], "cannot come from bounded-laplace"),
        ({"covariance": "full"}, [[1.0], [9.0]], "Say how many"),
    ],
)
def test_what_cannot_be_fitted_says_why(parameters, records, words):
    with pytest.raises(ValueError, match=words):
        kk.NoisyMixture(**parameters).fit(records)


def test_a_sample_of_nothing_is_refused(fitted):
    with pytest.raises(kk.DataError, match="at least 1"):
        fitted.sample(0)
    with pytest.raises(kk.DataError, match="between 0 and 1"):
        fitted.quantile([95])


def test_plots_show_the_mixture_and_its_components(fitted):
    axes = fitted.plot().axes[0]
    assert len(axes.collections) == 2
    assert len(axes.lines) == 1


def test_without_scikit_learn_the_way_out_is_named():
    code = (
        "import sys; sys.modules['sklearn'] = None\nimport kakuran as kk\n"
        "try:\n    kk.NoisyMixture\nexcept kk.MissingExtraError as error:\n    print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'kakuran[sklearn]'" in told
