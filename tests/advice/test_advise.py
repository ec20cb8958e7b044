from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.advice.comparison import trial_of
from kakuran.advice.helping import by_company, in_bands
from kakuran.advice.methods import MOST_IN_ALL, Errors, Trial, Yardstick, perturbed
from kakuran.design import HARDLY_PERTURBED, BandProposal, expected_error, expected_error_of_noise
from kakuran.design.bands import in_bands as bands_of
from kakuran.report import outlook_rows
from kakuran.samples import census, census_schema, planted_matrix
from kakuran.words import words_in

GUIDE = Path(__file__).parents[2] / "docs/guides/choosing-a-method.md"
ADULT = Path(__file__).parents[3] / "shared/data/adult.data"


OTHER_KS = "kakuran.advice.comparison.OTHER_KS"


@pytest.fixture(scope="module")
def from_data():
    return kk.advise(census_schema(), data=census(5_000), k=10)


@pytest.fixture(scope="module")
def blind():
    return kk.advise(census_schema(), n=50_000, k=10)


@pytest.fixture(scope="module")
def strong():
    """Four columns of six values that mostly say the same: there is much to tell of pairs."""
    dice = np.random.default_rng(2)
    told = dice.integers(0, 6, 20_000)
    columns = {
        name: np.where(dice.random(20_000) < 0.8, told, dice.integers(0, 6, 20_000)).astype(str) for name in "abcd"
    }
    schema = kk.Schema([kk.Categorical(name, list("012345")) for name in columns])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OTHER_KS, (2, 50))
        return kk.advise(schema, data=pa.table(columns), k=10)


@pytest.fixture
def only_this_k(monkeypatch):
    """Nothing is tried at other k, for those who do not look at curves."""
    monkeypatch.setattr(OTHER_KS, ())


@pytest.fixture(scope="module")
def survey():
    """A survey of 3,000 people with six questions of eight answers, which hang together as those of surveys do."""
    dice = np.random.default_rng(1)
    kind = dice.integers(0, 4, 3_000)
    columns = {}
    for question in range(6):
        usual = dice.dirichlet(np.full(8, 2.0))
        answers = [0.5 * usual + 0.5 * dice.dirichlet(np.full(8, 0.7)) for _ in range(4)]
        reached = np.cumsum(answers, axis=1)[kind] < dice.random((len(kind), 1))
        columns[f"q{question}"] = reached.sum(axis=1).clip(max=7).astype(str)
    schema = kk.Schema([kk.Categorical(name, list("01234567")) for name in columns])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OTHER_KS, ())
        return kk.advise(schema, data=pa.table(columns), k=10)


def by_method(advice):
    return {outlook.method: outlook for outlook in advice.outlooks}


def by_tell(advice):
    return {outlook.tell: outlook.errors for outlook in advice.outlooks if outlook.method == "perturb"}


def test_methods_are_ranked_by_the_error_of_two_way_tables_and_what_can_be_told_is_said_first(from_data):
    errors = [outlook.errors.two_way for outlook in from_data.outlooks if outlook.errors is not None]
    assert errors == sorted(errors)
    assert from_data.best.errors.two_way == errors[0]
    assert from_data.sentences[0].startswith("At k = 10, a perturbed release of 5,000 people can tell ")
    (use,) = [sentence for sentence in from_data.sentences if sentence.startswith("Use ")]
    assert f"{errors[0]:.1%}" in use


def test_whole_records_single_columns_and_the_best_designs_are_each_rehearsed(from_data, strong, survey):
    for advice in (from_data, strong, survey):
        tried = by_tell(advice)
        assert {"all", 1, 2} <= set(tried)
        assert all(None not in vars(errors).values() for errors in tried.values())


