"""Whoever knows the whole table tries to link people to records that tell only some of their columns.

The exact posterior over all assignments of records to people, computed from probabilities that are summed up output by
output, without any of the library's formulas for swaps and crowds.
"""

from __future__ import annotations

import itertools
import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import kakuran as kk
from kakuran.counts import Tally
from kakuran.design import Crowd, Plan, Tell
from kakuran.mechanism import Itself, Together, Window
from kakuran.typing import Array

SIZES = {"a": 2, "b": 3, "c": 3}


def _schema(kept: bool) -> kk.Schema:
    columns = [kk.Categorical(name, [f"{name}{value}" for value in range(size)]) for name, size in SIZES.items()]
    return kk.Schema([*columns, *([kk.Categorical("place", ["here", "there"], role="keep")] if kept else [])])


def _number_schema() -> kk.Schema:
    return kk.Schema(
        [
            kk.Categorical("a", ["x", "y"]),
            kk.Numeric("b", 0, 2, step=1),
            kk.Numeric("c", 0, 1, step=1, missing="category"),
        ]
    )


NEAR = [
    {"a": Itself(2), "b": Itself(3), "c": Itself(3)},
    {"a": Itself(2), "b": Window(3, 1), "c": Window(2, 1, may_be_missing=True)},
]


def _chances(plan: Plan, person: tuple[int, ...]) -> dict[tuple, float]:
    """The probability of every output (which tell, and what it says) for one person, output by output."""
    found: dict[tuple, float] = {}
    for place, tell in enumerate(plan.tells):
        telling = tell.telling
        assert isinstance(telling, Together)
        near = [telling.neighbourhoods[name] for name in tell.columns]
        codes = [person[list(SIZES).index(name)] for name in tell.columns]
        beside = [
            [int(one.around(np.array([code]), np.array([at]))[0]) for at in range(one.near)]
            for one, code in zip(near, codes, strict=True)
        ]
        everything = [[int(one.anywhere(np.array([at]))[0]) for at in range(one.outputs)] for one in near]
        for outputs, weight in ((beside, telling.retention), (everything, 1 - telling.retention)):
            each = tell.share * weight / math.prod(map(len, outputs))
            for said in itertools.product(*outputs):
                found[place, said] = found.get((place, said), 0.0) + each
    return found


def _worst_link(chances: list[dict[tuple, float]], outputs: list[tuple]) -> float:
    """The largest posterior of any person being any record, over all assignments."""
    n = len(chances)
    likelihood = np.array([[one.get(said, 0.0) for said in outputs] for one in chances])
    orders = np.array(list(itertools.permutations(range(n))))
    weights = reduce(np.multiply, (likelihood[person, orders[:, person]] for person in range(n)))
    return max(weights[orders[:, person] == record].sum() for person in range(n) for record in range(n)) / weights.sum()


@st.composite
def _designs(draw: st.DrawFn) -> tuple[Plan, list[tuple[int, ...]], int]:
    """A plan of one to four tells, some people, and a seed for what is released."""
    n = draw(st.integers(2, 5))
    k = draw(st.floats(1.05, n - 0.05))
    near = draw(st.sampled_from(NEAR))
    sets = draw(
        st.lists(
            st.sets(st.sampled_from(list(SIZES)), min_size=1).map(lambda names: tuple(sorted(names))),
            min_size=1,
            max_size=4,
            unique=True,
        )
    )
    if untold := set(SIZES).difference(*sets):
        sets.append(tuple(sorted(untold)))
        sets = list(dict.fromkeys(sets))
    weights = np.array(draw(st.lists(st.floats(0.1, 1), min_size=len(sets), max_size=len(sets))))
    epsilon = math.log((n - 1) / (k - 1)) / 2
    tells = [
        Tell(Together.within({name: near[name] for name in columns}, epsilon), share)
        for columns, share in zip(sets, (weights / weights.sum()).tolist(), strict=True)
    ]
    schema = _number_schema() if near is NEAR[1] else _schema(kept=False)
    plan = Plan(schema, tuple(tells), n, k, "worst-case")
    people = draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in SIZES.values())), min_size=n, max_size=n))
    return plan, people, draw(st.integers(0, 10**6))


@settings(deadline=None, max_examples=150)
@given(_designs())
def test_nobody_is_linked_with_probability_above_one_over_k(case: tuple[Plan, list[tuple[int, ...]], int]) -> None:
    plan, people, seed = case
    chances = [_chances(plan, person) for person in people]
    dice = np.random.default_rng(seed)
    assert all(sum(one.values()) == pytest.approx(1) for one in chances)
    for _ in range(5):
        possible = sorted(set().union(*chances))
        outputs = [possible[place] for place in dice.integers(0, len(possible), len(people))]
        if all(any(said in one for one in chances) for said in outputs):
            assert _worst_link(chances, outputs) <= 1 / plan.k * (1 + 1e-9)


