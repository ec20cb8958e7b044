"""Made-up records: complete, like the true ones, kept columns as they are, and intervals from several copies."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import kstest

import kakuran as kk
from kakuran.counts import Tally
from kakuran.errors import ArgumentError, SchemaError

N = 20_000
SCHEMA = kk.Schema(
    [
        kk.Categorical("place", ["here", "there"], role="keep"),
        kk.Categorical("job", ["clerk", "cook", "nurse"], ordered=True),
        kk.Categorical("ill", [False, True]),
        kk.Categorical("town", ["x", "y"], missing="category"),
        kk.Numeric("age", 0, 99.5, step=0.5),
        kk.Numeric("kids", 0, 5, step=1),
        kk.Numeric("year", 1900, 2000, step=1, role="keep"),
    ]
)
FALSE_ALARM = 1e-4
"""How often each distribution test fails though all is well."""


def made_up(n: int = N, seed: int = 3) -> pa.Table:
    """People of two kinds: clerks are young, nurses old and ill; years come in two."""
    dice = np.random.default_rng(seed)
    old = dice.random(n) < 0.4
    age = np.where(old, dice.normal(65, 8, n), dice.normal(30, 6, n)).clip(0, 99.5)
    return pa.table(
        {
            "place": np.where(dice.random(n) < np.where(old, 0.8, 0.3), "there", "here"),
            "job": np.where(old, "nurse", np.where(dice.random(n) < 0.5, "clerk", "cook")),
            "ill": dice.random(n) < np.where(old, 0.7, 0.1),
            "town": pa.array(np.where(dice.random(n) < 0.5, "x", "y"), mask=dice.random(n) < 0.2),
            "age": np.rint(2 * age) / 2,
            "kids": dice.binomial(5, np.where(old, 0.5, 0.2)),
            "year": np.where(old, 1940, 1990),
        }
    )


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return made_up()


@pytest.fixture(scope="module")
def release(people: pa.Table) -> kk.Release:
    return kk.perturb(people, kk.calibrate(SCHEMA, n=1_500, k=2, tell=2))


@pytest.fixture(scope="module")
def synthetic(release: kk.Release) -> kk.SyntheticTable:
    return release.synthesise()


def test_made_up_records_are_as_many_complete_and_of_the_types_of_the_schema(synthetic, people):
    table = synthetic.to_arrow()
    assert table.column_names == people.column_names
    assert table.num_rows == N
    SCHEMA.validate(table)
    gaps = {name: table.column(name).null_count for name in table.column_names}
    assert {name for name, count in gaps.items() if count} == {"town"}
    assert table.schema.field("job").type.ordered
    assert table.column("age").type == pa.float64()
    assert table.column("kids").type == pa.int64()


@pytest.mark.parametrize("columns", [("job",), ("job", "ill"), ("place", "job"), ("job", "ill", "place"), ("town",)])
def test_made_up_records_are_nearly_as_right_as_the_answers_of_the_release(synthetic, release, people, columns):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = release.crosstab(*columns)
    true, drawn = (Tally.of(SCHEMA.encode(table), own.axes).counts for table in (people, synthetic.to_arrow()))
    wrong, own_wrong = (np.abs(found - true).sum() / 2 / N for found in (drawn, own.counts))
    assert wrong <= own_wrong + 0.02


def test_kept_columns_are_kept_jointly(synthetic, people):
    drawn, true = (
        table.group_by(["place", "year"]).aggregate([([], "count_all")]).to_pandas()
        for table in (plain(synthetic.to_arrow()), people)
    )
    assert sorted(drawn.to_numpy().tolist()) == sorted(true.to_numpy().tolist())


def plain(table: pa.Table) -> pa.Table:
    """Without dictionaries."""
    return table.cast(made_up(10).schema)


def test_numbers_are_drawn_at_full_resolution_where_they_lie(synthetic, people):
    ages = synthetic.to_pandas()["age"]
    assert ages.nunique() > 100
    between = ((ages > 45) & (ages < 50)).mean()
    true = people.to_pandas()["age"]
    assert between < 0.08
    assert kstest(ages, true).statistic < 0.05


@pytest.fixture(scope="module")
def small() -> kk.Release:
    """Of three columns, so that models are quick to fit."""
    schema = kk.Schema([SCHEMA["job"], SCHEMA["ill"], SCHEMA["kids"]])
    return kk.perturb(made_up().select(["job", "ill", "kids"]), kk.calibrate(schema, n=N, k=10))


def test_what_is_drawn_is_the_same_every_time_and_copies_differ(small):
    once, again = (small.synthesise(n=500).to_arrow() for _ in range(2))
    assert once.equals(again)
    first, second = (copy.to_arrow() for copy in small.synthesise(n=500, copies=2))
    assert not first.equals(second)
    assert not first.equals(once)


def test_copies_stand_below_each_other_and_the_first_column_says_which_is_which(small):
    drawn = small.synthesise(n=30, copies=3)
    frame = drawn.to_pandas()
    assert frame["copy"].tolist() == [1] * 30 + [2] * 30 + [3] * 30
    for number, copy in enumerate(drawn, 1):
        assert copy.to_polars().rows() == drawn.to_polars().filter(pl_copy() == number).drop("copy").rows()


def pl_copy():
    import polars as pl

    return pl.col("copy")


def test_a_column_that_is_called_copy_keeps_its_name():
    schema = kk.Schema([kk.Categorical("copy", ["a", "b"]), kk.Categorical("other", ["a", "b"])])
    table = pa.table({"copy": ["a", "b"] * 300, "other": ["b", "b"] * 300})
    release = kk.perturb(table, kk.calibrate(schema, n=600, k=2))
    assert release.synthesise(copies=2).columns == ["copy_", "copy", "other"]


def test_records_come_in_batches_that_make_up_the_table(synthetic, monkeypatch):
    monkeypatch.setattr("kakuran.answers.synthetic.ROWS_AT_ONCE", 7_000)
    batches = list(synthetic.batches())
    assert [batch.num_rows for batch in batches] == [7_000, 7_000, 6_000]
    kept = pa.Table.from_batches(batches).column("year").to_numpy()
    first = batches[0].column("year").to_numpy()
    assert abs((first == 1940).mean() - (kept == 1940).mean()) < 0.02


@pytest.mark.parametrize("tell", ["all", 2])
def test_of_whole_records_and_of_pairs_columns_go_together_as_they_should(tell):
    people = made_up().select(["job", "ill", "kids"])
    schema = kk.Schema([SCHEMA["job"], SCHEMA["ill"], SCHEMA["kids"]])
    drawn = kk.perturb(people, kk.calibrate(schema, n=N, k=2, tell=tell)).synthesise().to_pandas()
    assert ill_among(drawn, "job", "nurse") - ill_among(drawn, "job", "clerk") > 0.4


def ill_among(frame, column, value) -> float:
    """The share of the ill among those with a value."""
    return float(frame["ill"][frame[column] == value].astype(float).mean())


def test_whole_records_of_too_many_cells_are_counted_by_pairs(monkeypatch):
    monkeypatch.setattr("kakuran.answers.reader.MOST_TOGETHER", 10)
    people = made_up().select(["job", "ill", "kids"])
    schema = kk.Schema([SCHEMA["job"], SCHEMA["ill"], SCHEMA["kids"]])
    release = kk.perturb(people, kk.calibrate(schema, n=N, k=2, tell="all"))
    drawn = release.synthesise().to_pandas()
    assert ill_among(drawn, "job", "nurse") - ill_among(drawn, "job", "clerk") > 0.4


def test_kept_columns_of_too_many_cells_are_counted_one_by_one(release, monkeypatch, rough_models):
    monkeypatch.setattr("kakuran.answers.reader.MOST_TOGETHER", 40)
    drawn = kk.Release(release.source, release.manifest).synthesise().to_pandas()
    assert ill_among(drawn, "place", "there") - ill_among(drawn, "place", "here") > 0.15


def test_the_quality_says_how_wrong_tables_are_and_larger_tables_are_worse(small):
    found = small.synthesise().quality()
    assert found.ways == (1, 2, 3)
    assert (np.diff(found.by_chance) > 0).all()
    assert (found.expected > 0).all()
    assert (found.pmse_ratio > 0.5).all()
    fewer = small.synthesise(n=300).quality()
    assert (fewer.by_chance > found.by_chance).all()
    assert str(found).startswith("expected in the wrong cell of a table: 1-way")


@pytest.mark.parametrize("asked", [{"n": 0}, {"n": 2.5}, {"copies": 0}, {"copies": "two"}])
def test_numbers_of_records_and_copies_that_cannot_be_are_refused(release, asked):
    with pytest.raises(ArgumentError, match="must be a whole number from 1 on"):
        release.synthesise(**asked)


def test_an_empty_release_is_refused():
    plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["a", "b"])]), n=10, k=2)
    release = kk.perturb(pa.table({"job": ["a", "b"] * 5}), plan)
    with pytest.raises(SchemaError, match="holds no records"):
        kk.answers.synthesise(kk.answers.Reader(release.records, plan, 0))


def test_combined_intervals_hold_what_the_copies_have_in_common():
    """Normal means: the truth is within 90 % intervals in 87 to 93 % of 4,000 trials; a false alarm in 10⁻⁴."""
    dice = np.random.default_rng(0)
    n, noise, copies, trials = 400, 0.15, 8, 4_000
    centre = dice.normal(0, noise, (1, trials))
    own = centre + dice.normal(0, noise, (copies, trials))
    means = own + dice.normal(0, 1 / np.sqrt(n), (copies, trials))
    found = kk.combine(means, np.full((copies, trials), 1 / n))
    held = float(((found.low <= 0) & (found.high >= 0)).mean())
    assert 0.87 < held < 0.93


def test_where_copies_differ_by_less_than_their_own_variance_that_one_is_taken():
    found = kk.combine([1.0, 1.0, 1.0], [0.04, 0.04, 0.04])
    assert found.error == pytest.approx(0.2)
    assert found.high - found.estimate == pytest.approx(1.6449 * 0.2, rel=1e-3)


def test_rows_of_several_estimates_are_combined_one_by_one():
    found = kk.combine([[1.0, 5.0], [2.0, 5.5], [3.0, 6.0]], [[0.1, 0.01]] * 3)
    assert found.estimate.tolist() == [2.0, 5.5]
    assert found.low.shape == (2,)


@pytest.mark.parametrize(
    ("estimates", "variances", "said"),
    [
        ([1.0], [1.0], "two or more rows"),
        ([1.0, 2.0], [1.0], "same shape"),
        ([1.0, np.nan], [1.0, 1.0], "must be finite"),
        ([1.0, 2.0], [1.0, -1.0], "not negative"),
    ],
)
def test_what_cannot_be_combined_is_refused(estimates, variances, said):
    with pytest.raises(ArgumentError, match=said):
        kk.combine(estimates, variances)


def test_a_level_beyond_one_is_refused():
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        kk.combine([1.0, 2.0], [1.0, 1.0], level=90)


def test_a_mean_of_several_copies_has_an_interval_that_holds_the_true_one():
    """Two draws, a level of 99.99 %: a false alarm in 5,000 runs."""
    people = made_up().select(["job", "ill", "kids"])
    schema = kk.Schema([SCHEMA["job"], SCHEMA["ill"], SCHEMA["kids"]])
    plan = kk.calibrate(schema, n=N, k=10)
    true = np.mean(people.column("kids").to_numpy())
    for _ in range(2):
        frames = [copy.to_pandas() for copy in kk.perturb(people, plan).synthesise(copies=6)]
        kids = [frame["kids"] for frame in frames]
        found = kk.combine([one.mean() for one in kids], [one.var() / len(one) for one in kids], level=0.9999)
        assert found.low < true < found.high
        assert found.high - found.low > 2 * 3.89 * np.sqrt(np.mean([one.var() / len(one) for one in kids]))


def test_no_more_latent_classes_are_tried_than_few_records_of_many_columns_pay_for():
    names = [f"c{place}" for place in range(12)]
    schema = kk.Schema([kk.Categorical(name, ["a", "b", "c"]) for name in names])
    few = pa.table({name: ["a", "b", "c"] * 20 for name in names})
    release = kk.perturb(few, kk.calibrate(schema, n=60, k=5, tell="all"))
    assert "average of 4 " in release.synthesise().reason  # 1, 2 and 4 classes, 24 parameters each, and a tree
