from __future__ import annotations

import dataclasses
import json
import pickle
import warnings

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.design import Plan, count_columns
from kakuran.errors import CalibrationError, SchemaError

SCHEMA = kk.Schema(
    [
        kk.Categorical("job", ["clerk", "nurse", "smith"]),
        kk.Numeric("age", 0, 60, step=0.5),
        kk.Numeric("pay", 0, 9, step=1, missing="category"),
        kk.Categorical("town", ["u", "v"], role="keep"),
        kk.Dropped("name"),
    ]
)
PRAM = kk.PRAM([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.25, 0.25, 0.5]])


@pytest.fixture(params=["bounded-laplace", "laplace", "bounded-gaussian", "retention"])
def plan(request):
    return kk.calibrate(SCHEMA, n=1000, k=5, mechanisms={"age": request.param, "job": PRAM}, tell="all")


def groups(*sizes):
    """A crowd of people in two towns."""
    schema = kk.Schema([attribute for attribute in SCHEMA if attribute.name != "name"])
    towns = [town for town, size in zip("uv", sizes, strict=False) for _ in range(size)]
    n = len(towns)
    return schema, pa.table({"job": ["clerk"] * n, "age": [1.5] * n, "pay": [None] * n, "town": towns})


class TestLookingUp:
    def test_a_column_gives_its_mechanism(self, plan):
        assert plan["job"] is PRAM

    @pytest.mark.parametrize(("column", "reason"), [("town", "kept as it is"), ("name", "dropped")])
    def test_columns_that_are_not_perturbed_say_why(self, plan, column, reason):
        with pytest.raises(CalibrationError, match=f"{column!r} is {reason}: it has no mechanism"):
            plan[column]

    def test_an_unknown_column_is_refused(self, plan):
        with pytest.raises(SchemaError, match="no column 'shoe'"):
            plan["shoe"]

    def test_only_unbounded_noise_reaches_beyond_the_domain(self, plan):
        assert (plan.reach("age") > 0) == (plan["age"].kind == "laplace")
        assert plan.reach("job") == plan.reach("town") == plan.reach("name") == 0

    def test_epsilon_is_the_sum_over_columns(self, plan):
        assert plan.epsilon == pytest.approx(sum(plan[name].epsilon for name in ("job", "age", "pay")))


class TestObject:
    def test_a_plan_cannot_be_changed(self, plan):
        with pytest.raises(dataclasses.FrozenInstanceError):
            plan.k = 1

    def test_changing_the_mapping_it_was_made_from_changes_nothing(self, plan):
        given = dict(plan.mechanisms)
        made = Plan.of_mechanisms(plan.schema, given, plan.n, plan.k, plan.calibration)
        given["job"] = None
        assert made["job"] is PRAM

    def test_a_pickled_plan_is_the_same(self, plan):
        assert pickle.loads(pickle.dumps(plan)).to_dict() == plan.to_dict()

    def test_plain_values_make_the_plan_again(self, plan):
        again = Plan.from_dict(json.loads(json.dumps(plan.to_dict())))
        assert again.to_dict() == plan.to_dict()
        assert again.schema == plan.schema
        for name, mechanism in plan.mechanisms.items():
            assert np.array_equal(again[name].transition().matrix, mechanism.transition().matrix)


class TestChecking:
    def test_a_worst_case_plan_holds_for_any_table_large_enough(self):
        schema, table = groups(6, 5)
        plan = kk.calibrate(schema, n=5, k=3, tell="all")
        tally = plan.tally()
        tally.update(schema.encode(table), table.num_rows)
        assert plan.check(tally) is None
        assert tally.fewest == 5

    def test_a_worst_case_plan_refuses_a_table_whose_smallest_group_is_too_small(self):
        schema, table = groups(60, 4)
        plan = kk.calibrate(schema, n=5, k=3, tell="all")
        tally = plan.tally()
        tally.update(schema.encode(table), table.num_rows)
        with pytest.raises(CalibrationError, match=r"for 5 records but there are only 4 in the smallest group .* n=4"):
            plan.check(tally)

    def test_without_kept_columns_all_records_are_one_group(self):
        schema = kk.Schema([kk.Numeric("age", 0, 9, step=1)])
        plan = kk.calibrate(schema, n=5, k=3, tell="all")
        for ages, fits in ((range(5), True), (range(4), False)):
            tally = plan.tally()
            tally.update(schema.encode(pa.table({"age": list(ages)})), len(ages))
            if fits:
                assert plan.check(tally) is None
            else:
                with pytest.raises(CalibrationError, match=r"for 5 records but there are only 4; calibrate with n=4"):
                    plan.check(tally)

    def test_an_empty_table_is_refused(self):
        schema, table = groups(60, 40)
        for plan in (
            kk.calibrate(schema, n=5, k=3, tell="all"),
            kk.calibrate(schema, data=table, calibration="data-dependent", k=3, tell="all"),
        ):
            with pytest.raises(CalibrationError, match="the table is empty"):
                plan.check(plan.tally())

    def test_a_data_dependent_plan_looks_at_all_released_columns(self):
        schema, table = groups(60, 40)
        plan = kk.calibrate(schema, data=table, calibration="data-dependent", k=3, tell="all")
        assert [axis.name for axis in plan.tally().axes] == ["job", "age", "pay", "town"]
        assert plan.check(count_columns(schema, table)) is None


@pytest.mark.parametrize(
    "asked", [{"n": 100}, {"data": pa.table({"age": [None, *range(1, 100)]}), "calibration": "data-dependent"}]
)
def test_a_number_that_may_be_missing_and_loses_its_order_is_warned_of(asked):
    fine, coarse = (kk.Schema([kk.Numeric("age", 0, 100, step=step, missing="category")]) for step in (1, 20))
    with pytest.warns(kk.ScatteredNumbersWarning, match="age: its 102 values are perturbed like categories") as told:
        kk.calibrate(fine, k=5, **asked, mechanisms={"age": "retention"})
    assert [warning.filename for warning in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kk.calibrate(coarse, k=5, **asked, mechanisms={"age": "retention"})
        kk.calibrate(fine, k=5, **asked)
