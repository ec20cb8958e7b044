import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.audit import wrong_cells
from kakuran.counts import Tally
from kakuran.samples import census, census_schema


@pytest.fixture(scope="module")
def people():
    return census(40_000)


def drawn(table, plan):
    """A release that is the same every time."""
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(table, plan, seed=1)


def error(table, truth):
    return np.abs(table - truth).sum() / truth.sum()


def test_a_release_gives_back_a_cross_tab_better_than_counting_it(people):
    release = drawn(people, kk.calibrate(census_schema(), n=people.num_rows, k=10, tell="all"))
    estimate = release.crosstab("job", "sex")
    truth = Tally.of(census_schema().encode(people), estimate.axes).counts
    assert estimate.counts.shape == estimate.naive.shape == (8, 2)
    assert estimate.counts.sum() == pytest.approx(people.num_rows)
    assert error(estimate.counts, truth) < 0.6 * error(estimate.naive, truth)


@pytest.mark.parametrize("mechanism", ["square-wave", "retention", "laplace", "bounded-laplace", "bounded-gaussian"])
def test_numbers_come_back_from_every_mechanism(people, mechanism):
    schema = kk.Schema([kk.Numeric("age", 15, 94, step=1)])
    ages = people.select(["age"])
    release = drawn(ages, kk.calibrate(schema, n=people.num_rows, k=2, mechanisms={"age": mechanism}, tell="all"))
    estimate = release.crosstab("age", bins={"age": 8})
    truth = Tally.of(schema.encode(ages), estimate.axes).counts
    assert estimate.axes[0].labels[0] == "15–24"
    assert error(estimate.counts, truth) < 0.7 * error(estimate.naive, truth)


def test_intervals_of_numbers_hold_the_truth_even_where_cells_are_far_from_evenly_filled():
    schema, dice = kk.Schema([kk.Numeric("age", 0, 99, step=1)]), np.random.default_rng(8)
    plan = kk.Plan.of_mechanisms(schema, {"age": kk.BoundedLaplace(100, 1, 5.0)}, 10, 1, "worst-case")
    covered, errors = [], []
    for _ in range(8):
        ages = np.clip(np.rint(dice.normal(20, 6, 20_000)), 0, 99).astype(int)
        estimate = drawn(pa.table({"age": ages}), plan).crosstab("age")
        truth = np.bincount(ages // 10, minlength=10)
        covered.append((estimate.low <= truth) & (truth <= estimate.high))
        errors.append(error(estimate.counts, truth))
    assert np.mean(covered) >= 0.87
    assert np.mean(errors) < 0.06


def test_without_noise_the_counts_are_exact():
    table = pa.table({"job": ["a"] * 50 + ["b"] * 70})
    schema = kk.Schema([kk.Categorical("job", ["a", "b", "c"])])
    release = kk.perturb(table, kk.calibrate(schema, data=table, calibration="data-dependent", k=10, tell="all"))
    assert release.plan["job"].retention == 1
    assert release.crosstab("job").counts.round(6).tolist() == [50, 70, 0]


def test_kept_columns_and_missing_values_have_cells_of_their_own():
    table = pa.table({"year": [2020, 2021] * 300, "job": ["a", "b", None] * 200, "pay": [1, None] * 300})
    schema = kk.Schema(
        [
            kk.Categorical("year", [2020, 2021], role="keep"),
            kk.Categorical("job", ["a", "b"], missing="category"),
            kk.Numeric("pay", 0, 9, step=1, missing="category"),
        ]
    )
    estimate = drawn(table, kk.calibrate(schema, n=300, k=2, tell="all")).crosstab(
        "year", "job", "pay", bins={"pay": 2}
    )
    assert [axis.labels for axis in estimate.axes] == [
        ("2020", "2021"),
        ("a", "b", "missing"),
        ("0–4", "5–9", "missing"),
    ]
    assert estimate.counts.sum(axis=(1, 2)) == pytest.approx([300, 300])


@pytest.mark.parametrize(
    ("columns", "bins", "words"),
    [
        ((), {}, "at least one column"),
        (("nonsense",), {}, "no column 'nonsense'"),
        (("name",), {}, "was dropped"),
        (("job",), {"age": 3}, "not among the columns"),
        (("job",), {"job": 3}, "bins are for numbers"),
        (("age",), {"age": 1000}, "cannot be cut into 1000"),
    ],
)
def test_questions_that_cannot_be_answered_say_why(columns, bins, words):
    table = pa.table({"job": ["a", "b"] * 10, "age": [1, 2] * 10, "name": ["x"] * 20})
    schema = kk.Schema([kk.Categorical("job", ["a", "b"]), kk.Numeric("age", 0, 9, step=1), kk.Dropped("name")])
    release = kk.perturb(table, kk.calibrate(schema, n=20, k=2, tell="all"))
    with pytest.raises(kk.SchemaError, match=words):
        release.crosstab(*columns, bins=bins)


def test_a_number_that_may_be_missing_tells_about_as_much_as_one_filled_in_beside_a_column_that_says_so():
    """And far more than where missing is one of many values without an order, by people counted in the wrong cell."""
    people, dice = census(4_000), np.random.default_rng(1)
    ages = people["age"].to_numpy()
    is_gone = dice.random(4_000) < 0.1
    gaps = pa.table({"age": pa.array(ages, mask=is_gone), "job": people["job"]})
    known = pa.array(np.where(is_gone, "no", "yes"))
    filled = pa.table({"age": np.where(is_gone, dice.choice(ages, 4_000), ages), "job": people["job"], "known": known})
    job = census_schema()["job"]
    one = kk.Schema([kk.Numeric("age", 15, 94, step=1, missing="category"), job])
    two = kk.Schema([kk.Numeric("age", 15, 94, step=1), job, kk.Categorical("known", ["yes", "no"])])
    truth = np.histogram(ages[~is_gone], bins=one["age"].cells(10)[:11] + 15)[0]

    def wrong(table, schema, **mechanisms):
        release = drawn(table, kk.calibrate(schema, n=4_000, k=10, mechanisms=mechanisms, tell="all"))
        return wrong_cells(truth, release.crosstab("age").counts[:10])

    kept = wrong(gaps, one)
    assert kept < 1.2 * wrong(filled, two)
    with pytest.warns(kk.ScatteredNumbersWarning):
        assert kept < wrong(gaps, one, age="retention")
