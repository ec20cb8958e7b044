"""What a square wave leaves of numbers: the product's own choice, on made-up people and on Adult."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.answers import Reader, ask
from kakuran.answers.density import DEFAULT_BINS, shares_of_bins
from kakuran.counts import MemoryRecords, Tally
from kakuran.mechanism import SquareWave
from kakuran.randomness import Randomness
from kakuran.samples import census, census_schema

DATA = Path(__file__).parents[3] / "shared/data/adult.data"
needs_adult = pytest.mark.skipif(not DATA.exists(), reason="the Adult data set is not beside the checkout")


def drawn(table, plan, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kk.NotForPublicationWarning)
        return kk.perturb(table, plan, seed=seed)


@pytest.fixture(scope="module")
def people():
    return census(20_000)


def test_most_bins_of_the_demos_age_can_be_told_from_noise_and_hold_the_truth():
    people, schema = census(), census_schema()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kk.UnclearCellsWarning)
        found = drawn(people, kk.calibrate(schema, n=50_000, k=10, tell="all")).crosstab("age")
    truth = Tally.of(schema.encode(people), found.axes).counts
    assert np.count_nonzero(~found.unclear) >= 8
    assert ((found.low <= truth) & (truth <= found.high)).mean() >= 0.8
    assert abs(found.counts - truth).sum() < 0.15 * 50_000


def test_the_naive_counts_are_those_of_the_release_with_what_lies_beyond_the_bounds_in_the_outermost_bins(people):
    release = drawn(
        people.select(["age"]), kk.calibrate(kk.Schema([census_schema()["age"]]), n=20_000, k=10, tell="all")
    )
    ages = release.table.column("age").to_numpy()
    assert (ages.min(), ages.max()) != (15, 94)
    found = release.crosstab("age", bins={"age": 4})
    assert found.naive.tolist() == np.histogram(np.clip(ages, 15, 94), [15, 35, 55, 75, 95])[0].tolist()
    assert release.count("age >= 75").naive == found.naive[3]


def test_told_numbers_beyond_the_bounds_are_counted_by_themselves(people):
    plan = kk.calibrate(census_schema(), n=20_000, k=1_000, tell=2)
    release = drawn(people, plan)
    question = ask(plan, ["age"], {"age": 4}, None)
    assert question.shape[0] > question.truths[0].size
    (counts,) = release.reader.count([question])
    ages = release.table.column("age").drop_null().to_numpy()
    inside = np.count_nonzero((ages >= 15) & (ages <= 94))
    assert counts[: question.truths[0].size].sum() == inside < counts.sum() == len(ages)
    found = release.crosstab("age", bins={"age": 4})
    every = release.n / len(ages)
    assert found.naive == pytest.approx(every * np.histogram(np.clip(ages, 15, 94), [15, 35, 55, 75, 95])[0])


def test_a_spike_within_a_cell_does_not_leak_into_the_next_ones():
    """Half of all people work 40 hours, the last of a cell of the joint model: evenly spread, 15 % would be moved."""
    dice = np.random.default_rng(1)
    hours = np.where(dice.random(30_000) < 0.5, 40, dice.integers(1, 100, 30_000))
    people = pa.table({"hours": hours, "sex": dice.choice(["f", "m"], 30_000), "job": dice.choice(["x", "y"], 30_000)})
    schema = kk.Schema(
        [
            kk.Numeric("hours", 1, 99, step=1),
            kk.Categorical("sex", ["f", "m"]),
            kk.Categorical("job", ["x", "y"]),
        ]
    )
    release = drawn(people, kk.calibrate(schema, n=30_000, k=10, tell=2))
    for columns in (["hours"], ["hours", "sex"]):
        found = release.crosstab(*columns)
        truth = Tally.of(schema.encode(people), found.axes).counts
        assert abs(found.counts - truth).sum() < 0.08 * 30_000


def test_a_number_that_may_be_missing_comes_back_with_its_order_and_with_how_many_are_missing(people, tmp_path):
    ages = people.column("age").to_numpy()
    is_gone = np.random.default_rng(0).random(len(ages)) < 0.2
    table = pa.table({"age": pa.array(ages, mask=is_gone)})
    schema = kk.Schema([kk.Numeric("age", 15, 94, step=1, missing="category")])
    release = drawn(table, kk.calibrate(schema, n=20_000, k=10, tell="all"))
    release.save(tmp_path / "out.parquet")
    read = kk.read_release(tmp_path / "out.parquet")
    assert np.array_equal(read.codes()["age"], release.codes()["age"])
    found = read.crosstab("age", bins={"age": 8})
    truth = np.append(np.histogram(ages[~is_gone], np.linspace(14.5, 94.5, 9))[0], is_gone.sum())
    assert found.axes[0].labels[-1] == "missing"
    assert abs(found.counts - truth).sum() < 0.08 * 20_000
    assert found.naive[-1] == release.table.column("age").null_count
    assert abs(read.count("age < 35").counts - (ages[~is_gone] < 35).sum()) < 600


def test_clusters_come_back(people):
    dice = np.random.default_rng(0)
    heights = np.rint(
        np.clip(np.where(dice.random(20_000) < 0.4, dice.normal(30, 4, 20_000), dice.normal(70, 6, 20_000)), 0, 99)
    )
    schema = kk.Schema([kk.Numeric("x", 0, 99, step=1)])
    release = drawn(pa.table({"x": heights}), kk.calibrate(schema, n=20_000, k=10, tell="all"))
    found = release.mixture("x", n_components=2, draws=2).mixture
    assert found.means.ravel() == pytest.approx([30, 70], abs=1.5)
    assert found.weights == pytest.approx([0.4, 0.6], abs=0.03)
    assert found.columns.sigmas.ravel() == pytest.approx([4, 6], abs=1.5)
    assert release.mixture("x", n_components=2, draws=2).predict_proba().shape == (20_000, 2)


def adult(place):
    with DATA.open(encoding="utf-8", newline="") as lines:
        return np.array([int(row[place]) for row in csv.reader(lines, skipinitialspace=True) if row])


def errors_at(column, epsilon, seed):
    """L1 of the histogram, and the Wasserstein distance as a share of the range."""
    attribute = kk.Numeric("x", int(column.min()), int(column.max()), step=1)
    codes = attribute.codes_of(column.astype(float)).astype(np.int32)
    wave = SquareWave.at_swap_cost(attribute, 2 * epsilon)
    plan = kk.Plan.of_mechanisms(kk.Schema([attribute]), {"x": wave}, len(codes), 1.0, "worst-case")
    released = {"x": wave.sample(codes, Randomness.seeded(seed))}
    reader = Reader(MemoryRecords(plan.layout, known=released), plan, len(released["x"]))
    bins = min(DEFAULT_BINS, attribute.points)
    (axis,) = ask(plan, ("x",), {"x": bins}, None).cells
    edges = attribute.borders_of(axis.edges)
    off = shares_of_bins(reader, "x", bins, int) - np.histogram(column, edges)[0] / len(column)
    widths = np.diff(edges) / (edges[-1] - edges[0])
    return abs(off).sum(), (abs(np.cumsum(off)) * widths).sum()


@needs_adult
@pytest.mark.parametrize(("epsilon", "most"), [(1.0, 0.006), (2.0, 0.004)])
def test_ages_of_adult_come_back(epsilon, most):
    assert np.mean([errors_at(adult(0), epsilon, seed)[1] for seed in range(3)]) <= most


@needs_adult
@pytest.mark.parametrize(("place", "least"), [(0, 97.9), (4, 99.0)], ids=["age", "education-num"])
def test_s0s_columns_of_adult_come_back_at_k_2(place, least):
    """One draw each; means of five are 98.1 and 99.7."""
    column = adult(place)
    schema = kk.Schema([kk.Numeric("x", int(column.min()), int(column.max()), step=1)])
    found = drawn(pa.table({"x": column}), kk.calibrate(schema, n=len(column), k=2, tell="all")).density("x")
    assert kk.l1_accuracy(np.histogram(column, found.edges)[0], found.shares) > least
