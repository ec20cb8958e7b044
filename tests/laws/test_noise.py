"""The promise of noise in integers: what `swap_cost` and `epsilon` say covers what the weights do."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings, strategies as st

from kakuran.mechanism import BoundedGaussian, BoundedLaplace, Laplace, RetentionReplacement
from kakuran.mechanism.noise import ROUNDING

steps = st.sampled_from([1, 0.1, 7.0, 1e-3, 2.0**-10])
STEPS_PER_SCALE = st.floats(math.log(0.01), math.log(1e4)).map(math.exp)


@st.composite
def noises(draw):
    kind = draw(st.sampled_from([BoundedLaplace, BoundedGaussian, Laplace]))
    size, step = draw(st.integers(2, 30)), draw(steps)
    scale = draw(STEPS_PER_SCALE.filter(lambda scale: kind is not Laplace or scale < 30)) * step
    return kind(size, step, scale)


def log_ratios(noise):
    """log p(y|a) − log p(y|b) at its largest over y: without the normaliser, and with it."""
    released = np.arange(-noise.reach, noise.size + noise.reach)
    codes = np.arange(noise.size)
    weights = noise.weights[released[None, :] - codes[:, None] + noise.size - 1 + noise.reach]
    logs = np.log(weights)
    shares = logs - np.log(weights.sum(axis=1, keepdims=True))
    return tuple((table[:, None, :] - table[None, :, :]).max(axis=2) for table in (logs, shares))


@settings(deadline=None, max_examples=200)
@given(noises())
def test_no_scale_makes_a_swap_cost_more_than_promised(noise):
    ratios, _ = log_ratios(noise)
    codes = np.arange(noise.size)
    assert (ratios + ratios.T <= noise.swap_cost(codes[:, None], codes[None, :]) + 1e-12).all()


@settings(deadline=None, max_examples=200)
@given(noises())
def test_no_scale_makes_any_output_tell_more_than_epsilon(noise):
    _, ratios = log_ratios(noise)
    assert ratios.max() <= noise.epsilon + 1e-12


@settings(deadline=None, max_examples=200)
@given(noises())
def test_rounding_itself_adds_less_than_is_counted_for_it(noise):
    ratios, shares = log_ratios(noise)
    codes = np.arange(noise.size)
    ideal = np.abs(codes[:, None] - codes[None, :]) * noise.swap_rate
    assert (ratios + ratios.T - ideal).max() < ROUNDING / 1000
    assert shares.max() - (noise.epsilon - ROUNDING) < ROUNDING / 1000


@settings(deadline=None, max_examples=100)
@given(noises())
def test_noise_never_points_further_away_than_nearer(noise):
    centre = len(noise.weights) // 2
    outwards = noise.weights[centre:]
    assert (np.diff(outwards) <= 0).all()
    assert np.array_equal(outwards, noise.weights[centre::-1])


@settings(deadline=None, max_examples=100)
@given(
    st.sampled_from([BoundedLaplace, BoundedGaussian, Laplace]),
    st.integers(2, 2000),
    steps,
    st.floats(0.2, 50),
)
def test_a_mechanism_made_for_a_swap_cost_never_costs_more(kind, size, step, cost):
    noise = kind.for_swap_cost(size, step, cost)
    assert noise.largest_swap_cost <= cost * (1 + 1e-12)
    assert noise.largest_swap_cost >= cost * (1 - 1e-9)


@settings(deadline=None, max_examples=100)
@given(st.integers(2, 1000), st.floats(0, 25))
def test_retention_made_for_a_swap_cost_costs_that(size, cost):
    made = RetentionReplacement.for_swap_cost(size, cost)
    assert abs(made.largest_swap_cost - cost) <= 1e-9 * max(cost, 1)


@settings(deadline=None, max_examples=100)
@given(noises(), st.data())
def test_coarser_cells_are_averages_of_finer_ones(noise, data):
    inner = data.draw(st.sets(st.integers(1, noise.size - 1), max_size=4))
    edges = np.array([0, *sorted(inner), noise.size])
    fine = noise.transition().matrix
    outputs = np.add.reduceat(fine, edges[:-1], axis=0)
    expected = np.add.reduceat(outputs, edges[:-1], axis=1) / np.diff(edges)
    assert np.abs(noise.transition(edges).matrix - expected).max() < 1e-12
