"""Questions that may be skipped, have several answers or depend on others: asked, sent, refused, exported."""

from __future__ import annotations

import json
import uuid

import numpy as np
import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator

import kakuran as kk
from kakuran.collect import Question, Survey, SurveyClient, dashboard, export_survey, open_store
from kakuran.collect.messages import Form, Problem
from kakuran.collect.openapi import document
from kakuran.collect.records import Live
from kakuran.errors import SchemaError
from kakuran.schema import Categorical

JOBS = ["office", "care", "none-now"]
JOB = {"type": "categorical", "values": JOBS, "text": {"en": "Your job?"}}
HOURS = {"type": "numeric", "low": 0, "high": 80, "step": 1, "text": {"en": "Hours?"}}
TEAM = {"type": "categorical", "values": ["alone", "team"], "text": {"en": "With whom?"}}
HOBBIES = {"type": "several", "values": ["sport", "music", "games"], "text": {"en": "What do you do?"}}
QUESTIONS = {
    "job": JOB | {"skip": True},
    "hours": HOURS | {"only_if": {"job": ["office", "care"]}},
    "team": TEAM | {"only_if": {"job": ["office"]}, "skip": True},
    "pay": HOURS | {"skip": True},
    "hobbies": HOBBIES,
}


def survey_of(questions=QUESTIONS, **changes):
    fields = {"id": "work", "languages": ["en"], "title": {"en": "Work"}, "epsilon": 30.0, "minimum_n": 2}
    return Survey.from_dict(fields | {"questions": questions} | changes)


def changed(name, **changes):
    return QUESTIONS | {name: QUESTIONS[name] | changes}


def sheet(survey, told=None, **answers):
    message = {"id": str(uuid.uuid4()), "version": survey.version, "answers": answers}
    return message if told is None else message | {"told": told}


def column(name, survey):
    return next(one for one in survey.definition()["questions"] if one["name"] == name)


def test_every_way_not_to_answer_is_a_value_that_is_perturbed_with_the_others():
    schema = survey_of().schema
    assert [one.name for one in schema] == [
        "job", "hours", "team", "pay", "hobbies: sport", "hobbies: music", "hobbies: games",
    ]  # fmt: skip
    assert schema["team"].values == ("alone", "team", "does not apply")
    assert [schema[name].missing for name in ("job", "hours", "team", "pay", "hobbies: sport")] == [
        "category", "category", "category", "category", "error",
    ]  # fmt: skip
    assert [survey_of().definition()["questions"][at]["mechanism"]["size"] for at in (0, 1, 2)] == [4, 82, 4]


def test_a_page_is_told_what_leads_where_and_what_those_give_whom_it_does_not_apply_to():
    survey = survey_of()
    assert {key: column("hours", survey)[key] for key in ("missing", "only_if", "outside")} == {
        "missing": "outside",
        "only_if": {"job": ["office", "care"]},
        "outside": 81,
    }
    assert (column("team", survey)["missing"], column("team", survey)["outside"]) == ("skipped", 2)
    several = column("hobbies: music", survey)["several"]
    assert (several["name"], several["ticks"]) == ("hobbies", ["music"])
    assert column("hobbies: music", survey)["text"] == {"en": "What do you do? – music"}


def test_a_set_is_one_value_whose_binary_digits_are_its_options():
    survey = survey_of({"job": JOB, "hobbies": HOBBIES | {"told": "set", "only_if": {"job": ["care"]}, "skip": True}})
    values = survey.schema["hobbies"].values
    assert values[:4] == ("none", "sport", "music", "sport + music")
    assert values[-2:] == ("sport + music + games", "does not apply")
    for code, value in enumerate(values[:8]):
        chosen = [] if value == "none" else value.split(" + ")
        assert code == sum(1 << HOBBIES["values"].index(option) for option in chosen)


