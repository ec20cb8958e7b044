import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

import kakuran as kk
from kakuran.model import ColumnNoise, Mixture, Options, fit_mixture, noises_of
from kakuran.model.mixture.fit import bootstrap
from kakuran.randomness import Randomness


def one_column(bounds=None):
    noise = ColumnNoise("laplace", 1.0, bounds, None if bounds is None else 0.5)
    return Mixture(
        np.array([0.3, 0.7]), np.array([[1.0], [6.0]]), np.array([[[1.0]], [[4.0]]]), "diag", [noise], (0.0,), True
    )


@pytest.fixture(params=[None, (0.0, 9.0)], ids=["without bounds", "within bounds"])
def mixture(request):
    return one_column(request.param)


def test_the_density_is_the_slope_of_the_distribution(mixture):
    points = np.array([0.2, 1.7, 5.0, 8.1])
    slopes = (mixture.cdf(points + 1e-5) - mixture.cdf(points - 1e-5)) / 2e-5
    assert mixture.density(points[:, None]) == pytest.approx(slopes, rel=1e-6)
    low, high = mixture._supports[0]
    whole = quad(lambda x: mixture.density(np.array([[x]]))[0], max(low, -12), min(high, 20), points=[1, 6])[0]
    assert whole == pytest.approx(1)


def test_quantiles_undo_the_distribution(mixture):
    shares = np.array([0.001, 0.3, 0.5, 0.97])
    assert mixture.cdf(mixture.quantile(shares)) == pytest.approx(shares, abs=1e-9)
    assert mixture.quantile(np.array([0.0, 1.0])).tolist() == list(mixture._supports[0])


def test_samples_follow_the_distribution(mixture):
    """Kolmogorov–Smirnov, false alarm 1e-6."""
    drawn, labels = mixture.sample(20_000, np.random.default_rng(0))
    assert kstest(drawn[:, 0], lambda x: mixture.cdf(np.asarray(x))).pvalue > 1e-6
    assert labels.mean() == pytest.approx(0.7, abs=0.03)


def test_nothing_lies_beyond_the_bounds():
    inside = one_column((0.0, 9.0))
    assert inside.density(np.array([[-0.3], [9.3]])).tolist() == [0, 0]
    drawn, _ = inside.sample(5000, np.random.default_rng(1))
    assert drawn.min() >= -0.25
    assert drawn.max() <= 9.25


def test_samples_of_covariances_have_them():
    covariances = np.array([[[2.0, -1.2], [-1.2, 1.0]]])
    noises = [ColumnNoise("laplace", 1.0)] * 2
    full = Mixture(np.ones(1), np.array([[1.0, 2.0]]), covariances, "full", noises, (0.0,), True)
    drawn, _ = full.sample(100_000, np.random.default_rng(0))
    assert np.cov(drawn.T) == pytest.approx(covariances[0], abs=0.05)
    assert full.density(np.array([[1.0, 2.0]]))[0] == pytest.approx(1 / (2 * np.pi * np.sqrt(0.56)))
    assert full.parameters == 5


@pytest.mark.parametrize("noise", ["laplace", "bounded-laplace", "bounded-gaussian"])
def test_clusters_come_back_through_every_noise(noise):
    dice = np.random.default_rng(4)
    codes = np.clip(
        np.rint(np.where(dice.random(30_000) < 0.4, dice.normal(25, 3, 30_000), dice.normal(60, 5, 30_000))), 0, 100
    )
    mechanism = {"laplace": kk.Laplace, "bounded-laplace": kk.BoundedLaplace, "bounded-gaussian": kk.BoundedGaussian}
    drawn = mechanism[noise](101, 1, 12.0).sample(codes.astype(np.int32), Randomness.seeded(0))
    noises = noises_of(1, noise, 12.0, (0, 100), 1)
    found = fit_mixture(drawn[:, None].astype(float), noises, Options(components=2), dice)
    assert found.means[:, 0] == pytest.approx([25, 60], abs=1.2)
    assert found.weights == pytest.approx([0.4, 0.6], abs=0.03)


def test_bootstrap_intervals_hold_the_truth_as_often_as_they_say():
    """20 means at 90 %; fewer than 13 inside would happen to a right method once in 3000 times."""
    inside, widths = 0, []
    for seed in range(10):
        dice = np.random.default_rng(seed)
        truth = np.concatenate([dice.normal(0, 1, 1000), dice.normal(8, 1, 1000)])
        perturbed = (truth + dice.laplace(0, 3, truth.size))[:, None]
        options = Options(components=2)
        found = fit_mixture(perturbed, [ColumnNoise("laplace", 3.0)], options, dice)
        low, high = bootstrap(found, perturbed, options, 30, dice).interval(lambda refit: refit.means[:, 0], 0.9)
        inside += int(((low < [0.0, 8.0]) & (high > [0.0, 8.0])).sum())
        widths.append(high - low)
    assert inside >= 13
    assert np.mean(widths) == pytest.approx(2 * 1.645 * 0.155, rel=0.35)