def test_where_pairs_hang_together_telling_pairs_wins_and_says_by_how_much(strong):
    tried = by_tell(strong)
    assert strong.perturbation.tell == 2
    assert tried[2].two_way < 0.3 * tried["all"].two_way
    assert tried[2].three_way < 0.3 * tried["all"].three_way
    assert tried[2].two_way < 0.2 * tried[2].two_by_margins
    assert tried[1].two_way == pytest.approx(tried[1].two_by_margins, rel=0.05)  # of pairs nothing is told
    margins = f"and pairs ({tried[2].two_way:.1%}; by margins alone {tried[2].two_by_margins:.1%})."
    assert strong.sentences[0].endswith(margins)
    assert "Three-way tables have" in strong.sentences[1]
    assert "rest on the joint model" in strong.sentences[1]
    assert "--tell 2" in str(strong)
    assert "A regression on several columns" not in str(strong)
    assert "cannot be told" not in str(strong)


def test_where_pairs_cannot_be_told_it_says_so_and_takes_single_columns(survey):
    assert survey.perturbation.tell == 1
    assert by_tell(survey)[1].two_way < min(by_tell(survey)[tell].two_way for tell in ("all", 2))
    assert survey.sentences[0].endswith("of pairs no more than the product of their margins.")
    assert survey.sentences[1].startswith("Pairs cannot be told at this n and k")
    assert "kakuran perturb --tell 1:" in str(survey)


def test_what_is_recommended_is_what_the_command_does_and_departs_from_what_it_does_by_itself_for_a_reason(
    survey, strong, from_data, blind
):
    for advice, schema, n in (
        (survey, kk.Schema([kk.Categorical(f"q{one}", list("01234567")) for one in range(6)]), 3_000),
        (strong, kk.Schema([kk.Categorical(name, list("012345")) for name in "abcd"]), 20_000),
        (from_data, census_schema(), 5_000),
        (blind, census_schema(), 50_000),
    ):
        by_itself = kk.designs(schema, n=n, k=10)[0].tell
        told = "Do not leave out --tell" in str(advice)
        assert told == (advice.perturbation.tell != by_itself)
        if told:
            ways = 2 if advice.perturbation.errors.tells_pairs else 1
            assert advice.perturbation.errors.of(ways) < 0.9 * by_tell(advice)[by_itself].of(ways)
        assert f"--tell {advice.perturbation.tell}" in advice.perturbation.command


def test_wishes_are_those_of_calibrate_and_come_before_the_schemas(only_this_k):
    asked = kk.Schema(list(census_schema()), about="sex", tell=3, purpose="one-way")
    advice = kk.advise(asked, n=50_000, k=10, about="job", tell=2, purpose="two-way")
    assert (advice.ways, advice.perturbation.about) == (2, "job")
    assert 2 in by_tell(advice)
    assert advice.perturbation.command == "kakuran perturb --tell 2 --about job"
    with pytest.raises(kk.KakuranError, match="jbo"):
        kk.advise(census_schema(), n=50_000, k=10, about="jbo")


def test_a_column_that_was_asked_about_is_told_with_others_even_where_pairs_tell_little(only_this_k):
    dice = np.random.default_rng(7)
    people = pa.table({name: dice.integers(0, 6, 1_500).astype(str) for name in "abcdef"})
    schema = kk.Schema([kk.Categorical(name, list("012345")) for name in "abcdef"])
    assert "--about a" in kk.advise(schema, data=people, k=10, about="a").perturbation.command


def test_the_column_to_ask_about_is_one_that_goes_with_another():
    dice = np.random.default_rng(8)
    columns = {name: dice.integers(0, 5, 9_000) for name in "abcdefgh"}
    columns |= {name: np.where(dice.random(9_000) < 0.9, columns["h"], columns[name]) for name in "fg"}
    people = pa.table({name: column.astype(str) for name, column in columns.items()})
    schema = kk.Schema([kk.Categorical(name, list("01234")) for name in people.column_names])
    trial = trial_of(schema, None, people, 10)
    assert set(by_company(trial)[:3]) == set("fgh")


def test_whole_records_typed_out_come_before_what_the_schema_is_about():
    asked = kk.Schema(list(census_schema()), about="job")
    whole = kk.calibrate(asked, n=5_000, k=10, tell="all")
    assert whole.to_dict() == kk.calibrate(asked, n=5_000, k=10, tell="all", about=None).to_dict()
    assert not whole.layout.told


