"""Surveys that ask each of their questions of some people only: what is drawn, sent, refused, exported and shown."""

from __future__ import annotations

import dataclasses
import json
import uuid
from contextlib import closing

import httpx
import numpy as np
import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator

import kakuran as kk
from kakuran.collect import RequestLimits, Serving, Survey, create_app, dashboard, export_survey, open_store, status_of
from kakuran.collect.messages import Form
from kakuran.collect.openapi import document
from kakuran.collect.records import Live
from kakuran.collect.serving import running
from kakuran.errors import CalibrationError, SchemaError

from .conftest import TOKEN
from .sheets import problem

VALUES = {"job": ["clerk", "nurse", "smith"], "smokes": ["no", "yes"]}
FIELDS = {
    "id": "health",
    "languages": ["en"],
    "title": {"en": "Health"},
    "k": 5,
    "expected_n": 1000,
    "minimum_n": 20,
    "tell": 2,
    "questions": {
        **{name: {"type": "categorical", "values": values, "text": {"en": "?"}} for name, values in VALUES.items()},
        "age": {"type": "numeric", "low": 0, "high": 60, "step": 1, "text": {"en": "Your age?"}},
    },
}
PAIRS = ["job + smokes", "job + age", "smokes + age"]


def survey_that(**changes):
    fields = {name: value for name, value in (FIELDS | changes).items() if value is not None}
    return Survey.from_dict(fields)


@pytest.fixture(scope="module")
def survey():
    return survey_that()


@pytest.fixture
def site(serve, survey, tmp_path):
    with (
        serve(survey, tmp_path / "answers.db") as base,
        httpx.Client(base_url=base, timeout=60, verify=False) as client,
    ):
        yield client


def sheet(survey, told, **answers):
    return {"id": str(uuid.uuid4()), "version": survey.version, "told": told, "answers": answers}


def people(count):
    """Nurses smoke; nobody else does."""
    jobs = np.resize(VALUES["job"], count)
    return pa.table({"job": jobs, "smokes": np.where(jobs == "nurse", "yes", "no"), "age": np.arange(count) % 61})


@pytest.mark.parametrize("changes", [{}, {"k": None, "expected_n": None, "epsilon": 2.0}])
def test_every_set_of_questions_is_as_likely_and_has_the_whole_epsilon(changes):
    survey = survey_that(**changes)
    tells = survey.definition()["tells"]
    assert [tell["told"] for tell in tells] == PAIRS
    assert [tell["questions"] for tell in tells] == [pair.split(" + ") for pair in PAIRS]
    assert sum(int(tell["weight"]) for tell in tells) == 1 << 63
    for tell in survey.plan.tells:
        assert tell.share == 1 / 3
        assert tell.telling.epsilon == pytest.approx(survey.plan.epsilon)
    if survey.epsilon:
        assert survey.plan.epsilon == pytest.approx(survey.epsilon)
    assert survey.plan_for(500).tells == survey.plan.tells


def test_whole_records_are_one_set_of_all_questions_and_keep_their_version(survey):
    whole = survey_that(tell=None)
    (tell,) = whole.definition()["tells"]
    assert (tell["questions"], tell["threshold"]) == (["job", "smokes", "age"], None)
    assert whole.version == survey_that(tell="all").version == survey_that(tell=None, ask="all").version
    assert "ask" not in whole.definition()
    assert len({whole.version, survey.version, survey_that(ask="all").version, survey_that(tell=1).version}) == 4


def test_what_is_drawn_may_be_listed_be_about_a_question_or_be_chosen():
    sets = [["job", "age"], ["smokes"]]
    assert [list(tell.columns) for tell in survey_that(tell=sets).plan.tells] == sets
    assert all("age" in tell.columns for tell in survey_that(about="age").plan.tells)
    assert survey_that(tell="auto", purpose="one-way").plan == kk.calibrate(
        survey_that().schema, n=1000, k=5, tell="auto", purpose="one-way"
    )


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"tell": "some"}, 'tell must be "all", "auto", a number of questions or a list of question sets'),
        ({"tell": True}, "tell must be"),
        ({"tell": 4}, "between 1 and the 3 columns"),
        ({"tell": [["job", "smokes"]]}, "no set tells 'age'"),
        ({"tell": [["job", "shoe"]]}, "tell: no column 'shoe'"),
        ({"tell": "all", "about": "job"}, "leave out about, or tell fewer"),
        ({"about": "shoe"}, "about: no column 'shoe'"),
        ({"purpose": "four-way"}, 'purpose must be "one-way" or "two-way" or "three-way"'),
        ({"ask": "some"}, 'ask must be "drawn" or "all"'),
        ({"tell": "auto", "k": None, "expected_n": None, "epsilon": 1.0}, "promise k for so many, or say what to tell"),
        ({"k": None, "expected_n": None, "epsilon": 50.0}, "cannot; choose less"),
        (
            {"questions": FIELDS["questions"] | {"age": FIELDS["questions"]["age"] | {"mechanism": "laplace"}}},
            "use retention, square-wave or subset, or tell whole records",
        ),
    ],
)
def test_what_cannot_be_told_is_refused_with_the_way_out(changes, complaint):
    with pytest.raises((SchemaError, CalibrationError), match=complaint):
        survey_that(**changes)


