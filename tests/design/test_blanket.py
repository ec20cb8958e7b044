"""What two-level records guarantee, beside the real thing counted out on small tables and exact sums on larger ones."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binom
from tests.shuffling import bound_for_one_person, divergence, shuffled

import kakuran as kk
from kakuran.design import Blanket, CentralPart, central_epsilon, composed_epsilon
from kakuran.mechanism import SquareWave, SubsetSelection


@pytest.mark.parametrize(
    ("n", "local", "epsilon"), [(1_000, 3.453, 0.465), (50_000, 4.311, 0.130), (50_000, 6.9, 0.838)]
)
def test_known_central_epsilons(n, local, epsilon):
    assert Blanket(local, 100).central_epsilon(n, 1e-6) == pytest.approx(epsilon, abs=0.001)


@pytest.mark.parametrize("local", [1e-9, 1.0, 20.0, 37.0, 50.0])
@pytest.mark.parametrize("sets", [[(1.0, 2.0)], [(1.0, 100.0)], [(0.25, 3.0), (0.75, 3.0)]])
def test_one_column_set_has_its_own_levels_at_every_local_epsilon(local, sets):
    blanket = Blanket.of(local, sets)
    assert blanket.levels == pytest.approx(sets[0][1], rel=1e-14)
    assert blanket.mass == pytest.approx(sets[0][1] / (math.exp(local) + sets[0][1] - 1), rel=1e-12)


def test_several_column_sets_are_near_as_often_as_they_are_on_average():
    blanket = Blanket.of(2.0, [(0.25, 3.0), (0.75, 40.0)])
    ratio = math.exp(2.0)
    assert blanket.near == pytest.approx(0.25 / (ratio + 2) + 0.75 / (ratio + 39), rel=1e-14)


def test_records_that_hardly_change_have_a_central_epsilon_of_their_local_one():
    for local in (37.0, 41.0, 50.0):
        assert CentralPart(1000, local, 2.0).epsilon(1e-6) == pytest.approx(local, rel=1e-6)


ADULT = (9, 16, 7, 15, 6, 5, 2, 2, 9)
"""How many values nine columns of Adult have, of 32,561 people."""


@pytest.mark.parametrize(("k", "epsilon", "certain"), [(2, 0.370, 7.178), (10, 0.173, 6.618), (100, 0.066, 5.261)])
def test_known_guarantees_of_all_pairs_of_adult(k, epsilon, certain):
    schema = kk.Schema([kk.Categorical(f"{place}", range(size)) for place, size in enumerate(ADULT)])
    plan = kk.calibrate(schema, n=32_561, k=k, tell=2)
    assert plan.central(1e-6) == pytest.approx(epsilon, abs=0.001)
    sets = [(tell.share, tell.telling.outputs_per_window) for tell in plan.tells]
    below, above = (Blanket.of(certain + off, sets).failure(32_561, k) for off in (-0.005, 0.005))
    assert below <= 1e-6 < above


@pytest.mark.parametrize(
    ("n", "k", "local"),
    [
        (1_000, 2, 5.414),
        (1_000, 100, 2.185),
        (9_000, 5, 6.010),
        (50_000, 10, 7.050),
        (10**6, 2, 10.385),
        (10**6, 100, 8.581),
    ],
)
def test_known_noise_for_k_with_certainty(n, k, local):
    """One in a million releases may fail."""
    assert Blanket(local - 0.005, 100).failure(n, k) <= 1e-6 < Blanket(local + 0.005, 100).failure(n, k)


def chances(ratio, sizes, shares, windows, value):
    """How likely each output is for a value, which has a place in every column set; windows wrap around."""
    found = {}
    for place, (size, share, window) in enumerate(zip(sizes, shares, windows, strict=True)):
        weights = [ratio if (output - value[place]) % size < window else 1.0 for output in range(size)]
        found |= {(place, output): share * weight / sum(weights) for output, weight in enumerate(weights)}
    return found


@st.composite
def designs(draw):
    """Column sets of few values, with windows of one or more of them, and as many people as can be counted out."""
    sizes = draw(st.sampled_from([(2,), (3,), (4,), (5,), (2, 2), (2, 3), (3, 3)]))
    windows = [draw(st.integers(1, max(1, size - 1))) for size in sizes]
    share = draw(st.floats(0.1, 0.9))
    return (
        sizes,
        (1.0,) if len(sizes) == 1 else (share, 1 - share),
        windows,
        draw(st.integers(2, 5 if sum(sizes) < 5 else 4)),
    )


@settings(deadline=None, max_examples=150)
@given(designs(), st.floats(0.2, 5), st.data())
def test_the_real_divergence_of_neighbouring_tables_is_never_above_it(design, local, data):
    sizes, shares, windows, n = design
    values = list(itertools.product(*map(range, sizes)))
    others = [data.draw(st.sampled_from(values)) for _ in range(n - 1)]
    one, other = (data.draw(st.sampled_from(values)) for _ in range(2))
    tables = [
        shuffled([chances(math.exp(local), sizes, shares, windows, value) for value in (*others, own)])
        for own in (one, other)
    ]
    blanket = Blanket.of(
        local, [(share, size / window) for share, size, window in zip(shares, sizes, windows, strict=True)]
    )
    for part in (0.0, 0.1, 0.4, 0.8):
        assert divergence(*tables, part * local) <= blanket.hockey_stick(n, part * local) + 1e-12


@pytest.mark.parametrize(("n", "levels", "local"), [(1_000, 3, 2.0), (1_000, 50, 4.0), (3_000, 10, 3.0)])
def test_it_is_the_real_divergence_where_everybody_else_is_alike(n, levels, local):
    """Of retention, by the two counts that matter, summed as they are."""
    ratio = math.exp(local)
    near = 1 / (ratio + levels - 1)
    reach = np.arange(math.ceil(n * near + 10 * math.sqrt(n * near)) + 3)
    one, other = np.meshgrid(reach, reach, indexing="ij")
    others = binom.pmf(one, n - 1, near) * binom.pmf(other, n - 1 - one, near / (1 - near))
    up, side = (np.roll(others, 1, axis) for axis in (0, 1))
    far = 1 - (ratio + 1) * near
    first = ratio * near * up + near * side + far * others
    second = near * up + ratio * near * side + far * others

    def shown(epsilon):
        return np.maximum(first - math.exp(epsilon) * second, 0.0)[:-1, :-1].sum()

    found = Blanket(local, levels).central_epsilon(n, 1e-6)
    assert shown(found) <= 1e-6 < shown(0.99 * found)


@settings(deadline=None, max_examples=15)
@given(st.integers(2, 20_000), st.floats(0.1, 9), st.floats(1.2, 1e5), st.sampled_from([1e-3, 1e-6, 1e-9]))
def test_it_is_at_most_the_bound_for_any_mechanism_and_falls_with_more_people_and_values(n, local, levels, delta):
    found = Blanket(local, levels).central_epsilon(n, delta)
    slack = 1 + 5e-3  # of chords
    assert found <= slack * central_epsilon(n, local, delta)
    assert Blanket(local, levels).central_epsilon(2 * n, delta) <= slack * found
    assert levels < 2 or Blanket(local, 2 * levels).central_epsilon(n, delta) <= slack * found


PLANS = {
    "a number that may be missing": (kk.Schema([kk.Numeric("x", 0, 3, step=1, missing="category")]), {}),
    "two sets of one column": (kk.Schema([kk.Categorical("a", range(2)), kk.Categorical("b", range(3))]), {"tell": 1}),
    "a set of two columns": (kk.Schema([kk.Categorical("a", range(2)), kk.Categorical("b", range(3))]), {"tell": 2}),
    "a subset": (
        kk.Schema([kk.Categorical("a", range(5))]),
        {"mechanisms": {"a": SubsetSelection(5, 0.2, [0, 2])}},
    ),
    "overlapping windows": (
        kk.Schema([kk.Numeric("x", 0, 2, step=1)]),
        {"mechanisms": {"x": SquareWave(3, 1, 0.2, 1.0)}},
    ),
}


def chances_by(plan, value):
    """How likely each output of a plan is for true codes, by column."""
    found = {}
    for place, one in enumerate(plan.tells):
        codes = [
            np.arange(-one.telling.reach(name), plan.schema[name].size + one.telling.reach(name))
            for name in one.columns
        ]
        for output in itertools.product(*codes):
            released = dict(zip(one.columns, np.array(output), strict=True))
            original = {name: np.array(value[name]) for name in one.columns}
            found[place, output] = one.share * math.exp(one.telling.log_likelihood(released, original))
    return found


@pytest.mark.parametrize("name", PLANS)
def test_real_plans_keep_both_promises_on_all_releases_of_three_people(name):
    schema, wishes = PLANS[name]
    plan = kk.calibrate(schema, n=3, k=1.1, **wishes)
    part = plan.part()
    blanket = Blanket(part.local, part.levels)
    sizes = {attribute.name: attribute.size for attribute in schema.perturbed}
    values = [dict(zip(sizes, codes, strict=True)) for codes in itertools.product(*map(range, sizes.values()))]
    laws = [chances_by(plan, value) for value in values]
    assert all(sum(law.values()) == pytest.approx(1) for law in laws)
    others = [laws[0], laws[-1]]
    tables = [shuffled([*others, own]) for own in laws]
    for one, other in itertools.permutations(tables, 2):
        for fraction in (0.0, 0.3, 0.7, 0.95):
            assert divergence(one, other, fraction * part.local) <= part.delta(fraction * part.local) + 1e-12
    for own, table in zip(laws, tables, strict=True):
        surest = {shown: max(posteriors(shown, [*others, own])) for shown in table if table[shown] > 0}
        for k in (1.2, 1.7, 2.4):
            failing = sum(table[shown] for shown, one in surest.items() if one > (1 + 1e-9) / k)
            assert failing <= blanket.failure(3, k) + 1e-12


def test_more_people_may_fail_oftener_so_that_it_is_computed_for_all_of_them():
    """Of very many values hardly anybody is near, and each person may fail."""
    blanket = Blanket(5.0, 7e7)
    assert blanket.failure(5, 1.17) < blanket.failure(26, 1.17) < 1e-3


def posteriors(shown, people):
    """How sure an attacker who knows the table is of each link, over all assignments."""
    likely = Counter()
    for rows in itertools.permutations(range(len(people))):
        chance = math.prod(person[shown[row]] for person, row in zip(people, rows, strict=True))
        for link in enumerate(rows):
            likely[link] += chance
        likely["all"] += chance
    return [chance / likely["all"] for link, chance in likely.items() if link != "all"]


@settings(deadline=None, max_examples=40)
@given(designs(), st.floats(0.2, 4), st.floats(1.05, 3), st.data())
def test_releases_in_which_anybody_is_linked_too_surely_are_as_rare_as_was_promised(design, local, k, data):
    """All releases and all assignments of a table, counted out."""
    sizes, shares, windows, n = design
    values = list(itertools.product(*map(range, sizes)))
    table = [data.draw(st.sampled_from(values)) for _ in range(n)]
    people = [chances(math.exp(local), sizes, shares, windows, value) for value in table]
    blanket = Blanket.of(
        local, [(share, size / window) for share, size, window in zip(shares, sizes, windows, strict=True)]
    )
    failing = sum(
        chance for shown, chance in shuffled(people).items() if max(posteriors(shown, people)) > (1 + 1e-9) / k
    )
    assert failing <= blanket.failure(n, k) + 1e-12


@pytest.mark.parametrize(
    ("local", "levels", "n", "k"),
    [
        (1.0, 1e12, 4_000, 1_500),  # numbers of near records are taken together where k is large
        (6.9, 100, 50_000, 10),
        (14.0, 1.5, 10**8, 10),  # so rare that the complement of what is likely has no digits left
        (16.5, 2, 10**9, 5),
        (2.0, 1.0, 300, 8.5),
    ],
)
def test_the_bound_on_failing_releases_is_the_sum_it_stands_for(local, levels, n, k):
    exact = n * bound_for_one_person(local, levels, n, k)
    assert exact <= Blanket(local, levels).failure(n, k) <= 1.2 * exact < 1


def links_of_one_unlike_all_others(own, others, n):
    """How likely each release is, by how often it has each output, and the surest link to the one."""
    counts = np.array([shown for shown in itertools.product(range(n + 1), repeat=len(own)) if sum(shown) == n])
    factorials = np.array([math.lgamma(many + 1) for many in range(n + 1)])
    ratios = own / others
    weights = np.exp(factorials[n] - factorials[counts].sum(axis=1) + counts @ np.log(others))
    total = counts @ ratios
    return weights * total / n, np.where(counts > 0, ratios, 0.0).max(axis=1) / total


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32), st.integers(2, 3), st.sampled_from([0.5, 1.0, 3.0, 10.0]), st.floats(0, 1))
def test_whatever_the_mechanism_one_unlike_all_others_is_linked_too_surely_as_rarely_as_clones_allow(
    seed, outputs, evenness, part
):
    """With any matrix of probabilities: one level, r = e^(−ε₀), stands for every ε₀-private mechanism."""
    rng = np.random.default_rng(seed)
    own, others = rng.dirichlet(np.full(outputs, evenness), 2) + 1e-3
    own, others = own / own.sum(), others / others.sum()
    n = int(rng.integers(2, 80 if outputs == 2 else 25))
    blanket = Blanket(float(np.abs(np.log(own / others)).max()), 1.0)
    k = n**part
    chances, surest = links_of_one_unlike_all_others(own, others, n)
    failing = chances[surest > (1 + 1e-9) / k].sum()
    assert failing <= blanket.failure(n, k) / n + (blanket.failure(n, k) >= 1) + 1e-12
    for fewer in {n // 2, n - 1} - {0}:  # who counts fewer people to hide among claims less
        assert failing <= blanket.failure(fewer, k) / fewer + (blanket.failure(fewer, k) >= 1) + 1e-12


def test_the_bound_for_any_mechanism_is_not_empty():
    own, others = np.array([0.6, 0.4]), np.array([0.4, 0.6])
    chances, surest = links_of_one_unlike_all_others(own, others, 60)
    failing = chances[surest > 1 / 35].sum()
    assert 0.001 < failing <= Blanket(math.log(1.5), 1.0).failure(60, 35) / 60 < 5 * failing


def test_the_bound_on_failing_releases_is_not_empty():
    """A table of which it is far below one, and some releases fail."""
    people = [chances(math.exp(0.7), (6,), (1.0,), (1,), (value,)) for value in (0, 1, 1, 1, 1)]
    failing = sum(chance for shown, chance in shuffled(people).items() if max(posteriors(shown, people)) > 1 / 2)
    assert 0 < failing <= Blanket(0.7, 6).failure(5, 2) < 0.3


@pytest.mark.parametrize("levels", [2.0, 4.0])
def test_two_releases_together_stay_below_what_is_composed(levels):
    """Of three people, all pairs of releases, counted out."""
    size = round(levels)
    tables = [
        shuffled([chances(math.exp(1.2), (size,), (1.0,), (1,), (value,)) for value in (0, 0, own)]) for own in (0, 1)
    ]
    both = [Counter({pair: one[pair[0]] * one[pair[1]] for pair in itertools.product(one, repeat=2)}) for one in tables]
    for delta in (1e-1, 1e-2, 1e-3):
        epsilon, _ = composed_epsilon(2 * [CentralPart(3, 1.2, levels)], delta)
        assert divergence(*both, epsilon) <= delta


def test_what_is_composed_of_one_release_is_what_it_has_alone():
    part = CentralPart(5_000, 3.0, 40.0)
    for delta in (1e-4, 1e-6, 1e-8):
        assert part.epsilon(delta) <= part.losses().epsilon(delta) == pytest.approx(part.epsilon(delta), rel=2e-3)