def test_of_columns_of_many_values_no_more_cells_are_reconstructed_than_take_a_bearable_time():
    dice = np.random.default_rng(3)
    schema = kk.Schema(
        [
            *(kk.Numeric(name, 0, 999, step=1) for name in "abcd"),
            *(kk.Categorical(name, [f"{value:02}" for value in range(60)]) for name in "efgh"),
            *(kk.Categorical(name, ["no", "yes"]) for name in "ij"),
        ]
    )
    codes = {one.name: dice.integers(0, one.size, 500).astype(np.int32) for one in schema}
    tables = Yardstick.of(schema, codes).truths
    size = {name: 100 if name in "abcd" else schema[name].size for name in schema.names}
    assert sum(np.prod([size[name] for name in table]) for table in tables) <= MOST_IN_ALL
    assert {len(table) for table in tables} == {1, 2, 3}
    assert len([table for table in tables if len(table) == 1]) == 10


def test_without_the_data_the_same_is_expected_of_a_longer_survey(only_this_k):
    schema = kk.Schema([kk.Categorical(f"q{question}", list("01234567")) for question in range(10)])
    expected = kk.advise(schema, n=6_876, k=10)
    assert expected.perturbation.tell == 1
    assert "Pairs cannot be told" in str(expected)
    assert "Fewer columns would help: perturbed pairs of q0, q1" in str(expected)


def test_numbers_of_many_values_should_have_larger_steps(only_this_k):
    schema = kk.Schema([kk.Numeric("age", 0, 99, step=1), *(kk.Categorical(name, list("abcd")) for name in "xyz")])
    assert "Larger steps would help: with about 10 values for age" in str(kk.advise(schema, n=50_000, k=10))
    coarse = kk.Schema([kk.Numeric("age", 0, 90, step=10), *(kk.Categorical(name, list("abcd")) for name in "xyz")])
    assert "Larger steps" not in str(kk.advise(coarse, n=50_000, k=10))


@pytest.fixture
def patients(rough_models, only_this_k):
    """Who smokes goes with how old they are, and nobody is asked in bands of years."""
    dice, n = np.random.default_rng(5), 1_500
    age = dice.integers(0, 100, n)
    smoker = np.where(dice.random(n) < np.where(age < 40, 0.1, 0.9), "yes", "no")
    people = pa.table({"age": age, "smoker": smoker, **{name: dice.choice(list("abcdefgh"), n) for name in "uvw"}})
    asked = [kk.Numeric("age", 0, 99, step=1), kk.Categorical("smoker", ["no", "yes"])]
    return kk.advise(
        kk.Schema([*asked, *(kk.Categorical(name, list("abcdefgh")) for name in "uvw")]), data=people, k=10
    )


def test_bands_come_first_where_numbers_have_many_values_and_what_says_nothing_new_is_left_out(patients):
    assert not patients.perturbation.errors.tells_pairs
    assert patients.sentences[1].startswith("Pairs cannot be told")
    assert patients.sentences[2].startswith("First of all, tell numbers in bands: age as 5 bands, [0, 20, 40, 60, 80,")
    assert patients.sentences[3].startswith("With these bands, a release could tell columns one by one")
    assert patients.sentences[4].startswith("Then leave out what nobody will study")
    assert patients.sentences[5].startswith("k = 10 in every draw: ")
    assert patients.sentences[6].startswith("With certainty, with kakuran perturb --tell ")
    assert patients.sentences[7].startswith("What loses least all the same is ")
    assert "with --about smoker and these bands" in str(patients)
    assert "Use " not in str(patients)
    assert "factorisation" not in str(patients)
    assert all(words_in("ja").of(sentence) != sentence for sentence in patients.sentences)
    assert any(one.note == "these data need the noise of the worst case" for one in patients.outlooks)
    shown = [row[0] for row in outlook_rows(patients.outlooks, words_in("en"))[1]]
    assert shown
    assert not any("data-dependent" in name for name in shown)