@settings(deadline=None, max_examples=60)
@given(_designs())
def test_a_record_is_locally_private_by_the_ratio_that_is_promised(case: tuple) -> None:
    plan, people, _ = case
    for one, other in itertools.combinations({*people}, 2):
        mine, theirs = _chances(plan, one), _chances(plan, other)
        assert set(mine) == set(theirs)
        assert max(abs(math.log(mine[said] / theirs[said])) for said in mine) <= plan.epsilon + 1e-9


@pytest.mark.parametrize("k", [1.5, 2])
@pytest.mark.parametrize("near", NEAR)
def test_two_people_who_tell_apart_reach_the_bound(k: float, near: dict) -> None:
    tells = [
        Tell(Together.within({name: near[name] for name in columns}, math.log(1 / (k - 1)) / 2), 0.5)
        for columns in (("a", "b"), ("b", "c"))
    ]
    schema = _number_schema() if near is NEAR[1] else _schema(kept=False)
    plan = Plan(schema, tuple(tells), 2, k, "worst-case")
    chances = [_chances(plan, person) for person in ((0, 0, 0), (1, 2, 1))]
    worst = max(_worst_link(chances, list(said)) for said in itertools.product(chances[0], repeat=2))
    assert worst == pytest.approx(1 / k)


@settings(deadline=None, max_examples=100)
@given(_designs(), st.floats(0.1, 4))
def test_whoever_knows_the_table_finds_nobody_outside_the_crowd_that_is_counted(case: tuple, epsilon: float) -> None:
    """The data-dependent bound: the smallest crowd over people and tells, against exact posteriors."""
    plan, people, seed = case
    tells = [
        Tell(Together.within(tell.telling.neighbourhoods, epsilon), tell.share)  # type: ignore[attr-defined]
        for tell in plan.tells
    ]
    plan = Plan(plan.schema, tuple(tells), plan.n, 1.0, "data-dependent")
    tally = Tally.of_columns(plan.schema.released)
    tally.update(
        {name: np.array(column, np.int32) for name, column in zip(SIZES, zip(*people, strict=True), strict=True)}
    )
    crowd = Crowd(tally).smallest([tell.telling for tell in plan.tells])
    chances = [_chances(plan, person) for person in people]
    dice = np.random.default_rng(seed)
    likeliest = [max(one, key=lambda said: one[said]) for one in chances]
    for attempt in range(6):
        outputs = list(likeliest)
        if attempt:  # likely records of these people, some of them replaced by anything
            possible = sorted(chances[0])
            outputs = [said if dice.random() < 0.6 else possible[dice.integers(len(possible))] for said in outputs]
        assert _worst_link(chances, outputs) <= 1 / crowd * (1 + 1e-9)


def test_kept_columns_shrink_the_crowd_to_those_who_share_them() -> None:
    near = NEAR[0]
    tells = [Tell(Together.within({name: near[name]}, 1.0), 1 / 3) for name in SIZES]
    plan = Plan(_schema(kept=True), tuple(tells), 2, 1.0, "data-dependent")
    tally = Tally.of_columns(plan.schema.released)
    codes = {"a": [0, 1, 0, 1], "b": [0, 1, 2, 0], "c": [0, 1, 2, 0], "place": [0, 0, 1, 1]}
    tally.update({name: np.array(column, np.int32) for name, column in codes.items()})
    assert Crowd(tally).smallest([tell.telling for tell in plan.tells]) == pytest.approx(1 + math.exp(-2))


def test_what_is_drawn_has_the_claimed_chances() -> None:
    """χ² of 60,000 drawn records over tells and outputs; a false alarm once in a million runs."""
    from scipy.stats import chi2

    from kakuran.perturbation import Kernel
    from kakuran.randomness import Randomness

    near = NEAR[1]
    tells = [
        Tell(Together.within({name: near[name] for name in columns}, 1.2), share)
        for columns, share in ((("a", "b"), 0.5), (("b", "c"), 0.3), (("a",), 0.2))
    ]
    plan = Plan(_number_schema(), tuple(tells), 2, 1.0, "worst-case")
    n, person = 60_000, (1, 2, 2)
    codes = {name: np.full(n, value, np.int32) for name, value in zip(SIZES, person, strict=True)}
    drawn = Kernel(plan).sample(codes, Randomness.seeded(5))
    seen: dict[tuple, int] = {}
    columns: list[Array] = [drawn["told"], *(drawn[name] for name in SIZES)]
    for row, count in zip(*np.unique(np.column_stack(columns), axis=0, return_counts=True), strict=True):
        told = plan.tells[row[0]].columns
        untold = [name for name in SIZES if name not in told]
        assert all(row[1 + list(SIZES).index(name)] == plan.layout.untold(name) for name in untold)
        said = tuple(int(row[1 + list(SIZES).index(name)]) for name in told)
        seen[int(row[0]), said] = int(count)
    expected = _chances(plan, person)
    assert set(seen) <= set(expected)
    statistic = sum((seen.get(said, 0) - n * chance) ** 2 / (n * chance) for said, chance in expected.items())
    assert statistic < chi2.isf(1e-6, len(expected) - 1)
