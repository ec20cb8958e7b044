from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings, strategies as st

import kakuran as kk
from kakuran.counts import DenseTally, SparseTally, every_code
from kakuran.design import Crowd, count_columns, plan_within
from kakuran.errors import CalibrationError
from kakuran.mechanism import Apart

JOBS = ["clerk", "nurse", "smith", "cook"]
NOISE = {"age": "bounded-laplace"}
SCHEMA = kk.Schema([kk.Categorical("job", JOBS), kk.Numeric("age", 0, 50, step=1)])
TOWNS = kk.Schema([*SCHEMA, kk.Categorical("town", ["u", "v"], role="keep")])


def people(n, seed=0, towns=False):
    generator = np.random.default_rng(seed)
    columns = {
        "job": [JOBS[place] for place in generator.choice(4, n, p=[0.6, 0.25, 0.1, 0.05])],
        "age": np.clip(generator.normal(25, 10, n).round(), 0, 50),
    }
    if towns:
        columns["town"] = [["u", "v"][place] for place in generator.integers(0, 2, n)]
    return pa.table(columns)


def crowds_by_pairs(plan, table):
    """Σ_j m_ij of every person, pair by pair."""
    codes = plan.schema.encode(table)
    cost = np.zeros((table.num_rows, table.num_rows))
    for name, column in codes.items():
        a, b = column[:, None], column[None, :]
        kept = np.where(a != b, np.inf, 0.0)
        cost += plan.mechanisms[name].swap_cost(a, b) if name in plan.mechanisms else kept
    return np.exp(-cost).sum(axis=1)


def check_just_enough(plan, table, mechanisms=None):
    """Everybody's crowd is at least k, and one rung of the ladder up somebody's would not be."""
    assert crowds_by_pairs(plan, table).min() >= plan.k * (1 - 1e-9)
    ready = (mechanisms or {}).values()
    epsilon = sum(one.largest_swap_cost / 2 for one in plan.mechanisms.values() if one not in ready)
    more = plan_within(plan.schema, two_digits(epsilon * (1 + 1e-9), ROUND_CEILING), mechanisms=mechanisms)
    louder = kk.Plan(plan.schema, more.tells, plan.n, plan.k, plan.calibration)
    assert crowds_by_pairs(louder, table).min() < plan.k


def two_digits(number, rounding):
    return float(Context(prec=2, rounding=rounding).create_decimal(number))