def test_people_in_bands_are_those_whom_a_schema_with_bands_would_read():
    number = kk.Numeric("cost", 5, 2_000, step=1, missing="category")
    people = pa.table({"cost": [None, *np.random.default_rng(5).integers(5, 2_001, 999).tolist()]})
    trial = trial_of(kk.Schema([number]), None, people, 10)
    error = kk.TableError(("cost",), 2, 10.0, 1.0)
    banded = in_bands(trial, [BandProposal(bands_of(number), error, error)])
    assert banded.schema["cost"].points < 10
    assert np.array_equal(np.sort(banded.codes["cost"]), np.sort(banded.schema.encode(people)["cost"]))


def test_the_verdict_names_the_column_that_was_asked_about(only_this_k):
    asked = kk.advise(census_schema(), n=50_000, k=10, about="job")
    assert "pairs with job (" in asked.sentences[0]
    assert "A regression on several columns needs records that tell those together" in asked.sentences[1]


def test_a_column_that_weighs_on_all_others_should_go(only_this_k):
    wide = kk.Categorical("town", [f"{place:03}" for place in range(200)])
    schema = kk.Schema([wide, *(kk.Categorical(name, list("abcd")) for name in "xyz")])
    assert "Fewer columns would help: without town" in str(kk.advise(schema, n=50_000, k=10))


def test_noise_for_the_data_is_taken_where_it_is_worth_it(only_this_k):
    """Everybody is one of 500 who are the same: not quite as many as wanted, so that little noise is enough."""
    rows = [(job, sex) for job in "abcd" for sex in "fm" for _ in range(500)]
    table = pa.table({"job": [job for job, _ in rows], "sex": [sex for _, sex in rows]})
    schema = kk.Schema([kk.Categorical("job", list("abcd")), kk.Categorical("sex", ["f", "m"])])
    advice = kk.advise(schema, data=table, k=600)
    assert advice.perturbation.method == "perturb-data-dependent"
    assert advice.perturbation.errors.two_way < 0.05
    assert "--data-dependent" in str(advice)
    assert "in a crowd of 1," in str(advice)
    assert "they tell a little about them" in str(advice)


def test_what_the_schema_wishes_is_tried_too(only_this_k):
    sets = [["sex", "job"], ["job", "age", "region"]]
    asked = kk.Schema(list(census_schema()), tell=sets)
    advice = kk.advise(asked, n=50_000, k=10)
    (wished,) = [outlook for outlook in advice.outlooks if outlook.tell == sets]
    assert wished.command == "kakuran perturb --tell sex+job,job+age+region"
    assert wished.name == "sets of columns"


def test_tables_of_a_column_that_matters_are_those_that_count(only_this_k):
    asked = kk.Schema(list(census_schema()), about="job")
    trial = trial_of(asked, None, census(500), 10)
    assert all("job" in table for table in trial.yardstick.truths if len(table) > 1)
    assert set(by_tell(kk.advise(asked, n=50_000, k=10))) == {"all", 2, 3}


@pytest.mark.parametrize(("purpose", "ways"), [("one-way", 1), ("two-way", 2), ("three-way", 3)])
def test_the_purpose_of_the_schema_says_which_tables_count(purpose, ways, only_this_k):
    advice = kk.advise(kk.Schema(list(census_schema()), purpose=purpose), n=50_000, k=10)
    errors = [outlook.errors.of(ways) for outlook in advice.outlooks if outlook.errors is not None]
    assert advice.ways == ways
    assert errors == sorted(errors)


def test_a_single_column_has_no_pairs():
    advice = kk.advise(kk.Schema([kk.Categorical("job", list("abc"))]), data=pa.table({"job": list("abc") * 300}), k=5)
    assert "can tell its one column" in advice.sentences[0]
    assert advice.best.errors.two_way is None
    assert advice.ways == 1


