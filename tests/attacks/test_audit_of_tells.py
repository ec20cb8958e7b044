"""The audit of releases whose records tell only some of their columns: honest ones pass, tampered ones fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.counts import MemoryRecords
from kakuran.design import Plan, Tell
from kakuran.mechanism import Itself, Together, Window
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness
from kakuran.release import Manifest
from kakuran.release.release import Release

N = 3000
SIZES = {"job": 8, "town": 6, "school": 5, "sex": 2}


def _schema(*, kept: bool = False) -> kk.Schema:
    columns = [kk.Categorical(name, [f"{name}{value}" for value in range(size)]) for name, size in SIZES.items()]
    return kk.Schema([*columns, *([kk.Categorical("place", ["here", "there"], role="keep")] if kept else [])])


def _people(n: int = N) -> dict[str, np.ndarray]:
    """Columns that go together, with rare values."""
    dice = np.random.default_rng(3)
    wealth = dice.random(n)
    codes = {
        name: np.clip(size * (0.6 * wealth + 0.4 * dice.random(n)) ** 2, 0, size - 1).astype(np.int32)
        for name, size in SIZES.items()
    }
    return codes | {"place": (dice.random(n) < 0.4).astype(np.int32)}


PEOPLE = _people()


def _table(schema: kk.Schema) -> pa.Table:
    return pa.table({one.name: np.array(one.values)[PEOPLE[one.name]] for one in schema.released})


def _released(plan: Plan, codes: dict[str, np.ndarray], *, shuffle: bool = True) -> Release:
    """Drawn codes as a release that claims a plan, past all the checks that would refuse it."""
    n = len(next(iter(codes.values())))
    rows = Randomness.secure().permutation(n) if shuffle else np.arange(n)
    records = MemoryRecords(plan.layout, known={name: column[rows] for name, column in codes.items()})
    return Release(records, Manifest(plan, n, "shuffled", seeded=False))


def _truth(plan: Plan) -> dict[str, np.ndarray]:
    return {attribute.name: PEOPLE[attribute.name] for attribute in plan.schema.released}


def _redrawn(plan: Plan, codes: dict[str, np.ndarray], rows: np.ndarray, tell: int) -> dict[str, np.ndarray]:
    """The codes where some people tell what somebody chose for them, perturbed as the plan says."""
    truth, layout = _truth(plan), plan.layout
    changed = {name: column.copy() for name, column in codes.items()}
    for name in SIZES:
        changed[name][rows] = layout.untold(name)
    changed[layout.telling[0]][rows] = tell
    some = {name: truth[name][rows] for name in plan.tells[tell].columns}
    for name, column in plan.tells[tell].telling.sample(some, Randomness.secure()).items():
        changed[name][rows] = column
    return changed


DESIGNS = [
    {"tell": 1, "k": 10},
    {"tell": 2, "k": 2},
    {"tell": 2, "k": 50},
    {"tell": 2, "about": "job", "k": 10},
    {"tell": 4, "k": 10},
    {"tell": [["job", "town", "school"], ["sex"]], "k": 10},
]


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("kept", [False, True])
def test_honest_releases_pass_and_nobody_is_linked_above_the_promise(design: dict, kept: bool) -> None:
    """Three draws of each of twelve designs; an audit gives a false alarm about once in 10⁸."""
    schema = _schema(kept=kept)
    plan = kk.calibrate(schema, n=1000 if kept else N, **design)
    for _ in range(3):
        outcome = kk.audit(_table(schema), kk.perturb(_table(schema), plan))
        assert outcome.passed, outcome.problems
        assert outcome.worst_posterior <= outcome.certified <= outcome.bound * (1 + 1e-9)
        assert outcome.attacked == N
        assert outcome.misfit < 1


def test_a_data_dependent_release_passes_and_uses_what_it_may() -> None:
    schema = _schema()
    plan = kk.calibrate(schema, data=_table(schema), calibration="data-dependent", k=5, tell=2)
    outcome = kk.audit(_table(schema), kk.perturb(_table(schema), plan))
    assert outcome.passed, outcome.problems
    assert outcome.certified == pytest.approx(1 / 5, rel=1e-3)


def _windowed(epsilon: float) -> tuple[Plan, pa.Table]:
    """A category beside two numbers that move by a few steps, one of which may be missing."""
    schema = kk.Schema(
        [
            kk.Categorical("job", [f"job{value}" for value in range(8)]),
            kk.Numeric("age", 0, 79, step=1),
            kk.Numeric("pay", 0, 29, step=1, missing="category"),
        ]
    )
    near = {"job": Itself(8), "age": Window(80, 6), "pay": Window(30, 3, may_be_missing=True)}
    sets = [("job", "age"), ("job", "pay"), ("age", "pay")]
    tells = tuple(Tell(Together.within({name: near[name] for name in columns}, epsilon), 1 / 3) for columns in sets)
    plan = Plan(schema, tells, N, 1 + (N - 1) * np.exp(-2 * epsilon), "worst-case")
    pay = np.random.default_rng(4).binomial(29, 0.4, N)
    numbers = {"age": 8 * PEOPLE["job"] + PEOPLE["town"], "pay": pa.array(pay, mask=PEOPLE["sex"] == 1)}
    return plan, pa.table({"job": np.array(schema["job"].values)[PEOPLE["job"]], **numbers})


def test_numbers_that_stay_within_windows_and_may_be_missing_are_audited_too() -> None:
    plan, table = _windowed(2.0)
    for _ in range(3):
        codes = Kernel(plan).sample(plan.schema.encode(table), Randomness.secure())
        outcome = kk.audit(table, _released(plan, codes))
        assert outcome.passed, outcome.problems
        assert outcome.worst_posterior <= outcome.certified


@pytest.mark.parametrize("weaker", [2.5, 4.0])
def test_windows_drawn_with_less_noise_than_the_manifest_says_fail(weaker: float) -> None:
    plan, table = _windowed(2.0)
    careless, _ = _windowed(2.0 * weaker)
    codes = Kernel(careless).sample(plan.schema.encode(table), Randomness.secure())
    assert not kk.audit(table, _released(plan, codes)).passed


@pytest.mark.parametrize("tell", [1, 2])
def test_a_release_drawn_with_less_noise_than_its_manifest_says_fails(tell: int) -> None:
    schema = _schema()
    honest, careless = (kk.calibrate(schema, n=N, k=k, tell=tell) for k in (200, 2))
    codes = Kernel(careless).sample(_truth(honest), Randomness.secure())
    outcome = kk.audit(_table(schema), _released(honest, codes))
    assert any(
        "closer to the originals" in problem or "what its records tell" in problem for problem in outcome.problems
    )


def test_a_manifest_with_parameters_too_weak_fails() -> None:
    plan = replace(kk.calibrate(_schema(), n=N, k=2, tell=2), k=50.0)
    codes = Kernel(plan).sample(_truth(plan), Randomness.secure())
    outcome = kk.audit(_table(plan.schema), _released(plan, codes))
    assert any("too weak" in problem for problem in outcome.problems)


def test_originals_passed_off_as_told_fail() -> None:
    plan = kk.calibrate(_schema(), n=N, k=50, tell=2)
    truth = _truth(plan)
    codes = Kernel(plan).sample(truth, Randomness.secure())
    copied = {
        name: np.where(column == plan.layout.untold(name), column, truth[name]) if name in truth else column
        for name, column in codes.items()
    }
    outcome = kk.audit(_table(plan.schema), _released(plan, copied))
    assert outcome.closeness > 1
    assert not outcome.passed


@pytest.mark.parametrize("column", ["job", "school"])
def test_a_tell_that_was_chosen_by_looking_at_the_values_fails(column: str) -> None:
    """Whoever has one of the rarer values always tells it."""
    plan = kk.calibrate(_schema(), n=N, k=10, tell=2)
    rare = np.flatnonzero(PEOPLE[column] >= SIZES[column] - SIZES[column] // 2)
    assert N / 50 < len(rare) < N / 3
    tell = plan.holding([column])[0]
    codes = _redrawn(plan, Kernel(plan).sample(_truth(plan), Randomness.secure()), rare, tell)
    outcome = kk.audit(_table(plan.schema), _released(plan, codes))
    assert any("what its records tell" in problem for problem in outcome.problems)


def test_a_tell_chosen_by_values_fails_though_all_tells_are_as_frequent_as_they_should_be() -> None:
    plan = kk.calibrate(_schema(), n=N, k=10, tell=[["job"], ["town"], ["school"], ["sex"]])
    by_job = np.argsort(np.argsort(PEOPLE["job"] + np.random.default_rng(0).random(N))) * 4 // N
    codes = Kernel(plan).sample(_truth(plan), Randomness.secure())
    for tell in range(4):
        codes = _redrawn(plan, codes, np.flatnonzero(by_job == 3 - tell), tell)
    outcome = kk.audit(_table(plan.schema), _released(plan, codes))
    assert any("what its records tell" in problem for problem in outcome.problems)


def test_tells_that_are_not_drawn_as_often_as_the_manifest_says_fail() -> None:
    plan = kk.calibrate(_schema(), n=N, k=10, tell=2)
    uneven = [0.5, *([0.5 / (len(plan.tells) - 1)] * (len(plan.tells) - 1))]
    other = replace(
        plan, tells=tuple(replace(tell, share=share) for tell, share in zip(plan.tells, uneven, strict=True))
    )
    codes = Kernel(other).sample(_truth(plan), Randomness.secure())
    assert not kk.audit(_table(plan.schema), _released(plan, codes)).passed


def test_one_persons_record_in_place_of_many_others_fails() -> None:
    plan = kk.calibrate(_schema(), n=N, k=10, tell=2)
    truth = _truth(plan)
    rows = np.arange(N)
    rows[: N // 3] = int(np.argmax(truth["job"]))
    codes = Kernel(plan).sample({name: column[rows] for name, column in truth.items()}, Randomness.secure())
    assert not kk.audit(_table(plan.schema), _released(plan, codes)).passed


def test_a_release_that_says_shuffled_but_is_not_fails() -> None:
    plan = kk.calibrate(_schema(), n=N, k=2, tell=2)
    codes = Kernel(plan).sample(_truth(plan), Randomness.secure())
    outcome = kk.audit(_table(plan.schema), _released(plan, codes, shuffle=False))
    assert any("although it says shuffled" in problem for problem in outcome.problems)


def test_a_column_that_is_said_not_to_be_told_may_not_be_there() -> None:
    plan = kk.calibrate(_schema(), n=N, k=10, tell=[["job"], ["town"], ["school"], ["sex"]])
    honest = kk.perturb(_table(plan.schema), plan)
    leaking = honest.table.set_column(1, "job", pa.array(np.array(plan.schema["job"].values)[PEOPLE["job"]]))
    with pytest.raises(kk.DataError, match="says is not told"):
        kk.audit(_table(plan.schema), Release(leaking, honest.manifest))


def test_on_a_handful_of_records_the_posterior_is_exact() -> None:
    plan = kk.calibrate(_schema(), n=6, k=3, tell=2)
    few = _table(plan.schema).take(np.arange(6) * 400)
    for _ in range(5):
        outcome = kk.audit(few, kk.perturb(few, plan))
        assert outcome.is_exact
        assert outcome.worst_posterior <= outcome.certified <= 1 / 3 + 1e-9


def test_a_release_in_a_file_is_audited_as_it_is_in_memory(tmp_path) -> None:
    plan = kk.calibrate(_schema(kept=True), n=1000, k=10, tell=2)
    kk.perturb(_table(plan.schema), plan).save(tmp_path / "out.parquet")
    outcome = kk.audit(_table(plan.schema), kk.read_release(tmp_path / "out.parquet"))
    assert outcome.passed, outcome.problems
