from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kakuran.counts import Reading
from kakuran.mechanism import BoundedGaussian, BoundedLaplace, RetentionReplacement, UniformMixture
from kakuran.model import Operator, influence, interval, reconstruct
from kakuran.model.intervals import Asked, inverse_interval

ONE_WAY = np.array([0.3, 0.2, 0.15, 0.12, 0.1, 0.08, 0.04, 0.01])
TWO_WAY = np.outer([0.4, 0.25, 0.15, 0.12, 0.08], [0.5, 0.3, 0.15, 0.05]) * (1 + 0.6 * np.eye(5, 4))


def released(truth, operator, rng):
    counts = truth
    for axis, transition in enumerate(operator.transitions):
        front = np.moveaxis(counts, axis, -1)
        moved = sum(rng.multinomial(front[..., cell], transition.matrix[:, cell]) for cell in range(front.shape[-1]))
        counts = np.moveaxis(moved, -1, axis)
    return counts.astype(float)


def simulate(shares, retention, releases, n=10_000):
    """Coverage and width for both truths; the interval of the inverse, up to the estimate, beside ours."""
    rng = np.random.default_rng(1)
    operator = Operator([UniformMixture(retention, np.full(size, 1 / size)) for size in shares.shape])
    shares, reading = shares / shares.sum(), Reading.all_of(shares.shape)
    covered, width, width_of_inverse = [], [], []
    for _ in range(releases):
        table = rng.multinomial(n, shares.ravel()).reshape(shares.shape)
        counts = released(table, operator, rng)
        estimate = reconstruct(counts, operator).counts
        for about, truth in (("table", table), ("population", n * shares)):
            low, high = interval(counts, operator, estimate, reading, level=0.9, about=about)
            lowest, highest = inverse_interval(Asked(counts, operator, estimate, about), reading, level=0.9)
            assert ((low <= estimate + 1e-6) & (estimate <= high + 1e-6)).all()
            covered.append((low <= truth) & (truth <= high))
            width.append(high - low)
            width_of_inverse.append(np.maximum(highest, estimate) - np.minimum(lowest, estimate))
    return (np.array(values).reshape(releases, 2, *shares.shape) for values in (covered, width, width_of_inverse))


@pytest.mark.parametrize("retention", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("shares", [ONE_WAY, TWO_WAY], ids=["one-way", "two-way"])
def test_ninety_percent_intervals_hold_either_truth_and_are_never_wider_than_the_inverse(shares, retention):
    """The standard error of what 50 releases show is at most .017: 83 % would be caught 99 times of 100."""
    covered, width, width_of_inverse = simulate(shares, retention, releases=50)
    assert (covered.mean(axis=(0, *range(2, covered.ndim))) >= 0.87).all()
    assert (width <= width_of_inverse + 1e-6).all()


def test_a_cell_that_is_the_whole_of_its_row_is_above_its_interval_no_more_often_than_below():
    """The row limits the cell, so the row's own interval must be all but sure; at level ½ a fifth would lie above.

    Of 600 cells 5 % are expected above; more than 9 % has a chance below 1e-4.
    """
    rng, truth = np.random.default_rng(0), np.zeros((3, 4), int)
    truth[0, 0], truth[1, 2], truth[2, 3] = 3_000, 3_000, 4_000
    operator = Operator([UniformMixture(0.3, np.full(size, 1 / size)) for size in truth.shape])
    above = []
    for _ in range(200):
        counts = released(truth, operator, rng)
        estimate = reconstruct(counts, operator, "simplex").counts
        _, high = interval(counts, operator, estimate, Reading.all_of(truth.shape), level=0.9, about="table")
        above.append((truth > high)[truth > 0])
    assert np.mean(above) <= 0.09


def test_intervals_hold_those_who_are_in_cells_in_which_by_chance_nobody_came_out():
    """Two hundred people and as many values: counting the noise of what came out alone held .69 of them.

    Of 1,000 such cells 90 % are held or more; fewer than 87 % has a chance below 1e-3.
    """
    rng, values = np.random.default_rng(0), 200
    operator, reading = Operator([RetentionReplacement(values, 0.1).transition()]), Reading.all_of((values,))
    shares = 1 / np.arange(1, values + 1)
    covered = []
    for _ in range(40):
        truth = rng.multinomial(200, shares / shares.sum())
        counts = released(truth, operator, rng)
        estimate = reconstruct(counts, operator).counts
        low, high = interval(counts, operator, estimate, reading, level=0.9, about="table")
        covered += ((low <= truth) & (truth <= high))[(truth > 0) & (counts == 0)].tolist()
    assert len(covered) > 900
    assert np.mean(covered) >= 0.87


def test_nothing_perturbed_leaves_no_doubt_about_the_table_and_wilsons_about_the_population():
    counts, operator = np.array([0.0, 20.0, 80.0]), Operator([RetentionReplacement(3, 1.0).transition()])
    reading = Reading.all_of((3,))
    low, high = interval(counts, operator, counts, reading, level=0.9, about="table")
    assert low == pytest.approx(counts)
    assert high == pytest.approx(counts)
    low, high = interval(counts, operator, counts, reading, level=0.95, about="population")
    assert low == pytest.approx([0.0, 13.337, 71.117], abs=1e-3)
    assert high == pytest.approx([3.699, 28.883, 86.663], abs=1e-3)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.95), st.sampled_from(["table", "population"]))
