"""k with certainty: noise that keeps k in all draws but a few, beside k in every draw (maths §15)."""

import math
import warnings

import numpy as np
import pyarrow as pa
import pytest
import python_calamine
from hypothesis import given, settings, strategies as st

import kakuran as kk
from kakuran.design import Blanket, Plan, Tell, plan_within
from kakuran.errors import CalibrationError, ReleaseError, StrongerThanAskedWarning
from kakuran.mechanism import PRAM

DELTA = 1e-6
ADULT = kk.Schema(
    [
        kk.Categorical(f"c{place}", [str(one) for one in range(size)])
        for place, size in enumerate((9, 16, 7, 15, 6, 5, 2, 42, 2))
    ]
)
HUNDRED = kk.Schema([kk.Categorical("town", [str(one) for one in range(100)])])
REGION = kk.Categorical("region", ["east", "west"], role="keep")
KEPT = kk.Schema([REGION, *HUNDRED])


def certain(schema: kk.Schema, n: int | list[int], k: float, **wishes) -> Plan:
    return kk.calibrate(schema, n=n, k=k, certainty=1 - DELTA, **wishes)


@pytest.mark.parametrize(
    ("n", "k", "local", "central"),
    [
        (1_000, 2, 5.414, 2.2),
        (1_000, 5, 4.623, 1.3),
        (1_000, 10, 4.097, 0.83),
        (1_000, 100, 2.185, 0.13),
        (9_000, 2, 6.712, 2.5),
        (9_000, 5, 6.010, 1.3),
        (9_000, 10, 5.590, 0.91),
        (9_000, 100, 4.160, 0.29),
        (50_000, 2, 7.663, 1.5),
        (50_000, 5, 7.309, 1.1),
        (50_000, 10, 7.050, 0.93),
        (50_000, 100, 5.701, 0.38),
        (1_000_000, 2, 10.385, 1.2),
        (1_000_000, 5, 10.143, 1.1),
        (1_000_000, 10, 9.893, 0.89),
        (1_000_000, 100, 8.581, 0.41),
    ],
)
def test_a_hundred_values_take_the_epsilon_of_theorem_b(n, k, local, central):
    plan = certain(HUNDRED, n, k, mechanisms={"town": "retention"}, central_ceiling=None)
    assert plan.epsilon == pytest.approx(local, abs=0.005)
    assert plan.central() == pytest.approx(central, rel=0.05)
    assert 0.8 * DELTA < plan.failure() <= DELTA


def test_without_certainty_k_holds_in_every_draw():
    plan = kk.calibrate(HUNDRED, n=50_000, k=10)
    assert plan.certainty is None
    assert plan.failure() == 0
    assert "certainty" not in plan.to_dict()


@settings(max_examples=10, deadline=None)
@given(
    n=st.integers(50, 200_000),
    k=st.floats(1.1, 40),
    certainty=st.sampled_from([0.995, 0.9999, 1 - 1e-9]),
    sizes=st.lists(st.integers(2, 30), min_size=1, max_size=4),
    tell=st.sampled_from(["all", 1, "auto"]),
)
def test_certainty_never_takes_more_noise_unless_its_ceiling_does(n, k, certainty, sizes, tell):
    schema = kk.Schema(
        [kk.Categorical(f"c{place}", [str(one) for one in range(size)]) for place, size in enumerate(sizes)]
    )
    promise = {"n": n, "k": k, "tell": "all" if len(sizes) == 1 else tell}
    every = kk.calibrate(schema, **promise)
    without = kk.calibrate(schema, **promise, certainty=certainty, central_ceiling=None)
    assert without.failure() <= 1 - certainty
    assert without.epsilon >= every.epsilon * (1 - 1e-9) or without.tells[0].columns != every.tells[0].columns
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", StrongerThanAskedWarning)
        below = kk.calibrate(schema, **promise, certainty=certainty)
    assert below.central() <= 1
    assert below.epsilon <= without.epsilon * (1 + 1e-9) or below.tells[0].columns != without.tells[0].columns
    assert bool(said) == (below.k_for(n) > k * (1 + 1e-6))


def test_the_ceiling_holds_and_a_central_epsilon_takes_its_place():
    assert certain(HUNDRED, 9_000, 2).central() == pytest.approx(1, abs=1e-4)
    assert certain(HUNDRED, 9_000, 2, central_ceiling=0.5).central() == pytest.approx(0.5, abs=1e-4)
    assert certain(HUNDRED, 9_000, 2, central_epsilon=2.0).central() == pytest.approx(2.0, abs=1e-4)