@pytest.mark.parametrize(
    ("questions", "complaint"),
    [
        (changed("job", type="text"), "question 'job': free text cannot be perturbed: .* Offer categories"),
        (changed("hours", skip=True), "would both be missing"),
        (changed("job", skip="yes"), "skip must be true or false"),
        (changed("hours", only_if={"job": "office"}), "only_if must be a table of questions and lists of answers"),
        (changed("hours", only_if={"jub": ["office"]}), "there is no question 'jub'. Did you mean 'job'"),
        (changed("hours", only_if={"job": ["ofice"]}), "'ofice' is no answer to 'job'. Did you mean 'office'"),
        (changed("hours", only_if={"job": []}), "lists no answer to 'job', so nobody would be asked"),
        (changed("hours", only_if={"hours": [3]}), "cannot decide on itself"),
        (changed("hours", only_if={"hobbies": ["sport"]}), "'hobbies' comes later; put it before 'hours'"),
        (changed("job", only_if={"team": ["alone"]}), "question 'job': only_if: 'team' depends on it in turn"),
        (changed("pay", only_if={"hours": [40]}, skip=False), "'hours' is a number or a date; decide on a question"),
        (changed("pay", only_if={"team": ["does not apply"]}, skip=False), "'does not apply' is no answer to 'team'"),
        (changed("team", values=["alone", "does not apply"]), "is among its values by itself; leave it out"),
        (changed("team", told="each"), 'told says how several answers are told; it goes with type = "several"'),
        (changed("hobbies", told="all"), 'told must be "each" or "set"'),
        (changed("hobbies", values=["a", "none"]), "leave out 'none'; the page offers to choose none"),
        (changed("hobbies", values=[1, 2]), "must be a list of texts"),
        (changed("hobbies", values=["a", "a"]), "listed twice"),
        (changed("hobbies", step=1), "step does not go with several answers"),
        (
            changed("hobbies", values=list("abcdefg"), told="set"),
            '7 values make 128 sets, more than the 64 .* say told = "each", or offer at most 6 values',
        ),
    ],
)  # fmt: skip
def test_questions_that_cannot_be_meant_are_refused_with_a_way_out(questions, complaint):
    with pytest.raises(SchemaError, match=complaint):
        survey_of(questions)


def test_a_question_made_in_python_needs_an_answer_for_those_whom_it_does_not_apply_to():
    job = Question(Categorical("job", ["a", "b"]), {"en": "?"})
    team = Question(Categorical("team", ["a", "b"]), {"en": "?"}, only_if={"job": ["a"]})
    with pytest.raises(SchemaError, match="'does not apply' among its values, or missing"):
        Survey("work", ("en",), {"en": "Work"}, (job, team), epsilon=1.0)


def test_surveys_without_any_of_this_say_what_they_said_and_keep_their_version():
    plain = {"job": JOB, "hours": HOURS}
    said = [set(one) - {"mechanism"} for one in survey_of(plain).definition()["questions"]]
    assert said[0] == {"name", "text", "help", "kind", "values"}
    assert said[1] == {"name", "text", "help", "kind", "low", "high", "step", "unit"}
    assert survey_of(plain | {"job": JOB | {"skip": False}}).version == survey_of(plain).version
    assert survey_of(plain | {"job": JOB | {"skip": True}}).version != survey_of(plain).version


