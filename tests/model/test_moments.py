"""Moments of true records: unbiased, whatever the mechanism, and as sure as they say."""

import numpy as np
import pytest

import kakuran as kk
from kakuran.mechanism import PRAM, BoundedLaplace, DenseTransition, Laplace, SquareWave, SubsetSelection
from kakuran.model import Operator, ToldCells, moments_of, unbiased

AGE = kk.Numeric("age", 0, 60, step=1)
JOB = kk.Categorical("job", list("abcdef"))


@pytest.mark.parametrize(
    "mechanism",
    [
        SquareWave.at_swap_cost(AGE, 4),
        BoundedLaplace.at_swap_cost(AGE, 6),
        Laplace.at_swap_cost(AGE, 6),
        SubsetSelection.at_swap_cost(JOB, 3),
        PRAM.of(JOB, {"matrix": (0.4 * np.eye(6) + 0.1).tolist()}),
    ],
    ids=lambda mechanism: mechanism.kind,
)
def test_what_perturbed_cells_say_is_what_is_asked_of_true_ones_on_average(mechanism):
    codes = np.linspace(-1, 1, mechanism.size)
    edges = np.arange(mechanism.size + 1)
    beyond = mechanism.beyond
    released = np.arange(-beyond, mechanism.size + beyond + 1) if beyond else None
    transition = mechanism.transition(edges, released)
    functions = np.stack([np.ones_like(codes), codes, codes**2])
    pulls = unbiased(transition, functions)
    np.testing.assert_allclose(transition.adjoint(pulls, 1), functions, atol=1e-7)


def test_of_all_unbiased_estimates_ours_varies_least_where_all_numbers_of_a_square_wave_are_as_frequent():
    wave = SquareWave.at_swap_cost(AGE, 4)
    transition = wave.transition(np.arange(62), np.arange(-wave.beyond, 62 + wave.beyond))
    codes = np.arange(61.0)
    expected = transition.matrix.mean(axis=1)
    pulls = unbiased(transition, np.stack([np.ones(61), codes]))[1]
    inverse = np.linalg.pinv(transition.matrix.T) @ codes
    plain = np.arange(-wave.beyond, 61.0 + wave.beyond)
    plain = (plain - (1 - wave.retention) * plain.mean()) / wave.retention
    np.testing.assert_allclose(transition.matrix.T @ plain, codes, atol=1e-9)
    assert expected @ pulls**2 < min(expected @ inverse**2, expected @ plain**2)


def cells(axes, counts, operator):
    places = tuple(np.indices(counts.shape).reshape(counts.ndim, -1))
    return ToldCells(axes, places, counts.ravel(), operator, counts.shape)


def test_tells_are_weighed_by_how_sure_they_are_and_each_says_something_of_what_it_holds():
    exact, functions = Operator([None]), [np.array([[1.0, 1.0], [0.0, 1.0]])] * 2
    pair = cells((0, 1), np.array([[30.0, 20.0], [20.0, 30.0]]), Operator([None, None]))
    alone = cells((0,), np.array([600.0, 300.0]), exact)
    found = moments_of([pair, alone], functions, 1_000)
    first, together = found.names.index((1, 0)), found.names.index((1, 1))
    assert found.values[first] == pytest.approx((50 + 300) / 1_000, abs=3e-3)
    assert found.values[together] < 0.3
    assert found.covariance[first, first] == pytest.approx(0.35 * 0.65 / 1_000, rel=0.05)


def test_a_cell_that_nobody_is_counted_in_is_not_taken_to_be_certain():
    retention = kk.mechanism.RetentionReplacement.at_swap_cost(JOB, 2)
    counts = np.array([500.0, 300.0, 200.0, 100.0, 50.0, 0.0])
    told = cells((0,), counts, Operator([retention.transition()]))
    functions = np.vstack([np.ones(6), np.eye(6)[1:]])
    found = moments_of([told], [functions], int(counts.sum()))
    last = found.names.index((5,))
    observed = unbiased(retention.transition(), functions)[5]
    by_observed = np.cov(observed, fweights=counts.astype(int)) / counts.sum()
    assert found.covariance[last, last] > 1.05 * by_observed


def test_about_the_table_itself_exact_counts_leave_nothing_open():
    told = cells((0,), np.array([60.0, 40.0]), Operator([None]))
    found = moments_of([told], [np.array([[1.0, 1.0], [0.0, 1.0]])], 100)
    assert found.values == pytest.approx([0.4])
    assert found.covariance_of(np.eye(1), "population") == pytest.approx(0.4 * 0.6 / 100)
    assert found.covariance_of(np.eye(1), "table") == pytest.approx(0.0, abs=1e-12)


def retained(points, half_width):
    """Numbers that are kept within a window or, with the other column of the pair, replaced by any."""
    places = np.arange(points)
    near = np.abs(places[:, None] - places) <= half_width
    return DenseTransition(near / near.sum(axis=0))


@pytest.fixture(scope="module")
def smooth_and_plain():
    """Correlations of two numbers, bent together: what is true, 200 smooth estimates and errors, and a plain error."""
    points, dice = 31, np.random.default_rng(5)
    places = np.linspace(-5, 5, points)
    table = np.exp(-(places[:, None] ** 2) / 2 - (places - 0.3 * places[:, None] - 0.2 * places[:, None] ** 2) ** 2 / 2)
    table /= table.sum()
    functions = [np.stack([np.ones(points), places, places**2])] * 2
    even = np.full(points, 1 / points)
    operator = Operator([retained(points, 1)] * 2, 0.2, [even, even])
    seen = operator.forward(table).ravel()
    means = np.einsum("ab,ia,jb->ij", table, *functions)
    true = (means[1, 1] - means[1, 0] * means[0, 1]) / np.sqrt(
        (means[2, 0] - means[1, 0] ** 2) * (means[0, 2] - means[0, 1] ** 2)
    )
    scale = np.sqrt((means[2, 0] - means[1, 0] ** 2) * (means[0, 2] - means[0, 1] ** 2))
    draws = [
        cells((0, 1), dice.multinomial(5_000, seen).reshape(points, points).astype(float), operator) for _ in range(200)
    ]

    def together(told, smooth):
        found = moments_of([told], functions, 5_000, smooth=smooth)
        place = {name: number for number, name in enumerate(found.names)}
        slopes = np.zeros(len(place))
        first, second = found.values[place[1, 0]], found.values[place[0, 1]]
        slopes[[place[1, 1], place[1, 0], place[0, 1]]] = 1.0, -second, -first
        return (found.values[place[1, 1]] - first * second) / scale, np.sqrt(slopes @ found.covariance @ slopes) / scale

    return true, np.array([together(told, True) for told in draws]), together(draws[0], False)[1]


def test_what_two_numbers_have_in_common_is_as_sure_as_smooth_tables_say(smooth_and_plain):
    """Of 200 intervals of 90 %, fewer than 166 or more than 193 hold the truth by chance once in a thousand times."""
    true, found, _ = smooth_and_plain
    held = np.abs(found[:, 0] - true) <= 1.645 * found[:, 1]
    assert 166 <= held.sum() <= 193


def test_where_hardly_anybody_is_in_the_corners_smooth_tables_leave_less_noise_than_inverting_cell_by_cell(
    smooth_and_plain,
):
    _, found, plain = smooth_and_plain
    assert np.median(found[:, 1]) < 0.7 * plain