class TestTightness:
    @pytest.mark.parametrize("k", [1.5, 2, 5, 20, 100])
    @pytest.mark.parametrize("kind", ["square-wave", "bounded-laplace", "bounded-gaussian", "retention"])
    def test_the_noise_is_just_enough_for_the_smallest_crowd(self, k, kind):
        table = people(300)
        plan = kk.calibrate(SCHEMA, data=table, calibration="data-dependent", k=k, mechanisms={"age": kind}, tell="all")
        check_just_enough(plan, table, {"age": kind})

    @pytest.mark.parametrize("k", [2, 10])
    def test_laplace_without_bounds_can_be_calibrated_too(self, k):
        table = people(300)
        plan = kk.calibrate(
            SCHEMA, data=table, calibration="data-dependent", k=k, mechanisms={"age": "laplace"}, tell="all"
        )
        bounded = kk.calibrate(SCHEMA, data=table, calibration="data-dependent", k=k, mechanisms=NOISE, tell="all")
        assert plan["age"].scale == pytest.approx(bounded["age"].scale, rel=1e-3)

    @settings(deadline=None, max_examples=60)
    @given(st.integers(2, 60), st.integers(0, 1 << 32), st.floats(0.01, 0.99))
    def test_no_table_is_left_below_k_and_none_gets_much_more_noise_than_it_needs(self, n, seed, place):
        table = people(n, seed)
        k = 1 + (n - 1) * place
        plan = kk.calibrate(SCHEMA, data=table, calibration="data-dependent", k=k, tell="all")
        if plan["job"].retention < 1:
            check_just_enough(plan, table)
        else:
            assert crowds_by_pairs(plan, table).min() >= k

    @settings(deadline=None, max_examples=40)
    @given(st.integers(3, 60), st.integers(0, 1 << 32), st.floats(0.01, 0.99))
    def test_it_is_never_noisier_than_the_worst_case(self, n, seed, place):
        k = 1 + (n - 1) * place
        informed = kk.calibrate(SCHEMA, data=people(n, seed), calibration="data-dependent", k=k, tell="all")
        blind = kk.calibrate(SCHEMA, n=n, k=k, tell="all")
        assert informed["age"].epsilon >= blind["age"].epsilon * (1 - 1e-4)
        assert informed["job"].retention >= blind["job"].retention * (1 - 1e-4)
        assert informed.epsilon >= blind.epsilon * (1 - 1e-4)

    def test_two_people_at_the_two_ends_are_the_worst_case(self):
        table = pa.table({"job": ["clerk", "cook"], "age": [0, 50]})
        informed = kk.calibrate(SCHEMA, data=table, calibration="data-dependent", k=1.5, mechanisms=NOISE, tell="all")
        blind = kk.calibrate(SCHEMA, n=2, k=1.5, mechanisms=NOISE, tell="all")
        assert informed["age"].scale == pytest.approx(blind["age"].scale, rel=1e-4)

    @pytest.mark.parametrize(
        "schema", [SCHEMA, kk.Schema([kk.Categorical("job", JOBS)])], ids=["with noise", "without"]
    )
    def test_everybody_may_hide_among_everybody(self, schema):
        table = people(30).select(list(schema.names))
        plan = kk.calibrate(schema, data=table, calibration="data-dependent", k=30, tell="all")
        assert plan.epsilon == pytest.approx(0, abs=1e-5)


class TestNoNoise:
    def test_a_table_that_is_already_k_anonymous_needs_none(self):
        table = pa.table({"job": ["clerk"] * 5 + ["nurse"] * 6, "age": [20] * 5 + [40] * 6})
        plan = kk.calibrate(SCHEMA, data=table, calibration="data-dependent", k=5, tell="all")
        assert plan["job"].retention == 1
        assert (plan["age"].retention, plan["age"].half_width) == (1, 0)
        assert plan.epsilon == math.inf

    def test_one_person_too_few_needs_some(self):
        table = pa.table({"job": ["clerk"] * 5 + ["nurse"] * 6, "age": [20] * 5 + [40] * 6})
        plan = kk.calibrate(SCHEMA, data=table, calibration="data-dependent", k=5.01, tell="all")
        assert plan["job"].retention < 1
        assert plan["age"].retention < 1
        check_just_enough(plan, table)