def test_all_is_said_in_japanese_too(strong, survey):
    for advice in (strong, survey):
        for sentence in advice.sentences:
            assert words_in("ja").of(sentence) != sentence


def test_where_noise_on_tables_would_be_better_that_is_said_at_the_same_epsilon(blind, from_data):
    plan = kk.calibrate(census_schema(), n=50_000, k=10)
    noise = expected_error_of_noise(plan.tells, 50_000, plan.central())
    ours = by_tell(blind)[2].two_way
    (told,) = [sentence for sentence in blind.sentences if "noise on the tables is better" in sentence]
    assert f"(ε = {plan.central():.3g}, δ = 1e-06)" in told
    assert f"to put {noise:.1%} in the wrong cell, such records {ours:.1%}" in told
    assert noise < 0.5 * ours
    assert "noise on the tables is better" in str(from_data)


def test_where_noise_on_tables_would_be_hardly_better_nothing_is_said_of_it(only_this_k):
    schema = kk.Schema([kk.Categorical(f"q{question}", list("01234567")) for question in range(10)])
    assert "noise on the tables is better" not in str(kk.advise(schema, n=6_876, k=100))


def test_progress_is_told_in_words(only_this_k):
    told = []
    kk.advise(census_schema(), n=50_000, k=10, progress=told.append)
    assert told[0] == "perturbing, each record telling 2"
    assert {"microaggregation", "factorisation"} <= set(told)


@pytest.mark.skipif(not ADULT.exists(), reason="needs the shared data")
def test_on_adult_pairs_beat_margins_whole_records_and_microaggregation(only_this_k):
    names = "age workclass fnlwgt education number marital occupation relationship race sex gain loss hours land income"
    adult = pd.read_csv(ADULT, header=None, names=names.split(), skipinitialspace=True)
    people = adult[["workclass", "education", "marital", "relationship", "sex", "income"]]
    schema = kk.Schema([kk.Categorical(name, sorted(set(people[name]))) for name in people])
    advice = kk.advise(schema, data=people, k=10)
    assert advice.perturbation.tell == 2
    errors = by_tell(advice)
    assert errors[2].two_way < min(0.6 * errors["all"].two_way, 0.6 * errors[2].two_by_margins)
    assert errors[2].two_way < by_method(advice)["microaggregate"].errors.two_way


def test_the_guide_shows_what_is_found(from_data, blind):
    guide = GUIDE.read_text(encoding="utf-8")
    for outlook in from_data.outlooks:
        if outlook.errors is not None:
            row = next(line for line in guide.splitlines() if line.startswith(f"| {outlook.name} |"))
            told = [float(cell.strip(" %")) / 100 for cell in row.split("|")[3:7]]
            found = outlook.errors
            assert told == pytest.approx(
                [found.one_way, found.two_way, found.two_by_margins, found.three_way], abs=0.002
            )
    assert f"({blind.perturbation.errors.two_way:.1%} here)" in guide


def test_promises_are_told_apart(from_data):
    methods = by_method(from_data)
    assert methods["perturb"].promise == methods["perturb-data-dependent"].promise == "Pk-anonymity"
    assert methods["microaggregate"].promise == "k-anonymity"
    assert "there is no ε" in str(from_data)
    assert "values themselves must be hidden" in str(from_data)


def test_noise_fitted_to_the_table_never_costs_more_than_the_worst_case(from_data):
    """Averaged over k: a single draw of noise may turn out either way."""
    worst_case, fitted = (
        {one.k: one.errors for one in from_data.curves if (one.method, one.tell) == (method, 1)}
        for method in ("perturb", "perturb-data-dependent")
    )
    known = [k for k, errors in fitted.items() if errors is not None]  # at others hardly anything would be perturbed
    assert known
    assert np.mean([fitted[k].one_way for k in known]) <= np.mean([worst_case[k].one_way for k in known])