def test_groups_of_kept_columns_add_up():
    sizes = [400, 700, 9_000]
    plan = certain(KEPT, sizes, 10)
    blanket = Blanket(plan.epsilon, plan.part().levels)
    summed = math.fsum(blanket.failure(n, 10) for n in sizes)
    assert plan.n == 400
    assert plan.failure(sizes) == pytest.approx(summed)
    assert summed <= DELTA < 1.01 * summed
    assert certain(KEPT, [400] * 20, 10).epsilon < certain(HUNDRED, 400, 10).epsilon - 0.01


def test_many_sizes_are_taken_together_on_the_safe_side():
    sizes = [*range(1_000, 1_300), *range(4_000, 4_100)]
    plan = certain(KEPT, sizes, 10)
    blanket = Blanket(plan.epsilon, plan.part().levels)
    one_by_one = math.fsum(blanket.failure(n, 10) for n in sizes)
    assert 0 < one_by_one <= plan.failure(sizes) <= DELTA


def test_groups_are_counted_in_the_data():
    table = pa.table({"region": ["east"] * 900 + ["west"] * 400, "town": ["1"] * 1_300})
    assert kk.calibrate(KEPT, data=table, k=5, certainty=1 - DELTA).tells == certain(KEPT, [400, 900], 5).tells


def test_mechanisms_of_which_only_epsilon_is_known_count_clones():
    matrix = np.full((3, 3), 0.01) + 0.97 * np.eye(3)
    schema = kk.Schema([kk.Categorical("a", ["x", "y", "z"])])
    plan = certain(schema, 50_000, 10, mechanisms={"a": PRAM(matrix)}, central_ceiling=None)
    assert plan.part().levels is None
    assert plan.failure() == pytest.approx(Blanket(plan.epsilon, 1.0).failure(50_000, 10))
    assert plan.failure() <= DELTA
    noisy = kk.Schema([kk.Numeric("age", 0, 99, step=1)])
    plan = certain(noisy, 50_000, 10, mechanisms={"age": "laplace"}, central_ceiling=None)
    assert plan.failure() <= DELTA < 1.01 * plan.failure()


def test_parameters_as_published_keep_it():
    schema = kk.Schema([kk.Numeric("age", 0, 99, step=1), kk.Categorical("job", [str(one) for one in range(30)])])
    for n, k in ((2_000, 3), (3_000, 17), (50_000, 10)):
        plan = certain(schema, n, k)
        again = Plan.from_dict(plan.to_dict())
        assert again.certainty == plan.certainty
        assert again.failure() == plan.failure() <= DELTA


@pytest.mark.parametrize("certainty", [0, 0.5, 0.99, 1, 1.2, -1, math.nan, "sure", True])
def test_what_is_no_certainty_is_refused(certainty):
    with pytest.raises(CalibrationError, match=r"certainty must lie above .* and below 1, as .*Leave it out"):
        kk.calibrate(HUNDRED, n=1_000, k=10, certainty=certainty)


def test_what_cannot_be_certain_is_refused_with_the_reason():
    table = pa.table({"town": ["1"] * 100})
    with pytest.raises(CalibrationError, match="worst-case"):
        kk.calibrate(HUNDRED, data=table, k=5, certainty=1 - DELTA, calibration="data-dependent")
    with pytest.raises(CalibrationError, match="k=200 is more than the 100 records"):
        certain(HUNDRED, 100, 200)
    people = kk.Schema(list(HUNDRED), person="id", rows_a_person=3)
    with pytest.raises(CalibrationError, match="one record per person, and the schema uses up to 3 rows"):
        certain(people, 1_000, 5)
    with pytest.raises(CalibrationError, match=r"kept columns \(region\).*give data"):
        certain(KEPT, 1_000, 5)
    with pytest.raises(CalibrationError, match="give k, too"):
        kk.calibrate(HUNDRED, n=1_000, central_epsilon=1, certainty=1 - DELTA)
    with pytest.raises(CalibrationError, match="central_ceiling must lie above 0"):
        certain(HUNDRED, 1_000, 5, central_ceiling=-1)


def test_a_smaller_table_than_planned_is_refused():
    plan = certain(HUNDRED, 1_000, 10)
    with pytest.raises(CalibrationError, match="only 900"):
        kk.perturb(pa.table({"town": ["1"] * 900}), plan)


def test_groups_smaller_than_planned_are_refused():
    plan = certain(KEPT, [5_000, 5_000], 10)
    many = Plan(plan.schema, plan.tells, 400, 10.0, "worst-case", certainty=plan.certainty)
    table = pa.table({"region": ["east"] * 400 + ["west"] * 5_000, "town": ["1"] * 5_400})
    with pytest.raises(CalibrationError, match="do not keep k=10 with certainty"):
        kk.perturb(table, many)


def test_a_plan_that_claims_certainty_it_does_not_have_is_refused():
    plan = kk.calibrate(HUNDRED, n=1_000, k=2)
    claiming = Plan(
        HUNDRED, tuple(Tell(one.telling, one.share) for one in plan.tells), 1_000, 300.0, "worst-case", 0.999999
    )
    with pytest.raises(CalibrationError, match="do not keep k=300"):
        kk.perturb(pa.table({"town": ["1"] * 1_000}), claiming)


