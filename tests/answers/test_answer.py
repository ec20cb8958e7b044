"""Whatever is asked of a release, the answer can do the same things."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.answers import ImpossibleFindings
from kakuran.release import Manifest

SCHEMA = kk.Schema(
    [
        kk.Categorical("ill", ["no", "yes"]),
        kk.Categorical("smokes", ["no", "yes <b>"]),
        kk.Numeric("age", 0, 79, step=1),
    ]
)
ROWS = 6_000


@pytest.fixture(scope="module")
def people():
    dice = np.random.default_rng(1)
    smokes = dice.random(ROWS) < 0.4
    ill = smokes ^ (dice.random(ROWS) < 0.1)
    age = np.clip(np.where(ill, dice.normal(60, 6, ROWS), dice.normal(25, 6, ROWS)).round(), 0, 79)
    return pa.table(
        {
            "ill": np.array(["no", "yes"])[ill.astype(int)],
            "smokes": np.array(["no", "yes <b>"])[smokes.astype(int)],
            "age": age.astype(int),
        }
    )


@pytest.fixture(scope="module")
def release(people):
    plan = kk.calibrate(SCHEMA, n=ROWS, k=2, mechanisms={"age": "laplace"}, tell="all")
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(people, plan, seed=1)


QUESTIONS = {
    "crosstab": lambda release, **options: release.crosstab("smokes", "ill", **options),
    "count": lambda release, **options: release.count("smokes == 'no'", **options),
    "density": lambda release, **options: release.density("age", bins=8, method="ibt", **options),
    "mixture": lambda release, **options: release.mixture("age", n_components=2, draws=2, **options),
    "tree": lambda release, **options: release.tree("ill", features=["smokes"], **options),
    "bayes": lambda release, **options: release.bayes("ill", **options),
    "impossible": lambda release, **options: release.impossible(**options),
}


@pytest.fixture(scope="module", params=QUESTIONS)
def question(request):
    return QUESTIONS[request.param]


@pytest.fixture(scope="module")
def answer(question, release):
    return question(release)


def test_it_is_one_table_in_every_library(answer):
    table = answer.to_arrow()
    assert isinstance(answer, kk.Answer)
    assert isinstance(answer.to_pandas(), pd.DataFrame)
    assert isinstance(answer.to_polars(), pl.DataFrame)
    assert answer.to_polars().to_dict(as_series=False) == table.to_pydict()
    frame = answer.to_pandas()
    labelled = frame.reset_index() if frame.index.names[0] else frame
    assert list(labelled.columns) == table.column_names
    assert len(frame) == table.num_rows


def test_its_values_are_json(answer):
    assert json.loads(json.dumps(answer.to_dict(), allow_nan=False))


def test_it_can_be_read_and_seen_in_a_notebook(answer):
    assert "object at" not in str(answer)
    assert "array" not in str(answer)
    page = answer._repr_html_()
    assert page.startswith("<pre>")
    assert page.count("<tr>") == 1 + min(answer.to_arrow().num_rows, 60)
    assert "<b>" not in page


def test_it_has_a_picture_unless_there_is_nothing_to_draw(answer):
    if isinstance(answer, ImpossibleFindings):
        with pytest.raises(kk.SchemaError, match="no picture of ImpossibleFindings"):
            answer.plot()
    else:
        assert answer.plot().axes


def test_progress_is_told_of_every_record(question, release):
    told = []
    question(release, progress=told.append)
    assert told
    assert set(told) == {ROWS}


def test_long_answers_are_cut_in_a_notebook(release):
    page = release.density("age", method="ibt")._repr_html_()
    assert page.count("<tr>") == 61
    assert page.endswith("<p>and 20 more</p>")


def test_what_is_impossible_is_told_finding_by_finding(release):
    made_up = pa.table({"ill": ["yes"] * ROWS, "smokes": ["no"] * ROWS, "age": [0] * ROWS})
    found = kk.Release(made_up, Manifest(release.plan, ROWS, "shuffled", seeded=False)).impossible()
    assert len(str(found).splitlines()) == len(found) == found.to_arrow().num_rows > 1
    assert f"one record {ROWS:,} times" in str(found)
    assert [tuple(one["columns"]) for one in found.to_dict()["impossible"]] == [one.columns for one in found]


class TestClassifiers:
    @pytest.mark.parametrize("asked", ["tree", "bayes"])
    def test_frames_and_codes_clean_and_perturbed_are_predicted_as_scikit_learn_has_it(self, people, release, asked):
        answer = getattr(release, asked)("ill")
        kind = {"tree": kk.ReconstructedTree, "bayes": kk.ReconstructedNaiveBayes}[asked]
        facade = kind().fit(release, target="ill")
        assert (answer.predict(people) == facade.predict(people)).all()
        assert (answer.predict(people) == np.array(people["ill"])).mean() > 0.8
        perturbed = facade.predict_proba(release)
        assert np.allclose(answer.predict_proba(release.table, release.plan), perturbed)
        assert np.allclose(answer.predict_proba(release.codes(), release.plan), perturbed)
        assert answer.held_out == facade.held_out_likelihood_

    def test_a_rule_a_leaf_shares_out_the_records(self, release):
        tree = release.tree("ill", max_depth=2)
        table = tree.to_arrow()
        assert table.num_rows == len(list(tree.root.leaves())) > 1
        assert sum(table["records"].to_pylist()) == pytest.approx(ROWS, rel=0.01)
        assert list(tree.importances) == ["smokes", "age"]

    def test_a_column_that_goes_with_the_target_tells_most_of_it(self, release):
        told = release.bayes("ill").information
        assert told["smokes"] > 0.1
        assert all(0 <= bits <= 1 for bits in told.values())

    def test_an_answer_outlives_its_process(self, people, release):
        tree = release.tree("ill", features=["smokes"])
        assert (pickle.loads(pickle.dumps(tree)).predict(people) == tree.predict(people)).all()

    def test_a_tree_that_cannot_be_meant_is_refused_before_anything_is_counted(self, release):
        told = []
        with pytest.raises(kk.SchemaError, match="criterion must be one of entropy, gini, chi2, got 'magic'"):
            release.tree("ill", criterion="magic", progress=told.append)
        assert told == []