def test_null_is_an_answer_where_it_may_be_and_nowhere_else():
    survey = survey_of(QUESTIONS | {"age": HOURS})
    form, hobbies = Form(survey), dict.fromkeys(("hobbies: sport", "hobbies: music", "hobbies: games"), "no")
    schema = document(survey)["paths"]["/api/responses"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    described = Draft202012Validator(schema)
    empty = dict.fromkeys(("job", "hours", "team", "pay")) | hobbies
    for age, is_answer in ((30, True), (None, False)):
        message = sheet(survey, **empty, age=age)
        assert described.is_valid(message) == is_answer
        if is_answer:
            assert len(form.read_one(json.dumps(message).encode()).rows) == 1
            continue
        with pytest.raises(Problem, match="question 'age'"):
            form.read_one(json.dumps(message).encode())
    left_out = sheet(survey, **{name: value for name, value in empty.items() if name != "job"}, age=30)
    assert not described.is_valid(left_out)
    with pytest.raises(Problem, match="question 'job' is not answered"):
        form.read_one(json.dumps(left_out).encode())


def people(count):
    """At an ε where hardly anything changes: a third has no job, and every fifth would rather not say their pay."""
    place = np.arange(count)
    job = np.array([*JOBS], object)[place % 3]
    return pa.table(
        {
            "job": pa.array(np.where(place % 10 == 0, None, job), pa.string()),
            "hours": pa.array(np.where(job == "none-now", np.nan, 40.0), from_pandas=True),
            "team": pa.array(np.where(job == "office", "team", "does not apply")),
            "pay": pa.array(np.where(place % 5 == 0, np.nan, place % 81), from_pandas=True),
            "hobbies: sport": pa.array(np.where(place % 2 == 0, "yes", "no")),
            "hobbies: music": pa.array(["no"] * count),
            "hobbies: games": pa.array(["no"] * count),
        }
    )


@pytest.mark.parametrize("tell", ["all", [["job", "hours", "team"], ["pay", "hobbies"]]], ids=["all", "some"])
def test_what_is_missing_arrives_is_exported_and_is_estimated(serve, tmp_path, tell):
    survey = survey_of(tell=tell, epsilon=40.0)
    with serve(survey, tmp_path / "a.db") as base, SurveyClient(base, survey) as client:
        assert client.submit_many(people(600)) == 600
        for row in people(11).to_pylist():
            client.submit(row)
    store = open_store(tmp_path / "a.db", survey)
    snapshot = Live(store, Form(survey)).snapshot()
    found = dashboard.summary(snapshot, minimum_n=2)
    shares = {
        one["name"]: dict(zip(one["labels"], np.array(one["estimate"]) / 611, strict=True))
        for one in found["questions"]
    }
    assert dashboard.crosstab(snapshot, "hours", "job", minimum_n=2)["rows"]["labels"][-1] == "missing"
    assert dashboard.tree(snapshot, "team", minimum_n=2)["classes"][-2:] == ("does not apply", "missing")
    release = export_survey(store)
    store.close()
    assert shares["job"]["missing"] == pytest.approx(0.1, abs=0.05)
    assert shares["hours"]["missing"] == pytest.approx(1 / 3, abs=0.08)
    assert shares["team"]["does not apply"] == pytest.approx(2 / 3, abs=0.08)
    assert shares["pay"]["missing"] == pytest.approx(0.2, abs=0.08)
    assert shares["hobbies: sport"]["yes"] == pytest.approx(0.5, abs=0.08)
    release.save(tmp_path / "out.csv")
    again = kk.read_release(tmp_path / "out.csv")
    assert again.crosstab("team").counts[2] / 611 == pytest.approx(shares["team"]["does not apply"], abs=1e-3)


ONSET = {"type": "date", "low": "2020-01-06", "high": "2020-07-05", "step": "week", "text": {"en": "Since when?"}}
VISIT = ONSET | {"step": "month", "skip": True}


class TestDates:
    def test_a_page_is_told_the_bounds_and_the_period(self):
        survey = survey_of({"onset": ONSET, "visit": VISIT})
        onset, visit = survey.definition()["questions"]
        assert {name: onset[name] for name in ("kind", "low", "high", "step")} == {
            "kind": "date", "low": "2020-01-06", "high": "2020-07-05", "step": "week",
        }  # fmt: skip
        assert (visit["low"], visit["high"], visit["missing"]) == ("2020-01-01", "2020-07-31", "skipped")

    def test_only_what_may_be_released_is_taken(self):
        survey = survey_of({"onset": ONSET}, epsilon=2.0)
        form, reach = Form(survey), survey.plan.reach("onset")
        assert reach > 0
        beyond = survey.schema["onset"].written(survey.schema["onset"].low - 7 * reach)
        for day in ("2020-01-06", "2020-06-29", beyond):
            assert form.read_one(json.dumps(sheet(survey, onset=day)).encode()).rows
            sent = document(survey)["paths"]["/api/responses"]["post"]["requestBody"]["content"]["application/json"]
            Draft202012Validator(sent["schema"]).validate(sheet(survey, onset=day))
        for day in ("2020-01-07", "2019-01-07", "6/1/2020", 18_267, None, True):
            with pytest.raises(Problem):
                form.read_one(json.dumps(sheet(survey, onset=day)).encode())

    def test_dates_arrive_are_exported_and_are_estimated(self, serve, tmp_path):
        """Python's client sends them as a page does; at this ε next to none is changed."""
        survey = survey_of({"onset": ONSET, "visit": VISIT}, epsilon=24.0)
        days = np.datetime64("2020-01-06") + np.random.default_rng(3).integers(0, 60, 500)
        missing = np.arange(500) % 5 == 0
        people = pa.table({"onset": pa.array(days), "visit": pa.array(days, mask=missing)})
        with serve(survey, tmp_path / "a.db") as base, SurveyClient(base, survey) as client:
            assert client.submit_many(people) == 500
            client.submit({"onset": days[0].item(), "visit": days[0].item()})
        store = open_store(tmp_path / "a.db", survey)
        found = export_survey(store)
        store.close()
        assert found.table.schema.field("onset").type == pa.date32()
        weeks = np.bincount((days - np.datetime64("2020-01-06")).astype(int) // 7, minlength=26)
        assert np.abs(found.crosstab("onset").counts - weeks).sum() < 10
        assert found.share("visit is None").estimates == pytest.approx(100 / 501, abs=0.02)


def test_a_text_that_turns_the_direction_of_writing_is_refused():
    fields = {"type": "categorical", "values": ["yes", "no"], "text": {"en": "Do you \u202e?"}}
    with pytest.raises(SchemaError, match="direction of writing"):
        Survey.from_dict(
            {"id": "turned", "languages": ["en"], "title": {"en": "T"}, "epsilon": 1.0, "questions": {"a": fields}}
        )
