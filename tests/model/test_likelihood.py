import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import LinearConstraint, minimize

from kakuran.mechanism import PRAM, BoundedLaplace, DenseTransition, UniformMixture
from kakuran.model import Operator
from kakuran.model.reconstruction import duality_gap, em_step, log_likelihood, maximum_likelihood, uniform


@st.composite
def transitions(draw, size):
    kind = draw(st.sampled_from(["kept", "mixture", "pram", "noise", "nothing left"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    match kind:
        case "mixture":
            return UniformMixture(draw(st.floats(0.02, 1.0)), rng.dirichlet(np.ones(size)))
        case "pram":
            return PRAM(rng.dirichlet(np.full(size, 0.5), size)).transition()
        case "noise":
            return BoundedLaplace(size, 1, draw(st.floats(0.3, 20.0))).transition()
        case "nothing left":
            return DenseTransition(np.full((size, size), 1 / size))
    return None


@st.composite
def problems(draw):
    """Tables of two or three axes with many zeros, and any kind of perturbation of each axis."""
    shape = draw(st.lists(st.integers(2, 6), min_size=2, max_size=3))
    operator = Operator([draw(transitions(size)) for size in shape])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = 10.0 ** draw(st.integers(0, 7))
    counts = np.rint(rng.gamma(draw(st.sampled_from([0.1, 1.0, 20.0])), size=shape) * scale)
    return counts, operator


@settings(deadline=None, max_examples=150)
@given(problems())
def test_the_maximum_comes_with_its_certificate_whatever_the_counts_and_the_operator(problem):
    counts, operator = problem
    estimate, steps = maximum_likelihood(counts, operator)
    assert (estimate >= 0).all()
    assert estimate.sum() == pytest.approx(counts.sum())
    assert duality_gap(counts, estimate, operator) <= 1e-9 * counts.sum()
    assert steps < 20_000


@settings(deadline=None, max_examples=30)
@given(problems())
def test_em_climbs_to_the_same_maximum_and_never_above_it(problem):
    counts, operator = problem
    estimate, _ = maximum_likelihood(counts, operator)
    plain = uniform(counts, operator)
    for _ in range(300):
        plain = em_step(plain, counts, operator)
    left = log_likelihood(counts, estimate, operator) - log_likelihood(counts, plain, operator)
    small = 1e-9 * max(counts.sum(), 1)
    assert -small <= left <= duality_gap(counts, plain, operator) + small


@pytest.mark.parametrize("seed", range(5))
def test_a_general_optimiser_finds_the_same_expected_counts_of_a_joint(seed):
    rng = np.random.default_rng(seed)
    operator = Operator([UniformMixture(0.4, np.full(3, 1 / 3)), BoundedLaplace(4, 1, 2.0).transition()])
    counts = rng.poisson(rng.gamma(0.5, 40.0, (3, 4))).astype(float)
    total = counts.sum()

    def loss(shares):
        return -log_likelihood(counts, total * shares.reshape(3, 4), operator) / total

    def slope(shares):
        ratio = counts / operator.forward(total * shares.reshape(3, 4))
        return 1 - operator.adjoint(ratio).ravel()

    found = minimize(
        loss,
        np.full(12, 1 / 12),
        jac=slope,
        method="trust-constr",
        bounds=[(0, 1)] * 12,
        constraints=LinearConstraint(np.ones(12), 1, 1),
        options={"gtol": 1e-10, "xtol": 1e-14, "maxiter": 5000},
    )
    estimate, _ = maximum_likelihood(counts, operator)
    ours = operator.forward(estimate)
    assert -loss(estimate / total) >= -found.fun - 1e-9
    assert ours == pytest.approx(operator.forward(total * found.x.reshape(3, 4)), abs=1e-3 * total)


def test_what_is_known_of_the_totals_is_kept_exactly():
    operator = Operator([None, UniformMixture(0.3, np.full(3, 1 / 3))])
    counts = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [1000.0, 0.0, 0.0]])
    estimate, _ = maximum_likelihood(counts, operator)
    assert estimate.sum(axis=1) == pytest.approx(counts.sum(axis=1), abs=1e-9)


def test_noise_on_numbers_has_a_certified_maximum_though_its_inverse_is_useless():
    rng = np.random.default_rng(1)
    operator = Operator([BoundedLaplace(121, 1, 40.0).transition()])
    truth = np.exp(-((np.arange(121) - 40) ** 2) / 200)
    counts = rng.multinomial(10**6, operator.forward(truth / truth.sum())).astype(float)
    estimate, _ = maximum_likelihood(counts, operator)
    assert duality_gap(counts, estimate, operator) <= 1e-9 * counts.sum()


def test_released_values_nobody_could_have_got_are_left_out():
    operator = Operator([PRAM([[1.0, 0.0], [1.0, 0.0]]).transition(), UniformMixture(0.5, np.array([0.5, 0.5]))])
    estimate, _ = maximum_likelihood(np.array([[36.0, 4.0], [0.0, 0.0]]), operator)
    assert estimate.sum(axis=0) == pytest.approx([40.0, 0.0], abs=1e-6)


def test_stopped_early_the_gap_says_so():
    rng = np.random.default_rng(2)
    operator = Operator([UniformMixture(0.2, np.full(6, 1 / 6))] * 3)
    counts = rng.integers(0, 30, (6, 6, 6)).astype(float)
    estimate, steps = maximum_likelihood(counts, operator, most_steps=10)
    best, _ = maximum_likelihood(counts, operator)
    left = log_likelihood(counts, best, operator) - log_likelihood(counts, estimate, operator)
    assert steps <= 10
    assert estimate.sum() == pytest.approx(counts.sum())
    assert 1e-6 * counts.sum() < left <= duality_gap(counts, estimate, operator)


@settings(deadline=None, max_examples=40)
@given(problems())
def test_the_squared_adjoint_is_the_diagonal_of_the_curvature(problem):
    weights, operator = problem
    columns = np.eye(weights.size).reshape(weights.size, *weights.shape)
    diagonal = [(weights * operator.forward(column) ** 2).sum() for column in columns]
    assert operator.squared_adjoint(weights).ravel() == pytest.approx(diagonal)