def test_the_status_says_that_not_everybody_is_asked_everything(survey, tmp_path):
    with closing(open_store(tmp_path / "answers.db", survey)) as store:
        assert status_of(store)["question_sets"] == 3


def test_an_answer_sheet_holds_what_was_drawn_and_nothing_else(site, survey):
    reach = survey.plan.reach("age")
    assert reach
    for told, answers in [
        ("job + smokes", {"job": "nurse", "smokes": "yes"}),
        ("smokes + age", {"smokes": "yes", "age": 60 + reach}),
        ("job + age", {"age": -reach, "job": "clerk"}),
    ]:
        assert site.post("/api/responses", json=sheet(survey, told, **answers)).status_code == 201


@pytest.mark.parametrize(
    ("told", "answers", "detail"),
    [
        ("job", {"job": "nurse"}, "told is none of the question sets that the survey draws from"),
        (None, {"job": "nurse", "smokes": "no"}, "told is none"),
        (0, {"job": "nurse", "smokes": "no"}, "told is none"),
        (["job + smokes"], {"job": "nurse", "smokes": "no"}, "told is none"),
        ("job + smokes", {"job": "nurse"}, "question 'smokes' is not answered"),
        ("job + smokes", {"job": "nurse", "age": 4}, "question 'smokes' is not answered"),
        ("job + smokes", {"job": "nurse", "smokes": "no", "age": 4}, "a question that is not asked"),
        ("job + smokes", {"job": "nurse", "smokes": "no", "age": None}, "a question that is not asked"),
        ("job + smokes", {"job": "nurse", "smokes": None}, "question 'smokes': not one of its values"),
        ("job + age", {"job": "nurse", "age": 1000}, "question 'age': not a number its mechanism can release"),
    ],
)
def test_what_was_not_drawn_is_refused_and_so_is_what_is_missing(site, survey, told, answers, detail):
    refused = site.post("/api/responses", json=sheet(survey, told, **answers))
    assert (refused.status_code, problem(refused)) == (422, "invalid")
    assert detail in refused.json()["detail"]


def test_a_sheet_that_does_not_say_what_was_drawn_is_refused_and_so_is_one_that_need_not_say(serve, survey, tmp_path):
    unsaid = {key: value for key, value in sheet(survey, "", job="nurse", smokes="no").items() if key != "told"}
    whole = survey_that(tell="all")
    said = sheet(whole, "job + smokes + age", job="nurse", smokes="no", age=4)
    for one, asked, sent in (("a", survey, unsaid), ("b", whole, said)):
        with serve(asked, tmp_path / one) as base, httpx.Client(base_url=base, verify=False) as site:
            refused = site.post("/api/responses", json=sent)
            assert (refused.status_code, problem(refused)) == (422, "invalid")


def batch(survey, **changes):
    answers = {"job": ["nurse", None], "smokes": ["no", "yes"], "age": [None, 7]}
    ids = [str(uuid.uuid4()) for _ in range(2)]
    told = ["job + smokes", "smokes + age"]
    return {"ids": ids, "version": survey.version, "told": told, "answers": answers} | changes


def test_a_batch_has_null_for_what_is_not_told(site, survey):
    assert site.post("/api/responses/batch", json=batch(survey)).json() == {"accepted": 2, "replayed": 0}


@pytest.mark.parametrize(
    "changes",
    [
        {"told": "job + smokes"},
        {"told": ["job + smokes"]},
        {"told": ["job + smokes", "job"]},
        {"told": ["smokes + age", "job + smokes"]},
        {"answers": {"job": ["nurse", "nurse"], "smokes": ["no", "yes"], "age": [None, 7]}},
        {"answers": {"job": ["nurse", None], "smokes": ["no", None], "age": [None, 7]}},
        {"answers": {"job": ["nurse", None], "smokes": ["no", "yes"]}},
    ],
)
def test_a_batch_with_one_sheet_that_was_not_drawn_so_is_refused_whole(site, survey, changes):
    refused = site.post("/api/responses/batch", json=batch(survey, **changes))
    assert (refused.status_code, problem(refused)) == (422, "invalid")


