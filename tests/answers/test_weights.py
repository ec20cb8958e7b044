"""Estimates by weights: how many people records stand for, from classes that are kept or perturbed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.formula.api as smf
from statsmodels.genmod import families

import kakuran as kk
from kakuran.answers.tree import columns as columns_module
from kakuran.errors import DataError, SchemaError, UnclearCellsWarning
from kakuran.mechanism import RetentionReplacement

CLASSES = [0, 50, 100, 200, 400]
OTHERS = [
    kk.Categorical("job", ["clerk", "nurse", "smith"]),
    kk.Categorical("sex", ["female", "male"]),
    kk.Numeric("age", 0, 99, step=1),
]
N = 12_000
LEVEL = 1 - 1e-4
"""How often each of the intervals below holds the truth: about one false alarm in 500 runs of all, were they exact."""


@pytest.fixture(scope="module")
def people():
    """Nurses weigh more than clerks, and are older."""
    dice = np.random.default_rng(8)
    job = dice.choice(3, N, p=[0.5, 0.3, 0.2])
    return pa.table(
        {
            "weight": np.where(job == 0, dice.uniform(5, 100, N), dice.uniform(50, 400, N)),
            "job": np.array(OTHERS[0].values)[job],
            "sex": dice.choice(OTHERS[1].values, N),
            "age": np.clip(dice.normal(40 + 15 * (job == 1), 10, N).round(), 0, 99),
        }
    )


@pytest.fixture(scope="module")
def truth(people):
    """The table with the number that stands for each record's class."""
    weight = kk.Weight("weight", CLASSES)
    frame = people.to_pandas()
    return frame.assign(weight=np.array(weight.values)[kk.Schema([weight]).encode(people.select(["weight"]))["weight"]])


@pytest.fixture(scope="module", params=["kept", "perturbed"])
def release(request, people):
    schema = kk.Schema([kk.Weight("weight", CLASSES, perturb=request.param == "perturbed"), *OTHERS])
    return kk.perturb(people, kk.calibrate(schema, data=people, k=3, calibration="worst-case", tell=2))


def held(found, true):
    return bool(((found.low <= true) & (true <= found.high)).all())


def test_counts_are_of_the_people_that_records_stand_for(release, truth):
    one, two = release.crosstab("job", level=LEVEL), release.crosstab("job", "sex", level=LEVEL)
    sums = truth.groupby(["job", "sex"])["weight"].sum().to_numpy().reshape(3, 2)
    assert held(one, sums.sum(axis=1)), one
    assert not held(one, truth.groupby("job").size().to_numpy())
    assert np.abs(two.counts - sums).sum() / sums.sum() < 0.2
    assert held(release.count("job == 'nurse'", level=LEVEL), sums[1].sum())
    assert one.unit == "records, weighed by weight, for which the middles of its classes stand"


def test_totals_and_percentages_are_weighed_too(release, truth):
    found = release.crosstab("job", "sex", percent="all", level=LEVEL)
    of_job, of_sex, whole = found.totals
    assert held(of_sex, truth.groupby("sex")["weight"].sum().to_numpy())
    assert held(whole, truth["weight"].sum())
    assert found.to_pandas()["percent"].loc[("total", "total")] == pytest.approx(100)
    assert of_job.counts == pytest.approx(release.crosstab("job").counts)


def test_means_and_shares_are_weighed(release, truth):
    mean, share = release.mean("age", level=LEVEL), release.share("job == 'clerk'", level=LEVEL)
    assert held(mean, np.average(truth["age"], weights=truth["weight"]))
    assert held(share, np.average(truth["job"] == "clerk", weights=truth["weight"]))
    assert not held(share, (truth["job"] == "clerk").mean())
    assert share.to_dict()["unit"] == "records, weighed by weight"


