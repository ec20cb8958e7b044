"""Where in their bands numbers lie: smooth distributions are read right from the exact shares of their bands."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import kakuran as kk
from kakuran.answers.filling import BandFilling

FINE = 1e-3
SHAPES = {
    "ages": (stats.norm(54, 22), [0, 20, 40, 60, 80, 120]),
    "costs": (stats.lognorm(0.7, scale=500), [0, 250, 500, 1000, 2000, 5000]),
    "dear costs": (stats.lognorm(0.9, scale=1000), [0, 500, 1000, 2000, 4000, 20_000]),
    "waits": (stats.expon(scale=20), [0, 10, 20, 40, 120]),
    "a peak": (stats.triang(0.3, scale=100), [0, 20, 40, 60, 100]),
}


def filled(shape, bands):
    """The filling of bands by exact shares, the shares, and the mean and the spread of the numbers between the ends."""
    shares = np.diff(shape.cdf(bands))
    shares = shares / shares.sum()
    numbers = shape.ppf(np.linspace(*shape.cdf([bands[0], bands[-1]]), 200_001)[1:-1])
    return BandFilling.of(kk.Numeric("x", bands=bands, step=FINE), shares), shares, numbers


@pytest.mark.parametrize("name", SHAPES)
def test_the_mean_of_a_smooth_shape_is_less_than_half_as_far_off_as_with_even_bands(name):
    shape, bands = SHAPES[name]
    filling, shares, numbers = filled(shape, bands)
    even = shares @ (np.diff(bands) / 2 + bands[:-1])
    assert abs(shares @ filling.means - numbers.mean()) < abs(even - numbers.mean()) / 2


@pytest.mark.parametrize("name", SHAPES)
def test_the_median_of_a_smooth_shape_comes_out_within_a_twentieth_of_its_spread(name):
    filling, shares, numbers = filled(*SHAPES[name])
    below = np.append(0.0, np.cumsum(shares))
    band = int(np.searchsorted(below, 0.5)) - 1
    place = band + (0.5 - below[band]) / shares[band]
    assert abs(filling.at(np.array(place)) - np.median(numbers)) < numbers.std() / 20


@pytest.mark.parametrize("bands", [[0, 18, 30, 45, 65, 100], [0, 20, 40, 60, 80, 120], [0, 1, 100]])
def test_even_numbers_stay_even_however_wide_bands_are(bands):
    filling, _, _ = filled(stats.uniform(0, bands[-1]), bands)
    np.testing.assert_allclose(filling.means, np.diff(bands) / 2 + bands[:-1], rtol=0.002)


def test_what_falls_exponentially_is_read_exactly_at_the_end():
    filling, _, numbers = filled(stats.expon(scale=20), [0, 20, 60, 120])
    assert abs(filling.means[-1] - numbers[numbers >= 60].mean()) < 0.05


def test_a_band_of_one_number_is_that_number_and_bands_hold_what_they_held():
    visits = kk.Numeric("visits", bands=[1, 2, 4, 8, 30])
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    filling = BandFilling.of(visits, shares)
    assert filling.means[0] == pytest.approx(1)
    np.testing.assert_allclose(np.bincount(filling.codes, filling.likely), shares, atol=1e-5)
    assert (filling.likely > 0).all()


@pytest.mark.parametrize("shares", [[0, 0, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0], [0.5, -0.1, 0.6]])
def test_bands_of_nobody_have_a_number_between_their_edges(shares):
    filling = BandFilling.of(kk.Numeric("x", bands=[0, 10, 20, 80]), np.array(shares, float))
    assert (filling.means > [0, 10, 20]).all()
    assert (filling.means < [10, 20, 80]).all()


def test_influence_is_what_a_mean_moves_by_beside_the_means_of_bands():
    number, shares, moved = (
        kk.Numeric("x", bands=[0, 10, 20, 80]),
        np.array([0.5, 0.3, 0.2]),
        np.array([-0.02, 0, 0.02]),
    )

    def mean_of(some):
        return some @ BandFilling.of(number, some).means

    filling = BandFilling.of(number, shares)
    slopes = filling.means + filling.influence(lambda one: one.means[None])[0]
    assert mean_of(shares + moved) - mean_of(shares - moved) == pytest.approx(2 * slopes @ moved, rel=0.01)
    assert 2 * filling.means @ moved != pytest.approx(2 * slopes @ moved, rel=0.05)
