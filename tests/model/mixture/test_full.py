"""Covariances through noise: the sampler against quadrature, and both ways against the truth."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest, multivariate_normal, norm

from kakuran.model import ColumnNoise, Options, fit_mixture
from kakuran.model.mixture import covariance as gibbs, covariance as rotated
from kakuran.model.mixture.channel import at_points
from kakuran.model.mixture.covariance import Ellipses

TRUTH = Ellipses(
    np.array([0.5, 0.3, 0.2]),
    np.array([[0.0, 0.0], [5.0, 1.0], [1.0, 6.0]]),
    np.array([[[1, 0.8], [0.8, 1]], [[1, -0.8], [-0.8, 1]], [[1, 0.8], [0.8, 1.0]]]),
)


def records(count, seed=0, scale=1.0):
    dice = np.random.default_rng(seed)
    labels = dice.choice(3, count, p=TRUTH.weights)
    roots = np.linalg.cholesky(TRUTH.covariances)[labels]
    truth = TRUTH.means[labels] + np.einsum("nij,nj->ni", roots, dice.standard_normal((count, 2)))
    return truth + dice.laplace(0, scale, (count, 2)), labels


def covariance_error(found):
    """Mean relative error (Frobenius) over components in the order of their means."""
    wanted = TRUTH.sorted().covariances
    return np.mean([np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(found, wanted, strict=True)])


def test_the_hidden_variances_follow_their_conditional_distribution():
    """Laplace noise e, then τ given e, must be exponential with mean 2φ²; false alarm 1e-6."""
    dice = np.random.default_rng(3)
    scale = np.array([0.7, 2.0])
    drawn = gibbs.draw_variances(np.abs(dice.laplace(0, scale, (20_000, 2))), scale, dice)
    for column in range(2):
        assert kstest(drawn[:, column] / (2 * scale[column] ** 2), "expon").pvalue > 1e-6


@pytest.mark.parametrize("distance", [0.0, 1e-9, 1e-3, 1.0, 50.0, 1e6])
def test_hidden_variances_stay_positive_and_finite_however_small_or_large_the_noise(distance):
    drawn = gibbs.draw_variances(np.full((1000, 1), distance), np.ones(1), np.random.default_rng(0))
    assert np.isfinite(drawn).all()
    assert (drawn > 0).all()


def test_whitened_records_have_the_gaussian_density_of_their_sum():
    points = np.array([[0.3, -1.0], [4.0, 2.0]])
    variances = np.array([[0.5, 2.0], [1.5, 0.1]])
    seen = gibbs.whiten(points, TRUTH, variances)
    for row in range(2):
        for component in range(3):
            spread = TRUTH.covariances[component] + np.diag(variances[row])
            wanted = multivariate_normal.logpdf(points[row], TRUTH.means[component], spread)
            assert seen.log_density[row, component] == pytest.approx(wanted)
            pull = np.linalg.solve(spread, points[row] - TRUTH.means[component])
            assert [part[row, component] for part in seen.pull] == pytest.approx(pull)


def test_one_column_integrates_to_the_closed_form():
    points = np.linspace(-5.5, 6.5, 25)
    one = Ellipses(np.ones(1), np.array([[0.5]]), np.array([[[1.44]]]))
    wanted = at_points(points, np.array([0.5]), np.array([1.2]), 0.8).log_density
    assert gibbs.noisy_log_joint(points[:, None], one, np.array([0.8])) == pytest.approx(wanted, abs=2e-3)


@pytest.mark.parametrize("point", [(0.5, -0.2), (3.0, 3.0), (-4.0, 5.0)])
def test_two_columns_integrate_to_the_convolution(point):
    """x₂ by quadrature, x₁ given x₂ in closed form: an independent way to the density."""
    one = Ellipses(np.ones(1), TRUTH.means[:1], TRUTH.covariances[:1])
    covariance, scale = TRUTH.covariances[0], np.array([1.0, 0.6])

    def integrand(x):
        mean = covariance[0, 1] / covariance[1, 1] * x
        sigma = math.sqrt(covariance[0, 0] - covariance[0, 1] ** 2 / covariance[1, 1])
        inner = at_points(np.array([point[0]]), np.array([mean]), np.array([sigma]), scale[0]).log_density[0, 0]
        noise = math.exp(-abs(point[1] - x) / scale[1]) / (2 * scale[1])
        return norm.pdf(x, 0, math.sqrt(covariance[1, 1])) * noise * math.exp(inner)

    wanted = quad(integrand, -9, 9, points=[point[1], 0.0], epsabs=1e-12, limit=200)[0]
    assert gibbs.noisy_log_joint(np.array([point]), one, scale)[0, 0] == pytest.approx(math.log(wanted), abs=5e-3)


@pytest.fixture(scope="module")
def fits():
    perturbed, labels = records(6_000)
    noises = [ColumnNoise("laplace", 1.0)] * 2
    dice = np.random.default_rng(1)
    found = {
        kind: fit_mixture(perturbed, noises, Options(components=3, covariance=kind, sweeps=70), dice)
        for kind in ("rotated", "full")
    }
    return perturbed, labels, found


def test_full_covariances_come_back_where_turned_ones_are_off(fits):
    full, turned = (covariance_error(fits[2][kind].covariances) for kind in ("full", "rotated"))
    assert full < 0.2
    assert full < turned
    assert fits[2]["full"].weights == pytest.approx(TRUTH.sorted().weights, abs=0.04)
    assert fits[2]["full"].means == pytest.approx(TRUTH.sorted().means, abs=0.2)


def test_the_right_covariances_give_the_higher_likelihood(fits):
    perturbed, _, found = fits
    heights = {kind: gibbs.noisy_log_joint(perturbed[:2000], one.ellipses, np.ones(2)) for kind, one in found.items()}
    totals = {kind: np.logaddexp.reduce(joint, axis=1).sum() for kind, joint in heights.items()}
    assert totals["full"] > totals["rotated"]


@pytest.mark.parametrize("kind", ["rotated", "full"])
def test_perturbed_records_are_put_into_their_clusters(fits, kind):
    perturbed, labels, found = fits
    order = np.argsort(np.lexsort(TRUTH.means.T[::-1]))
    told = found[kind].log_joint(perturbed[:2000]).argmax(axis=1)
    assert (told == order[labels[:2000]]).mean() > 0.9


def test_turned_clusters_are_the_same_in_any_unit():
    perturbed, _ = records(1500, seed=4)
    unit = np.array([1.0, 1000.0])
    start = Ellipses(TRUTH.weights, TRUTH.means + 0.3, TRUTH.covariances)
    scaled = Ellipses(start.weights, start.means * unit, start.covariances * np.outer(unit, unit))
    first, path, _ = rotated.fit_rotated(perturbed, start, np.ones(2), most_steps=20)
    second, other, _ = rotated.fit_rotated(perturbed * unit, scaled, unit, most_steps=20)
    assert second.covariances == pytest.approx(first.covariances * np.outer(unit, unit))
    assert other[-1] == pytest.approx(path[-1] - 1500 * math.log(1000))
    assert path[-1] == pytest.approx(
        np.logaddexp.reduce(rotated.turned_log_joint_of(perturbed, first, np.ones(2)), axis=1).sum(), rel=1e-3
    )


def test_without_correlation_all_three_kinds_agree():
    dice = np.random.default_rng(8)
    perturbed = dice.normal([0, 3], [1.5, 2.0], (8000, 2)) + dice.laplace(0, 1, (8000, 2))
    noises = [ColumnNoise("laplace", 1.0)] * 2
    for kind in ("diag", "rotated", "full"):
        found = fit_mixture(perturbed, noises, Options(components=1, covariance=kind, sweeps=60), dice)
        assert found.means[0] == pytest.approx([0, 3], abs=0.12)
        assert np.sqrt(np.diag(found.covariances[0])) == pytest.approx([1.5, 2.0], abs=0.2)
