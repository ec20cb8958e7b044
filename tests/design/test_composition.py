"""What several releases say together, beside the real thing counted out on small tables."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import kakuran as kk
from kakuran.design import CentralPart, central_epsilon, composed_epsilon
from kakuran.design.composition import summed_losses

SMALL = st.builds(CentralPart, st.integers(1, 12), st.floats(0.05, 4))


@pytest.mark.parametrize(
    ("releases", "epsilon"),
    [
        (2 * [(1_000, 2.3547)], 1.0462),
        (10 * [(1_000, 2.3547)], 2.4618),
        (2 * [(50_000, 4.3113)], 0.4259),
        (10 * [(50_000, 4.3113)], 1.0069),
        ([(1_000, 2.3547), (50_000, 4.3113)], 0.8012),
    ],
)
def test_a_well_kept_accountant_finds_the_same(releases, epsilon):
    """As `dp_accounting` 0.6 has it for the same pairs at δ = 10⁻⁶, on a grid of 10⁻⁴, rounded down here."""
    found, accounting = composed_epsilon([CentralPart(*one) for one in releases], 1e-6)
    assert epsilon <= found <= epsilon * 1.002
    assert accounting == "privacy loss"


def pair(part):
    """Both distributions of the theorem, outcome by outcome."""
    clone, truth = math.exp(-part.local), 1 / (1 + math.exp(-part.local))
    first, second = [], []
    for blanket in range(part.n):
        often = math.comb(part.n - 1, blanket) * clone**blanket * (1 - clone) ** (part.n - 1 - blanket) / 2**blanket
        for heads in range(blanket + 2):
            told, other = (often * math.comb(blanket, one) if one >= 0 else 0.0 for one in (heads - 1, heads))
            first.append(truth * told + (1 - truth) * other)
            second.append((1 - truth) * told + truth * other)
    return np.array(first), np.array(second)


def divergence(one, other, epsilon):
    return float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())


@settings(deadline=None, max_examples=40)
@given(st.lists(SMALL, min_size=1, max_size=3), st.floats(0, 1))
def test_the_sum_of_losses_is_never_below_all_outcomes_counted_out_and_hardly_above(parts, share):
    firsts, seconds = zip(*(pair(part) for part in parts), strict=True)
    first, second = product(firsts), product(seconds)
    losses, epsilon = summed_losses(tuple(parts)), share * sum(part.local for part in parts)
    exact = divergence(first, second, epsilon)
    assert losses.delta(epsilon) >= exact
    assert losses.delta(epsilon) <= divergence(first, second, epsilon - 4 * losses.step * len(parts)) + 1e-9


def product(distributions):
    found = np.ones(1)
    for one in distributions:
        found = np.outer(found, one).ravel()
    return found


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 5_000), st.floats(0.2, 9), st.sampled_from([1e-4, 1e-6, 1e-9]))
def test_one_release_by_itself_is_what_it_says_of_itself(n, local, delta):
    alone = central_epsilon(n, local, delta)
    found = summed_losses((CentralPart(n, local),)).epsilon(delta)
    assert alone * (1 - 1e-6) <= found <= alone * 1.02 + 1e-6


@settings(deadline=None, max_examples=10)
@given(st.lists(st.builds(CentralPart, st.integers(2, 1_000), st.floats(0.2, 6)), min_size=1, max_size=3), SMALL)
def test_one_more_release_never_costs_less_than_nothing_nor_more_than_adding_up(parts, more):
    before, after = composed_epsilon(parts, 1e-6)[0], composed_epsilon([*parts, more], 1e-6)[0]
    assert after >= before * (1 - 0.01)
    assert after <= sum(part.local for part in (*parts, more)) + 1e-9


def test_where_something_is_given_away_nothing_is_promised():
    assert composed_epsilon([CentralPart(100, 1.0), CentralPart(100, math.inf)], 1e-6)[0] == math.inf
    assert composed_epsilon([], 1e-6)[0] == 0
    with pytest.raises(kk.CalibrationError, match="delta must lie between 0 and 1"):
        composed_epsilon([], 0)


N, VALUES = 3, 2
PLANS = [kk.calibrate(kk.Schema([kk.Categorical("job", ["a", "b"])]), n=N, k=k, tell="all") for k in (1.3, 1.8)]
MATRICES = [plan["job"].transition().matrix for plan in PLANS]


def shuffled(matrix, table):
    """How likely every number of ones is in a shuffled release."""
    found = np.ones(1)
    for value in table:
        found = np.convolve(found, matrix[:, value])
    return found


def apart(table):
    """How likely every outcome of both releases is."""
    return product([shuffled(matrix, column) for matrix, column in zip(MATRICES, np.transpose(table), strict=True)])


def neighbours():
    """The values of one person in both tables, other values of the same person, and everybody else's."""
    people = list(itertools.product(range(VALUES), repeat=2))
    for others in itertools.combinations_with_replacement(people, N - 1):
        for one, other in itertools.permutations(people, 2):
            yield [one, *others], [other, *others]


def test_two_real_releases_shuffled_apart_stay_below_what_is_composed():
    """All outcomes of both, for all pairs of neighbouring tables."""
    losses = summed_losses(tuple(CentralPart(N, plan.epsilon) for plan in PLANS))
    for one, other in (map(apart, tables) for tables in neighbours()):
        for epsilon in (0.0, 0.2, 0.5, 1.0):
            assert divergence(one, other, epsilon) <= losses.delta(epsilon)


def test_two_real_releases_whose_records_are_joined_stay_below_one_of_longer_records():
    """Records of both, side by side and shuffled together: how many show each pair."""
    losses = summed_losses((CentralPart(N, sum(plan.epsilon for plan in PLANS)),))
    shown = list(itertools.product(range(VALUES), repeat=2))
    outputs = list(itertools.combinations_with_replacement(range(len(shown)), N))

    def joined(table):
        found = dict.fromkeys(outputs, 0.0)
        chances = [[MATRICES[0][a, x] * MATRICES[1][b, y] for a, b in shown] for x, y in table]
        for records in itertools.product(range(len(shown)), repeat=N):
            found[tuple(sorted(records))] += math.prod(chances[i][said] for i, said in enumerate(records))
        return np.array(list(found.values()))

    joining_tells_more = False
    for tables in neighbours():
        one, other = map(joined, tables)
        for epsilon in (0.0, 0.2, 0.5, 1.0):
            told = divergence(one, other, epsilon)
            assert told <= losses.delta(epsilon)
            joining_tells_more |= told > divergence(*map(apart, tables), epsilon) + 1e-3
    assert joining_tells_more