def test_bootstrap_of_covariances_repeats_the_fit():
    dice = np.random.default_rng(6)
    perturbed = dice.multivariate_normal([0, 0], [[2, 1.5], [1.5, 2]], 600) + dice.laplace(0, 0.5, (600, 2))
    noises, options = [ColumnNoise("laplace", 0.5)] * 2, Options(components=1, covariance="full", sweeps=30)
    found = fit_mixture(perturbed, noises, options, dice)
    low, high = bootstrap(found, perturbed, options, 8, dice).interval(lambda refit: refit.covariances, 0.9)
    assert (low < high).all()
    assert low[0, 0, 1] > 0.8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((1, "laplace", 0.0, None, None), "scale.*above 0"),
        ((1, "laplace", -2.0, None, None), "scale.*above 0"),
        ((1, "laplace", float("nan"), None, None), "scale.*above 0"),
        ((1, "uniform", 1.0, None, None), "noise.*one of"),
        ((1, "bounded-laplace", 1.0, None, None), "bounds.*needed"),
        ((1, "laplace", 1.0, (3, 3), None), "low below high"),
        ((1, "laplace", 1.0, (1, 2, 3), None), "bounds.*entries"),
        ((1, "laplace", 1.0, (0, 9), 0.0), "step.*above 0"),
        ((1, "laplace", 1.0, (0, 9), 2.0), "4.5 steps apart"),
        ((1, "laplace", 1.0, None, 2.0), "there are none"),
        ((3, "laplace", [1.0, 2.0], None, None), "2 entries for 3 columns"),
    ],
)
def test_noise_that_cannot_be_meant_says_why(arguments, words):
    with pytest.raises(kk.DataError, match=words):
        noises_of(*arguments)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"components": 0}, "n_components.*at least 1"),
        ({"components": 2.5}, "n_components.*at least 1"),
        ({"components": "auto", "covariance": "full"}, "Say how many"),
        ({"covariance": "spherical"}, "diag, rotated or full"),
        ({"solver": "newton"}, "em or gradient"),
        ({"criterion": "luck"}, "held-out, bic or aic"),
        ({"smoothing": -1}, "smoothing.*0 or more"),
    ],
)
def test_options_that_cannot_be_meant_say_why(options, words):
    with pytest.raises(kk.DataError, match=words):
        Options(**options)


def test_data_that_cannot_come_from_the_noise_are_refused():
    dice = np.random.default_rng(0)
    noises = noises_of(1, "bounded-laplace", 2.0, (0, 10), 1)
    with pytest.raises(kk.DataError, match=r"1 value cannot come from bounded-laplace noise.*11"):
        fit_mixture(np.array([[5.0], [11.0]]), noises, Options(components=1), dice)
    noises = noises_of(1, "laplace", 2.0, (0, 10), 1)
    assert fit_mixture(np.array([[5.0], [11.0], [-4.0]]), noises, Options(components=1), dice).converged


def test_more_components_than_distinct_values_are_refused():
    noises, dice = [ColumnNoise("laplace", 1.0)], np.random.default_rng(0)
    with pytest.raises(kk.DataError, match="more components than the 2 distinct records"):
        fit_mixture(np.array([[1.0], [1.0], [2.0]]), noises, Options(components=3), dice)
    found = fit_mixture(np.array([[1.0], [1.0], [2.0]]), noises, Options(), dice)
    assert len(found.weights) <= 2


def test_constant_data_give_an_atom():
    found = fit_mixture(
        np.full((500, 1), 7.0),
        [ColumnNoise("laplace", 1.0)],
        Options(components=1, smoothing=0),
        np.random.default_rng(0),
    )
    assert found.means[0, 0] == pytest.approx(7.0)
    assert found.columns.sigmas[0, 0] < 0.01


def test_covariances_need_noise_without_bounds():
    noises = noises_of(2, "bounded-laplace", 1.0, (0, 10), 1)
    with pytest.raises(kk.DataError, match="covariance='full' needs Laplace noise and numbers without bounds"):
        fit_mixture(np.full((9, 2), 5.0), noises, Options(components=1, covariance="full"), np.random.default_rng(0))
