import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.special import erfc
from scipy.stats import norm

from kakuran.model.mixture.channel import GridCells, LaplacePoints
from kakuran.model.mixture.climbing import (
    climb,
    climb_by_gradient,
    e_step,
    gradient,
    log_joint,
    log_likelihood,
    m_step,
    polish,
)
from kakuran.model.mixture.growth import spread_out
from kakuran.model.mixture.observations import Components, Observations, observations, of_codes, of_numbers

from .conftest import MECHANISMS, S0, channel_and_places, draw


def height(components, observed):
    return log_likelihood(components, observed) - observed.penalty(components.sigmas)


def test_the_sums_of_the_e_step_are_the_numerical_gradient_of_the_likelihood(observed, two):
    def likelihood(point):
        return log_likelihood(Components(two.weights, point[:2, None], point[2:, None]), observed)

    numerical = approx_fprime(np.concatenate([two.means[:, 0], two.sigmas[:, 0]]), likelihood, 1e-6)
    found = np.concatenate([part[:, 0] for part in gradient(two, e_step(two, observed))])
    assert found == pytest.approx(numerical, rel=2e-4, abs=0.05)


def test_the_gradient_is_the_one_s0_prints():
    dice = np.random.default_rng(0)
    scale, points = 1.75, draw(S0, 400, dice) + dice.laplace(0, 1.75, 400)
    observed = Observations([LaplacePoints(points, scale)], np.ones(400))
    y, mean, sigma = points[:, None], S0.means[:, 0], S0.sigmas[:, 0]
    parts = []
    for sign in (1, -1):
        inner = (sigma**2 + sign * scale * (mean - y)) / (math.sqrt(2) * scale * sigma)
        rise = np.exp((sigma**2 + sign * 2 * scale * (mean - y)) / (2 * scale**2))
        parts.append((rise * erfc(inner), rise * np.exp(-(inner**2))))
    (upper, upper_bell), (lower, lower_bell) = parts
    density = (upper + lower) / (4 * scale)
    share = S0.weights / (4 * scale * (density @ S0.weights))[:, None]
    bell = 2 / math.sqrt(2 * math.pi)
    by_mean = share * ((upper - lower) / scale - bell / sigma * (upper_bell - lower_bell))
    by_sigma = share * (sigma / scale**2 * (upper + lower) - bell / scale * (upper_bell + lower_bell))
    found = gradient(S0, e_step(S0, observed))
    assert found[0][:, 0] == pytest.approx(by_mean.sum(axis=0), rel=1e-8)
    assert found[1][:, 0] == pytest.approx(by_sigma.sum(axis=0), rel=1e-8)


def test_at_a_stationary_point_the_m_step_stays_and_the_gradient_vanishes(observed, two):
    fit = polish(two, observed, tolerance=1e-15, most_steps=2000)
    sums = e_step(fit.components, observed)
    after = m_step(fit.components, sums, observed)
    assert after.means == pytest.approx(fit.components.means, abs=2e-4)
    assert after.sigmas == pytest.approx(fit.components.sigmas, abs=2e-4)
    assert after.weights == pytest.approx(fit.components.weights, abs=1e-5)
    if not observed.smoothing:
        by_mean, by_sigma = gradient(fit.components, sums)
        assert np.abs(np.concatenate([by_mean, by_sigma])).max() < 1e-3 * observed.n


@pytest.mark.parametrize("log_chance", [-math.inf, math.log(0.02)])
def test_a_mixture_that_goes_through_a_grid_as_a_whole_sums_to_what_its_components_do(two, log_chance):
    channel, places = channel_and_places("laplace")
    counts = np.bincount(places).astype(float)
    whole = e_step(two, Observations([channel], counts, log_chance=log_chance))
    alone = e_step(two, Observations([channel], counts, np.arange(len(counts))[:, None], log_chance=log_chance))
    for name in ("log_likelihood", "records", "size", "shift", "spread"):
        assert getattr(whole, name) == pytest.approx(getattr(alone, name), rel=1e-9), name


def test_the_height_never_falls_along_em(observed, two):
    path = np.array(climb(two, observed, tolerance=0, most_steps=60).path)
    assert len(path) > 5
    assert (np.diff(path) >= -1e-9 * np.abs(path[1:])).all()