def test_a_larger_k_costs_more(from_data, blind, strong):
    for advice, method, tell, ks in (
        (blind, "microaggregate", None, [2, 5, 10, 20, 50]),
        (from_data, "microaggregate", None, [2, 5, 10, 20, 50]),
        (strong, "perturb", 2, [2, 10, 50]),
    ):
        drawn = [one for one in advice.curves if (one.method, one.tell) == (method, tell)]
        curve = sorted((one.k, one.errors.two_way) for one in drawn)
        assert [k for k, _ in curve] == ks
        assert curve[0][1] < curve[-1][1]


def test_without_data_only_what_can_be_assessed_is(blind):
    methods = by_method(blind)
    assert methods["perturb-data-dependent"].errors is None
    assert "depends on the data" in methods["perturb-data-dependent"].note
    assert methods["factorise"].errors is None
    assert "made-up records" in methods["microaggregate"].note
    assert not blind.from_data
    assert "No data were looked at" in blind.sentences[-1]


def test_the_blind_error_is_what_designs_expect(blind):
    expected = {design.tell: design.expected for design in kk.designs(census_schema(), n=50_000, k=10)}
    assert by_tell(blind)[2].two_way == expected[2].two_way
    assert by_tell(blind)[2].two_by_margins == expected[2].by_margins


@pytest.mark.parametrize("tell", ["all", 2])
def test_the_rehearsed_error_is_that_of_a_release_and_its_cross_tabs(tell):
    """The same error found through the public door, averaged over draws of both."""
    people = census(3_000).select(["sex", "job"])
    schema = kk.Schema([census_schema()[name] for name in ("sex", "job")])
    codes = schema.encode(people)
    expected = perturbed(Trial.of(schema, codes, [3_000], is_assumed=False), 2, tell).errors
    truth = Yardstick.of(schema, codes)
    plan = kk.calibrate(schema, n=3_000, k=2, tell=tell)
    drawn = []
    for _ in range(8):
        release = kk.perturb(people, plan)
        drawn.append(truth.errors(lambda table, release=release: release.crosstab(*table).counts).two_way)
    assert min(drawn) / 3 < expected.two_way < 3 * max(drawn)


def test_the_yardstick_counts_people_in_the_wrong_cell():
    yardstick = Yardstick(
        {("a",): np.array([6.0, 4]), ("b",): np.array([7.0, 3]), ("a", "b"): np.array([[3.0, 3], [4, 0]])}
    )
    estimated = {("a",): [5.0, 5], ("b",): [7.0, 3], ("a", "b"): [[3.0, 3], [2, 2]]}
    wrong = yardstick.errors(lambda table: np.array(estimated[table]))
    assert wrong.one_way == pytest.approx(0.05)
    assert wrong.two_way == pytest.approx(0.2)
    assert wrong.two_by_margins == pytest.approx(0.2)  # .35 .15 .35 .15 against .3 .3 .4 0
    assert wrong.three_way is wrong.three_by_margins is None
    assert yardstick.guess() == Errors(pytest.approx(0.15), pytest.approx(0.25))


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        (Errors(0.3, 0.5, 0.6, 0.5), "next to nothing"),
        (Errors(0.02, 0.12, 0.2, 0.12), "no more than the product"),
        (Errors(0.02, 0.05, 0.1, 0.12), "and pairs (5.0%; by margins alone 12.0%)"),
        (Errors(0.02, None), "its one column (2.0% in the wrong cell)"),
    ],
)
def test_the_verdict_measures_pairs_by_the_margins(errors, told):
    assert told in errors.verdict


def test_a_wide_table_of_zeros_and_ones_needs_no_schema_and_is_factorised(rough_models, only_this_k):
    matrix = planted_matrix(3, rows=100, columns=8, ones=0.2, flips=0.0)
    advice = kk.advise(None, data=matrix, k=5)
    assert by_method(advice)["factorise"].errors is not None
    assert by_method(advice)["factorise"].promise == "k-anonymity"
    frame = pd.DataFrame(matrix.toarray(), columns=[f"item {place}" for place in range(8)])
    codes = trial_of(None, None, frame, 5).codes
    assert np.array_equal(np.column_stack(list(codes.values())), matrix.toarray())
    assert list(codes) == list(frame.columns)


