"""S1's Algorithms 1 and 2."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from kakuran.audit import exact_posteriors, mean_absolute_loss
from kakuran.randomness import Randomness
from kakuran.wide import BooleanFactors, MaskedFactors, factorise_boolean, factorise_masked
from kakuran.wide.matrices import pack
from kakuran.wide.matrix_release import STEPS, perturb_bits, perturb_counts


def test_algorithm_1_keeps_bits_as_often_as_equation_4_says(planted):
    X, *_ = planted(3, 0)
    factors = factorise_boolean(X, 2)
    drawn = perturb_bits(factors, 10, "worst-case", Randomness.seeded(0))
    # B = ln(999/9), half of it a bit: e = exp(B/4), ρ = (e − 1)/(e + 1).
    odds = (999 / 9) ** 0.25
    retention = (odds - 1) / (odds + 1)
    assert drawn.plan["u0"].retention == pytest.approx(retention)
    # 2,000 bits: six standard deviations are passed once in 5e8 runs.
    agreeing = (drawn.U == factors.U).mean()
    expected = (1 + retention) / 2
    assert abs(agreeing - expected) < 6 * np.sqrt(expected * (1 - expected) / factors.U.size)
    assert (drawn.V == factors.V).all()


def test_the_loss_without_multiplying_out_is_that_of_the_matrix(planted):
    X, *_ = planted(5, 1)
    drawn = perturb_bits(factorise_boolean(X, 4), 10, "worst-case", Randomness.seeded(1))
    assert drawn.loss(pack(X), X.shape[1]) == pytest.approx(mean_absolute_loss(X, drawn.matrix()))


def test_patterns_that_come_in_classes_of_k_need_no_noise():
    U = np.repeat(np.eye(3, dtype=np.uint8), 10, axis=0)
    factors = BooleanFactors(U, np.kron(np.eye(3, dtype=np.uint8), np.ones((4, 1), np.uint8)))
    drawn = perturb_bits(factors, 10, "data-dependent", Randomness.seeded(0))
    assert (drawn.U == U).all()


def test_data_dependent_noise_is_weaker(planted):
    X, *_ = planted(3, 0)
    factors = factorise_boolean(X, 3)
    weak, strong = (perturb_bits(factors, 10, how, Randomness.seeded(0)) for how in ("data-dependent", "worst-case"))
    assert weak.plan["u0"].retention > strong.plan["u0"].retention


def test_nobody_can_be_linked_through_the_released_rows_by_enumerating_all_assignments():
    U = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]], np.uint8)
    V = np.array([[1, 0], [1, 0], [0, 1]], np.uint8)
    for seed in range(20):
        drawn = perturb_bits(BooleanFactors(U, V), 2, "worst-case", Randomness.seeded(seed))
        mechanisms = [drawn.plan[f"u{place}"] for place in range(2)]
        logs = sum(
            mechanism.log_likelihood(drawn.U[:, place].astype(np.int32)[:, None], U[:, place].astype(np.int32)[None])
            for place, mechanism in enumerate(mechanisms)
        )
        assert exact_posteriors(logs).max() <= 0.5 + 1e-9


@pytest.fixture
def counts():
    rng = np.random.default_rng(3)
    return csr_array(rng.poisson(rng.gamma(0.3, 1, (200, 1)) * rng.gamma(0.3, 1, (1, 40)) * 2).astype(float))


def test_algorithm_2_masks_the_noisy_numbers_by_the_noisy_bits(counts):
    values, mask = factorise_masked(counts, 2), factorise_boolean(counts.astype(bool), 2)
    drawn = perturb_counts(values, mask, 5, "worst-case", Randomness.seeded(0))
    matrix = drawn.matrix().toarray()
    noisy_mask = drawn.mask.matrix().toarray() > 0
    assert matrix == pytest.approx(np.where(noisy_mask, drawn.U @ drawn.V.T, 0.0))
    assert drawn.U.min() >= 0
    assert drawn.U.max() <= 1


def test_algorithm_2_calibrates_numbers_and_bits_together(counts):
    values, mask = factorise_masked(counts, 2), factorise_boolean(counts.astype(bool), 2)
    plan = perturb_counts(values, mask, 5, "worst-case", Randomness.seeded(0)).plan
    budget = np.log(199 / 4)
    assert plan.epsilon == pytest.approx(budget / 2, abs=1e-4)
    # Each of the four columns has a quarter: φ = 2·1/(B/4).
    assert plan["u0"].scale == pytest.approx(8 / budget, rel=1e-4)
    assert plan["p0"].retention == pytest.approx((np.exp(budget / 8) - 1) / (np.exp(budget / 8) + 1), rel=1e-4)


def test_without_noise_algorithm_2_gives_back_the_masked_product():
    U = np.repeat([[1.0, 0.25], [0.5, 1.0]], 6, axis=0)
    V = np.array([[2.0, 1.0], [0.0, 3.0], [4.0, 4.0]])
    mask = BooleanFactors(np.repeat(np.eye(2, dtype=np.uint8), 6, axis=0), np.array([[1, 0], [0, 1], [1, 1]], np.uint8))
    drawn = perturb_counts(MaskedFactors(U, V, (0.0,)), mask, 6, "data-dependent", Randomness.seeded(0))
    expected = np.where(mask.product().toarray() > 0, U @ V.T, 0)
    assert drawn.matrix().toarray() == pytest.approx(expected, abs=4 / STEPS)
