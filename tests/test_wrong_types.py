"""What is given in place of something else is refused by what it is, with the way out."""

import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.randomness import Randomness

JOB, AGE = kk.Categorical("job", ["a", "b"]), kk.Numeric("age", 0, 99, step=1)
TABLE = pa.table({"job": ["a", "b"] * 50, "age": list(range(100))})
SCHEMA = kk.Schema([JOB, AGE])
PLAN = kk.calibrate(SCHEMA, n=100, k=5, tell="all")
RELEASE = kk.perturb(TABLE, PLAN)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: kk.Schema(JOB), "a schema is a list .* alone"),
        (lambda: kk.Categorical("job", 3), "'job': values must be a list, got 3"),
        (lambda: kk.Categorical("job", {"a"}), "'job': values must be a list, got {'a'}"),
        (lambda: kk.calibrate(SCHEMA, n=100, k="5", tell="all"), "k must be a number, got '5'"),
        (lambda: kk.calibrate(SCHEMA, n="100", k=5, tell="all"), "n must be a number, got '1'"),
        (lambda: kk.calibrate(SCHEMA, n=[100, "x"], k=5, tell="all"), "n must be a number, got 'x'"),
        (
            lambda: kk.calibrate("schema.toml", n=100, k=5, tell="all"),
            r"expected a Schema \(kakuran.Schema.load .*, got str",
        ),
        (lambda: kk.preview(SCHEMA), r"expected a Plan \(kakuran.calibrate makes one\), got Schema"),
        (lambda: kk.perturb(PLAN, TABLE), r"expected a Plan .*, got Table"),
        (lambda: kk.perturb("people.csv", PLAN), "expected a table .*, got str; .*perturb_file"),
        (lambda: Randomness.seeded(1.5), "a seed is a whole number, got 1.5"),
        (lambda: kk.perturb_file("people.csv", PLAN, "out.parquet"), r"expected a Plan .*, got str"),
        (lambda: kk.audit(TABLE, "out.parquet"), r"expected a Release \(.*read_release opens one\), got str"),
        (lambda: PLAN[0], "no column 0 in the schema. There are 'job', 'age'"),
        (lambda: RELEASE.crosstab("age", bins=5), "bins are given column by column, .* got 5"),
        (lambda: RELEASE.crosstab("age", level="0.9"), "level must lie between 0 and 1"),
        (lambda: RELEASE.count(3), "a condition is a text; .* got 3"),
        (lambda: RELEASE.count(None), "a count a condition"),
        (lambda: RELEASE.mixture(["age"]), r"one by one, as in mixture\('age', 'income'\); got \['age'\]"),
        (lambda: kk.ReconstructedTree().fit(TABLE, target="job"), "target names a column of a release, got Table"),
        (lambda: kk.Microaggregation(k=3, columns="age").fit_transform(TABLE), r"as in columns=\['age'\]"),
        (lambda: kk.Microaggregation(k="3").fit_transform(TABLE), "k must be a whole number .* got '3'"),
        (lambda: kk.MatrixRelease(k=2, rank="all").fit_transform([[0, 1], [1, 0]]), "whole number .* got 'all'"),
        (lambda: kk.ReconstructedTree(max_depth="3").fit(RELEASE, target="job"), "max_depth .* got '3'"),
        (lambda: kk.calibrate(SCHEMA, n=100, k=5, weights={"job": "0.5", "age": 0.5}), "'job' must lie .* got '0.5'"),
        (lambda: kk.fit_vertically([TABLE], None), "expected a Mapping .*one table a party.*, got list"),
        (lambda: kk.fit_vertically({"a": TABLE}, "plan.toml"), "expected a VerticalPlan .*, got str"),
        (lambda: kk.SurveyClient("https://survey.example", None), "expected a Survey .*, got NoneType"),
        (lambda: kk.Schema.load("/"), "/: is a folder; name a schema file"),
    ],
)
def test_it_is_named_with_the_way_out(call, words):
    with pytest.raises((kk.KakuranError, TypeError), match=words):
        call()
