"""One column of many values, which noise all but drowns."""

from __future__ import annotations

import numpy as np
import pytest

import kakuran as kk
from kakuran.mechanism import MECHANISMS
from kakuran.model import Operator, reconstruct
from kakuran.model.reconstruction import posterior_means
from kakuran.randomness import Randomness

SIZE, RECORDS = 226, 40_000
ITEM = kk.Categorical("item", [f"{value:03}" for value in range(SIZE)])
SHARES = {
    "Zipf": 1 / np.arange(1, SIZE + 1),
    "half of Zipf": 1 / np.sqrt(np.arange(1, SIZE + 1)),
    "nearly flat": np.random.default_rng(0).gamma(100, size=SIZE),
}


def drawn(kind, epsilon, shares, seed):
    """True counts, perturbed ones, and the operator between them."""
    dice = np.random.default_rng(seed)
    truth = dice.multinomial(RECORDS, dice.permutation(shares / shares.sum()))
    mechanism = MECHANISMS[kind].at_swap_cost(ITEM, 2 * epsilon)
    codes = np.repeat(np.arange(SIZE, dtype=np.int32), truth)
    seen = np.bincount(mechanism.sample(codes, Randomness.seeded(seed)), minlength=SIZE).astype(float)
    return truth, seen, Operator([mechanism.transition()])


def error(truth, estimate):
    return float(np.abs(estimate - truth).sum() / RECORDS)


@pytest.mark.parametrize("shares", SHARES.values(), ids=SHARES)
@pytest.mark.parametrize("kind", ["retention", "subset"])
def test_auto_is_no_worse_than_a_flat_table(kind, shares):
    draws = [drawn(kind, 0.5, shares, seed) for seed in range(3)]
    ours = sum(error(truth, reconstruct(seen, operator).counts) for truth, seen, operator in draws)
    assert ours <= 1.02 * sum(error(truth, RECORDS / SIZE) for truth, _, _ in draws)


def test_sets_tell_more_of_many_values_than_retention():
    ours, theirs = (
        sum(error(truth, reconstruct(seen, operator).counts) for truth, seen, operator in draws)
        for draws in ([drawn(kind, 2.0, SHARES["Zipf"], seed) for seed in range(2)] for kind in ("subset", "retention"))
    )
    assert ours < 0.7 * theirs


def test_posterior_means_lie_between_the_unbiased_estimates_and_what_cells_hold_in_general():
    truth, seen, operator = drawn("subset", 1.0, SHARES["Zipf"], 0)
    means, solved = posterior_means(seen, operator), operator.solve(seen)
    assert (means >= 0).all()
    assert means.sum() == pytest.approx(RECORDS)
    assert means.max() <= 1.1 * solved.max()
    assert error(truth, means) < 0.8 * error(truth, np.maximum(solved, 0) / np.maximum(solved, 0).sum() * RECORDS)


def test_posterior_means_of_equal_cells_are_equal():
    operator = Operator([MECHANISMS["subset"].at_swap_cost(ITEM, 2.0).transition()])
    assert posterior_means(np.full(SIZE, 100.0), operator) == pytest.approx(100)
