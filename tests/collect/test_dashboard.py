"""The dashboard's numbers are those the library gives on the same records."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.answers import ask
from kakuran.collect import dashboard
from kakuran.errors import SchemaError
from kakuran.samples import census, census_schema


@pytest.fixture(scope="module")
def release():
    with pytest.warns(kk.errors.NotForPublicationWarning):
        return kk.perturb(census(20_000), kk.calibrate(census_schema(), n=20_000, k=10, tell="all"), seed=1)


@pytest.fixture(scope="module")
def skewed():
    """Numbers that heap at one end of their wide cells, two columns of which each record reports."""
    dice, n = np.random.default_rng(0), 40_000
    amounts = np.minimum(np.rint(dice.gamma(1.2, 40, n)), 999).astype(int)
    schema = kk.Schema(
        [kk.Numeric("amount", 0, 999, step=1), kk.Categorical("sex", ["f", "m"]), kk.Categorical("job", list("abcd"))]
    )
    people = {"amount": amounts, "sex": dice.choice(["f", "m"], n), "job": dice.choice(list("abcd"), n)}
    with pytest.warns(kk.errors.NotForPublicationWarning):
        return kk.perturb(pa.table(people), kk.calibrate(schema, n=n, k=10, tell=2), seed=1)


@pytest.fixture(scope="module")
def summary(release):
    return dashboard.summary(release, minimum_n=100)


def test_a_question_has_the_estimate_of_its_crosstab(release, summary):
    for question in summary["questions"]:
        expected = release.crosstab(question["name"])
        assert question["labels"] == expected.axes[0].labels
        for field, values in (("estimate", expected.counts), ("naive", expected.naive)):
            np.testing.assert_allclose(question[field], values, atol=0.051)
        for field, values in (("low", expected.low), ("high", expected.high)):
            np.testing.assert_allclose(question[field], values, atol=0.051)


def test_two_questions_have_the_estimate_of_their_crosstab(release):
    found = dashboard.crosstab(release, "job", "sex", minimum_n=100)
    expected = release.crosstab("job", "sex")
    np.testing.assert_allclose(found["estimate"], expected.counts, atol=0.051)
    assert found["unclear"] == expected.unclear.tolist()
    assert (found["rows"]["labels"], found["columns"]["labels"]) == tuple(axis.labels for axis in expected.axes)


def test_the_tree_is_the_one_the_library_grows(release):
    grown = release.tree("sex")
    found = dashboard.tree(release, "sex", minimum_n=100)
    assert found["text"] == str(grown).splitlines()
    assert count_leaves(found["root"]) == len(list(grown.root.leaves()))


def test_a_split_of_the_tree_names_the_answers_on_both_sides():
    schema = kk.Schema([kk.Categorical("sex", ["female", "male"]), kk.Categorical("job", ["care", "craft", "office"])])
    people = pa.table({"sex": ["female", "female", "male"] * 4_000, "job": ["care", "office", "craft"] * 4_000})
    with pytest.warns(kk.errors.NotForPublicationWarning):
        release = kk.perturb(people, kk.calibrate(schema, n=12_000, k=3, tell="all"), seed=1)
    root = dashboard.tree(release, "sex", minimum_n=100)["root"]
    assert root["question"] == "job"
    assert sorted(map(sorted, root["sides"])) == [["care", "office"], ["craft"]]
    assert sum(sum(child["counts"]) for child in root["children"]) == pytest.approx(sum(root["counts"]), rel=0.02)


def test_nothing_is_told_before_enough_have_answered(release):
    for found in (
        dashboard.summary(release, minimum_n=20_001),
        dashboard.crosstab(release, "job", "sex", minimum_n=20_001),
        dashboard.tree(release, "sex", minimum_n=20_001),
    ):
        assert found["suppressed"] is True
        assert set(found) <= {"n", "minimum_n", "suppressed", "k", "epsilon"}


def test_all_of_it_is_json(release, summary):
    for found in (
        summary,
        dashboard.crosstab(release, "job", "age", minimum_n=2),
        dashboard.tree(release, "job", minimum_n=2),
    ):
        json.dumps(found, allow_nan=False)


def test_history_ends_with_the_intervals_of_today(summary):
    widths = [(np.subtract(q["high"], q["low"]) / summary["n"]).mean() for q in summary["questions"]]
    assert summary["history"][-1]["n"] == summary["n"]
    np.testing.assert_allclose(summary["history"][-1]["widths"], widths, rtol=0.01)


def test_history_ends_with_the_intervals_of_today_of_a_skewed_number_too(skewed, rough_models):
    test_history_ends_with_the_intervals_of_today(dashboard.summary(skewed, minimum_n=100))


def test_one_answer_moves_a_skewed_number_as_far_as_the_estimate_says(skewed, rough_models):
    """The inverse estimate of the same counts and one record more, wherever that falls, scaled to all who answered."""
    question = ask(skewed.plan, ("amount",), {}, None)
    (counts,) = skewed.reader.count([question])
    estimate = partial(skewed.reader.estimate, question, method="inverse")
    before, moved = estimate(counts).counts, []
    for cell in range(counts.size):
        more = counts.copy()
        more.flat[cell] += 1
        moved.append(np.abs(estimate(more).counts * (counts.sum() + 1) / counts.sum() - before).max())
    told = dashboard.summary(skewed, minimum_n=100)["questions"][0]["influence"]
    assert told == pytest.approx(max(moved), rel=0.01)


def test_intervals_shrink_as_answers_come_in(summary):
    first, last = summary["history"][0], summary["history"][-1]
    assert all(then > 2 * now for then, now in zip(first["widths"], last["widths"], strict=True))


def test_history_starts_where_numbers_are_told(release):
    sizes = [entry["n"] for entry in dashboard.summary(release, minimum_n=3_000)["history"]]
    assert sizes == [5_000, 10_000, 20_000]


def test_the_same_answers_give_the_same_dashboard(release, summary):
    assert dashboard.summary(release, minimum_n=100) == summary


def test_the_crowd_so_far_reaches_k_with_the_people_expected(release, summary):
    assert summary["k"] == pytest.approx(release.plan.k, abs=1e-4)


def test_a_question_nobody_asked_is_refused(release):
    with pytest.raises(SchemaError, match="no column 'shoe size'"):
        dashboard.crosstab(release, "job", "shoe size", minimum_n=2)
    with pytest.raises(SchemaError, match="twice"):
        dashboard.crosstab(release, "job", "job", minimum_n=2)
    with pytest.raises(SchemaError, match="must be a column of categories"):
        dashboard.tree(release, "age", minimum_n=2)


def test_a_table_nobody_could_read_is_refused():
    names = [f"v{place}" for place in range(40)]
    schema = kk.Schema([kk.Categorical("a", names), kk.Categorical("b", names)])
    plan = kk.calibrate(schema, n=1000, k=10, tell="all")

    class Empty:
        n = 0

    source = Empty()
    source.plan = plan
    with pytest.raises(SchemaError, match="1,600 cells, too many to look at"):
        dashboard.crosstab(source, "a", "b", minimum_n=2)


def count_leaves(node):
    return sum(map(count_leaves, node["children"])) if "children" in node else 1
