from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.advice.comparison import trial_of
from kakuran.advice.methods import FLAT_GUESS, Errors, Trial, Yardstick, perturbed
from kakuran.samples import census, census_schema, planted_matrix


@pytest.fixture(scope="module")
def from_data():
    return kk.advise(census_schema(), data=census(5_000), k=10)


@pytest.fixture(scope="module")
def blind():
    return kk.advise(census_schema(), n=50_000, k=10)


def by_method(advice):
    return {outlook.method: outlook for outlook in advice.outlooks}


def test_the_best_method_is_the_one_with_the_least_error_and_the_first_named(from_data):
    errors = [outlook.errors.both for outlook in from_data.outlooks if outlook.errors is not None]
    assert errors == sorted(errors)
    assert len(errors) == 3
    assert from_data.best.errors.both == errors[0]
    assert from_data.sentences[0].startswith("Use ")
    assert f"{errors[0]:.1%}" in from_data.sentences[0]


def test_the_guide_shows_what_is_found(from_data, blind):
    guide = (Path(__file__).parents[2] / "docs/guides/choosing-a-method.md").read_text(encoding="utf-8")
    methods = by_method(from_data)
    for name, method in (
        ("microaggregation", "microaggregate"),
        ("perturbation (data-dependent)", "perturb-data-dependent"),
        ("perturbation (worst case)", "perturb"),
    ):
        row = next(line for line in guide.splitlines() if line.startswith(f"| {name} |"))
        told = [float(cell.strip(" %")) / 100 for cell in row.split("|")[3:6]]
        found = methods[method].errors
        assert told == pytest.approx([found.both, found.one_way, found.two_way], abs=0.002)
    assert f"({by_method(blind)['perturb'].errors.both:.1%} here)" in guide


def test_promises_are_told_apart(from_data):
    methods = by_method(from_data)
    assert methods["perturb"].promise == methods["perturb-data-dependent"].promise == "Pk-anonymity"
    assert methods["microaggregate"].promise == "k-anonymity"
    assert "there is no ε" in str(from_data)
    assert "values themselves must be hidden" in str(from_data)


def test_noise_fitted_to_the_table_never_costs_more_than_the_worst_case(from_data):
    """Averaged over k: a single draw of noise may turn out either way."""
    errors = {
        method: np.mean([one.errors.both for one in from_data.curves if one.method == method])
        for method in ("perturb", "perturb-data-dependent")
    }
    assert errors["perturb-data-dependent"] < errors["perturb"]


def test_a_larger_k_costs_more(from_data, blind):
    for advice, method in ((blind, "perturb"), (blind, "microaggregate"), (from_data, "microaggregate")):
        curve = sorted((one.k, one.errors.both) for one in advice.curves if one.method == method)
        assert [k for k, _ in curve] == [2, 5, 10, 20, 50]
        assert curve[0][1] < curve[-1][1]


def test_without_data_only_what_can_be_assessed_is(blind):
    methods = by_method(blind)
    assert methods["perturb-data-dependent"].errors is None
    assert "depends on the data" in methods["perturb-data-dependent"].note
    assert methods["factorise"].errors is None
    assert "made-up records" in methods["microaggregate"].note
    assert not blind.from_data
    assert "No data were looked at" in blind.sentences[-1]


def test_the_blind_error_is_that_of_the_preview(blind):
    plan = kk.calibrate(census_schema(), n=50_000, k=10)
    one = [table.relative for table in kk.preview(plan) if len(table.columns) == 1]
    assert by_method(blind)["perturb"].errors.one_way == pytest.approx(FLAT_GUESS * np.mean(one))


def test_the_guide_quotes_what_the_command_prints(blind):
    guide = (Path(__file__).parents[2] / "docs/guides/choosing-a-method.md").read_text(encoding="utf-8")
    assert f"({by_method(blind)['perturb'].errors.both:.1%} here)" in guide


