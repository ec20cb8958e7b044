"""What a shuffled release promises in the central sense, beside the real thing counted out on small tables."""

import itertools
import math
from collections import Counter
from contextlib import closing
from functools import cache
from time import process_time
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import norm
from tests.shuffling import divergence, shuffled

import kakuran as kk
from kakuran.collect import open_store
from kakuran.collect.messages import Submission
from kakuran.collect.records import export_survey
from kakuran.design import central_epsilon, gaussian_spread, hockey_stick, local_epsilon


@pytest.mark.parametrize(("n", "k", "epsilon"), [(1_000, 10, 0.738), (50_000, 10, 0.295), (50_000, 2, 0.553)])
def test_known_answers(n, k, epsilon):
    assert round(central_epsilon(n, math.log((n - 1) / (k - 1)) / 2, 1e-6), 3) == epsilon


def two_numbers(n, local):
    """The pair of distributions of the theorem, outcome by outcome."""
    clone, truth = math.exp(-local), 1 / (1 + math.exp(-local))
    first, second = Counter(), Counter()
    for blanket in range(n):
        often = math.comb(n - 1, blanket) * clone**blanket * (1 - clone) ** (n - 1 - blanket)
        for heads in range(blanket + 1):
            chance = often * math.comb(blanket, heads) / 2**blanket
            for told, share in ((1, truth), (0, 1 - truth)):
                first[heads + told, blanket - heads + 1 - told] += chance * share
                second[heads + 1 - told, blanket - heads + told] += chance * share
    return first, second


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 30), st.floats(0.05, 6), st.floats(0, 1))
def test_it_is_the_sum_over_all_outcomes(n, local, part):
    one, other = two_numbers(n, local)
    assert hockey_stick(n, local, part * local) == pytest.approx(divergence(one, other, part * local), abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 10_000), st.floats(0.1, 8), st.sampled_from([1e-3, 1e-6, 1e-9]))
def test_it_is_never_above_the_closed_form_nor_the_local_epsilon_and_falls_with_more_people(n, local, delta):
    found = central_epsilon(n, local, delta)
    assert central_epsilon(n + n // 10 + 1, local, delta) <= found + 1e-9 <= local + 2e-9
    if local <= math.log(n / (16 * math.log(2 / delta))):  # where the closed form of 2021 holds
        inside = 8 * math.sqrt(math.exp(local) * math.log(4 / delta) / n) + 8 * math.exp(local) / n
        assert found <= math.log1p(math.tanh(local / 2) * inside)


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 10**6), st.floats(0.05, 3), st.sampled_from([1e-5, 1e-8]))
def test_the_way_back_keeps_the_promise_and_wastes_nothing(n, central, delta):
    local = local_epsilon(n, central, delta)
    assert central_epsilon(n, local, delta) <= central * (1 + 1e-9)
    assert central_epsilon(n, local * 1.001, delta) >= central * (1 - 1e-9)


def outputs_of(plan, person):
    """How likely each output of one person is: which tell, and the codes it shows."""
    found = {}
    for place, tell in enumerate(plan.tells):
        columns = tell.columns
        reaches = [range(-plan.reach(name), plan.schema[name].size + plan.reach(name)) for name in columns]
        for said in itertools.product(*reaches):
            released = {name: np.array([code], np.int32) for name, code in zip(columns, said, strict=True)}
            original = {name: np.array([person[name]], np.int32) for name in columns}
            chance = tell.share * math.exp(float(tell.telling.log_likelihood(released, original)[0]))
            if chance:
                found[place, said] = chance
    assert sum(found.values()) == pytest.approx(1)
    return found


