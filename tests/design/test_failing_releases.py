"""How often somebody is linked too surely where failures are made frequent: releases drawn, posteriors exact.

Each test allows as many failing releases as a count shows in all but one of a million runs if failing were just as
likely as was promised: the false-alarm rate of each is at most one in a million.
"""

import csv
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom
from tests.shuffling import bound_for_one_person

import kakuran as kk
from kakuran.design import plan_among
from kakuran.mechanism import RetentionReplacement
from kakuran.mechanism.two_level import retention_for
from kakuran.randomness import Randomness

ADULT = Path(__file__).parents[3] / "shared/data/adult.data"
FALSE_ALARM = 1e-6
DELTA = 0.05


def noise_for(table, k, levels):
    """The largest ε₀ at which a release of a table fails as rarely as that.

    People with equal values are linked too surely in the same releases, so each value counts once, not each person.
    """
    low, high = 0.0, 10.0
    for _ in range(25):
        middle = (low + high) / 2
        is_rare = len(set(table)) * bound_for_one_person(middle, levels, len(table), k) <= DELTA
        low, high = (middle, high) if is_rare else (low, middle)
    return low


def drawn_counts(table, levels, local, releases, seed):
    """How often each value comes out in so many releases of a table."""
    mechanism = RetentionReplacement(levels, retention_for(local, 1, levels))
    codes = np.tile(np.asarray(table, np.int32), releases)
    shown = mechanism.sample(codes, Randomness.seeded(seed)).reshape(releases, -1)
    return np.stack([(shown == value).sum(axis=1) for value in range(levels)], axis=1)


def matchings(people, rows, odds):
    """By h: the ways to give h people of a value a row of that value, each times odds^h; a rook polynomial."""
    return np.array(
        [math.comb(people, h) * math.comb(rows, h) * math.factorial(h) * odds**h for h in range(min(people, rows) + 1)],
        float,
    )


def surest_link(people, rows, local):
    """The largest posterior of any row and person, from how many people and rows have each value.

    The likelihood of an assignment is e^ε₀ to the number of people who are given a row of their own value. Summed over
    all assignments that is Σ_h (n − h)!·R_h, R the product over the values of their rook polynomials at e^ε₀ − 1.
    """
    odds, n, values = math.expm1(local), sum(people), range(len(people))
    plain = [matchings(people[value], rows[value], odds) for value in values]

    def total(factors, size):
        product = np.ones(1)
        for factor in factors:
            product = np.convolve(product, factor)
        return product @ np.array([math.factorial(size - h) for h in range(len(product))], float)

    found = []
    everything = total(plain, n)
    for person, row in itertools.product(values, values):
        if people[person] and rows[row]:
            less = [
                matchings(people[value] - (value == person), rows[value] - (value == row), odds)
                if value in (person, row)
                else plain[value]
                for value in values
            ]
            found.append(math.exp(local * (person == row)) * total(less, n - 1) / everything)
    return max(found)


@pytest.mark.parametrize("seed", range(20))
def test_rook_polynomials_count_all_assignments(seed):
    rng = np.random.default_rng(seed)
    levels, local = int(rng.integers(2, 5)), float(rng.uniform(0.2, 3))
    true, shown = rng.integers(levels, size=(2, 6))
    total, linked = 0.0, np.zeros((6, 6))
    for owners in itertools.permutations(range(6)):
        likelihood = math.exp(local * (true[list(owners)] == shown).sum())
        total += likelihood
        linked[range(6), owners] += likelihood
    counted = (np.bincount(values, minlength=levels).tolist() for values in (true, shown))
    assert surest_link(*counted, local) == pytest.approx(linked.max() / total, rel=1e-12)


@pytest.mark.parametrize(("k", "levels"), [(2, 50), (5, 10), (10, 100)])
def test_one_of_2000_people_unlike_all_others_is_rarely_linked_too_surely(k, levels):
    table, releases = [0] + 1_999 * [1], 1_500
    local = noise_for(table, k, levels)
    counts = drawn_counts(table, levels, local, releases, seed=k)
    # Of the others all are alike, and each is linked to a row with probability below 1/(n − 1).
    ratio = math.exp(local)
    ratios = np.array([ratio, 1 / ratio, *(levels - 2) * [1.0]])
    surest = np.where(counts > 0, ratios, 0.0).max(axis=1) / (counts @ ratios)
    assert 0 < np.count_nonzero(surest > 1 / k) <= binom.ppf(1 - FALSE_ALARM, releases, DELTA)


def test_fewer_people_than_planned_are_linked_too_surely_no_more_often_at_the_k_they_are_told():
    levels, releases, certainty = 50, 1_500, 0.991
    schema = kk.Schema([kk.Categorical("town", [str(value) for value in range(levels)])])
    wishes = {"certainty": certainty, "central_ceiling": None, "mechanisms": {"town": "retention"}}
    planned = kk.calibrate(schema, n=2_000, k=10, **wishes)
    few = plan_among(planned, 1_000)
    assert planned.k_for(1_000) < few.k < planned.k
    ratio = math.exp(planned.epsilon)
    counts = drawn_counts([0] + (few.n - 1) * [1], levels, planned.epsilon, releases, seed=3)
    ratios = np.array([ratio, 1 / ratio, *(levels - 2) * [1.0]])
    surest = np.where(counts > 0, ratios, 0.0).max(axis=1) / (counts @ ratios)
    most = binom.ppf(1 - FALSE_ALARM, releases, 1 - certainty)
    assert np.count_nonzero(surest > 1 / few.k) <= most < np.count_nonzero(surest > 1 / planned.k)


def hold(table, levels, k, releases, seed):
    """Whether as few releases of a table fail as was promised."""
    people = np.bincount(table, minlength=levels).tolist()
    local = noise_for(table.tolist(), k, levels)
    drawn, times = np.unique(drawn_counts(table, levels, local, releases, seed), axis=0, return_counts=True)
    surest = np.array([surest_link(people, rows.tolist(), local) for rows in drawn])
    return times[surest > (1 + 1e-9) / k].sum() <= binom.ppf(1 - FALSE_ALARM, releases, DELTA)


@pytest.mark.parametrize("seed", range(20))
def test_nobody_of_a_small_table_is_linked_too_surely_too_often(seed):
    rng = np.random.default_rng(seed)
    n, levels = int(rng.integers(30, 70)), int(rng.integers(2, 6))
    table = rng.choice(levels, n, p=rng.dirichlet(np.full(levels, 0.4)))
    assert hold(table, levels, float(rng.uniform(1.5, 6)), 150, seed)


@pytest.mark.skipif(not ADULT.exists(), reason="the Adult data set is not beside the checkout")
@pytest.mark.parametrize("column", [1, 5, 7, 8, 9])
def test_nor_is_anybody_of_a_few_people_of_adult(column):
    with ADULT.open() as file:
        values = [row[column].strip() for row in csv.reader(file) if row]
    names = sorted(set(values))
    codes = np.array([names.index(value) for value in values])
    rng = np.random.default_rng(column)
    for seed in range(4):
        assert hold(rng.choice(codes, 50, replace=False), len(names), 3.0, 40, seed)
