"""Asking releases whose records tell only some of their columns: what tells hold, and what rests on the joint model."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.counts import Tally
from kakuran.errors import SchemaError, UnclearCellsWarning
from kakuran.samples import census, census_schema

N = 30_000
SIZES = {"a": 3, "b": 4, "c": 2, "d": 5}
SCHEMA = kk.Schema(
    [
        kk.Categorical("place", ["here", "there"], role="keep"),
        *(kk.Categorical(name, [f"{name}{value}" for value in range(size)]) for name, size in SIZES.items()),
    ]
)


def made_up(n: int) -> pa.Table:
    """People of three kinds, each with its own habits; one kind lives mostly there."""
    dice = np.random.default_rng(8)
    kind = dice.choice(3, n, p=[0.5, 0.3, 0.2])
    columns = {"place": np.where(dice.random(n) < np.array([0.1, 0.3, 0.9])[kind], "there", "here")}
    for name, size in SIZES.items():
        habits = np.random.default_rng(size).dirichlet(np.full(size, 0.4), 3).cumsum(axis=1)
        codes = (habits[kind] < dice.random((n, 1))).sum(axis=1).clip(max=size - 1)
        columns[name] = np.array([f"{name}{value}" for value in range(size)])[codes]
    return pa.table(columns)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return made_up(N)


@pytest.fixture(scope="module")
def release(people: pa.Table) -> kk.Release:
    return kk.perturb(people, kk.calibrate(SCHEMA, n=9_000, k=10, tell=2))


@pytest.fixture(autouse=True)
def _unclear_cells_are_no_matter():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnclearCellsWarning)
        yield


def truth(people: pa.Table, estimate: kk.Estimate) -> np.ndarray:
    return Tally.of(SCHEMA.encode(people), estimate.axes).counts


@pytest.mark.parametrize("columns", [("a",), ("a", "d"), ("place", "b"), ("place", "a", "b"), ("a", "b", "d")])
def test_estimates_are_close_and_closer_than_what_is_counted(people, release, columns):
    found = release.crosstab(*columns)
    true = truth(people, found)
    wrong = 0.5 * np.abs(found.counts - true).sum() / N
    assert found.counts.sum() == pytest.approx(N, rel=1e-6)
    assert wrong < 0.06
    if found.rests_on == "counts":
        assert wrong < 0.5 * np.abs(found.naive - true).sum() / N


def test_what_a_tell_holds_rests_on_counts_and_what_none_holds_on_the_model(release):
    assert release.crosstab("a", "d").rests_on == "counts"
    assert release.crosstab("place", "a", "d").rests_on == "counts"
    model = release.crosstab("a", "b", "d")
    assert model.rests_on == "model"
    assert np.isnan(model.naive).all()
    assert "a model" in model.caption
    assert release.crosstab("a", "b", "d").to_dict()["rests_on"] == "model"


def test_kept_columns_alone_are_counted_as_they_are(people, release):
    found = release.crosstab("place")
    np.testing.assert_array_equal(found.counts, truth(people, found))
    np.testing.assert_array_equal(found.low, found.high)


@pytest.mark.parametrize(
    ("columns", "method"),
    [
        (("place", "a"), "auto"),
        (("a", "place", "b"), "auto"),
        (("place", "a", "b", "d"), "auto"),
        (("b", "place"), "mle"),
        (("place", "a", "d"), "inverse"),
    ],
)
def test_the_totals_of_kept_columns_are_the_true_ones_to_the_last_record(people, release, columns, method):
    found = release.crosstab(*columns, method=method)
    others = tuple(place for place, name in enumerate(columns) if name != "place")
    np.testing.assert_allclose(found.counts.sum(axis=others), truth(people, release.crosstab("place")), rtol=1e-12)
    assert (found.low <= found.counts).all()
    assert (found.counts <= found.high).all()


def test_a_count_of_a_kept_value_and_of_its_opposite_adds_up_to_the_known_total(release):
    total = float(release.count("place == 'there'").counts)
    parts = [release.count(f"place == 'there' and {sign}(a == 'a0')").counts for sign in ("", "not ")]
    assert float(sum(parts)) == pytest.approx(total, rel=1e-12)


def test_where_nobody_with_a_kept_value_tells_a_column_others_stand_in_for_them():
    people = pa.table({"place": ["here"] * 400 + ["there"], "a": ["a0"] * 300 + ["a1"] * 101, "b": ["b0"] * 401})
    schema = kk.Schema([SCHEMA["place"], SCHEMA["a"], SCHEMA["b"]])
    plan = kk.Plan(schema, tuple(kk.calibrate(schema, n=401, k=2, tell=1).tells), 1, 1, "worst-case")
    for seed in range(4):
        with pytest.warns(kk.NotForPublicationWarning):
            release = kk.perturb(people, plan, seed=seed)
        for name in ("a", "b"):
            found = release.crosstab("place", name, method="mle")
            np.testing.assert_allclose(found.counts.sum(axis=1), [400, 1])


def test_intervals_hold_the_truth_about_as_often_as_they_say(people):
    """Ten draws of six two-way tables, 80 cells a draw: the mean coverage of 90 % intervals."""
    held = []
    for seed in range(10):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = kk.perturb(people, kk.calibrate(SCHEMA, n=9_000, k=10, tell=2), seed=seed)
        for columns in (("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")):
            found = release.crosstab(*columns)
            true = truth(people, found)
            held.append(((found.low <= true) & (true <= found.high)).ravel())
    assert 0.87 <= np.concatenate(held).mean() <= 0.97


def test_a_count_is_that_of_its_cells(release):
    table = release.crosstab("a", "d")
    count = release.count("a == 'a0' and d == 'd1'")
    assert float(count.counts) == pytest.approx(table.counts[0, 1], rel=1e-6)
    several = release.count("a in ['a0', 'a1'] and d == 'd1'")
    assert float(several.counts) == pytest.approx(table.counts[:2, 1].sum(), rel=1e-6)


def test_estimators_of_one_table_need_a_tell_that_holds_it(release):
    for method in ("ibt", "mle", "inverse", "simplex", "shrink"):
        found = release.crosstab("a", "d", method=method)
        assert found.counts.sum() == pytest.approx(N, rel=1e-6)
    with pytest.raises(SchemaError, match="no record tells 'a' and 'b' and 'd' together"):
        release.crosstab("a", "b", "d", method="mle")
    with pytest.raises(SchemaError, match="what made-up records could do"):
        release.crosstab("a", "b", "d", fakes=0.01)


def test_the_inverse_is_unbiased_for_the_whole_table(people):
    """The mean of 40 draws lies within five standard errors of the truth in every cell."""
    plan = kk.calibrate(SCHEMA, n=9_000, k=10, tell=2)
    found = []
    for seed in range(40):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(kk.perturb(people, plan, seed=seed).crosstab("a", "b", method="inverse"))
    true = truth(people, found[0])
    draws = np.stack([one.counts for one in found])
    errors = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - true) < 5 * errors).all()


def test_the_same_release_gives_the_same_answer(release):
    again = kk.Release(release.table, release.manifest)
    np.testing.assert_allclose(again.crosstab("a", "b", "d").counts, release.crosstab("a", "b", "d").counts)


def test_a_release_on_disk_answers_as_one_in_memory(release, tmp_path, monkeypatch):
    import kakuran.release.release

    release.save(tmp_path / "out.parquet")
    monkeypatch.setattr(kakuran.release.release, "ROWS_IN_MEMORY", 1)
    streamed = kk.read_release(tmp_path / "out.parquet")
    np.testing.assert_allclose(streamed.crosstab("a", "d").counts, release.crosstab("a", "d").counts)


def test_a_tree_and_naive_bayes_learn_what_the_joint_model_knows(people, release):
    clean = np.array(people.column("c").to_pylist())
    majority = max((clean == value).mean() for value in ("c0", "c1"))
    for learned in (release.tree("c"), release.bayes("c")):
        assert (learned.predict(people) == clean).mean() > majority + 0.02


def test_records_that_tell_some_columns_only_are_not_classified(release):
    with pytest.raises(SchemaError, match="cannot be classified one by one"):
        release.tree("c").predict(release.table, release.plan)


def test_columns_that_tell_nothing_of_each_other_are_told_apart_from_those_that_do():
    dice = np.random.default_rng(2)
    n = 20_000
    table = pa.table({name: dice.choice([f"{name}0", f"{name}1"], n) for name in "xyz"})
    schema = kk.Schema([kk.Categorical(name, [f"{name}0", f"{name}1"]) for name in "xyz"])
    release = kk.perturb(table, kk.calibrate(schema, n=n, k=10, tell=2))
    found = release.crosstab("x", "y").counts
    expected = np.outer(found.sum(axis=1), found.sum(axis=0)) / found.sum()
    assert np.abs(found - expected).max() < 0.01 * n


def test_how_columns_go_together_that_nobody_tells_together_is_left_open(people):
    release = kk.perturb(people, kk.calibrate(SCHEMA, n=9_000, k=10, tell=1))
    found = release.crosstab("a", "d")
    assert found.rests_on == "model"
    assert (found.low == 0).all()
    true = truth(people, found)
    assert (true <= found.high * 1.1).all()
    margins = release.crosstab("a").counts
    np.testing.assert_allclose(found.high.max(axis=1), np.minimum(margins, found.high.max()), rtol=0.05)


@pytest.mark.parametrize(
    "ask",
    [
        lambda release: release.mean("age", by="job"),
        lambda release: release.variance("age", where="sex == 'female'"),
        lambda release: release.quantile("age", 0.5, by="job"),
        lambda release: release.share("sex == 'female'", by="job"),
        lambda release: release.correlation("job", "sex"),
        lambda release: release.regress("age ~ sex"),
    ],
)
def test_nothing_is_said_of_columns_that_nobody_tells_together(ask):
    plan = kk.calibrate(census_schema(), n=2_000, k=10, tell=1)
    release = kk.perturb(census(2_000), plan)
    with pytest.raises(SchemaError, match=r"no record tells .* together, so nothing shows how they go together.*about"):
        ask(release)


def test_what_is_told_of_a_regression_that_a_release_cannot_answer_leads_to_one_that_can():
    """A release about the target tells its pairs alone; one about a predictor would lack others."""
    schema, people, formula = census_schema(), census(2_000), "sex ~ age + job"
    with pytest.raises(SchemaError, match=r"tell any two of them \(tell = 3, or tell = 2 and about nothing\)"):
        kk.perturb(people, kk.calibrate(schema, n=2_000, k=10, tell=2, about="sex")).regress(formula)
    for wish in ({"tell": 3, "about": "sex"}, {"tell": 2}):
        assert kk.perturb(people, kk.calibrate(schema, n=2_000, k=10, **wish)).regress(formula).errors.all()


@pytest.mark.parametrize("columns", [("job", "sex"), ("age", "job"), ("job", "sex", "age")])
def test_counts_of_several_columns_lie_inside_their_own_intervals_and_these_hold(columns):
    people = census(20_000)
    plan, held = kk.calibrate(census_schema(), n=people.num_rows, k=10, tell=2), []
    for seed in range(3):
        with pytest.warns(kk.NotForPublicationWarning):
            release = kk.perturb(people, plan, seed=seed)
        found = release.crosstab(*columns, bins={"age": 6} if "age" in columns else None)
        truth = Tally.of(census_schema().encode(people), found.axes).counts
        assert (found.counts < found.high).all()
        assert ((found.low < found.counts) | (found.low == 0)).all()
        held.append((found.low <= truth) & (truth <= found.high))
        wide = release.crosstab(*columns, bins={"age": 6} if "age" in columns else None, level=0.99)
        np.testing.assert_array_equal(wide.counts, found.counts)
        assert (wide.low <= found.low).all()
        assert (wide.high >= found.high).all()
    assert np.mean(held) > 0.85