def test_hopeless_promises_are_called_so(only_this_k):
    schema = kk.Schema([kk.Categorical(name, list("abcdefgh")) for name in "xyz"])
    assert "next to nothing" in str(kk.advise(schema, n=60, k=50))
    assert "next to nothing" not in str(kk.advise(schema, n=1_000_000, k=2))


def test_missing_values_and_kept_columns_can_be_advised_on(only_this_k):
    schema = kk.Schema(
        [
            kk.Categorical("region", ["north", "south"], role="keep"),
            kk.Numeric("age", 0, 90, step=10, missing="category"),
            kk.Categorical("job", ["clerk", "nurse"], missing="category"),
        ]
    )
    n = 600
    table = pa.table(
        {
            "region": ["north"] * 200 + ["south"] * 400,
            "age": [None if place % 7 == 0 else 10 * (place % 9) for place in range(n)],
            "job": [["clerk", "nurse", None][place % 3] for place in range(n)],
        }
    )
    advice = kk.advise(schema, data=table, k=4)
    assert advice.n == 200
    assert {"all", 1, 2} <= set(by_tell(advice))


@pytest.mark.parametrize(
    ("schema", "given", "error"),
    [
        (census_schema(), {}, "either n or the data"),
        (census_schema(), {"n": 10, "data": census(10)}, "either n or the data"),
        (None, {"n": 10}, "wide table"),
        (census_schema(), {"n": 5}, "more than the 5 records"),
        (census_schema(), {"n": -5}, "at least 2 records"),
        (census_schema(), {"data": census(10).slice(0, 0)}, "at least 2 records"),
        (None, {"data": pa.table({"job": ["a", "b"]})}, "'job': does not hold numbers. Give the schema.*schema infer"),
    ],
)
def test_what_cannot_be_compared_is_refused(schema, given, error):
    with pytest.raises(kk.KakuranError, match=error):
        kk.advise(schema, k=10, **given)


def test_the_same_question_has_the_same_answer(blind):
    assert kk.advise(census_schema(), n=50_000, k=10).to_dict() == blind.to_dict()


def test_the_picture_shows_every_method_that_could_be_assessed(from_data):
    labels = [line.get_label() for line in from_data.plot().axes[0].get_lines()]
    assert {"whole records", "single columns", "pairs of columns"} <= set(labels)
    assert "microaggregation" in labels
    assert "factorisation" not in labels
    assert "k = 10" in labels


def test_noise_that_would_leave_the_data_as_they_are_is_not_advised():
    codes = np.random.default_rng(3).integers(0, 2, (2, 4_000))
    table = pa.table({name: np.array(["no", "yes"])[column] for name, column in zip("ab", codes, strict=True)})
    schema = kk.Schema([kk.Categorical(name, ["no", "yes"]) for name in "ab"])
    fitted = kk.calibrate(schema, data=table, k=10, calibration="data-dependent", tell="all")
    assert fitted.kept > HARDLY_PERTURBED  # a thousand people share what each says
    advice = kk.advise(schema, data=table, k=10)
    assert advice.perturbation.method == "perturb"
    assert [one.errors for one in advice.outlooks if one.method == "perturb-data-dependent"] == [None]


def misplaced(errors):
    return f"{errors.two_way:.1%}"


def test_k_in_every_draw_and_with_certainty_stand_side_by_side(blind, from_data):
    for advice, given in ((blind, {"n": 50_000}), (from_data, {"data": census(5_000)})):
        assert advice.perturbation.certainty is None
        assert advice.beside.certainty == 0.999999
        assert advice.beside.command.endswith("--certainty 0.999999")
        every = next(one for one in advice.outlooks if (one.method, one.tell) == ("perturb", advice.perturbation.tell))
        assert (
            f"k = 10 in every draw: {misplaced(every.errors)} in the wrong cell of two-way tables; with certainty "
            f"0.999999: {misplaced(advice.beside.errors)}." in advice.sentences
        )
        assert advice.beside.errors.two_way < every.errors.two_way
        assert advice.to_dict()["beside"]["two_way"] == advice.beside.errors.two_way
        if "n" in given:
            plan = kk.calibrate(census_schema(), k=10, certainty=0.999999, tell=advice.beside.tell, **given)
            assert advice.beside.errors.two_way == expected_error(plan.tells, 50_000).two_way


