"""Regressions on perturbed records: those of the true ones, as near and as sure as they say."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.formula.api as smf
from statsmodels.discrete.discrete_model import Logit
from statsmodels.tools.tools import add_constant

import kakuran as kk
from kakuran.answers.formula import ModelFormula
from kakuran.errors import SchemaError
from kakuran.mechanism import RetentionReplacement
from kakuran.release.streamed import FileRecords
from kakuran.words import width_of, words_in

N = 20_000
SCHEMA = kk.Schema(
    [
        kk.Numeric("hours", 0, 80, step=1),
        kk.Numeric("age", 20, 60, step=1),
        kk.Categorical("sex", ["f", "m"]),
        kk.Categorical("job", ["clerk", "nurse", "smith"]),
        kk.Categorical("ill", ["no", "yes"]),
        kk.Numeric("visits", 0, 12, step=1),
        kk.Dropped("name"),
    ]
)
ORDINARY = "hours ~ age + sex + job"


def made_up(n: int = N) -> pd.DataFrame:
    dice = np.random.default_rng(2)
    sex, job = dice.integers(0, 2, n), dice.choice(3, n, p=[0.5, 0.3, 0.2])
    age = dice.integers(20, 61, n)
    hours = np.clip(np.round(10 + 0.5 * age + 8 * sex - 4 * job + dice.normal(0, 8, n)), 0, 80)
    risk = 1 / (1 + np.exp(3 - 0.06 * age - sex))
    return pd.DataFrame(
        {
            "hours": hours,
            "age": age,
            "sex": np.array(["f", "m"])[sex],
            "job": np.array(["clerk", "nurse", "smith"])[job],
            "ill": np.where(dice.random(n) < risk, "yes", "no"),
            "visits": np.minimum(dice.poisson(np.exp(-1 + 0.03 * age)), 12),
            "name": "somebody",
        }
    )


def release_of(frame, k=2.0, columns=None, tell=2):
    schema = SCHEMA if columns is None else kk.Schema([SCHEMA[name] for name in columns])
    table = pa.Table.from_pandas(frame[list(schema.names)], preserve_index=False)
    return kk.perturb(table, kk.calibrate(schema, n=len(frame), k=k, tell=tell))


@pytest.fixture(scope="module")
def people():
    return made_up()


@pytest.fixture(scope="module")
def pairs(people):
    return release_of(people, columns=["hours", "age", "sex", "job", "ill"])


@pytest.fixture(scope="module")
def unchanged(people):
    """A release by mechanisms that leave everything as it is."""
    mechanisms = {one.name: RetentionReplacement.of(one, {"retention": 1.0}) for one in SCHEMA.perturbed}
    table = pa.Table.from_pandas(people, preserve_index=False)
    return kk.perturb(table, kk.Plan.of_mechanisms(SCHEMA, mechanisms, 1, 1, "worst-case"))


def test_without_noise_least_squares_is_that_of_statsmodels(people, unchanged):
    found, clean = unchanged.regress(ORDINARY), smf.ols(ORDINARY, people).fit()
    assert found.rests_on == "counts"
    np.testing.assert_allclose(found.coefficients[0], clean.params[[*found.names]], rtol=1e-6)
    np.testing.assert_allclose(found.errors[0], clean.bse[[*found.names]], rtol=0.05)
    assert found.explained == pytest.approx(clean.rsquared, rel=1e-6)
    assert found.predict(people.head(5)) == pytest.approx(clean.predict(people.head(5)).to_numpy(), rel=1e-6)
    np.testing.assert_allclose(unchanged.regress(ORDINARY, about="table").errors, 0, atol=0.05)
    curved = unchanged.regress("hours ~ age + I(age**2) + sex")
    clean = smf.ols("hours ~ sex + age + I(age**2)", people).fit().params.to_numpy()
    np.testing.assert_allclose(curved.coefficients[0], clean[[0, 2, 3, 1]], rtol=1e-5)


def test_intervals_of_least_squares_hold_the_clean_coefficients_about_as_often_as_they_say(people):
    # 12 draws of 5 coefficients, taken as 30 independent ones: fewer than 60 % hold by chance once in 10⁵ runs.
    clean, held, nearer = smf.ols(ORDINARY, people).fit().params, [], []
    for _ in range(12):
        found = release_of(people, columns=["hours", "age", "sex", "job"]).regress(ORDINARY, about="table")
        clean = clean[[*found.names]]
        held.append((found.low[0] <= clean) & (clean <= found.high[0]))
        nearer.append(np.abs(found.coefficients[0] - clean) < np.abs(found.naive[0] - clean))
    assert np.mean(held) > 0.6
    assert np.mean(nearer) > 0.5


def test_a_target_of_two_categories_is_fitted_by_a_logistic_regression(people, pairs):
    found = pairs.regress("ill ~ age + sex")
    matrix = add_constant(np.column_stack([people["sex"] == "m", people["age"]]).astype(float))
    clean = Logit(people["ill"] == "yes", matrix).fit(disp=0)
    assert (found.family, found.rests_on, found.outcomes) == ("logistic", "model", ("yes",))
    true = clean.params.to_numpy()[[0, 2, 1]]
    assert (np.abs(found.coefficients[0] - true) <= 6 * found.errors[0] + 0.05).all()
    assert found.coefficients[0][1:] == pytest.approx(true[1:], rel=0.5)
    chances = found.predict(people.head(100))
    assert ((chances > 0) & (chances < 1)).all()
    assert np.corrcoef(chances, clean.predict(matrix[:100]))[0, 1] > 0.97


def test_without_noise_other_regressions_are_those_of_statsmodels(people):
    schema = kk.Schema([SCHEMA[name] for name in ("sex", "job", "ill")])
    mechanisms = {one.name: RetentionReplacement.of(one, {"retention": 1.0}) for one in schema.perturbed}
    table = pa.Table.from_pandas(people[["sex", "job", "ill"]], preserve_index=False)
    release = kk.perturb(table, kk.Plan.of_mechanisms(schema, mechanisms, 1, 1, "worst-case"))
    frame = people.assign(y=(people["ill"] == "yes").astype(int), j=people["job"].astype("category").cat.codes)
    logistic = smf.logit("y ~ sex + job", frame).fit(disp=0)
    found = release.regress("ill ~ sex + job")
    np.testing.assert_allclose(found.coefficients[0], logistic.params, atol=0.03)
    np.testing.assert_allclose(found.errors[0], logistic.bse, rtol=0.2)
    several = smf.mnlogit("j ~ sex + ill", frame).fit(disp=0)
    multinomial = release.regress("job ~ sex + ill")
    assert multinomial.outcomes == ("nurse", "smith")
    np.testing.assert_allclose(multinomial.coefficients, several.params.T, atol=0.03)
    assert multinomial.predict(people.head(3)).sum(axis=1) == pytest.approx(1)


def test_a_count_is_fitted_by_a_poisson_regression_if_asked(people):
    release = release_of(people, columns=["visits", "age"])
    found = release.regress("visits ~ age", family="poisson")
    clean = smf.poisson("visits ~ age", people).fit(disp=0).params.to_numpy()
    assert found.family == "poisson"
    assert (np.abs(found.coefficients[0] - clean) <= 5 * found.errors[0] + 0.02).all()
    assert (found.predict(people.head(3)) > 0).all()


def test_products_of_columns_rest_on_the_model(people, pairs):
    found = pairs.regress("hours ~ age * sex")
    assert found.rests_on == "model"
    assert found.names[-1] == "age:sex[T.m]"


def test_a_model_draws_coefficients_to_itself_and_intervals_reach_from_what_tells_say_to_there(pairs):
    found = pairs.regress("hours ~ age * sex", level=0.2)
    assert not np.allclose(found.coefficients, found.centres)
    assert (np.abs(found.coefficients - found.centres) <= 3 * found.errors * (1 + 1e-9)).all()
    reach = 0.2533471 * found.errors
    np.testing.assert_allclose(found.low, np.minimum(found.centres - reach, found.coefficients), rtol=1e-6)
    np.testing.assert_allclose(found.high, np.maximum(found.centres + reach, found.coefficients), rtol=1e-6)
    assert ((found.low == found.coefficients) | (found.high == found.coefficients)).any()


def test_least_squares_takes_smooth_tables_where_inverting_leaves_far_more_noise(people):
    dice = np.random.default_rng(4)
    age = np.clip(np.round(dice.normal(40, 5, N)), 20, 60)
    bunched = people.assign(age=age, hours=np.clip(np.round(0.8 * age + dice.normal(8, 5, N)), 0, 80))
    release = release_of(bunched, k=10, columns=["hours", "age", "sex", "job", "ill"])
    found, clean = release.regress("hours ~ age"), smf.ols("hours ~ age", bunched).fit().params
    assert (found.rests_on, "smooth tables" in found.reason) == ("counts", True)
    # Five standard errors: a false alarm once in 10⁶ runs.
    assert (np.abs(found.coefficients[0] - clean[[*found.names]].to_numpy()) < 5 * found.errors[0]).all()


def test_a_file_answers_as_memory_does(pairs, tmp_path):
    pairs.save(tmp_path / "out.parquet")
    file = kk.Release(FileRecords.open(tmp_path / "out.parquet", pairs.manifest), pairs.manifest)
    one, other = pairs.regress(ORDINARY), file.regress(ORDINARY)
    np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=1e-9)
    np.testing.assert_allclose(one.errors, other.errors, rtol=1e-9)


def test_the_category_that_a_logistic_regression_predicts_is_named_wherever_it_is_shown(pairs):
    found = pairs.regress("ill ~ age + sex")
    assert found.outcomes == ("yes",)
    assert [row["outcome"] for row in found.to_dict()["coefficients"]] == ["yes"] * len(found.names)
    assert found.to_arrow().column_names[:2] == ["outcome", "coefficient"]
    assert [row[0] for row in found.rows()] == [f"yes: {name}" for name in found.names]
    assert "Compared with: no" in str(found)
    labels = [label.get_text() for axes in found.plot().axes for label in axes.get_yticklabels()]
    assert sorted(labels) == ["yes: age", "yes: sex[T.m]"]


@pytest.mark.parametrize("formula", ["hours ~ age", "ill ~ age"])
def test_a_summary_is_all_in_the_language_of_its_reader(pairs, formula):
    text = pairs.regress(formula).summary(words_in("ja").of)
    left = text.replace(formula, "").replace("age", "").replace("yes", "").replace("no", "")
    assert set(re.findall("[A-Za-z]{2,}", left)) == set()
    rules = {width_of(line) for line in text.splitlines() if set(line) in ({"="}, {"-"})}
    rows = {width_of(line) for line in text.splitlines()[4:] if set(line) not in ({"="}, {"-"})}
    assert rules == rows


def test_an_error_of_a_formula_tells_how_odd_names_are_written():
    schema = kk.Schema([kk.Categorical("marital status", ["a", "b"]), kk.Numeric("hours-worked", 0, 10, step=1)])
    for text in ("marital status ~ hours-worked", "`marital status` ~ hours-worked"):
        with pytest.raises(SchemaError, match=r"`(birth year|hours-worked)`"):
            ModelFormula.of(text, schema)


def test_a_summary_reads_as_statisticians_are_used_to(pairs):
    found = pairs.regress(ORDINARY)
    assert all(
        word in str(found) for word in ("coef", "std err", "P>|z|", "[0.05", "0.95]", "No. Observations: 20,000")
    )
    assert found.to_arrow().column_names == ["coefficient", "estimate", "error", "z", "p", "low", "high", "naive"]
    assert found.to_dict()["coefficients"][0]["coefficient"] == "Intercept"
    assert found.caption == f"{ORDINARY}: coefficients with 90 % intervals for this population"


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("hours ~ nothing", "'nothing', which is no column"),
        ("hours ~ name", "'name', which was dropped"),
        ("hours ~ age +* sex", "cannot read the formula"),
        ("~ age", "one column to explain"),
        ("hours", "one column to explain"),
        ("hours ~ age + hours", "cannot explain itself"),
        ("hours ~ age + I(2 * age)", "follows from the other terms"),
        ("hours ~ 1", "no column explains anything"),
        ("hours ~ age:sex", "stands only in products"),
        ("hours ~ bs(age)", "may use I, C, log, exp, sqrt"),
        ("hours ~ age.real", "columns, arithmetic"),
        ("hours ~ log(age - 20)", "no value for some numbers"),
    ],
)
def test_formulas_that_mean_nothing_are_refused_with_a_way_out(unchanged, formula, says):
    with pytest.raises(SchemaError) as refused:
        unchanged.regress(formula)
    assert says in str(refused.value)


def test_what_cannot_be_fitted_is_refused(people, unchanged):
    with pytest.raises(SchemaError, match="family is 'logistic'"):
        unchanged.regress("ill ~ age", family="poisson")
    with pytest.raises(SchemaError, match="is a number"):
        unchanged.regress("hours ~ age", family="logistic")
    with pytest.raises(SchemaError, match="level"):
        unchanged.regress("hours ~ age", level=2)
    schema = kk.Schema([kk.Categorical("one", ["only"], role="keep"), SCHEMA["age"]])
    lonely = pa.table({"one": ["only"] * 100, "age": people["age"][:100]})
    with pytest.raises(SchemaError, match="has one value"):
        kk.perturb(lonely, kk.calibrate(schema, n=100, k=2)).regress("one ~ age")
    with pytest.raises(SchemaError, match="no record tells 'hours' and 'age' together"):
        release_of(people, columns=["hours", "age"], tell=1).regress("hours ~ age")
