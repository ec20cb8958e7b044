"""Whoever knows all rows of everybody tries to link people to released records.

The exact posterior: every way to hand the records out to the people is written out, and every choice of rows that a
person's records may be of, each weighed by its likelihood. Nothing of the library's bounds is used.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import kakuran as kk
from kakuran.errors import CalibrationError
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness

SLACK = 1e-9
COLUMNS = [kk.Categorical("a", ["x", "y", "z"]), kk.Numeric("b", 0, 2, step=1)]


def schema_of(rows_a_person, columns=COLUMNS):
    return kk.Schema(columns, person="who", rows_a_person=rows_a_person)


def chances(plan, row):
    """The probability of every output, which tell it is and what it says, of one true row."""
    found = {}
    for place, tell in enumerate(plan.tells):
        outputs = [range(-plan.reach(name), plan.schema[name].size + plan.reach(name)) for name in tell.telling.columns]
        said = np.array(list(itertools.product(*outputs)), np.int32)
        released = {name: said[:, at] for at, name in enumerate(tell.telling.columns)}
        true = {name: np.full(len(said), code, np.int32) for name, code in row.items()}
        likely = tell.share * np.exp(tell.telling.log_likelihood(released, true))
        found |= {(place, tuple(codes)): chance for codes, chance in zip(said.tolist(), likely, strict=True)}
    assert sum(found.values()) == pytest.approx(1)
    return {output: chance for output, chance in found.items() if chance > 0}


def likelihood(rows, records):
    """Of the records of one person: on average over the rows that may have been drawn for them."""
    picks = itertools.permutations(rows, len(records))
    each = [math.prod(row.get(record, 0.0) for row, record in zip(pick, records, strict=True)) for pick in picks]
    return sum(each) / len(each)


def worst_link(people, records, most):
    """The surest link of any record to any person, over all ways to hand the records out, person after person."""
    every, takes = range(len(records)), []
    for rows in people:
        some = itertools.combinations(every, min(len(rows), most))
        chance_of = {sum(1 << at for at in places): likelihood(rows, [records[at] for at in places]) for places in some}
        takes.append({places: chance for places, chance in chance_of.items() if chance})
    before, after = [{0: 1.0}], [{(1 << len(records)) - 1: 1.0}]
    for take in takes:
        before.append(handed_out(before[-1], take, lambda taken, some: None if taken & some else taken | some))
    for take in reversed(takes):
        after.append(handed_out(after[-1], take, lambda taken, some: taken ^ some if taken & some == some else None))
    total = sum(before[-1].values())
    linked = [
        sum(
            weight * chance * later.get(taken | some, 0.0)
            for some, chance in take.items()
            if some >> at & 1
            for taken, weight in earlier.items()
            if not taken & some
        )
        for take, earlier, later in zip(takes, before[:-1], after[-2::-1], strict=True)
        for at in every
    ]
    return max(linked) / total if total else 0.0


def handed_out(weights, take, changed):
    """The weights of which records are taken, once another person has theirs."""
    found = {}
    for (taken, weight), (some, chance) in itertools.product(weights.items(), take.items()):
        now = changed(taken, some)
        if now is not None:
            found[now] = found.get(now, 0.0) + weight * chance
    return found


def used(people, most):
    return sum(min(len(rows), most) for rows in people)


@st.composite
def tables(draw):
    """Two to five people of one to three rows, of which up to three are used."""
    most = draw(st.integers(1, 3))
    n = draw(st.integers(2, 5 if most == 1 else 4))
    row = st.fixed_dictionaries({"a": st.integers(0, 2), "b": st.integers(0, 2)})
    people = draw(st.lists(st.lists(row, min_size=1, max_size=3), min_size=n, max_size=n))
    part = draw(st.floats(0.02, 0.98))
    return most, people, 1 + part * (n - 1) / most, draw(st.sampled_from(["all", 1, 2])), draw(st.integers(0, 10**6))


@settings(deadline=None, max_examples=120)
@given(tables())
def test_nobody_is_linked_to_a_record_with_probability_above_one_over_k(case):
    most, people, k, tell, seed = case
    plan = kk.calibrate(schema_of(most), n=len(people), k=k, tell=tell)
    rows = [[chances(plan, row) for row in some] for some in people]
    dice, everything = np.random.default_rng(seed), sorted(set().union(*itertools.chain(*rows)))
    likeliest = [max(one, key=lambda said, one=one: one[said]) for some in rows for one in some[:most]]
    first = likeliest[0]
    for attempt in range(4):
        records = list(likeliest) if attempt < 2 else [everything[at] for at in dice.integers(0, len(everything), 12)]
        if attempt == 1:  # what the first person says best, once; of all others what is least like it
            other = min(everything, key=lambda said: rows[0][0].get(said, 0.0))
            records = [first, *(other for _ in likeliest[1:])]
        assert worst_link(rows, records[: used(people, most)], most) <= 1 / plan.k + SLACK


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("tell", ["all", 1])
def test_no_release_at_all_breaks_the_promise_of_people_with_one_two_and_three_rows(most, tell):
    columns = [kk.Categorical("a", ["x", "y"]), kk.Categorical("b", ["u", "v"])]
    plan = kk.calibrate(schema_of(most, columns), n=3, k=1.6, tell=tell)
    row = [{"a": a, "b": b} for a, b in ((0, 0), (1, 1), (0, 1))]
    people = [[chances(plan, one) for one in some] for some in (row[:1], row[1:], [row[1]] * 3)]
    outputs = itertools.combinations_with_replacement(sorted(people[0][0]), used(people, most))
    surest = max(worst_link(people, list(records), most) for records in outputs)
    assert 1 / 3 < surest <= 1 / 1.6 + SLACK


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("tell", ["all", 2])
def test_five_people_of_up_to_three_rows_keep_the_promise_whatever_they_seem_to_say(most, tell):
    """One is all x and the others mostly z; some records say the one most clearly, and the rest the opposite."""
    plan = kk.calibrate(schema_of(most), n=5, k=2, tell=tell)
    mine, theirs = (chances(plan, {"a": code, "b": code}) for code in (0, 2))
    people = [[mine] * 3, [theirs] * 3, [theirs] * 2, [theirs, mine], [theirs]]
    clearest = max(mine, key=lambda said: mine[said] / theirs[said])
    opposite = max(theirs, key=lambda said: theirs[said] / mine[said])
    links = [
        worst_link(people, [clearest] * count + [opposite] * (used(people, most) - count), most)
        for count in range(1, used(people, most))
    ]
    assert 1 / 5 < max(links) <= 1 / 2 + SLACK


@pytest.mark.parametrize("k", [1.2, 1.7])
def test_two_people_with_equal_rows_reach_the_bound(k):
    columns = [kk.Categorical("a", ["x", "y"])]
    plan = kk.calibrate(schema_of(1, columns), n=2, k=k)
    people = [[chances(plan, {"a": a})] * 3 for a in (0, 1)]
    records = itertools.product(people[0][0], repeat=2)
    assert max(worst_link(people, list(some), 1) for some in records) == pytest.approx(1 / k)


def test_rows_that_are_taken_for_people_would_be_found_out():
    """What the person column is for: five rows, three of them of one person, promised for five people."""
    columns = [kk.Categorical("a", ["x", "y"])]
    plan = kk.calibrate(kk.Schema(columns), n=5, k=2)
    people = [[chances(plan, {"a": a})] * rows for a, rows in ((0, 3), (1, 1), (1, 1))]
    surest = max(worst_link(people, list(some), 3) for some in itertools.product(people[0][0], repeat=5))
    assert surest > 1 / 2 + 0.2


def test_noise_that_is_not_shared_over_rows_would_tell_more_of_a_person():
    whole, shared = (kk.calibrate(schema_of(most), n=1_000, k=10, tell="all") for most in (1, 3))
    assert shared.epsilon == pytest.approx(whole.epsilon)
    assert shared["a"].epsilon == pytest.approx(whole["a"].epsilon / 3)
    row = [{"a": 0, "b": 0}, {"a": 2, "b": 2}]
    mine, theirs = (chances(shared, one) for one in row)
    assert 3 * max(abs(math.log(mine[said] / theirs[said])) for said in mine) <= shared.epsilon + SLACK


def test_more_rows_than_people_could_hide_are_refused():
    with pytest.raises(CalibrationError, match=r"found with probability 0\.5 whatever the noise"):
        kk.calibrate(schema_of(3), n=4, k=2.5)
    assert kk.calibrate(schema_of(3), n=4, k=1.99).k_for(4) >= 1.99


PEOPLE = 400


@pytest.fixture(scope="module")
def visits():
    """People of one to four rows, whose first row says x and the others y or z."""
    dice = np.random.default_rng(5)
    rows = dice.integers(1, 5, PEOPLE)
    who = np.repeat(np.arange(PEOPLE), rows)
    first = np.append(True, who[1:] != who[:-1])
    a = np.where(first, "x", dice.choice(["y", "z"], len(who)))
    return pa.table({"who": who, "a": a, "b": dice.integers(0, 3, len(who))})


def test_an_honest_release_of_people_passes_the_audit(visits):
    plan = kk.calibrate(schema_of(1), data=visits, k=5)
    found = kk.audit(visits, kk.perturb(visits, plan))
    assert (found.n, found.problems) == (PEOPLE, ())
    assert found.worst_posterior <= found.certified <= found.bound + SLACK
    assert found.linked_one_to_one is not None


def test_the_audit_of_a_handful_of_people_is_exact():
    table = pa.table({"who": [1, 1, 2, 3, 3, 3], "a": list("xyzzyx"), "b": [0, 1, 2, 0, 0, 1]})
    plan = kk.calibrate(schema_of(1), data=table, k=1.5, tell="all")
    release = kk.perturb(table, plan)
    found, codes = kk.audit(table, release), release.codes()
    true = [chances(plan, {"a": "xyz".index(row["a"]), "b": row["b"]}) for row in table.to_pylist()]
    rows = [true[:2], true[2:3], true[3:]]
    records = [(0, (int(a), int(b))) for a, b in zip(codes["a"], codes["b"], strict=True)]
    assert found.is_exact
    assert found.worst_posterior == pytest.approx(worst_link(rows, records, 1))


def test_the_audit_sees_rows_that_were_not_drawn_at_random(visits):
    """Whoever uses everybody's first row tells more than is promised; a false alarm once in 10⁹ audits."""
    plan = kk.calibrate(schema_of(1), data=visits, k=2)
    codes = plan.schema.encode(visits)
    first = np.unique(visits["who"].to_numpy(), return_index=True)[1]
    drawn = Kernel(plan).sample({name: column[first] for name, column in codes.items()}, Randomness.secure())
    honest = kk.perturb(visits, plan)
    table = pa.Table.from_batches([Kernel(plan).decode(drawn)])
    problems = kk.audit(visits, kk.Release(table, honest.manifest)).problems
    assert any("what its records tell" in problem for problem in problems)
