"""Signs of made-up records: found where there are many, all but never where there are none."""

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.answers import impossible
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness
from kakuran.release import Manifest

SCHEMA = kk.Schema(
    [
        kk.Categorical("job", ["office", "care", "craft", "none"]),
        kk.Numeric("hours", 0, 80, step=1),
        kk.Categorical("content", ["no", "rather no", "rather", "yes"]),
    ]
)
N = 1_000
PLAN = kk.calibrate(SCHEMA, k=10, n=N, tell="all")


def perturbed(true, seed):
    """Records of people who answered this, perturbed."""
    return Kernel(PLAN).sample(true, Randomness.seeded(seed))


def anything(seed, n=N):
    dice = Randomness.seeded(seed)
    return {attribute.name: dice.below(attribute.size, n).astype(np.int32) for attribute in SCHEMA.released}


def with_fakes(codes, count, **same):
    """The last records replaced by made-up ones, which say the same or anything."""
    fakes = anything(9, count) | {name: np.full(count, code, np.int32) for name, code in same.items()}
    return {name: np.concatenate([column[:-count], fakes[name]]) for name, column in codes.items()}


@pytest.mark.parametrize("code", [None, 0, 3])
def test_perturbed_records_raise_no_alarm_whatever_is_true(code):
    # One false alarm in a thousand at most: 60 tries raise one in 6 % of runs at most, and the seeds are fixed.
    for seed in range(60):
        same = {attribute.name: np.full(N, code or 0, np.int32) for attribute in SCHEMA.released}
        assert impossible(PLAN, perturbed(anything(seed) if code is None else same, seed), 0.001) == []


def test_the_same_record_again_and_again_is_noticed():
    found = impossible(PLAN, with_fakes(perturbed(anything(1), 1), 20, job=0, hours=80, content=3), 0.001)
    assert [(one.columns, one.records) for one in found] == [(("job", "hours", "content"), 20)]
    assert found[0].chance < 1e-5


def test_an_answer_that_is_more_common_than_any_truth_makes_it_is_noticed():
    found = impossible(PLAN, with_fakes(perturbed(anything(1), 1), 450, job=0), 0.001)
    assert [one.columns for one in found] == [("job",)]
    assert found[0].records is None


def test_fakes_that_look_perturbed_are_not_noticed():
    assert impossible(PLAN, with_fakes(perturbed(anything(1), 1), 500), 0.001) == []


def test_a_release_is_asked_the_same_with_a_rate_of_its_own():
    codes = with_fakes(perturbed(anything(1), 1), 20, job=0, hours=80, content=3)
    table = pa.Table.from_batches([Kernel(PLAN).decode(codes)])
    release = kk.Release(table, Manifest(PLAN, N, "shuffled", seeded=False))
    assert release.impossible() == impossible(PLAN, codes, 0.001)
    assert release.impossible(1e-10) == []
    with pytest.raises(kk.SchemaError, match="false_alarm must lie between 0 and 1"):
        release.impossible(2)


def test_many_columns_and_long_numbers_are_no_hindrance():
    names = [f"c{place}" for place in range(30)]
    schema = kk.Schema(
        [*(kk.Categorical(name, list("abcdef")) for name in names), kk.Numeric("pay", 0, 10_000, step=1)]
    )
    plan = kk.calibrate(schema, k=10, n=N, tell="all")
    dice = Randomness.seeded(2)
    codes = Kernel(plan).sample(
        {attribute.name: dice.below(attribute.size, N).astype(np.int32) for attribute in schema.released}, dice
    )
    assert impossible(plan, codes, 0.001) == []
    same = {name: np.concatenate([column[:-20], np.zeros(20, column.dtype)]) for name, column in codes.items()}
    assert [one.records for one in impossible(plan, same, 0.001)] == [20]


TOLD = kk.calibrate(SCHEMA, k=10, n=N, tell=2, mechanisms={"hours": "retention"})


def told(true, seed):
    return Kernel(TOLD).sample(true, Randomness.seeded(seed))


def with_told_fakes(codes, count, tell, **same):
    """The last records replaced by made-up ones that all tell the same columns, and the same of some."""
    tells = {name: np.full(count, TOLD.layout.untold(name), np.int32) for name in TOLD.mechanisms}
    tells |= {name: anything(9, count)[name] for name in TOLD.tells[tell].columns}
    tells |= {"told": np.full(count, tell, np.int32)} | {
        name: np.full(count, one, np.int32) for name, one in same.items()
    }
    return {name: np.concatenate([column[:-count], tells[name]]) for name, column in codes.items()}


@pytest.mark.parametrize("code", [None, 0, 3])
def test_records_that_tell_some_columns_raise_no_alarm_whatever_is_true(code):
    # As above: 60 tries raise a false alarm in 6 % of runs at most, and the seeds are fixed.
    for seed in range(60):
        same = {attribute.name: np.full(N, code or 0, np.int32) for attribute in SCHEMA.released}
        assert impossible(TOLD, told(anything(seed) if code is None else same, seed), 0.001) == []


def test_the_same_told_again_and_again_is_noticed_among_those_who_tell_it():
    codes = with_told_fakes(told(anything(1), 1), 60, 0, job=0, hours=80)
    assert [(one.columns, one.records >= 60) for one in impossible(TOLD, codes, 0.001)] == [(("job", "hours"), True)]


def test_a_told_answer_that_is_more_common_than_any_truth_makes_it_is_noticed():
    codes = told(anything(1), 1)
    codes["content"][codes["content"] != TOLD.layout.untold("content")] = 3
    assert ("content",) in [one.columns for one in impossible(TOLD, codes, 0.001)]


def test_tells_that_are_more_common_than_they_are_drawn_are_noticed():
    codes = with_told_fakes(told(anything(1), 1), 150, 1)
    assert ("told",) in [one.columns for one in impossible(TOLD, codes, 0.001)]