def test_the_description_of_the_api_is_of_these_messages(survey):
    paths = document(survey)["paths"]
    one, many = (
        Draft202012Validator(paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"])
        for path in ("/api/responses", "/api/responses/batch")
    )
    assert one.is_valid(sheet(survey, "job + smokes", job="nurse", smokes="no"))
    assert not one.is_valid(sheet(survey, "job", job="nurse"))
    assert many.is_valid(batch(survey))
    assert not many.is_valid({key: value for key, value in batch(survey).items() if key != "told"})


def test_the_client_sends_what_it_drew_and_nothing_else(survey, monkeypatch):
    sent = []
    monkeypatch.setattr(kk.SurveyClient, "_send", lambda _, path, message: sent.append(message) or {})
    client = kk.SurveyClient("http://survey.example", survey)
    for _ in range(60):
        client.submit({"job": "nurse", "smokes": "yes", "age": 41})
    assert {message["told"] for message in sent} == set(PAIRS)  # one of three is missing from 60: below 1e-9
    assert all(list(message["answers"]) == message["told"].split(" + ") for message in sent)


@pytest.fixture(scope="module")
def filled(survey, tmp_path_factory):
    """A store with the answers of 6,000 people, as the client sends them."""
    limits = RequestLimits(rate=float("inf"))
    path = tmp_path_factory.mktemp("health") / "answers.db"
    app = create_app(survey, open_store(path, survey), TOKEN, limits=limits)
    with running(app, Serving(port=0, limits=limits)) as base:
        with kk.SurveyClient(base, survey) as client:
            assert client.submit_many(people(6_000)) == 6_000
        yield base, path


def test_an_export_is_a_release_that_answers(survey, filled, tmp_path):
    _, path = filled
    with closing(open_store(path, survey)) as store:
        export_survey(store).save(tmp_path / "health.parquet")
    release = kk.read_release(tmp_path / "health.parquet")
    assert (release.n, release.plan.k) == (6_000, 5)
    assert release.plan.tells == survey.plan.tells
    table = release.table
    assert table.column_names == ["told", "job", "smokes", "age"]
    told = np.array(table["told"].to_pylist())
    assert set(told) == set(PAIRS)
    assert [value is not None for value in table["age"].to_pylist()] == [" age" in one for one in told]
    # Standard errors are about 130 people a cell.
    found = release.crosstab("job", "smokes")
    np.testing.assert_allclose(found.counts, [[2000, 0], [0, 2000], [2000, 0]], atol=700)


def test_the_dashboard_is_json_and_scales_to_everybody(survey, filled):
    base, _ = filled
    with httpx.Client(base_url=base, headers={"authorization": f"Bearer {TOKEN}"}, timeout=120, verify=False) as owner:
        summary = owner.get("/api/admin/summary").json()
        crosstab = owner.get("/api/admin/crosstab?rows=job&columns=smokes").json()
        tree = owner.get("/api/admin/tree?target=smokes").json()
    assert summary["n"] == 6_000
    for question in summary["questions"]:
        assert sum(question["estimate"]) == pytest.approx(6_000, abs=1)
        assert sum(question["naive"]) == pytest.approx(6_000, abs=1)
    assert summary["history"][-1]["n"] == 6_000
    assert crosstab["rests_on"] == "counts"
    assert tree["root"]["question"] == "job"


def test_one_answer_moves_as_many_people_as_it_stands_for(survey, filled):
    """Two of three people are asked each question."""
    _, path = filled
    with closing(open_store(path, survey)) as store:
        release = Live(store, Form(survey)).snapshot()
    found = dashboard.summary(release, minimum_n=20)
    job = next(question for question in found["questions"] if question["name"] == "job")
    asked = 6_000 / sum(np.array(release.table["job"].is_valid().to_pylist()))
    kept = np.mean([tell.telling.retention for tell in survey.plan.tells[:2]])
    assert job["influence"] == pytest.approx(asked * (1 - (1 - kept) / 3) / kept, abs=0.01)
    np.testing.assert_allclose(
        found["history"][-1]["widths"],
        [np.mean(np.subtract(one["high"], one["low"])) / 6_000 for one in found["questions"]],
        rtol=0.15,
    )


def test_what_nobody_is_asked_together_rests_on_the_model_and_says_so():
    survey = survey_that(tell=[["job", "age"], ["smokes"]])
    with pytest.warns(kk.errors.NotForPublicationWarning):
        release = kk.perturb(people(3_000), dataclasses.replace(survey.plan, n=3_000), seed=1)
    found = dashboard.crosstab(release, "job", "smokes", minimum_n=20)
    assert (found["rests_on"], found["naive"]) == ("model", None)
    json.dumps(found, allow_nan=False)


def test_a_question_that_nobody_was_asked_yet_is_not_known(tmp_path):
    survey = survey_that(tell=1)
    form = Form(survey)
    sheets = [sheet(survey, "smokes", smokes="no"), sheet(survey, "age", age=7)]
    with closing(open_store(tmp_path / "answers.db", survey)) as store:
        store.add([form.read_one(json.dumps(one).encode()) for one in sheets])
        found = dashboard.summary(Live(store, form).snapshot(), minimum_n=2)
    json.dumps(found, allow_nan=False)
    job = found["questions"][0]
    assert (job["influence"], job["low"], job["high"]) == (None, [0, 0, 0], [2, 2, 2])
    assert found["history"][-1]["widths"][0] == 1