@pytest.mark.parametrize("n", [5_000, 50_000, 1_000_000])
def test_k_in_every_draw_is_refused_however_rarely_a_draw_would_fail_it(n):
    """A chance that is too small for a number is no 0: k in every draw also holds whatever somebody believes."""
    epsilon = kk.calibrate(HUNDRED, n=n, k=10).epsilon + 0.5
    claiming = Plan(HUNDRED, plan_within(HUNDRED, epsilon, tell=1).tells, n, 10.0, "worst-case")
    assert claiming.failure() < 1e-300
    assert claiming.k_for(n) < 5
    with pytest.raises(CalibrationError, match="do not reach k=10;"):
        kk.perturb(pa.table({"town": ["1"] * n}), claiming)


@pytest.mark.parametrize("wishes", [{"seed": 1}, {"shuffle": False}, {"joined": True}])
def test_draws_that_somebody_could_undo_are_refused(wishes, tmp_path):
    plan, table = certain(HUNDRED, 1_000, 10), pa.table({"town": ["1"] * 1_000})
    with pytest.raises(ReleaseError, match="certainty is about a secret draw in a secret order"):
        kk.perturb(table, plan, **wishes)
    with pytest.raises(ReleaseError, match="certainty is about a secret draw in a secret order"):
        kk.perturb_file(table, tmp_path / "out.parquet", plan, **wishes)
    assert not [*tmp_path.iterdir()]


def test_a_release_says_its_certainty_when_it_is_read_again(tmp_path):
    kk.perturb_file(pa.table({"town": ["1"] * 1_000}), tmp_path / "out.parquet", certain(HUNDRED, 1_000, 10))
    assert kk.read_release(tmp_path / "out.parquet").plan.certainty == 1 - DELTA


def test_whoever_opens_a_release_elsewhere_reads_of_its_certainty(tmp_path):
    table, plan = pa.table({"town": ["1"] * 1_000}), certain(HUNDRED, 1_000, 10)
    kk.perturb_file(table, tmp_path / "out.xlsx", plan)
    rows = python_calamine.load_workbook(tmp_path / "out.xlsx").get_sheet_by_name("about this table").to_python()
    told = "\n".join(str(cell) for row in rows for cell in row)
    assert "above 1/10 with certainty 0.999999." in told
    assert "確実度 0.999999" in told
    assert "k = 10 with certainty 0.999999, " in repr(kk.perturb(table, plan))


def test_the_schema_may_ask_for_certainty():
    schema = kk.Schema.from_toml(f"certainty = {1 - DELTA}\n" + HUNDRED.to_toml())
    assert kk.calibrate(schema, n=1_000, k=10).tells == certain(HUNDRED, 1_000, 10).tells
    assert kk.Schema.from_toml(schema.to_toml()) == schema


def test_failures_add_up_in_a_ledger(tmp_path):
    table, plan = pa.table({"town": ["1"] * 1_000}), certain(HUNDRED, 1_000, 10)
    in_every_draw = kk.Ledger.create(tmp_path / "every.ledger", "them", k=5)
    with pytest.raises(CalibrationError, match="k in every draw was promised to them"):
        kk.perturb(table, plan, ledger=in_every_draw)
    ledger = kk.Ledger.create(tmp_path / "sure.ledger", "them", k=5, certainty=1 - 2.5 * DELTA)
    for releases in (1, 2):
        kk.perturb(table, plan, ledger=ledger)
        assert ledger.account().failure == pytest.approx(releases * DELTA)
    with pytest.raises(CalibrationError, match=r"fail k with probability 3e-06, and at most 2\.5e-06.*0\.9999995 or"):
        kk.perturb(table, plan, ledger=ledger)
    kk.perturb(table, kk.calibrate(HUNDRED, n=1_000, k=10), ledger=ledger)
    assert ledger.account().k == 10


def test_a_ledger_whose_certainty_is_used_up_asks_for_k_in_every_draw(tmp_path):
    table, plan = pa.table({"town": ["1"] * 1_000}), certain(HUNDRED, 1_000, 10)
    ledger = kk.Ledger.create(tmp_path / "sure.ledger", "them", k=5, certainty=1 - DELTA)
    kk.perturb(table, plan, ledger=ledger)
    with pytest.raises(CalibrationError, match=r"fail k with probability 2e-06.*: leave out certainty$"):
        kk.perturb(table, plan, ledger=ledger)


def test_a_ledger_refuses_a_certainty_without_k(tmp_path):
    with pytest.raises(CalibrationError, match="give k, too"):
        kk.Ledger.create(tmp_path / "sure.ledger", "them", epsilon=1, certainty=1 - DELTA)