def test_records_can_be_counted_once_each(release, truth):
    found = release.crosstab("job", weights=False, level=LEVEL)
    assert held(found, truth.groupby("job").size().to_numpy())
    assert found.unit == release.quantile("age", weights=False).unit == "records, not weighed"
    with pytest.raises(SchemaError, match="ask with weights=False"):
        release.correlation("job", "sex")
    assert release.correlation("job", "sex", weights=False).unit == "records, not weighed"
    assert release.regress("age ~ sex", weights=False).unit == "records, not weighed"


def test_what_cannot_weigh_records_is_refused_where_a_weight_is_declared(release):
    with pytest.raises(
        SchemaError, match=r"mixture does not weigh records by 'weight'; crosstab, .* do\. .*weights=False"
    ):
        release.mixture("age")


@pytest.fixture(scope="module", params=["all", 2])
def kept(request, people):
    schema = kk.Schema([kk.Weight("weight", CLASSES), *OTHERS])
    return kk.perturb(people, kk.calibrate(schema, data=people, k=3, calibration="worst-case", tell=request.param))


@pytest.fixture(scope="module")
def clerks(people, truth):
    """The same people, of whom it is told whether they are clerks: half of the records, and a fifth of all people."""
    clerk, years = truth["job"] == "clerk", kk.Numeric("age", 0, 9, step=1)
    frame = truth.assign(clerk=np.where(clerk, "yes", "no"), age=truth["age"] // 10).drop(columns="job")
    schema = kk.Schema([kk.Weight("weight", CLASSES), kk.Categorical("clerk", ["no", "yes"]), OTHERS[1], years])
    return pa.Table.from_pandas(frame, preserve_index=False), schema, frame


class TestClassByClass:
    """What is weighed by kept weights alone; by perturbed ones nobody knows of which class a record is."""

    def test_quantiles_are_weighed(self, kept, truth):
        found = kept.quantile("age", 0.5, level=LEVEL)
        assert held_within(found, weighed_quantile(truth, 0.5), 0.5)
        assert found.unit == "records, weighed by weight"
        assert abs(found.estimates - weighed_quantile(truth, 0.5)) < 3.5

    def test_quantiles_of_groups_are_weighed(self, kept, truth):
        groups = [group for _, group in truth.groupby("job")]
        found = kept.quantile("age", 0.5, by="job", level=LEVEL)
        assert held_within(found, np.array([weighed_quantile(group, 0.5) for group in groups]), 0.5)

    def test_densities_are_weighed(self, kept, truth, rough_models):
        found = kept.density("age", bins=[0, 30, 40, 50, 60])
        shares = np.histogram(truth["age"], [0, 30, 40, 50, 60, 100], weights=truth["weight"])[0]
        plain = np.histogram(truth["age"], [0, 30, 40, 50, 60, 100])[0] / N
        shares = shares / shares.sum()
        assert found.shares.sum() == pytest.approx(1)
        assert (found.low <= found.shares).all()
        assert (found.shares <= found.high).all()
        assert np.abs(found.shares - shares).sum() < 0.25
        assert ((found.low - 0.03 <= shares) & (shares <= found.high + 0.03)).all(), (shares, plain, found)

    def test_regressions_are_weighed(self, kept, truth):
        predictors = np.column_stack([np.ones(N), truth["job"] == "nurse", truth["job"] == "smith"]).astype(float)
        weighed = predictors.T * truth["weight"].to_numpy()
        true = np.linalg.solve(weighed @ predictors, weighed @ truth["age"].to_numpy())
        found = kept.regress("age ~ job", level=LEVEL)
        assert ((found.low[0] <= true) & (true <= found.high[0])).all()
        assert found.unit == "records, weighed by weight"

    @pytest.mark.parametrize("tell", ["all", 2])
    def test_logistic_regressions_are_weighed(self, clerks, tell):
        table, schema, frame = clerks
        plan = kk.calibrate(schema, data=table, k=3, calibration="worst-case", tell=tell)
        found = kk.perturb(table, plan).regress("clerk ~ sex", level=LEVEL)
        assert held(found, weighed_fit("clerk ~ sex", frame, frame["weight"])[0].to_numpy())
        assert not held(found, weighed_fit("clerk ~ sex", frame, np.ones(N))[0].to_numpy())
        assert found.unit == "records, weighed by weight"

    @pytest.mark.parametrize(("formula", "wider"), [("clerk ~ sex + age", 1.1), ("age ~ sex + clerk", 1.0)])
    def test_without_noise_regressions_are_those_of_weighed_scores_with_their_sandwich(self, clerks, formula, wider):
        """But for the model that logistic ones are fitted to, and the tenth by which their variances are widened."""
        table, schema, frame = clerks
        release = kk.perturb(table, retaining(schema))
        found, (true, errors) = release.regress(formula), weighed_fit(formula, frame, frame["weight"])
        np.testing.assert_allclose(found.centres[0], true[[*found.names]], atol=0.01)
        np.testing.assert_allclose(found.errors[0], np.sqrt(wider) * errors[[*found.names]], rtol=0.02)

    def test_weights_that_all_are_the_same_change_next_to_nothing(self, people):
        """A regression on the counts of one class is that on the counts of all."""
        same = people.set_column(0, "weight", pa.array(np.full(N, 30.0)))
        schema = kk.Schema([kk.Weight("weight", CLASSES), *OTHERS])
        release = kk.perturb(same, kk.calibrate(schema, n=N, k=3))
        plain = release.regress("age ~ sex + job", weights=False)
        assert release.regress("age ~ sex + job").coefficients == pytest.approx(plain.coefficients)
        assert release.quantile("age").estimates == release.quantile("age", weights=False).estimates
        found, plain_density = (release.density("age", bins=5, method="ibt", weights=some) for some in (None, False))
        assert found.shares == pytest.approx(plain_density.shares)
        trees = (release.tree("sex", features=["job", "age"], weights=some, method="inverse") for some in (None, False))
        weighed, once = (tree.learned for tree in trees)
        assert weighed.probabilities == pytest.approx(once.probabilities)
        assert weighed.root.counts == pytest.approx(25 * once.root.counts)

    @pytest.mark.parametrize(
        ("asked", "of"),
        [("quantile", "age"), ("density", "age"), ("regress", "age ~ sex"), ("tree", "sex"), ("bayes", "sex")],
    )
    def test_perturbed_weights_are_refused(self, people, asked, of):
        schema = kk.Schema([kk.Weight("weight", CLASSES, perturb=True), *OTHERS])
        release = kk.perturb(people, kk.calibrate(schema, n=N, k=3))
        with pytest.raises(SchemaError, match=r"the weight 'weight' was perturbed, .* say weights=False"):
            getattr(release, asked)(of)


@pytest.fixture(scope="module", params=["unchanged", "noisy", "tells"])
def telling(request, clerks):
    table, schema, _ = clerks
    if request.param == "tells":
        return kk.perturb(table, kk.calibrate(schema, data=table, k=1.5, calibration="worst-case", tell=2))
    return kk.perturb(table, retaining(schema, 1.0 if request.param == "unchanged" else 0.7))


class TestLearners:
    """Who is a clerk: two thirds of the records of people in their thirties, and less than a third of the people.

    Shares are within 0.03 of that, so that 0.17 is missed less than once in 10⁵ runs.
    """

    @pytest.mark.parametrize(("asked", "method"), [("tree", "auto"), ("tree", "inverse"), ("bayes", "auto")])
    def test_predictions_are_about_people_and_not_records(self, telling, clerks, asked, method):
        _, _, frame = clerks
        young = pa.table({"age": [3.0], "sex": ["female"]})
        shares = [
            np.average(frame["clerk"] == "yes", weights=weights * (frame["age"] == 3))
            for weights in (frame["weight"], np.ones(N))
        ]
        found = getattr(telling, asked)("clerk", method=method)
        by_people = found.predict_proba(young)[0, 1]
        by_records = getattr(telling, asked)("clerk", method=method, weights=False, features=["sex", "age"])
        assert by_people == pytest.approx(shares[0], abs=0.17)
        assert by_records.predict_proba(young)[0, 1] - by_people > (shares[1] - shares[0]) / 2
        assert found.unit == found.to_dict()["unit"] == "records, weighed by weight"
        assert "counted in records, weighed by weight" in str(found)
        assert found.columns.features == ["sex", "age"]

    def test_leaves_hold_as_many_people_as_records_stand_for(self, telling, clerks):
        total = clerks[2]["weight"].sum()
        assert telling.tree("clerk").to_arrow()["records"].to_numpy().sum() == pytest.approx(total)

    def test_scikit_learn_has_the_same_answer(self, clerks):
        release = kk.perturb(clerks[0], retaining(clerks[1]))
        for weights in (None, False):
            found = kk.ReconstructedNaiveBayes().fit(release, target="clerk", weights=weights).answer_
            assert found.to_dict() == release.bayes("clerk", weights=weights).to_dict()

    def test_what_weighs_is_not_learned_from(self, clerks):
        release = kk.perturb(clerks[0], retaining(clerks[1]))
        with pytest.raises(SchemaError, match=r"'weight' weighs the records, .* weights=False"):
            release.bayes("clerk", features=["weight", "sex"])

    def test_records_that_do_not_fit_in_memory_are_counted_by_their_weights_too(self, clerks, monkeypatch):
        release = kk.perturb(clerks[0], retaining(clerks[1]))
        at_once = release.tree("clerk", method="inverse")
        monkeypatch.setattr(columns_module, "MOST_DISTINCT", 0)
        in_passes = release.tree("clerk", method="inverse")
        assert str(in_passes) == str(at_once)
        assert in_passes.held_out == pytest.approx(at_once.held_out)


def retaining(schema, retention=1.0):
    """A plan by which so many values of each column stay as they are."""
    mechanisms = {one.name: RetentionReplacement.of(one, {"retention": retention}) for one in schema.perturbed}
    return kk.Plan.of_mechanisms(schema, mechanisms, 1, 1, "worst-case")


def test_a_split_has_to_stand_out_among_as_many_records_as_weights_leave():
    """One in twenty stands for nearly everybody: what they say by chance is not grown from, as (Σw)²/Σw² forbids."""
    dice = np.random.default_rng(4)
    n, heavy = 4_000, np.arange(4_000) < 60
    columns = [kk.Categorical("clerk", ["no", "yes"]), kk.Categorical("sex", ["female", "male"])]
    schema = kk.Schema([kk.Weight("weight", [0, 10, 2_000]), *columns])
    table = {"weight": np.where(heavy, 1_000, 1), "clerk": dice.integers(0, 2, n), "sex": dice.integers(0, 2, n)}
    table |= {one.name: np.array(one.values)[table[one.name]] for one in columns}
    release = kk.perturb(pa.table(table), retaining(schema))
    assert release.tree("clerk", min_support=40).root.children is None
    assert release.tree("clerk", min_support=40).root.counts.sum() == pytest.approx(60 * 1_005 + 3_940 * 5)


def weighed_fit(formula, frame, weights):
    """The coefficients of statsmodels, and the roots of A⁻¹(Σw²ssᵀ)A⁻¹, with s the score of a record."""
    family = families.Gaussian() if formula.startswith("age") else families.Binomial()
    frame = frame.assign(clerk=(frame["clerk"] == "yes").astype(int)) if formula.startswith("clerk") else frame
    weights = np.asarray(weights, float)
    found = smf.glm(formula, frame, family=family, freq_weights=weights).fit()
    matrix, spread = found.model.exog, family.variance(np.asarray(found.mu))
    scores = matrix * (weights * np.asarray(found.resid_response))[:, None]
    bread = np.linalg.inv((matrix.T * (weights * spread)) @ matrix)
    return found.params, pd.Series(np.sqrt(np.diag(bread @ scores.T @ scores @ bread)), found.params.index)


def weighed_quantile(frame, part):
    ordered = frame.sort_values("age")
    below = ordered["weight"].cumsum() / ordered["weight"].sum()
    return ordered["age"].to_numpy()[np.searchsorted(below, part)]


def held_within(found, true, half):
    """Held by an interval, if a whole number stands for all that are rounded to it."""
    return bool(((found.low - half <= true) & (true <= found.high + half)).all())


@pytest.fixture(scope="module")
def survey():
    """Weights that lie where they do in a labour force survey: at 120, 220 and 360 on average of three classes."""
    dice, n = np.random.default_rng(4), 20_000
    region = dice.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    place = (dice.random(n)[:, None] > np.array([[0.35, 0.65], [0.25, 0.55], [0.2, 0.5], [0.15, 0.55]])[region]).sum(1)
    weight = np.array([120, 220, 360])[place] + dice.uniform(-1, 1, n) * np.array([70, 15, 50])[place]
    return pa.table({"weight": weight, "region": np.array([*"abcd"])[region], "sex": dice.choice(["f", "m"], n)})


def surveyed(survey, **settings):
    columns = [kk.Categorical("region", [*"abcd"]), kk.Categorical("sex", ["f", "m"])]
    schema = kk.Schema([kk.Weight("weight", [0, 200, 300, 500], **settings), *columns])
    plan = kk.calibrate(schema, data=survey, k=2, calibration="worst-case", tell="all")
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(survey, plan, seed=6)


@pytest.mark.parametrize("perturb", [False, True])
def test_weighed_counts_are_raked_to_the_total_that_the_schema_states(survey, perturb):
    """By the middles of classes they are 8 % too many, and intervals know nothing of it."""
    sums = survey.to_pandas().groupby("region")["weight"].sum().to_numpy()
    total = round(sums.sum(), -4)
    release = surveyed(survey, total=total, perturb=perturb)
    found = release.crosstab("region", "sex", level=LEVEL, totals=True)
    of_region, _, whole = found.totals
    assert held(of_region, sums)
    assert [whole.counts, whole.low, whole.high, found.counts.sum()] == pytest.approx([total] * 4)
    assert found.unit == "records, weighed by weight"
    one = release.count("region == 'b'", level=LEVEL)
    told = [of_region.counts[1], of_region.low[1], of_region.high[1]]
    assert [one.counts, one.low, one.high] == pytest.approx(told, rel=1e-4)
    guessed = surveyed(survey, perturb=perturb).crosstab("region", level=LEVEL)
    assert guessed.counts.sum() > 1.07 * total
    assert not held(guessed, sums)
    assert "for which the middles of its classes stand" in guessed.caption


def test_leaves_add_up_to_the_total_that_the_schema_states(survey, rough_models):
    leaves = surveyed(survey, total=5_000_000).tree("sex", features=["region"]).root.leaves()
    assert sum(leaf.counts.sum() for leaf in leaves) == pytest.approx(5_000_000)


def test_what_is_not_known_of_weighed_counts_is_refused(release):
    with pytest.raises(SchemaError, match="count every record once with weights=False"):
        release.crosstab("job", fakes=0.01)
    with pytest.raises(SchemaError, match="count every record once with weights=False"):
        release.count("job == 'nurse'", method="inverse")


def test_the_model_is_weighed_by_kept_numbers_as_they_are(people, truth):
    """And not by how far they lie from the middle of their range, of which the share would be 0.1 where it is 0.43."""
    weight = kk.Numeric("weight", 0, 400, step=100, role="keep")
    plan = kk.calibrate(kk.Schema([weight, *OTHERS]), data=people, k=3, calibration="worst-case", tell=1)
    found = kk.perturb(people, plan).share("age >= 50", weights="weight")
    assert found.rests_on == "model"
    assert found.estimates == pytest.approx(np.average(truth["age"] >= 50, weights=truth["weight"]), abs=0.15)
    assert found.unit == "records, weighed by weight"


def test_a_weight_that_hides_the_answer_warns(people):
    schema = kk.Schema([kk.Weight("weight", CLASSES, perturb=True), *OTHERS])
    few = people.slice(0, 60)
    release = kk.perturb(few, kk.calibrate(schema, n=60, k=40, tell=2))
    with pytest.warns(UnclearCellsWarning, match="cannot be told from noise"):
        release.crosstab("job", "sex")


def test_people_hide_among_those_of_their_class_unless_it_is_perturbed(people):
    kept, perturbed = (kk.Schema([kk.Weight("weight", CLASSES, perturb=some), *OTHERS]) for some in (False, True))
    smallest = np.histogram(people["weight"].to_numpy(), CLASSES)[0].min()
    assert kk.calibrate(kept, data=people, k=3, calibration="worst-case").n == smallest
    assert kk.calibrate(perturbed, data=people, k=3, calibration="worst-case").n == N


def test_no_weight_is_released_but_the_number_of_its_class(release):
    assert set(release.table["weight"].unique().drop_null().to_pylist()) <= {25.0, 75.0, 150.0, 300.0}


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_release_reads_back_with_its_weight(release, tmp_path, suffix):
    release.save(tmp_path / f"out{suffix}")
    again = kk.read_release(tmp_path / f"out{suffix}")
    assert again.plan.schema.weight == release.plan.schema.weight
    assert again.crosstab("job").counts == pytest.approx(release.crosstab("job").counts)


def test_the_schema_is_written_down_and_read_back(tmp_path):
    for weight in (kk.Weight("w", [1, 2, 5]), kk.Weight("w", [0, 0.5, 9], [0.4, 2], total=1e6, perturb=True)):
        schema = kk.Schema([weight, *OTHERS])
        schema.save(tmp_path / "schema.toml")
        assert kk.Schema.load(tmp_path / "schema.toml") == schema
        assert 'role = "weight"' in (tmp_path / "schema.toml").read_text()


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (lambda: kk.Weight("w", [0, 5, 5]), "each above the one before"),
        (lambda: kk.Weight("w", [-1, 5]), "from 0 on"),
        (lambda: kk.Weight("w", [3]), "two or more numbers"),
        (lambda: kk.Weight("w", "0, 5"), "must be a list of numbers"),
        (lambda: kk.Weight("w", [0, 5, 9], [1, 2]), "a number in each of its classes"),
        (lambda: kk.Weight("w", [0, 5, 9], [1]), "a number in each of its classes"),
        (lambda: kk.Weight("w", [0, 5], perturb="yes"), "true or false"),
        (lambda: kk.Weight("w", [0, 5], total=0), "total must be a number of people, got 0"),
        (lambda: kk.Weight("w", [0, 5], total="many"), "total must be a finite number"),
        (lambda: kk.Schema([kk.Weight("w", [0, 5]), kk.Weight("v", [0, 5])]), "a record has one weight"),
        (lambda: kk.Schema.from_dict({"w": {"role": "weight"}}), "classes"),
    ],
)
def test_a_weight_that_cannot_be_meant_is_refused(made, problem):
    with pytest.raises(SchemaError, match=problem):
        made()


def test_weights_outside_their_classes_are_refused():
    schema = kk.Schema([kk.Weight("w", [1, 5])])
    assert schema.encode(pa.table({"w": [1, 5, 2.5]}))["w"].tolist() == [0, 0, 0]
    with pytest.raises(DataError, match="'w': 2 rows without a weight from 1 to 5, for example 0"):
        schema.encode(pa.table({"w": [0.0, 3.0, None]}))
    with pytest.raises(DataError, match="'w': is a weight, but holds text"):
        schema.encode(pa.table({"w": ["3"]}))