class TestShares:
    def test_weights_part_the_budget(self):
        plan = kk.calibrate(
            SCHEMA, data=people(200), calibration="data-dependent", k=10, weights={"job": 0.2, "age": 0.8}
        )
        assert plan["age"].largest_swap_cost == pytest.approx(4 * plan["job"].largest_swap_cost, rel=1e-6)

    def test_a_ready_mechanism_stays_and_the_others_make_up_for_it(self):
        table = people(300)
        strong, weak = (kk.RetentionReplacement(4, retention) for retention in (0.1, 0.6))
        plans = [
            kk.calibrate(SCHEMA, data=table, calibration="data-dependent", k=5, mechanisms={"job": ready}, tell="all")
            for ready in (strong, weak)
        ]
        assert plans[0]["job"] is strong
        assert plans[0]["age"].epsilon > plans[1]["age"].epsilon
        for plan, ready in zip(plans, (strong, weak), strict=True):
            check_just_enough(plan, table, {"job": ready})

    def test_ready_mechanisms_alone_are_enough_where_they_are_noisy_enough(self):
        schema = kk.Schema([kk.Categorical("job", JOBS)])
        table = people(300).select(["job"])
        pram = kk.PRAM(np.full((4, 4), 0.1) + 0.6 * np.eye(4))
        plan = kk.calibrate(schema, data=table, calibration="data-dependent", k=5, mechanisms={"job": pram}, tell="all")
        assert plan["job"] is pram
        assert crowds_by_pairs(plan, table).min() >= 5

    def test_ready_mechanisms_that_are_too_weak_are_refused(self):
        schema = kk.Schema([kk.Categorical("job", JOBS)])
        with pytest.raises(CalibrationError, match="leave somebody a crowd below k=5"):
            kk.calibrate(
                schema,
                data=pa.table({"job": ["clerk"] * 20 + ["cook"]}),
                calibration="data-dependent",
                k=5,
                mechanisms={"job": kk.RetentionReplacement(4, 0.99)},
                tell="all",
            )

    def test_a_ready_mechanism_that_tells_two_people_apart_is_refused(self):
        telltale = kk.PRAM([[1, 0, 0, 0], [0, 0.4, 0.3, 0.3], [0, 0.3, 0.4, 0.3], [0, 0.3, 0.3, 0.4]])
        with pytest.raises(CalibrationError, match=r"no noise reaches k=3: .* the mechanisms given are too weak"):
            kk.calibrate(
                SCHEMA,
                data=pa.table({"job": ["clerk", "nurse", "cook", "cook"], "age": [1, 2, 3, 4]}),
                calibration="data-dependent",
                k=3,
                mechanisms={"job": telltale},
                tell="all",
            )


class TestKeptColumns:
    def test_only_people_with_the_same_kept_values_count(self):
        table = people(200, towns=True)
        check_just_enough(kk.calibrate(TOWNS, data=table, calibration="data-dependent", k=5, tell="all"), table)

    def test_keeping_a_column_takes_more_noise_than_not_having_it(self):
        table = people(200, towns=True)
        with_towns = kk.calibrate(TOWNS, data=table, calibration="data-dependent", k=5, tell="all")
        without = kk.calibrate(SCHEMA, data=table.drop_columns(["town"]), calibration="data-dependent", k=5, tell="all")
        assert with_towns["age"].epsilon < without["age"].epsilon

    def test_a_group_smaller_than_k_is_refused(self):
        table = pa.table({"job": ["clerk"] * 10, "age": range(10), "town": ["u"] * 7 + ["v"] * 3})
        with pytest.raises(CalibrationError, match="no noise reaches k=4: too few people share their kept values"):
            kk.calibrate(TOWNS, data=table, calibration="data-dependent", k=4, tell="all")


