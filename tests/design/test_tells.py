"""Which columns a record may tell: as a person says it, and what is refused."""

import math
import warnings

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.design import Plan, expected_error
from kakuran.errors import CalibrationError
from kakuran.samples import census_schema

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5}
NAMES = list(SIZES)
SCHEMA = kk.Schema(
    [
        *(kk.Categorical(name, [f"{name}{value}" for value in range(size)]) for name, size in SIZES.items()),
        kk.Categorical("place", ["here", "there"], role="keep"),
        kk.Dropped("name"),
    ]
)

ADULT = kk.Schema(
    [
        kk.Categorical(f"c{place}", list(range(size)))
        for place, size in enumerate([9, 16, 7, 15, 6, 5, 2, 2, 9])  # as in maths §10
    ]
)


def columns(plan: Plan) -> list[tuple[str, ...]]:
    return [tell.columns for tell in plan.tells]


def test_a_number_tells_so_many_columns_in_every_combination_equally_often():
    plan = kk.calibrate(SCHEMA, n=1000, k=5, tell=2)
    assert columns(plan) == [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
    assert {tell.share for tell in plan.tells} == {1 / 6}


def test_every_tell_has_the_whole_budget():
    plan = kk.calibrate(SCHEMA, n=1000, k=5, tell=2)
    for tell in plan.tells:
        assert tell.telling.epsilon == pytest.approx(math.log(999 / 4) / 2, abs=1e-9)
    assert plan.k_for(1000) >= 5
    assert plan.epsilon == pytest.approx(math.log(999 / 4) / 2, abs=1e-9)


def test_what_it_is_about_is_in_every_tell():
    assert columns(kk.calibrate(SCHEMA, n=1000, k=5, tell=2, about="c")) == [("a", "c"), ("b", "c"), ("c", "d")]
    assert columns(kk.calibrate(SCHEMA, n=1000, k=5, tell=[["a"], ["b", "d"]], about="c")) == [
        ("a", "c"),
        ("b", "c", "d"),
    ]


def test_all_is_whole_records_each_column_on_its_own():
    plan = kk.calibrate(SCHEMA, n=1000, k=5, tell="all")
    assert columns(plan) == [("a", "b", "c", "d")]
    assert sum(plan[name].epsilon for name in NAMES) == pytest.approx(plan.epsilon)


def test_all_columns_as_one_value_are_one_tell():
    plan = kk.calibrate(SCHEMA, n=1000, k=5, tell=4)
    assert columns(plan) == [("a", "b", "c", "d")]
    assert not plan.layout.told


def test_a_column_by_itself_is_kept_as_often_as_the_tells_that_hold_it_keep_it_on_average():
    plan = kk.calibrate(SCHEMA, n=1000, k=5, tell=[["a", "b"], ["a", "d"], ["c"]])
    kept = [tell.telling.together for tell in plan.tells]
    assert plan["a"].retention == pytest.approx((kept[0] + kept[1]) / 2)
    assert plan["c"].retention == pytest.approx(kept[2])


def test_a_plan_survives_its_manifest():
    plan = kk.calibrate(SCHEMA, n=1000, k=5, tell=[["a", "b"], ["a", "d"], ["c"]])
    assert Plan.from_dict(plan.to_dict()) == plan


def test_the_least_crowd_is_just_enough_with_the_data():
    table = {"a": ["a0", "a1"] * 50, "b": ["b0"] * 100, "c": ["c0", "c1", "c2", "c3"] * 25, "d": ["d0"] * 100}
    schema = kk.Schema([one for one in SCHEMA if one.name in NAMES])
    plan = kk.calibrate(schema, data=pa.table(table), calibration="data-dependent", k=40, tell=2)
    assert plan.calibration == "data-dependent"
    assert math.isfinite(plan.epsilon)
    assert plan.epsilon > kk.calibrate(schema, n=100, k=40, tell=2).epsilon


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tell": 0}, "tell must lie between 1 and the 4 columns that are perturbed, got 0"),
        ({"tell": 5}, "between 1 and the 4 columns"),
        ({"tell": True}, "between 1 and the 4 columns"),
        ({"tell": "most"}, 'tell must be "auto", "all", a number of columns or a list of column sets'),
        ({"tell": []}, "a list of column sets"),
        ({"tell": ["ab"]}, "a list of column sets"),
        ({"tell": [["a", "x"], ["b"]]}, "tell: no column 'x'"),
        ({"tell": [["a", "name"]]}, "tell: column 'name' is dropped"),
        ({"tell": [["a", "place"]]}, "tell: column 'place' is kept as it is, so every record tells it"),
        ({"tell": [["a", "b"], ["b", "a"], ["c", "d"]]}, "twice"),
        ({"tell": [["a", "a"], ["b", "c", "d"]]}, "twice"),
        ({"tell": [["a", "b"], ["c"]]}, "no set tells 'd'; add one that does, or drop the column"),
        ({"tell": 2, "about": "name"}, "about: column 'name' is dropped"),
        ({"tell": 2, "about": "e"}, "about: no column 'e'"),
        (
            {"tell": 1, "about": "b"},
            "tell 'b' alone, and nobody 'a'; tell 2 columns or more, leave out about",
        ),
        ({"tell": "all", "about": "a"}, "whole records tell 'a' in any case"),
        ({"tell": 2, "weights": dict.fromkeys(NAMES, 0.25)}, "weights share the budget of whole records"),
        ({"tell": 2, "mechanisms": {"a": kk.PRAM([[0.9, 0.1], [0.2, 0.8]])}}, "'pram' cannot be told together"),
        ({"tell": "auto", "purpose": "four-way"}, "purpose must be one of one-way, two-way, three-way"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(given, message):
    with pytest.raises(CalibrationError, match=message):
        kk.calibrate(SCHEMA, n=1000, k=5, **given)


def test_columns_of_more_values_than_can_be_told_as_one_are_refused():
    large = kk.Schema([kk.Categorical(name, list(range(5000))) for name in "ab"])
    with pytest.raises(CalibrationError, match="25,000,000 values, more than 16,777,216"):
        kk.calibrate(large, n=10**6, k=2, tell=2)


class TestChoice:
    def test_pairs_are_told_where_pairs_are_asked_for(self):
        plan = kk.calibrate(ADULT, n=32_561, k=10, tell="auto")
        assert {len(tell.columns) for tell in plan.tells} == {2}

    def test_single_columns_are_told_where_pairs_cannot_be(self):
        many = kk.Schema([kk.Categorical(f"c{place}", list(range(16))) for place in range(12)])
        plan = kk.calibrate(many, n=3_000, k=50, tell="auto")
        assert {len(tell.columns) for tell in plan.tells} == {1}

    def test_whoever_gives_weights_or_noise_of_other_kinds_gets_whole_records(self):
        weights = {"a": 0.4, "b": 0.2, "c": 0.2, "d": 0.2}
        assert len(kk.calibrate(SCHEMA, n=1000, k=5, tell="auto", weights=weights).tells) == 1
        noise = {"age": "bounded-laplace"}
        assert len(kk.calibrate(census_schema(), n=50_000, k=10, tell="auto", mechanisms=noise).tells) == 1

    def test_what_the_choice_is_about_is_in_every_tell_and_three_columns_are_told_of_it(self):
        plan = kk.calibrate(ADULT, n=32_561, k=10, tell="auto", about="c7")
        assert all("c7" in tell.columns and len(tell.columns) == 3 for tell in plan.tells)

    def test_designs_come_with_what_they_lose_the_best_first(self):
        found = kk.designs(SCHEMA, n=50_000, k=10, purpose="one-way")
        errors = [design.expected.one_way for design in found]
        assert errors == sorted(errors)
        assert {design.tell for design in found} == {1, 2, 3, "all"}

    def test_no_design_is_there_twice(self):
        alike = kk.Schema([kk.Categorical(name, list("abcdef")) for name in ("one", "other")])
        found = [design.tells for design in kk.designs(alike, n=5_000, k=10)]
        assert all(one not in found[:place] for place, one in enumerate(found))

    def test_more_records_and_a_smaller_k_are_expected_to_lose_less(self):
        plans = [kk.calibrate(SCHEMA, n=n, k=k, tell=2) for n, k in ((10_000, 10), (100_000, 10), (100_000, 2))]
        errors = [expected_error(plan.tells, plan.n) for plan in plans]
        for ways in (1, 2, 3):
            assert errors[0].of(ways) > errors[1].of(ways) > errors[2].of(ways)

    def test_what_was_measured_on_a_real_table_is_what_is_expected(self):
        """Adult, nine columns (maths §10): people in the wrong cell, in percent, one-, two- and three-way."""
        measured = {
            (2, 2): (1.2, 5.2, 11.1),
            (10, 2): (1.8, 6.8, 13.7),
            (100, 2): (3.2, 9.7, 17.9),
            (2, "all"): (5.8, 15.3, 25.1),
            (10, "all"): (8.0, 19.9, 31.7),
            (100, "all"): (10.6, 23.3, 35.5),
        }
        for (k, tell), errors in measured.items():
            retention = dict.fromkeys(ADULT.names, "retention")
            found = expected_error(kk.calibrate(ADULT, n=32_561, k=k, tell=tell, mechanisms=retention).tells, 32_561)
            for ways, error in enumerate(errors, 1):
                assert found.of(ways) == pytest.approx(error / 100, rel=0.3)

    def test_of_few_values_in_order_no_less_is_expected_to_be_wrong_than_is(self):
        """Bands of income by education: a window among few values blurs what is asked for, and is told so."""
        sizes = {"education": 6, "income": 8}
        schema = kk.Schema([kk.Categorical(name, list(range(size)), ordered=True) for name, size in sizes.items()])
        dice = np.random.default_rng(3)
        education = dice.binomial(5, 0.4, 9_000)
        income = np.clip(np.rint(dice.normal(2.5 + 0.6 * education, 1.5)), 0, 7).astype(int)
        truth = np.histogram2d(education, income, [range(7), range(9)])[0]
        for tell in ("auto", "all"):
            plan = kk.calibrate(schema, n=9_000, k=10, tell=tell)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                release = kk.perturb(pa.table({"education": education, "income": income}), plan, seed=1)
                found = release.crosstab("education", "income").counts
            wrong = np.abs(found - truth).sum() / 2 / truth.sum()
            assert wrong == pytest.approx(expected_error(plan.tells, 9_000).two_way, rel=0.5)


def test_where_columns_are_too_many_to_tell_in_threes_that_is_not_thought_of():
    many = kk.Schema([kk.Categorical(f"c{place}", ["a", "b"]) for place in range(40)])
    assert kk.calibrate(many, n=1_000, k=5).k == 5
