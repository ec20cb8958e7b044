import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import quad
from scipy.special import erfc
from scipy.stats import norm

from kakuran.model.mixture.channel import at_points, in_bins

RATIOS = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3)
DISTANCES = (0.0, 0.5, -3.0, 10.0, 40.0, -40.0)


def moments(y, mean, sigma, scale):
    found = at_points(np.array([y]), np.array([mean]), np.array([sigma]), scale)
    return tuple(float(part[0, 0]) for part in found[:3])


def integrals(y, mean, sigma, scale):
    """log f, E[x−μ] and E[(x−μ)²] by adaptive quadrature of the unnormalised posterior around its own peak."""

    def exponent(u):
        return -0.5 * u * u - abs((y - mean) - sigma * u) / scale

    far = (y - mean) / sigma
    peaks = [u for u in (far, 0.0, sigma / scale, -sigma / scale) if abs(u) < 1e6]
    top = max(peaks, key=exponent)
    breaks = sorted({far, top, 0.0})
    sums = []
    for power in range(3):

        def integrand(u, power=power):
            return u**power * math.exp(exponent(u) - exponent(top))

        reach = 45.0
        inside = [b for b in breaks if top - reach < b < top + reach]
        cuts = sorted({top - reach, *inside, *(top + offset for offset in (-9, -3, -1, 1, 3, 9)), top + reach})
        sums.append(sum(quad(integrand, a, b, epsabs=0, epsrel=1e-12)[0] for a, b in itertools.pairwise(cuts)))
    log_f = math.log(sums[0]) + exponent(top) - math.log(2 * scale * math.sqrt(2 * math.pi))
    return log_f, sigma * sums[1] / sums[0], sigma**2 * sums[2] / sums[0]


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_density_and_moments_agree_with_quadrature_near_and_far(ratio, distance, scale):
    sigma = ratio * scale
    found, wanted = (way(1.5 + distance * sigma, 1.5, sigma, scale) for way in (moments, integrals))
    assert found[0] == pytest.approx(wanted[0], rel=1e-9, abs=1e-9)
    assert found[1] == pytest.approx(wanted[1], rel=1e-7, abs=1e-9 * sigma)
    assert found[2] == pytest.approx(wanted[2], rel=1e-6, abs=2e-9 * sigma**2)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("width", [1e-3, 0.1, 3.0])
def test_bins_integrate_the_points_exactly(ratio, width):
    scale, sigma = 1.0, ratio
    low = np.array([-5.0, -0.4 * width, 0.0, 2.0]) * max(sigma, 0.1)
    high = low + width * max(sigma, 0.1)
    binned = in_bins(low, high, np.zeros(1), np.array([sigma]), scale)
    for row in range(len(low)):
        cuts = np.unique([low[row], high[row], *(c for c in (-3 * sigma, 0, 3 * sigma) if low[row] < c < high[row])])
        nodes, weights = np.polynomial.legendre.leggauss(80)
        pieces = [((b - a) / 2 * nodes + (a + b) / 2, (b - a) / 2 * weights) for a, b in itertools.pairwise(cuts)]
        points, weights = (np.concatenate(part) for part in zip(*pieces, strict=True))
        at = at_points(points, np.zeros(1), np.array([sigma]), scale)
        density = np.exp(at.log_density[:, 0]) * weights
        assert math.exp(binned.log_density[row, 0]) == pytest.approx(density.sum(), rel=1e-7)
        first, second = ((density * part[:, 0]).sum() / density.sum() for part in at[1:3])
        assert binned.first[row, 0] == pytest.approx(first, rel=1e-5, abs=1e-6 * sigma)
        assert binned.second[row, 0] == pytest.approx(second, rel=1e-5, abs=1e-6 * sigma**2)


@settings(deadline=None, max_examples=200)
@given(
    st.floats(-3, 3).map(lambda power: 10**power),
    st.floats(-40, 40),
    st.floats(-6, 6).map(lambda power: 10**power),
)
def test_nothing_overflows_and_moments_stay_moments(ratio, distance, scale):
    sigma = ratio * scale
    log_f, first, second = moments(distance * sigma, 0.0, sigma, scale)
    assert math.isfinite(log_f)
    assert log_f <= -math.log(2 * scale) + 1e-12
    assert second >= first**2 - 1e-9 * max(second, sigma**2)
    assert abs(first) <= sigma * (min(ratio, abs(distance)) * (1 + 1e-9) + 1e-12)


def test_the_density_is_that_of_s0_with_its_misprints_mended():
    y, mean, sigma, scale = np.linspace(-6, 9, 7), 1.2, 0.8, 1.7
    up = np.exp((sigma**2 + 2 * scale * mean - 2 * scale * y) / (2 * scale**2))
    down = np.exp((sigma**2 - 2 * scale * mean + 2 * scale * y) / (2 * scale**2))
    wanted = (
        up * erfc((sigma**2 + scale * mean - scale * y) / (math.sqrt(2) * scale * sigma))
        + down * erfc((sigma**2 - scale * mean + scale * y) / (math.sqrt(2) * scale * sigma))
    ) / (4 * scale)
    found = np.exp(at_points(y, np.array([mean]), np.array([sigma]), scale).log_density[:, 0])
    assert found == pytest.approx(wanted, rel=1e-12)


def test_little_noise_leaves_a_gaussian_and_much_noise_a_laplace():
    y = np.linspace(-3, 3, 13)
    gaussian = at_points(y, np.zeros(1), np.ones(1), 1e-4).log_density[:, 0]
    laplace = at_points(y, np.zeros(1), np.array([1e-5]), 1.0).log_density[:, 0]
    assert gaussian == pytest.approx(norm.logpdf(y), abs=1e-6)
    assert laplace == pytest.approx(-np.abs(y) - math.log(2), abs=1e-4)
