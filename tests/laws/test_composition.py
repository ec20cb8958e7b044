"""What is left of Pk-anonymity after two releases of the same people, over all assignments, tables and outcomes.

The guide on repeated releases states it; here it is computed without any of the library's formulas.
"""

import itertools

import numpy as np
import pytest

import kakuran as kk
from kakuran.randomness import Randomness

N, VALUES = 4, 2
PLANS = [kk.calibrate(kk.Schema([kk.Categorical("job", ["a", "b"])]), n=N, k=k, tell="all") for k in (1.5, 2.5)]
FIRST, SECOND = (plan["job"].transition().matrix for plan in PLANS)
TABLES = np.array(list(itertools.product(range(VALUES), repeat=N)))
ORDERS = np.array(list(itertools.permutations(range(N))))


def likelihood(matrix, table, release):
    """The probability of a release, record by record, for every assignment of records to people."""
    return matrix[np.asarray(release)[ORDERS], np.asarray(table)].prod(axis=1)


def links(weights):
    """The probability of each record, by row, belonging to each person, given weights of the assignments."""
    found = np.zeros((N, N))
    for weight, order in zip(weights, ORDERS, strict=True):
        found[order, np.arange(N)] += weight
    return found / weights.sum()


def joined_k(n, first, second):
    return 1 + (first - 1) * (second - 1) / (n - 1)


def test_columns_of_the_transition_add_up_to_one():
    assert FIRST.sum(axis=0) == pytest.approx(np.ones(VALUES))


def test_one_release_is_linked_with_probability_one_over_k_at_most_and_at_worst():
    worst = max(links(likelihood(FIRST, table, release)).max() for table in TABLES for release in TABLES)
    assert worst == pytest.approx(1 / 1.5, rel=1e-5)


def test_two_releases_that_can_be_joined_leave_the_product_formula_and_no_more():
    worst = max(
        links(likelihood(FIRST, table, one) * likelihood(SECOND, table, other)).max()
        for table in TABLES
        for one in TABLES
        for other in TABLES
    )
    assert worst == pytest.approx(1 / joined_k(N, 1.5, 2.5), rel=1e-5)
    assert worst > 1 / 1.5


@pytest.mark.parametrize("belief", ["even", "certain", "skewed", "wild"])
def test_two_releases_shuffled_apart_leave_each_its_own_k_whatever_the_attacker_believes(belief):
    dice = Randomness.seeded(7).generator()
    prior = {
        "even": np.ones(len(TABLES)),
        "certain": np.eye(len(TABLES))[3],
        "skewed": np.exp(3 * TABLES[:, 0] - TABLES[:, 1:].sum(axis=1)),
        "wild": dice.dirichlet(np.full(len(TABLES), 0.2)),
    }[belief]
    worst = 0.0
    for one, other in itertools.product(TABLES, TABLES):
        first = np.array([likelihood(FIRST, table, one) for table in TABLES])
        second = np.array([likelihood(SECOND, table, other).sum() for table in TABLES])
        weights = (prior * second) @ first
        worst = max(worst, links(weights).max())
    assert worst <= 1 / 1.5 * (1 + 1e-9)


GROUPS = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
KEEPING = [kk.calibrate(PLANS[0].schema, n=2, k=k, tell="all")["job"].transition().matrix for k in (1.3, 1.7)]


def within(groups):
    """Which assignments give every group its own records: who shares a kept value is known, and no more."""
    return (groups[ORDERS] == groups).all(axis=1)


@pytest.mark.parametrize("kept", [(0, 0), (0, 1)], ids=["the same column", "another"])
def test_kept_columns_join_groups_but_no_records(kept):
    """Two releases shuffled apart in which groups of two can be told: within its group each keeps its own k."""
    dice, worst = Randomness.seeded(11).generator(), 0.0
    one_way, other_way = (within(GROUPS[place]) for place in kept)
    for prior in (np.ones(len(TABLES)), dice.dirichlet(np.full(len(TABLES), 0.2))):
        for one, other in itertools.product(TABLES, TABLES):
            first = np.array([likelihood(KEEPING[0], table, one) * one_way for table in TABLES])
            second = np.array([(likelihood(KEEPING[1], table, other) * other_way).sum() for table in TABLES])
            worst = max(worst, links((prior * second) @ first).max())
    assert worst <= 1 / 1.3 * (1 + 1e-9)


def test_draws_that_are_remembered_name_whoever_answers_otherwise():
    """All but the first person answer the same in two waves and so show the same again; the others are drawn anew."""
    before, after = (0, 0, 1, 1), (1, 0, 1, 1)
    released, again = np.array([0, 0, 0, 0]), np.array([1, 0, 0, 0])
    first, second = released[ORDERS], again[ORDERS]
    once = likelihood(FIRST, before, released)[:, None] * FIRST[second[:, 0], after[0]][None, :]
    is_repeated = (first[:, None, 1:] == second[None, :, 1:]).all(axis=2)
    assert links((once * is_repeated).sum(axis=0))[0, 0] == pytest.approx(1)
    drawn_anew = likelihood(FIRST, before, released)[:, None] * likelihood(FIRST, after, again)[None, :]
    assert links(drawn_anew.sum(axis=0)).max() <= 1 / 1.5 * (1 + 1e-5)


def test_the_formula_for_several_releases_gives_back_the_k_asked_for():
    n, k, releases = 50_000, 10, 3
    each = 1 + (k - 1) ** (1 / releases) * (n - 1) ** (1 - 1 / releases)
    left = each
    for _ in range(releases - 1):
        left = joined_k(n, left, each)
    assert left == pytest.approx(k)
    epsilons = [kk.calibrate(PLANS[0].schema, n=n, k=promise, tell="all").epsilon for promise in (k, each)]
    assert releases * epsilons[1] == pytest.approx(epsilons[0], rel=1e-5)