def test_the_rehearsed_error_is_that_of_a_release_and_its_cross_tabs():
    """The same error found through the public door, averaged over draws of both."""
    people = census(3_000).select(["sex", "job"])
    schema = kk.Schema([census_schema()[name] for name in ("sex", "job")])
    codes = schema.encode(people)
    expected = perturbed(Trial(schema, codes, 3_000, is_assumed=False), 2).errors
    truth = Yardstick.of(schema, codes)
    plan = kk.calibrate(schema, n=3_000, k=2)
    drawn = []
    for _ in range(8):
        release = kk.perturb(people, plan)
        drawn.append(truth.errors(lambda table, release=release: release.crosstab(*table).counts).both)
    assert min(drawn) / 3 < expected.both < 3 * max(drawn)


def test_the_yardstick_counts_people_in_the_wrong_cell():
    yardstick = Yardstick((("a",), ("a", "b")), (np.array([6.0, 4]), np.array([[3.0, 3], [4, 0]])))
    wrong = yardstick.errors(lambda table: np.array([5.0, 5]) if len(table) == 1 else np.array([[3.0, 3], [2, 2]]))
    assert wrong == Errors(pytest.approx(0.1), pytest.approx(0.2))
    assert wrong.both == pytest.approx(0.15)
    assert yardstick.guess() == Errors(pytest.approx(0.1), pytest.approx(0.25))


def test_a_wide_table_of_zeros_and_ones_needs_no_schema_and_is_factorised():
    matrix = planted_matrix(3, rows=100, columns=12, ones=0.2, flips=0.0)
    advice = kk.advise(None, data=matrix, k=5)
    assert by_method(advice)["factorise"].errors is not None
    assert by_method(advice)["factorise"].promise == "k-anonymity"
    frame = pd.DataFrame(matrix.toarray(), columns=[f"item {place}" for place in range(12)])
    codes = trial_of(None, None, frame, 5).codes
    assert np.array_equal(np.column_stack(list(codes.values())), matrix.toarray())
    assert list(codes) == list(frame.columns)


def test_hopeless_promises_are_called_so():
    schema = kk.Schema([kk.Categorical(name, list("abcdefgh")) for name in "xyz"])
    assert "next to nothing" in str(kk.advise(schema, n=60, k=50))
    assert "next to nothing" not in str(kk.advise(schema, n=1_000_000, k=2))


def test_missing_values_and_kept_columns_can_be_advised_on():
    schema = kk.Schema(
        [
            kk.Categorical("region", ["north", "south"], role="keep"),
            kk.Numeric("age", 0, 99, step=1, missing="category"),
            kk.Categorical("job", ["clerk", "nurse"], missing="category"),
        ]
    )
    n = 600
    table = pa.table(
        {
            "region": ["north"] * 200 + ["south"] * 400,
            "age": [None if place % 7 == 0 else place % 90 for place in range(n)],
            "job": [["clerk", "nurse", None][place % 3] for place in range(n)],
        }
    )
    advice = kk.advise(schema, data=table, k=4)
    assert advice.n == 200
    assert sum(outlook.errors is not None for outlook in advice.outlooks) == 3


@pytest.mark.parametrize(
    ("schema", "given", "error"),
    [
        (census_schema(), {}, "either n or the data"),
        (census_schema(), {"n": 10, "data": census(10)}, "either n or the data"),
        (None, {"n": 10}, "wide table"),
        (census_schema(), {"n": 5}, "more than the 5 records"),
        (census_schema(), {"n": -5}, "at least 2 records"),
        (census_schema(), {"data": census(10).slice(0, 0)}, "at least 2 records"),
        (None, {"data": pa.table({"job": ["a", "b"]})}, "'job': does not hold numbers. Give the schema"),
    ],
)
def test_what_cannot_be_compared_is_refused(schema, given, error):
    with pytest.raises(kk.KakuranError, match=error):
        kk.advise(schema, k=10, **given)


def test_the_same_question_has_the_same_answer(blind):
    assert kk.advise(census_schema(), n=50_000, k=10).to_dict() == blind.to_dict()


def test_the_picture_shows_every_method_that_could_be_assessed(from_data):
    labels = [line.get_label() for line in from_data.plot().axes[0].get_lines()]
    assert "microaggregation" in labels
    assert "factorisation" not in labels
    assert "k = 10" in labels