PAIR = kk.Schema([kk.Categorical("a", ["x", "y"]), kk.Categorical("b", ["u", "v"])])
NUMBER = kk.Schema([kk.Numeric("a", 0, 2, step=1)])
CASES = {
    "one column": (kk.Schema([kk.Categorical("a", ["x", "y", "z"])]), 5, {}),
    "whole records": (PAIR, 4, {"tell": "all"}),
    "tells": (PAIR, 4, {"tell": 1}),
    "as one value": (PAIR, 4, {"tell": 2}),
    "a square wave": (NUMBER, 4, {}),
    "noise": (NUMBER, 4, {"mechanisms": {"a": "bounded-laplace"}}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("k", [1.2, 2, 3])
def test_the_real_shuffled_release_stays_below_it(case, k):
    """All outputs of all pairs of neighbouring tables, counted out."""
    schema, n, design = CASES[case]
    plan = kk.calibrate(schema, n=n, k=k, **design)
    names = [attribute.name for attribute in schema.perturbed]
    domain = [
        outputs_of(plan, dict(zip(names, codes, strict=True)))
        for codes in itertools.product(*(range(schema[name].size) for name in names))
    ]
    rest = itertools.combinations_with_replacement(range(len(domain)), n - 1)
    for others in itertools.islice(rest, 0, None, 3):
        tables = [shuffled([*(domain[place] for place in others), one]) for one in domain]
        for one, other in itertools.permutations(tables, 2):
            for epsilon in (0.0, 0.3 * plan.epsilon, 0.7 * plan.epsilon):
                assert divergence(one, other, epsilon) <= plan.part().delta(epsilon) + 1e-12


QUESTION = {"type": "categorical", "values": ["x", "y", "z"], "text": {"en": "?"}}
SURVEY = kk.Survey.from_dict(
    {
        **{"id": "jobs", "languages": ["en"], "title": {"en": "Jobs"}, "questions": {"a": QUESTION}},
        **{"epsilon": 1.5, "minimum_n": 2},
    }
)


def exported(address, *cohorts):
    """What somebody sees who compares all exports of a survey, each made when some more had sent their codes."""
    seen, sizes = [], ()
    with closing(open_store(address, SURVEY)) as store:
        for codes in cohorts:
            store.add([Submission([uuid4().bytes for _ in codes], [bytes([code]) for code in codes], None)])
            release = export_survey(store)
            seen.append(tuple(sorted(release.table["a"].to_pylist())))
            sizes = release.manifest.cohorts
    assert sizes == tuple(map(len, cohorts))
    return tuple(seen)


def test_all_exports_of_a_survey_together_stay_below_what_its_smallest_cohort_is_promised(tmp_path):
    """Two real exports of whatever three people and then two more may send; all neighbouring tables, counted out."""
    chances = [outputs_of(SURVEY.plan, {"a": answer}) for answer in range(3)]
    some = [list(itertools.combinations_with_replacement(range(3), size)) for size in (3, 2)]
    shown = {
        (first, second): exported(tmp_path / f"{first}{second}.db", first[::-1], second)
        for first, second in itertools.product(*some)
    }

    @cache
    def exports_of(first, second):
        found = Counter()
        for codes in itertools.product(range(3), repeat=5):
            sent = zip((*first, *second), codes, strict=True)
            chance = math.prod(chances[answer][0, (code,)] for answer, code in sent)
            found[shown[tuple(sorted(codes[:3])), tuple(sorted(codes[3:]))]] += chance
        return found

    worst = Counter()
    for first, second in itertools.product(*some):
        early = [exports_of(tuple(sorted((*first[1:], answer))), second) for answer in range(3)]
        late = [exports_of(first, tuple(sorted((*second[1:], answer)))) for answer in range(3)]
        for one, other in (*itertools.permutations(early, 2), *itertools.permutations(late, 2)):
            for epsilon in (0.0, 0.5, 1.0):
                worst[epsilon] = max(worst[epsilon], divergence(one, other, epsilon))
    assert all(found <= hockey_stick(2, 1.5, epsilon) + 1e-12 for epsilon, found in worst.items())
    assert worst[0.0] > hockey_stick(5, 1.5, 0.0)  # all who answered hide nobody: exports are compared


def test_a_million_records_take_less_than_a_second():
    start = process_time()
    central_epsilon(1_000_000, math.log(999_999 / 9) / 2)
    assert process_time() - start < 1


@settings(deadline=None, max_examples=40)
@given(st.floats(0.01, 5), st.sampled_from([1e-3, 1e-6, 1e-9]))
def test_gaussian_noise_is_as_little_as_keeps_the_promise(epsilon, delta):
    """δ is the area by which one density is above e^ε times the other, added up."""
    spread = gaussian_spread(epsilon, delta)

    def shown(spread):
        grid = np.linspace(-12, 12, 100_001)
        above = norm.pdf(grid) - math.exp(epsilon) * norm.pdf(grid + 1 / spread)
        return np.maximum(above, 0.0).sum() * (grid[1] - grid[0])

    assert shown(spread) == pytest.approx(delta, rel=1e-3)
    assert shown(0.99 * spread) > delta


def test_a_plan_for_a_central_promise_keeps_it_and_says_its_k():
    plan = kk.calibrate(PAIR, n=50_000, central_epsilon=0.12, delta=1e-6)
    assert 0.119 < plan.central(1e-6) <= 0.12
    assert kk.calibrate(PAIR, n=50_000, k=plan.k).central() == pytest.approx(0.12, rel=0.01)
    stronger = kk.calibrate(PAIR, n=50_000, k=100, central_epsilon=0.12)
    assert stronger.k == 100
    assert kk.calibrate(PAIR, n=50_000, k=2, central_epsilon=0.12).k == pytest.approx(plan.k, rel=1e-3)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"n": 100}, "give a promise to keep: k, or central_epsilon"),
        ({"n": 100, "central_epsilon": -1}, "central_epsilon must lie above 0"),
        ({"n": 100, "central_epsilon": 1, "delta": 0}, "delta must lie between 0 and 1"),
        ({"n": 100, "central_epsilon": "1"}, "central_epsilon must lie above 0, got '1'"),
        ({"n": 1, "central_epsilon": 1}, "at least 2 records"),
        (
            {"data": {"a": ["x", "y"], "b": ["u", "v"]}, "calibration": "data-dependent", "central_epsilon": 1},
            'needs calibration="worst-case"',
        ),
    ],
)
def test_what_cannot_be_promised_is_refused(asked, words):
    import pyarrow as pa

    if "data" in asked:
        asked = asked | {"data": pa.table(asked["data"])}
    with pytest.raises(kk.CalibrationError, match=words):
        kk.calibrate(PAIR, **asked)