class TestTheTable:
    def test_the_plan_holds_on_the_table_it_was_made_for(self):
        table = people(200)
        plan = kk.calibrate(SCHEMA, data=table, calibration="data-dependent", k=5, tell="all")
        assert plan.calibration == "data-dependent"
        assert (plan.n, plan.k) == (200, 5.0)
        assert Crowd(count_columns(SCHEMA, table)).reaches(plan.k, [Apart(plan.mechanisms)])
        assert plan.check(count_columns(SCHEMA, table)) is None

    @settings(deadline=None, max_examples=60)
    @given(st.integers(2, 80), st.integers(0, 1 << 32), st.floats(0.02, 0.95))
    def test_the_crowds_are_the_same_however_the_table_is_counted(self, n, seed, place):
        table = people(n, seed)
        plan = kk.calibrate(SCHEMA, data=table, calibration="data-dependent", k=1 + (n - 1) * place, tell="all")
        order = np.random.default_rng(seed).permutation(n)
        for kind in (DenseTally, SparseTally):
            for rows in (table, table.take(order), pa.concat_tables([table.slice(n // 2), table.slice(0, n // 2)])):
                tally = kind(list(map(every_code, SCHEMA.released)))
                tally.update(SCHEMA.encode(rows), n)
                assert Crowd(tally).smallest([Apart(plan.mechanisms)]) == pytest.approx(
                    crowds_by_pairs(plan, table).min(), rel=1e-12
                )

    def test_a_plan_that_is_just_enough_is_not_refused_for_its_last_digit(self):
        """Added up in another order, the smallest crowd of this table is 30.999999999999996 instead of 31."""
        schema = kk.Schema([kk.Categorical("a", [0, 1, 2, 3]), kk.Categorical("b", [0, 1])])
        cells = [(a, b) for a in range(4) for b in range(2)]
        records = np.repeat(cells, [36, 14, 26, 7, 6, 2, 8, 1], axis=0).astype(np.int32)
        codes = {"a": records[:, 0], "b": records[:, 1]}
        axes = list(map(every_code, schema.released))
        sparse, dense = SparseTally(axes), DenseTally(axes)
        sparse.update(codes, 100)
        dense.update(codes, 100)
        kept = {"a": 0.10153398981303607, "b": 0.1843501712194455}
        mechanisms = {one.name: kk.RetentionReplacement(one.size, kept[one.name]) for one in schema.released}
        plan = kk.Plan.of_mechanisms(
            schema, mechanisms, n=100, k=Crowd(sparse).smallest([Apart(mechanisms)]), calibration="data-dependent"
        )
        assert Crowd(dense).smallest([Apart(plan.mechanisms)]) == pytest.approx(31, rel=1e-12)
        assert plan.check(dense) is None

    def test_the_plan_refuses_another_table(self):
        plan = kk.calibrate(SCHEMA, data=people(200), calibration="data-dependent", k=5, tell="all")
        lonely = pa.table({"job": ["clerk"] * 199 + ["cook"], "age": [0] * 199 + [50]})
        with pytest.raises(CalibrationError, match=r"calibrated on another table: .* below k=5"):
            plan.check(count_columns(SCHEMA, lonely))

    def test_the_plan_refuses_its_own_table_less_a_few_people(self):
        table = people(200)
        plan = kk.calibrate(SCHEMA, data=table, calibration="data-dependent", k=5, tell="all")
        hardest = np.argsort(-crowds_by_pairs(plan, table))
        with pytest.raises(CalibrationError, match="another table"):
            plan.check(count_columns(SCHEMA, table.take(hardest[20:])))

    def test_a_frame_and_its_crowd_give_the_same_plan(self):
        table = people(200)
        assert kk.calibrate(SCHEMA, data=table, calibration="data-dependent", k=5, tell="all") == kk.calibrate(
            SCHEMA, data=count_columns(SCHEMA, table), calibration="data-dependent", k=5, tell="all"
        )

    def test_dense_and_sparse_crowds_give_the_same_plan(self):
        table = people(200)
        plans = []
        for kind in (DenseTally, SparseTally):
            tally = kind(list(map(every_code, SCHEMA.released)))
            tally.update(SCHEMA.encode(table), 200)
            plans.append(kk.calibrate(SCHEMA, data=tally, calibration="data-dependent", k=5, tell="all"))
        assert plans[0]["age"].epsilon == pytest.approx(plans[1]["age"].epsilon, rel=1e-4)

    def test_a_sparse_table_of_many_columns_is_calibrated(self):
        generator = np.random.default_rng(0)
        schema = kk.Schema([kk.Numeric(name, 0, 99, step=1) for name in "abcd"])
        table = pa.table({name: generator.integers(0, 100, 1500) for name in "abcd"})
        assert isinstance(count_columns(schema, table), SparseTally)
        check_just_enough(kk.calibrate(schema, data=table, calibration="data-dependent", k=3, tell="all"), table)

    def test_missing_values_are_values(self):
        schema = kk.Schema([kk.Numeric("age", 0, 9, step=1, missing="category")])
        table = pa.table({"age": [1, 1, 1, None, None]})
        check_just_enough(kk.calibrate(schema, data=table, calibration="data-dependent", k=2.5, tell="all"), table)


class TestRefusals:
    def test_hiding_among_more_people_than_there_are_is_refused(self):
        with pytest.raises(CalibrationError, match="k=31 is more than the 30 records"):
            kk.calibrate(SCHEMA, data=people(30), calibration="data-dependent", k=31, tell="all")

    def test_an_empty_table_is_refused(self):
        with pytest.raises(CalibrationError, match="at least 2 records are needed to hide among, got 0"):
            kk.calibrate(SCHEMA, data=people(5).slice(0, 0), calibration="data-dependent", k=2, tell="all")

    def test_a_single_person_is_refused(self):
        with pytest.raises(CalibrationError, match="at least 2 records are needed to hide among, got 1"):
            kk.calibrate(SCHEMA, data=people(1), calibration="data-dependent", k=1.5, tell="all")

    @pytest.mark.parametrize("k", [1, 0, math.nan, math.inf])
    def test_a_promise_that_is_none_is_refused(self, k):
        with pytest.raises(CalibrationError, match="k must be above 1"):
            kk.calibrate(SCHEMA, data=people(30), calibration="data-dependent", k=k, tell="all")


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 1), min_size=2, max_size=40), st.floats(0.05, 0.95))
def test_two_kinds_of_people_are_calibrated_as_by_hand(answers, place):
    """a·1 + b·m = k for the rarer kind gives m = e^(−2ε); ε is rounded down, but not below the worst case."""
    few, many = sorted((answers.count(0), answers.count(1)))
    assume(few > 0)
    k = few + many * place
    schema = kk.Schema([kk.Categorical("answer", [0, 1])])
    plan = kk.calibrate(schema, data=pa.table({"answer": answers}), calibration="data-dependent", k=k, tell="all")
    exact = -math.log((k - few) / many) / 2
    worst = math.log((few + many - 1) / (k - 1)) / 2
    by_hand = [max(two_digits(exact * (1 + nudge), ROUND_FLOOR), worst) for nudge in (-1e-9, 1e-9)]
    assert plan.epsilon in [pytest.approx(epsilon, rel=1e-9) for epsilon in by_hand]


class TestWorstCaseOfATable:
    def test_without_kept_columns_all_records_of_the_table_count(self):
        heard = []
        found = kk.calibrate(SCHEMA, data=people(300), k=5, calibration="worst-case", progress=heard.append, tell="all")
        assert found == kk.calibrate(SCHEMA, n=300, k=5, tell="all")
        assert heard == []  # a table in memory knows its length

    def test_with_kept_columns_the_smallest_group_counts(self):
        table = people(300, towns=True)
        fewest = min(table["town"].to_pylist().count(town) for town in "uv")
        assert kk.calibrate(TOWNS, data=table, k=5, calibration="worst-case", tell="all") == kk.calibrate(
            TOWNS, n=fewest, k=5, tell="all"
        )

    def test_an_empty_table_is_refused(self):
        with pytest.raises(CalibrationError, match="at least 2 records"):
            kk.calibrate(TOWNS, data=people(0, towns=True), k=5, calibration="worst-case", tell="all")

    def test_a_frame_with_a_column_of_that_name_is_still_counted(self):
        schema = kk.Schema([kk.Categorical("crowd", ["x", "y"])])
        table = pa.table({"crowd": ["x", "y"] * 20}).to_pandas()
        assert kk.calibrate(schema, data=table, calibration="data-dependent", k=5, tell="all").n == 40

    @pytest.mark.parametrize(
        ("calibration", "reason"), [("data-dependent", "needs the data"), ("best-case", "worst-case or data-dependent")]
    )
    def test_a_calibration_that_cannot_be_is_refused(self, calibration, reason):
        with pytest.raises(CalibrationError, match=reason):
            kk.calibrate(SCHEMA, n=100, k=5, calibration=calibration, tell="all")


def test_a_matrix_is_read_from_a_file(tmp_path):
    (tmp_path / "matrix.csv").write_text("0.9,0.1\n0.2,0.8\n")
    assert kk.PRAM.load(tmp_path / "matrix.csv").matrix.tolist() == pytest.approx(np.array([[0.9, 0.1], [0.2, 0.8]]))
    with pytest.raises(CalibrationError, match="not a matrix in CSV"):
        kk.PRAM.load(tmp_path / "nowhere.csv")