def test_what_certainty_would_tell_is_said_where_little_is_told_without(survey, blind, only_this_k):
    (told,) = [sentence for sentence in survey.sentences if sentence.startswith("With certainty, with ")]
    assert survey.beside.command in told
    assert str(survey.beside.errors.verdict) in told
    assert not any(sentence.startswith("With certainty, with ") for sentence in blind.sentences)
    schema = kk.Schema([kk.Categorical(name, list("abcdefgh")) for name in "xyz"])
    assert "With certainty, with " in str(kk.advise(schema, n=60, k=50))
    questions = kk.Schema([kk.Categorical(f"q{place}", list("01234567")) for place in range(10)])
    advice = kk.advise(questions, n=9_000, k=10)
    assert not advice.perturbation.errors.tells_pairs
    assert advice.beside.errors.tells_pairs
    assert f"could tell {advice.beside.errors.verdict}." in str(advice)


def test_all_perturbation_is_as_certain_as_is_asked_for(only_this_k):
    advice = kk.advise(census_schema(), n=50_000, k=10, certainty=0.999999)
    perturbed_ones = [one for one in advice.outlooks if one.tell is not None]
    assert {one.certainty for one in perturbed_ones} == {0.999999}
    assert [one.errors for one in perturbed_ones if one.method == "perturb-data-dependent"] == [None]
    best = kk.designs(census_schema(), n=50_000, k=10, certainty=0.999999)[0]
    assert advice.perturbation.tell == best.tell
    assert advice.perturbation.errors.two_way == best.expected.two_way
    assert advice.perturbation.command == f"kakuran perturb --tell {best.tell} --certainty 0.999999"
    assert advice.beside.certainty is None
    assert f"with certainty 0.999999: {misplaced(advice.perturbation.errors)}." in str(advice)
    assert "whoever names a record for a person is right at most once in 10" in str(advice)
    for sentence in advice.sentences:
        assert words_in("ja").of(sentence) != sentence
    wished = kk.Schema(list(census_schema()), certainty=0.999999)
    assert kk.advise(wished, n=50_000, k=10).to_dict() == advice.to_dict()


def test_it_is_said_where_the_ceiling_makes_certainty_dearer_than_every_draw(only_this_k):
    schema = kk.Schema([kk.Categorical(name, ["no", "yes"]) for name in "ab"])
    assert "Certainty takes more noise here" in str(kk.advise(schema, n=20, k=1.05))
    assert "Certainty takes more noise here" not in str(kk.advise(schema, n=50_000, k=10))


def test_certainty_is_refused_as_calibrate_refuses_it_and_not_compared_where_it_cannot_be_had(only_this_k):
    kept = kk.Schema([kk.Categorical("region", ["n", "s"], role="keep"), kk.Categorical("job", list("abc"))])
    with pytest.raises(kk.CalibrationError, match="number of people in every group"):
        kk.advise(kept, n=500, k=5, certainty=0.999999)
    assert kk.advise(kept, n=500, k=5).beside is None
    assert kk.advise(kept, n=[500, 700], k=5).beside.certainty == 0.999999
    several = kk.Schema([kk.Categorical("job", list("abc"))], person="name", rows_a_person=3)
    with pytest.raises(kk.CalibrationError, match="one record per person"):
        kk.advise(several, n=500, k=5, certainty=0.999999)
    assert kk.advise(several, n=500, k=5).beside is None
    with pytest.raises(kk.CalibrationError, match="certainty must lie above"):
        kk.advise(census_schema(), n=500, k=5, certainty=1.2)