def test_quasi_newton_takes_tens_of_steps_where_em_takes_thousands():
    dice = np.random.default_rng(0)
    observed = observations([of_numbers(draw(S0, 100_000, dice) + dice.laplace(0, 2, 100_000), 2.0)], smoothing=0.5)
    start = spread_out(observed, 4)
    ours, plain = polish(start, observed), climb(start, observed, tolerance=0, most_steps=2_000)
    assert ours.converged
    assert len(ours.path) < 100
    assert plain.path[-1] < ours.path[-1] - 1e-6 * observed.n


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 5),
    st.sampled_from(["points", "bins", *MECHANISMS]),
    st.sampled_from([0.0, 1.0]),
)
def test_the_height_never_falls_from_any_start(seed, count, kind, smoothing):
    dice = np.random.default_rng(seed)
    observed = observations([channel_and_places(kind, seed, 200)], smoothing=smoothing)
    limits = observed.channels[0].limits
    start = Components(
        dice.dirichlet(np.ones(count)),
        dice.uniform(limits.low, limits.high, (count, 1)),
        np.exp(dice.uniform(np.log(limits.least_sigma), np.log(limits.most_sigma), (count, 1))),
    )
    path = np.array(climb(start, observed, tolerance=0, most_steps=12).path)
    assert (np.diff(path) >= -1e-9 * np.abs(path[1:])).all()


def test_three_ways_up_reach_the_same_height(observed, two):
    fast, plain = polish(two, observed, tolerance=1e-13), climb(two, observed, tolerance=1e-9)
    assert fast.objective >= plain.objective - 1e-6 * observed.n
    assert fast.objective == pytest.approx(height(fast.components, observed))
    if not observed.smoothing:
        slow = climb_by_gradient(two, observed, learning_rate=1e-3, precision=1e-4)
        assert slow.log_likelihood == pytest.approx(fast.log_likelihood, abs=1.0)
        assert (np.diff(slow.path) >= 0).all()


def test_a_learning_rate_far_too_large_is_tamed(two):
    observed = observations([channel_and_places("points")], smoothing=0.0)
    fit = climb_by_gradient(two, observed, learning_rate=1e3, precision=1e-2)
    assert fit.converged
    assert fit.log_likelihood > log_likelihood(two, observed)


def test_a_climb_cut_short_says_so(two):
    observed = observations([channel_and_places("points")], smoothing=0.0)
    assert not climb(two, observed, tolerance=0, most_steps=3).converged
    assert not polish(two, observed, tolerance=0, most_steps=2).converged
    assert not climb_by_gradient(two, observed, precision=0, most_steps=3).converged


def test_rows_that_stand_for_many_records_count_as_many(two):
    channel, places = channel_and_places("points")
    once = Observations([channel], np.ones(len(places)), places[:, None])
    counted = observations([(channel, places)], smoothing=0.0)
    assert log_likelihood(two, once) == pytest.approx(log_likelihood(two, counted))
    assert e_step(two, once).spread == pytest.approx(e_step(two, counted).spread)


@pytest.mark.parametrize("kind", MECHANISMS)
def test_cells_are_the_sums_they_stand_for(kind):
    mechanism, mean, sigma = MECHANISMS[kind], 11.3, 2.2
    released = np.array([0, 17, 30, 60], dtype=np.int32)
    channel, places = of_codes(released, mechanism, 0.0, 0.5, np.arange(62))
    found = channel.moments(np.array([mean]), np.array([sigma]))
    edges = 0.5 * (np.arange(62) - 0.5)
    inside = norm.cdf(edges[-1], mean, sigma) - norm.cdf(edges[0], mean, sigma)
    for row, code in zip(places, released, strict=True):
        given = np.exp(mechanism.log_likelihood(np.int32(code), np.arange(61, dtype=np.int32)))
        sums = [
            sum(
                given[cell] * quad(lambda x, p=power: (x - mean) ** p * norm.pdf(x, mean, sigma), a, b)[0]
                for cell, (a, b) in enumerate(itertools.pairwise(edges))
            )
            for power in range(3)
        ]
        assert math.exp(found.log_density[row, 0]) == pytest.approx(sums[0] / inside, rel=1e-6)
        assert found.first[row, 0] == pytest.approx(sums[1] / sums[0], rel=1e-6, abs=1e-8)
        assert found.second[row, 0] == pytest.approx(sums[2] / sums[0], rel=1e-6)