def test_the_variance_of_sums_agrees_with_that_of_single_cells(seed, retention, about):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 300, (3, 4)).astype(float)
    operator = Operator(
        [UniformMixture(retention, rng.dirichlet(np.ones(3))), RetentionReplacement(4, 0.4).transition()]
    )
    asked = Asked(counts, operator, reconstruct(counts, operator).counts, about)
    plain = inverse_interval(asked, Reading.all_of((3, 4)), level=0.9)
    marked = Reading((3, 4), (np.arange(3), np.arange(4)), np.ones((3, 4), bool))
    for one, other in zip(plain, inverse_interval(asked, marked, level=0.9), strict=True):
        assert one == pytest.approx(other, rel=1e-6, abs=1e-6)


def test_the_variance_of_the_inverse_is_what_simulation_shows():
    rng, table = np.random.default_rng(3), np.array([[500, 100], [50, 350], [0, 1000]])
    operator = Operator([UniformMixture(0.4, np.array([0.2, 0.3, 0.5])), UniformMixture(0.6, np.array([0.5, 0.5]))])
    union = Reading((), (), np.array([[True, False], [True, True], [False, False]]))
    drawn = [released(table, operator, rng) for _ in range(4000)]
    spread = np.std([union.of(operator.solve(counts)) for counts in drawn])
    estimate = reconstruct(drawn[0], operator).counts
    low, high = inverse_interval(Asked(drawn[0], operator, estimate, "table"), union, level=0.9)
    assert (high - low) / (2 * 1.6449) == pytest.approx(spread, rel=0.06)


@pytest.mark.parametrize(("bins", "scale"), [(8, 3.0), (8, 12.0), (12, 30.0)])
def test_intervals_of_noisy_numbers_hold_the_truth_however_smooth_the_noise(bins, scale):
    rng = np.random.default_rng(4)
    noise, edges = BoundedLaplace(48, 1, scale), np.linspace(0, 48, bins + 1).astype(int)
    operator, reading = Operator([noise.transition(edges)]), Reading.all_of((bins,))
    shares = np.exp(-((np.arange(bins) - bins / 3) ** 2) / 6) + 0.05
    covered, widths = [], []
    for _ in range(40):
        table = rng.multinomial(20_000, shares / shares.sum())
        counts = released(table, operator, rng)
        estimate = reconstruct(counts, operator).counts
        low, high = interval(counts, operator, estimate, reading, level=0.9, about="table")
        lowest, highest = inverse_interval(Asked(counts, operator, estimate, "table"), reading, level=0.9)
        covered.append((low <= table) & (table <= high))
        widths.append((high - low) / (np.maximum(highest, estimate) - np.minimum(lowest, estimate)))
    assert np.mean(covered) >= 0.87
    assert np.max(widths) <= 1 + 1e-6


def test_a_slice_of_noisy_numbers_within_a_table_is_profiled_too():
    rng = np.random.default_rng(5)
    noise, edges = BoundedLaplace(40, 1, 20.0), np.linspace(0, 40, 11).astype(int)
    operator = Operator([RetentionReplacement(3, 0.5).transition(), noise.transition(edges)])
    shares = np.outer([0.5, 0.3, 0.2], np.exp(-((np.arange(10) - 4) ** 2) / 8))
    upper_half = Reading((3,), (np.arange(3),), np.broadcast_to(np.arange(10) >= 5, (3, 10)))
    covered, narrower = [], []
    for _ in range(40):
        table = rng.multinomial(20_000, (shares / shares.sum()).ravel()).reshape(3, 10)
        counts = released(table, operator, rng)
        estimate = reconstruct(counts, operator).counts
        low, high = interval(counts, operator, estimate, upper_half, level=0.9, about="table")
        lowest, highest = inverse_interval(Asked(counts, operator, estimate, "table"), upper_half, level=0.9)
        truth = upper_half.of(table.astype(float))
        covered.append((low <= truth) & (truth <= high))
        narrower.append((high - low).mean() < 0.5 * (highest - lowest).mean())
    assert np.mean(covered) >= 0.87
    assert np.mean(narrower) > 0.9


