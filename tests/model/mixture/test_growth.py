import numpy as np
import pytest

from kakuran.model.mixture.channel import LaplaceBins
from kakuran.model.mixture.climbing import log_likelihood, polish
from kakuran.model.mixture.growth import PARTS, aic, bic, choose, grow, repeated_splits, spread_out
from kakuran.model.mixture.observations import MOST_POINTS, Observations, observations, of_numbers
from kakuran.randomness import Randomness

from .conftest import S0, draw


def noisy(count, scale, seed=0):
    dice = np.random.default_rng(seed)
    return draw(S0, count, dice) + dice.laplace(0, scale, count)


@pytest.fixture(scope="module")
def s0_million():
    return observations([of_numbers(noisy(1_000_000, 1.75), 1.75)], smoothing=0.0)


def test_growing_reaches_the_height_of_a_climb_from_the_truth(s0_million):
    from_truth = polish(S0, s0_million, tolerance=1e-12)
    fits = list(grow(s0_million, 4))
    assert [len(fit.components) for fit in fits] == [1, 2, 3, 4]
    assert fits[-1].log_likelihood >= from_truth.log_likelihood - 1
    found = fits[-1].components.sorted()
    assert found.means == pytest.approx(S0.means, abs=0.05)
    assert found.sigmas == pytest.approx(S0.sigmas, abs=0.06)
    assert found.weights == pytest.approx(S0.weights, abs=0.01)


def test_more_components_never_lie_lower():
    observed = observations([of_numbers(noisy(500, 3.18), 3.18)], smoothing=0.5)
    heights = [fit.objective for fit in grow(observed, 6, starts=1)]
    assert (np.diff(heights) >= -1e-9).all()


@pytest.mark.parametrize("criterion", ["held-out", "bic"])
def test_four_components_are_found_where_there_are_four(criterion):
    observed = observations([of_numbers(noisy(100_000, 1.2, seed=4), 1.2)], smoothing=0.5)
    assert len(choose(observed, 5, criterion, starts=1, tolerance=1e-9).components) == 4


def test_aic_asks_for_no_fewer_than_bic_and_both_are_what_they_say():
    observed = observations([of_numbers(noisy(4000, 2.6), 2.6)], smoothing=0.0)
    counts = [len(choose(observed, 4, name, starts=1, tolerance=1e-9).components) for name in ("aic", "bic")]
    assert counts[0] >= counts[1]
    fit = next(grow(observed, 1))
    assert aic(fit, observed.n) == pytest.approx(-2 * fit.log_likelihood + 2 * 2)
    assert bic(fit, observed.n) == pytest.approx(-2 * fit.log_likelihood + 2 * np.log(4000))


def test_smoothing_keeps_components_as_wide_as_the_noise_can_show_and_fades_with_records():
    """An atom's deviation is found to be about φ·n^(−1/4), the width that n records through the noise cannot tell."""
    widths = []
    for count in (400, 40_000):
        points = np.random.default_rng(count).laplace(0, 2.0, count)
        observed = observations([of_numbers(points, 2.0)], smoothing=1.0)
        widths.append(next(grow(observed, 1)).components.sigmas[0, 0] / 2.0)
    assert 0.3 < widths[0] / 400**-0.25 < 3
    assert 0.3 < widths[1] / 40_000**-0.25 < 3


def test_every_record_is_held_out_once_a_repeat_and_the_same_counts_are_split_alike():
    counts = np.array([5.0, 0.0, 123.0, 7.0])
    divided = repeated_splits(counts)
    assert all((kept + held == counts).all() for kept, held in divided)
    for start in range(0, len(divided), PARTS):
        assert (sum(held for _, held in divided[start : start + PARTS]) == counts).all()
    again = repeated_splits(counts)
    assert all((one[1] == other[1]).all() for one, other in zip(divided, again, strict=True))


def test_a_histogram_says_the_same_as_the_records():
    values = noisy(6000, 2.45)
    raw = Observations([of_numbers(values[:MOST_POINTS], 2.45)[0]], np.ones(MOST_POINTS))
    channel, places = of_numbers(values[:MOST_POINTS], 2.45)
    assert log_likelihood(S0, raw) == pytest.approx(log_likelihood(S0, observations([(channel, places)], smoothing=0)))
    binned = observations([of_numbers(values, 2.45)], smoothing=0.0)
    assert isinstance(binned.channels[0], LaplaceBins)
    assert len(binned.counts) < 400
    start = spread_out(binned, 3)
    fine = polish(start, Observations([type(channel)(values, 2.45)], np.ones(6000)))
    coarse = polish(start, binned)
    assert coarse.components.means == pytest.approx(fine.components.means, abs=0.1)


def test_numbers_on_a_grid_fall_into_bins_of_whole_grid_cells():
    """Bins that hold now 10 and now 11 grid points would look like ripples in the data."""
    codes = Randomness.seeded(1).below(5000, 100_000)
    channel, _ = of_numbers(codes * 0.01, 1.75)
    assert isinstance(channel, LaplaceBins)
    points = (channel.high - channel.low) / 0.01
    assert points == pytest.approx(np.full(len(points), np.rint(points[0])))
    assert ((channel.low / 0.01) % 1) == pytest.approx(np.full(len(points), 0.5), abs=1e-6)


def test_quantile_starts_lie_within_the_data():
    observed = observations([of_numbers(noisy(2000, 2.0), 2.0)], smoothing=0.0)
    start = spread_out(observed, 4)
    assert (np.diff(start.means[:, 0]) > 0).all()
    assert start.weights.tolist() == [0.25] * 4