@pytest.mark.parametrize(("kind", "power"), [("bounded-laplace", 1), ("bounded-gaussian", 2)])
def test_fine_cells_approach_bounded_noise_on_real_numbers(kind, power):
    """The normaliser γ(x) and all, by quadrature of the continuous densities (S1 eq. 2 and 3)."""
    scale, size = 2.0, 601
    step, mean, sigma, y = 30 / 600, 27.0, 3.0, 24.0
    mechanism = type(MECHANISMS[kind])(size, step, scale)
    channel, _ = of_codes(np.array([480], dtype=np.int32), mechanism, 0.0, step, np.arange(size + 1))

    def noise(e):
        return math.exp(-abs(e) / scale if power == 1 else -0.5 * (e / scale) ** 2)

    def gamma(x):
        return quad(lambda e: noise(e), -x, 30 - x, points=[0])[0]

    def joint(x):
        return norm.pdf(x, mean, sigma) * noise(y - x) / gamma(x)

    inside = norm.cdf(30, mean, sigma) - norm.cdf(0, mean, sigma)
    wanted = quad(joint, 5, 30, points=[y], epsabs=1e-12)[0] / inside
    found = channel.moments(np.array([mean]), np.array([sigma]))
    width = len(np.unique(channel.centres)) * max(int(scale / step / 16), 1) * step
    assert math.exp(found.log_density[0, 0]) / width == pytest.approx(wanted, rel=0.02)
    first = quad(lambda x: (x - mean) * joint(x), 5, 30, points=[y])[0] / (wanted * inside)
    assert found.first[0, 0] == pytest.approx(first, abs=0.05)


def test_components_cut_off_by_the_domain_are_found_whole():
    """Half of the cluster lies below the bound and was never there; its mean and deviation come out all the same."""
    dice = np.random.default_rng(5)
    numbers = dice.normal(2.0, 4.0, 400_000)
    codes = np.rint(numbers[(numbers > 0) & (numbers < 30)] / 0.5).astype(np.int32)
    channel = GridCells(np.eye(61), 0.5 * (np.arange(62) - 0.5), 0.5 * np.arange(61), 1.0)
    counts = np.bincount(codes, minlength=61).astype(float)
    # Rounding moves a quarter of a step into the first cell from inside; the outermost cells are half as wide.
    observed = Observations([channel], counts * np.where(np.arange(61) % 60 == 0, 2, 1))
    fit = polish(Components(np.ones(1), np.array([[5.0]]), np.array([[2.0]])), observed, tolerance=1e-14)
    assert fit.components.means[0, 0] == pytest.approx(2.0, abs=0.15)
    assert fit.components.sigmas[0, 0] == pytest.approx(4.0, abs=0.1)


def test_a_component_far_from_everything_does_not_break_the_sums():
    channel, places = channel_and_places("bounded-laplace")
    observed = observations([(channel, places)], smoothing=0.0)
    start = Components(np.array([1.0, 0.0]), np.array([[0.0], [30.0]]), np.array([[0.05], [0.05]]))
    assert np.isfinite(log_joint(start, observed)[:, 0]).all()
    assert np.isfinite(climb(start, observed, most_steps=5).objective)


def test_independent_columns_multiply():
    """Several columns are products over columns (S0 eq. 19)."""
    dice = np.random.default_rng(2)
    columns = [channel_and_places("points", seed, 300) for seed in (1, 2)]
    observed = observations(columns, smoothing=0.0)
    components = Components(np.array([0.3, 0.7]), dice.uniform(5, 25, (2, 2)), dice.uniform(1, 3, (2, 2)))
    joint = log_joint(components, observed)
    apart = [
        channel.moments(components.means[:, place], components.sigmas[:, place]).log_density
        for place, (channel, _) in enumerate(columns)
    ]
    assert observed.places is not None
    rows = sum(table[observed.places[:, place]] for place, table in enumerate(apart))
    assert joint == pytest.approx(np.log(components.weights) + rows)