def test_counts_that_the_noise_can_hardly_have_made_still_get_an_interval():
    operator = Operator([BoundedGaussian(18, 1, 3.0).transition(np.arange(0, 19, 3))])
    rng, reading = np.random.default_rng(6), Reading.all_of((6,))
    for _ in range(60):
        counts = rng.multinomial(500_000, rng.dirichlet(np.full(6, 0.05))).astype(float)
        low, high = interval(counts, operator, counts, reading, level=0.9, about="table")
        assert ((low <= counts) & (counts <= high)).all()


def test_no_records_give_intervals_of_nothing():
    operator = Operator([RetentionReplacement(3, 0.4).transition(), BoundedLaplace(4, 1, 9.0).transition()])
    low, high = interval(np.zeros((3, 4)), operator, np.zeros((3, 4)), Reading.all_of((3, 4)), level=0.9, about="table")
    assert (low == 0).all()
    assert (high == 0).all()


def test_one_record_moves_the_inverse_by_its_influence_and_never_further():
    operator, reading = Operator([UniformMixture(0.2296, np.full(4, 0.25))]), Reading.all_of((4,))
    counts = np.array([270.0, 230.0, 260.0, 240.0])
    before = reconstruct(counts, operator, "inverse").counts
    moved = [np.abs(reconstruct(counts + one, operator, "inverse").counts - before).max() for one in np.eye(4)]
    assert influence(operator, reading, (4,)) == pytest.approx(max(moved)) == pytest.approx(3.516, abs=1e-3)


def test_no_influence_is_told_of_numbers_whose_noise_is_not_inverted():
    operator = Operator([BoundedLaplace(48, 1, 30.0).transition(np.arange(49))])
    assert influence(operator, Reading.all_of((48,)), (48,)) is None


def fooled(truth, operator, fake, made_up, *, fakes):
    """How often 90 % intervals hold the counts of true records, cell by cell, if so many fakes are all the same."""
    rng, reading, covered = np.random.default_rng(3), Reading.all_of(truth.shape), []
    for _ in range(15):
        counts = released(truth, operator, rng)
        counts[fake] += made_up
        low, high = interval(
            counts,
            operator,
            reconstruct(counts, operator, "simplex").counts,
            reading,
            level=0.9,
            about="table",
            fakes=fakes,
        )
        covered.append((low <= truth) & (truth <= high))
    return np.mean(covered, axis=0)


CATEGORIES = Operator([UniformMixture(0.3, np.full(4, 0.25))])
NUMBERS = Operator([BoundedLaplace(48, 1, 30.0).transition(np.linspace(0, 48, 9).astype(int))])
BOTH = Operator([*CATEGORIES.transitions, *NUMBERS.transitions])


@pytest.mark.parametrize(
    ("operator", "truth", "fake", "made_up"),
    [
        (CATEGORIES, np.array([5_000, 3_000, 1_500, 500]), (3,), 300),
        (NUMBERS, np.array([3_000, 4_000, 2_000, 500, 300, 200, 0, 0]), (7,), 400),
        (BOTH, np.outer([50, 30, 10, 10], [300, 400, 200, 50, 30, 20, 0, 0]), (3, 7), 4_000),
    ],
    ids=["categories", "numbers", "both"],
)
def test_intervals_that_assume_fakes_hold_the_truth_where_others_are_fooled(operator, truth, fake, made_up):
    assert fooled(truth, operator, fake, made_up, fakes=0).min() < 0.5
    assert fooled(truth, operator, fake, made_up, fakes=made_up).min() >= 0.85


def test_assuming_fakes_never_makes_an_interval_narrower():
    rng = np.random.default_rng(5)
    for operator, truth in ((CATEGORIES, np.array([50, 30, 15, 5])), (NUMBERS, np.array([30, 40, 20, 5, 3, 2, 0, 0]))):
        counts, reading = released(truth, operator, rng), Reading.all_of(truth.shape)
        estimate = reconstruct(counts, operator).counts
        ends = [
            interval(counts, operator, estimate, reading, level=0.9, about="table", fakes=some)
            for some in (0, 1, 5, 20)
        ]
        for (low, high), (lower, higher) in pairwise(ends):
            assert (lower <= low + 1e-6).all()
            assert (higher >= high - 1e-6).all()