def test_a_data_dependent_plan_promises_nothing_in_the_central_sense():
    import pyarrow as pa

    table = pa.table({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50})
    with pytest.raises(kk.CalibrationError, match="promises nothing in the central sense"):
        kk.calibrate(PAIR, data=table, calibration="data-dependent", k=5).central()


@pytest.mark.filterwarnings("ignore::kakuran.NotForPublicationWarning")
def test_a_release_says_it_of_itself_and_withholds_it_where_it_does_not_hold(tmp_path):
    import pyarrow as pa

    table = pa.table({"a": ["x", "y"] * 500, "b": ["u", "v"] * 500})
    plan = kk.calibrate(PAIR, n=1_000, k=10)
    release = kk.perturb(table, plan)
    release.save(tmp_path / "out.parquet")
    assert kk.read_release(tmp_path / "out.parquet").central() == release.central() == plan.central()
    assert f'"epsilon": {plan.central()}' in release.manifest.to_json()
    for known in (kk.perturb(table, plan, seed=1), kk.perturb(table, plan, shuffle=False)):
        assert '"central"' not in known.manifest.to_json()
        with pytest.raises(kk.ReleaseError, match="seed or order is known promises nothing in the central sense"):
            known.central()
    fitted = kk.perturb(table, kk.calibrate(PAIR, data=table, calibration="data-dependent", k=10))
    assert '"central"' not in fitted.manifest.to_json()


def test_of_a_survey_that_grows_only_the_smallest_step_hides_people():
    from kakuran.release import Manifest

    plan = kk.calibrate(PAIR, n=100, k=10)
    grown = Manifest(plan, 400, "shuffled", seeded=False, cohorts=(300, 100))
    assert grown.central() == plan.part(100).epsilon(1e-6) > plan.part(400).epsilon(1e-6)


@pytest.mark.parametrize("local", [25.0, 32.0, 37.0, 40.0, 59.0])
def test_two_people_who_hardly_lie_are_as_well_as_shown(local):
    """Even with nobody to hide behind, e^ε·(1 − δ(1 + e^−ε₀)) is what randomised response gives away."""
    alone = local + math.log1p(-1e-6 * (1 + math.exp(-local)))
    assert central_epsilon(2, local, 1e-6) == pytest.approx(alone, rel=1e-6)
