"""k in the draw: the best link of every person, over all ways to match people and records."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import kakuran as kk
from kakuran.audit import Attacker, attacker as attacking, exact_posteriors
from kakuran.counts import MemoryRecords
from kakuran.design import Plan, Tell
from kakuran.mechanism import (
    PRAM,
    Apart,
    Itself,
    RetentionReplacement,
    Shifts,
    SquareWave,
    SubsetSelection,
    Together,
    Window,
    k_for,
)
from kakuran.randomness import Randomness
from kakuran.release import Manifest
from kakuran.release.release import Release

NOT_TOLD = 99
SETS = (("a",), ("ab",), ("abc",), ("ab", "ac", "bc"), ("a", "bc"))


class Draw:
    """People, how their records are drawn, and one release of them."""

    def __init__(self, original, tellings, seed, *, public=None):
        dice, rng = Randomness.seeded(seed), np.random.default_rng(seed)
        n = len(next(iter(original.values())))
        self.sets = rng.integers(0, len(tellings), n).astype(np.int32)
        self.released = {name: np.full(n, NOT_TOLD, np.int32) for name in original}
        for place, telling in enumerate(tellings):
            rows = np.flatnonzero(self.sets == place)
            drawn = telling.sample({name: original[name][rows] for name in telling.columns}, dice)
            for name, codes in drawn.items():
                self.released[name][rows] = codes
        self.original = dict(original)
        if public is not None:
            self.original["public"] = self.released["public"] = public
        self.released["set"] = self.sets
        self.attacker = Attacker(self.original, tellings, "set")

    def links(self):
        return self.attacker.links(self.released)


def window(kind, size):
    return (Itself(size), Window(size, 1), Window(size, 1, may_be_missing=True), Shifts(size + 2, (0, 1)))[kind]


def random_draw(seed, n, epsilon, *, sets=None, kinds=(0, 1, 2, 3), sizes=(2, 5)):
    rng = np.random.default_rng(seed)
    chosen = SETS[rng.integers(len(SETS))] if sets is None else sets
    columns = sorted(set("".join(chosen)))
    windows = {name: window(rng.choice(kinds), int(rng.integers(*sizes))) for name in columns}
    tellings = [Together.within({name: windows[name] for name in one}, epsilon) for one in chosen]
    original = {name: rng.integers(0, one.size, n).astype(np.int32) for name, one in windows.items()}
    public = rng.integers(0, 2, n).astype(np.int32) if rng.random() < 0.3 else None
    return Draw(original, tellings, seed, public=public)


def brute_force(logs):
    """Pr[record s is person i's], matching by matching."""
    size = len(logs)
    posterior = np.zeros((size, size))
    for owners in itertools.permutations(range(size)):
        posterior[np.arange(size), owners] += math.exp(sum(logs[s, i] for s, i in enumerate(owners)))
    return posterior / posterior[0].sum()


def relative(draw):
    """Log-likelihoods of records given people, over the largest of each record."""
    logs = draw.attacker.log_likelihoods(draw.released)
    return np.maximum(logs - logs.max(axis=1, keepdims=True), -700)


@pytest.mark.parametrize("seed", range(60))
def test_links_agree_with_all_matchings_written_out(seed):
    rng = np.random.default_rng(seed)
    draw = random_draw(seed, int(rng.integers(2, 8)), float(rng.choice([0.0, 0.5, 1, 2, 4])))
    links = draw.links()
    assert links.is_exact
    assert np.allclose(links.best, brute_force(relative(draw)).max(axis=0), rtol=1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [RetentionReplacement(4, 0.5), SquareWave(6, 1, 0.4), SubsetSelection(7, 0.5, [0, 1, 3])],
    ids=lambda one: one.kind,
)
def test_a_single_column_by_a_mechanism_of_its_own_has_windows_too(mechanism):
    rng = np.random.default_rng(1)
    original = {"x": rng.integers(0, mechanism.size, 16).astype(np.int32)}
    tellings = [Apart({"x": mechanism})]
    released = {"x": mechanism.sample(original["x"], Randomness.seeded(2))}
    links = Attacker(original, tellings).links(released)
    truth = exact_posteriors(Attacker(original, tellings).log_likelihoods(released)).max(axis=0)
    assert np.allclose(links.best, truth, rtol=1e-6 if links.is_exact else 0.1)
    assert links.is_exact is (mechanism.kind == "retention")


@pytest.mark.parametrize("seed", range(40))
def test_links_of_disjoint_windows_are_exact(seed, monkeypatch):
    monkeypatch.setattr(attacking, "ENUMERABLE", 0)
    rng = np.random.default_rng(seed)
    sets = (("a",), ("ab",), ("abc",))[seed % 3]
    epsilon = float(rng.choice([0.0, 0.5, 2, 5, 9]))
    draw = random_draw(seed, int(rng.integers(2, 8)), epsilon, sets=sets, kinds=(0,))
    links = draw.links()
    assert links.is_exact
    assert np.allclose(links.best, brute_force(relative(draw)).max(axis=0), rtol=1e-6)


def test_links_of_thousands_of_people_in_two_windows_are_those_counted_by_hand():
    """All people but one have one value, all records but three: the person has one of the three, or one of the rest."""
    n, e = 5000, math.exp(3.0)
    many, unlike = attacking.links_of_blocks(np.array([n - 1.0, 1.0]), np.array([n - 3.0, 3.0]), 3.0)
    # With one of the three, all n − 3 others are in somebody's window; with one of these, that one is not.
    odds = 3 * e * e / (n - 3)
    assert unlike == pytest.approx(odds / (1 + odds) / 3, rel=1e-9)
    assert many == pytest.approx((n - 3 - 1 / (1 + odds)) / (n - 1) / (n - 3), rel=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_messages_come_within_a_tenth_of_the_surest_exact_link_of_sixteen_people(seed):
    draw = random_draw(seed, 16, 1.0 + seed % 3, sets=(("ab", "ac", "bc"), ("a", "bc"))[seed % 2], sizes=(3, 5))
    draw.original.pop("public", None)
    draw.released.pop("public", None)
    draw.attacker = Attacker(draw.original, draw.attacker.tellings, "set")
    truth = exact_posteriors(relative(draw)).max(axis=0)
    links = draw.links()
    assert not links.is_exact
    assert links.best.max() == pytest.approx(truth.max(), rel=0.1)
    assert np.median(np.abs(links.best / truth - 1)) < 0.05


def skewed(n, sizes, seed):
    rng = np.random.default_rng(seed)
    wealth = rng.random(n)
    return {
        name: np.clip(size * (0.5 * wealth + 0.5 * rng.random(n)) ** 2, 0, size - 1).astype(np.int32)
        for name, size in sizes.items()
    }


def pairs_of(n, epsilon, seed, sizes=(4, 6, 5, 3)):
    named = dict(zip("abcdefghi", sizes, strict=False))
    tellings = [
        Together.within({name: Itself(named[name]) for name in pair}, epsilon)
        for pair in itertools.combinations(named, 2)
    ]
    return Draw(skewed(n, named, seed), tellings, seed)


@pytest.mark.parametrize(("n", "epsilon", "within"), [(50, 3.0, 0.03), (300, 4.0, 0.03), (2000, 5.0, 0.01)])
def test_messages_come_close_to_exact_links_of_disjoint_windows(n, epsilon, within):
    draw = random_draw(n, n, epsilon, sets=("ab",), kinds=(0,), sizes=(5, 9))
    draw.original.pop("public", None)
    draw.released.pop("public", None)
    draw.attacker = Attacker(draw.original, draw.attacker.tellings, "set")
    [(_, matchings)] = draw.attacker.matchings(draw.released)
    exact, is_exact = matchings.links()
    assert is_exact
    assert np.allclose(matchings._links_by_messages(), exact, rtol=within)


def chain(levels, watched, sweeps, seed):
    """How often each of some people has each record: random swaps, kept by Metropolis's rule."""
    rng, n = np.random.default_rng(seed), len(levels)
    record, seen = rng.permutation(n), np.zeros((len(watched), n))
    for sweep in range(sweeps):
        i, j = rng.permutation(n)[: n // 2 * 2].reshape(2, -1)
        gain = levels[i, record[j]] + levels[j, record[i]] - levels[i, record[i]] - levels[j, record[j]]
        is_swapped = np.log(rng.random(len(i))) < gain
        i, j = i[is_swapped], j[is_swapped]
        record[i], record[j] = record[j], record[i].copy()
        if sweep >= sweeps // 10:
            seen[np.arange(len(watched)), record[watched]] += 1
    return seen / (sweeps - sweeps // 10)


def test_messages_agree_with_a_long_chain_of_random_swaps():
    draw = pairs_of(80, 3.0, 5)
    links = draw.links()
    assert not links.is_exact
    watched = np.argsort(-links.best)[:20]
    seen = chain(draw.attacker.log_likelihoods(draw.released).T, watched, 30_000, 0)
    alike = np.unique(np.stack(list(draw.released.values())), axis=1, return_inverse=True)[1].ravel()
    by_class = np.stack([np.bincount(alike, one) for one in seen]) / np.bincount(alike)
    assert links.best[watched].sum() == pytest.approx(by_class.max(axis=1).sum(), rel=0.06)


def of_numbers(n, epsilon, seed):
    """Numbers that may be missing: windows overlap, and missing has several outputs of one code."""
    windows = {name: Window(12, 1, may_be_missing=True) for name in "abc"}
    tellings = [Together.within({one: windows[one], two: windows[two]}, epsilon) for one, two in ("ab", "ac", "bc")]
    people = skewed(n, dict.fromkeys("abc", 12), seed)
    people["a"][::4] = people["b"][::3] = 12
    return Draw(people, tellings, seed)


@pytest.mark.parametrize("drawn", [pairs_of, of_numbers])
def test_pairs_outside_windows_may_be_summed_by_powers(drawn, monkeypatch):
    draw = drawn(250, 4.0, 6)
    one_by_one = draw.links().best
    monkeypatch.setattr(attacking, "_COMPLETE", 0)
    assert np.allclose(draw.links().best, one_by_one, rtol=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_is_drawn_nobody_exceeds_the_k_of_every_draw(data):
    """Also in releases that nobody would ever draw."""
    n = data.draw(st.integers(2, 7))
    epsilon = data.draw(st.sampled_from([0.2, 1.0, 2.5]))
    draw = random_draw(data.draw(st.integers(0, 10**6)), n, epsilon)
    draw.original.pop("public", None)
    draw.released.pop("public", None)
    tellings = draw.attacker.tellings
    for rows, telling in zip(attacking.rows_of_each(draw.sets, len(tellings)), tellings, strict=True):
        for name in telling.columns:
            near = telling.near(name)
            places = data.draw(st.lists(st.integers(0, near.outputs - 1), min_size=len(rows), max_size=len(rows)))
            draw.released[name][rows] = near.anywhere(np.array(places, np.int64))
    links = Attacker(draw.original, tellings, "set").links(draw.released)
    assert links.best.max() <= 1 / k_for(n, 2 * epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_audit_of_a_release_by_the_papers_k_finds_nobody_above_it(seed):
    table = {name: codes.tolist() for name, codes in skewed(400, {"a": 4, "b": 6, "c": 5}, seed).items()}
    schema = kk.Schema([kk.Categorical(name, list(range(size))) for name, size in (("a", 4), ("b", 6), ("c", 5))])
    frame = pd.DataFrame(table)
    outcome = kk.audit(frame, kk.perturb(frame, kk.calibrate(schema, n=400, k=(2, 10, 50)[seed], tell=2)))
    assert outcome.passed
    assert outcome.k_in_draw >= outcome.k
    assert outcome.share_above == 0
    assert {"k_in_draw", "share_above", "k_in_draw_is_exact"} < set(outcome.to_dict())


def lost_draw(n, epsilon, others_near):
    """One person unlike all others; of the others' records, so many look like that person's."""
    schema = kk.Schema([kk.Categorical("job", [f"job{code}" for code in range(20)])])
    near = Together.within({"job": Itself(20)}, epsilon)
    plan = Plan(schema, (Tell(near, 1.0),), n, 10, "worst-case")
    truth = np.random.default_rng(0).integers(0, 19, n).astype(np.int32)
    truth[0] = 19
    rows = truth.copy()
    rows[1 : 1 + others_near] = 19
    rng = np.random.default_rng(1)
    away = rng.permutation(np.arange(1 + others_near, n))[: n // 4]
    rows[away] = rng.integers(0, 19, len(away))
    records = MemoryRecords(plan.layout, known={"job": rng.permutation(rows)})
    frame = pd.DataFrame({"job": [f"job{code}" for code in truth]})
    return frame, Release(records, Manifest(plan, n, "shuffled", seeded=False))


def test_a_release_that_lost_its_draw_is_found():
    frame, release = lost_draw(1500, 6.0, 0)
    outcome = kk.audit(frame, release)
    assert outcome.k_in_draw < 5
    assert outcome.share_above == pytest.approx(1 / 1500)
    assert any("in this draw" in problem for problem in outcome.problems)
    assert outcome.links.best.argmax() == 0


def test_a_draw_in_which_others_resemble_everybody_is_not_lost():
    frame, release = lost_draw(1500, 6.0, 25)
    outcome = kk.audit(frame, release)
    assert outcome.k_in_draw > 20
    assert outcome.share_above == 0
    assert not any("in this draw" in problem for problem in outcome.problems)


def test_an_attacker_who_names_the_best_record_is_right_as_often_as_the_links_say():
    """Drawn again and again, guesses are right in the share of their posteriors, and at most once in k."""
    n, k = 40, 4
    epsilon = math.log((n - 1) / (k - 1)) / 2
    telling = Together.within({"x": Itself(8)}, epsilon)
    truth = {"x": np.sort(np.random.default_rng(0).integers(0, 7, n)).astype(np.int32)}
    truth["x"][-1] = 7
    rng, dice = np.random.default_rng(1), Randomness.seeded(2)
    right, expected, largest, draws = np.zeros(n), np.zeros(n), 0.0, 400
    attacker = Attacker(truth, [telling])
    for _ in range(draws):
        drawn = telling.sample(truth, dice)["x"]
        links = attacker.links({"x": drawn})
        for person, value in enumerate(truth["x"]):
            near = np.flatnonzero(drawn == value)
            if len(near):  # the records are the people's own, in order: naming one does not look at that
                right[person] += rng.choice(near) == person
                expected[person] += links.best[person]
        largest = max(largest, links.best.max())
    assert largest <= 1 / k
    assert abs(right.sum() - expected.sum()) < 4 * math.sqrt(expected.sum())
    assert right.max() <= draws / k + 4 * math.sqrt(draws / k)


def test_cost_follows_what_differs_and_not_the_number_of_people():
    few = pairs_of(400, 4.0, 8, sizes=(4, 6, 5, 3, 2, 7, 2, 3, 4))
    many = Draw({name: np.tile(codes, 20) for name, codes in few.original.items()}, few.attacker.tellings, 8)
    types = len(np.unique(np.stack(list(few.original.values())), axis=1).T)
    for draw in (few, many):
        [(_, matchings)] = draw.attacker.matchings(draw.released)
        assert len(matchings.person) <= types * 36
        assert len(matchings.people) == types


def test_links_that_would_take_more_pairs_than_allowed_are_not_looked_for():
    draw = pairs_of(400, 4.0, 8)
    assert draw.attacker.links(draw.released, most_pairs=1e7) is not None
    assert draw.attacker.links(draw.released, most_pairs=1e4) is None


def test_what_has_no_windows_or_several_columns_on_their_own_is_left_to_the_other_measures():
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, 2, 30).astype(np.int32) for name in "xy"}
    pram = Attacker({"x": codes["x"]}, [Apart({"x": PRAM([[0.9, 0.1], [0.3, 0.7]])})])
    whole = Attacker(codes, [Apart({name: RetentionReplacement(2, 0.5) for name in "xy"})])
    assert pram.links({"x": codes["x"]}) is None
    assert whole.links(codes) is None


def test_public_groups_are_matched_each_on_its_own():
    draw = pairs_of(24, 2.0, 3)
    group = np.repeat(np.arange(3, dtype=np.int32), 8)
    draw.original["public"] = draw.released["public"] = group
    attacker = Attacker(draw.original, draw.attacker.tellings, "set")
    links, logs = attacker.links(draw.released), attacker.log_likelihoods(draw.released)
    assert links.is_exact
    for one in range(3):
        mine = np.ix_(group == one, group == one)
        assert np.allclose(links.best[group == one], exact_posteriors(logs[mine]).max(axis=0), rtol=1e-9)


def test_records_of_other_groups_than_the_people_are_in_have_no_links():
    draw = pairs_of(30, 2.0, 1)
    draw.original["public"] = np.zeros(30, np.int32)
    draw.released["public"] = np.ones(30, np.int32)
    assert Attacker(draw.original, draw.attacker.tellings, "set").links(draw.released) is None


CERTAIN = kk.Schema([kk.Categorical("town", [str(one) for one in range(50)])])


def drawn_with(plan, towns):
    return kk.perturb(pa.table({"town": towns}), plan)


def test_a_release_with_certainty_passes_its_audit():
    towns = [str(place % 49) for place in range(1_999)] + ["49"]
    plan = kk.calibrate(CERTAIN, n=2_000, k=10, certainty=0.999999)
    found = kk.audit(pa.table({"town": towns}), drawn_with(plan, towns))
    assert plan.k_for(2_000) < 2
    assert found.problems == ()
    assert found.certified == pytest.approx(0.1)
    assert found.k_in_draw > 10


def test_parameters_that_do_not_keep_their_certainty_fail_the_audit():
    towns = [str(place % 50) for place in range(2_000)]
    weak = kk.calibrate(CERTAIN, n=2_000, k=2, certainty=0.999)
    release = drawn_with(weak, towns)
    claiming = replace(release.manifest, plan=replace(weak, k=100.0, certainty=0.999999))
    found = kk.audit(pa.table({"town": towns}), replace(release, manifest=claiming))
    assert any("its parameters are too weak" in problem for problem in found.problems)


def test_a_draw_with_certainty_that_was_lost_is_found():
    frame, release = lost_draw(2_000, 6.0, 0)
    claiming = replace(release.plan, k=10.0, certainty=0.999999)
    outcome = kk.audit(frame, Release(release.source, replace(release.manifest, plan=claiming)))
    assert outcome.share_above == pytest.approx(1 / 2_000)
