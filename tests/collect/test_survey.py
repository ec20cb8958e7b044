"""Survey files: what they may say, and what they promise."""

import copy
import re
import tomllib
from importlib import resources

import pytest

from kakuran.collect import Question, Survey
from kakuran.errors import CalibrationError, SchemaError
from kakuran.schema import Categorical

TEMPLATE = (resources.files("kakuran.collect") / "template.toml").read_text(encoding="utf-8")


def changed(**changes):
    fields = tomllib.loads(TEMPLATE)
    for path, value in changes.items():
        place = fields
        *parents, last = path.split("__")
        for parent in parents:
            place = place[parent]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return fields


TRUSTED = {"certainty": 0.999999, "trust": "server"}
HOURS = {"type": "numeric", "low": 0, "high": 9, "step": 1, "text": {"en": "Hours?", "ja": "時間"}}


def unlabelled(values):
    return {"questions__job__labels": None, "questions__job__values": values}


def test_the_survey_to_start_from_is_a_survey(tmp_path):
    (tmp_path / "survey.toml").write_text(TEMPLATE, encoding="utf-8")
    survey = Survey.load(tmp_path / "survey.toml")
    asked = survey.definition()
    assert [question["name"] for question in asked["questions"]] == ["job", "hours", "content"]
    assert asked["questions"][0]["values"][1] == {
        "value": "care",
        "label": {"en": "Care or teaching", "ja": "福祉・教育"},
    }
    assert all("mechanism" in question for question in asked["questions"])
    assert (asked["k"], asked["expected_n"], asked["languages"]) == (10, 1000, ["en", "ja"])


def test_what_the_survey_to_start_from_has_as_comments_can_be_used():
    setting = r"^# (only_if = |\[questions|type = |values = |told = |text = |foot = |bicycle = |train = )"
    survey = Survey.from_dict(tomllib.loads(re.sub(setting, r"\1", TEMPLATE, flags=re.MULTILINE)))
    assert [one.name for one in survey.questions][3:] == ["ways: foot", "ways: bicycle", "ways: train"]
    assert survey.questions[1].only_if == {"job": ["office", "care", "craft"]}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"id": "Working Life"}, "small letters"),
        ({"id": None}, "the survey does not say id"),
        ({"languages": []}, "languages must be a list"),
        ({"languages": ["english"]}, "not the code of a language"),
        ({"title": {"en": "Only English"}}, "title is not given in 'ja'"),
        ({"title": "Working life"}, "a text a language"),
        ({"epsilon": 1.0}, "either k, with the expected_n people it needs, or epsilon"),
        ({"expected_n": None}, "either k, with the expected_n"),
        ({"expected_n": 10.5}, "expected_n must be a whole number"),
        ({"k": "ten"}, "k must be a number"),
        ({"minimum_n": 1}, "minimum_n must be a whole number of at least 2"),
        ({"invitations": "yes"}, "true or false"),
        ({"certainty": 0.999999}, 'which sees whose answers they are.*trust = "server".*leave out certainty'),
        ({"trust": "server"}, "trust.*needs certainty"),
        ({"certainty": 0.999999, "trust": "anybody"}, 'trust must be "server"'),
        ({"certainty": 0.999999, "trust": True}, 'trust must be "server"'),
        ({"certainty": True, "trust": "server"}, "certainty must be a number"),
        (TRUSTED | {"k": None, "expected_n": None, "epsilon": 2.0}, "certainty.*give k, too"),
        (TRUSTED | {"memoise": "life"}, "memoise.*certainty"),
        ({"colour": "red"}, "unknown setting 'colour'"),
        ({"questions": {}}, "needs questions"),
        ({"questions__job__values": ["office", "office"]}, "listed twice"),
        ({"questions__job__labels__pirate": {"en": "Pirate", "ja": "海賊"}}, "not one of its values"),
        ({"questions__job__role": "keep"}, "question 'job': unknown setting 'role'"),
        ({"questions__hours__text": {"en": "Hours?"}}, "question 'hours': text is not given in 'ja'"),
        ({"questions__hours__mechanism": 7}, "must be the name of one"),
        ({"questions__hours__missing": "category"}, "unknown setting 'missing'"),
        (unlabelled(["office", "office\u200b"]), "has some that cannot be seen"),
        (unlabelled(["office", "x" * 1001]), "longer than 1,000 characters"),
        (unlabelled(["office", "ofﬁce"]), "'ofﬁce' and 'office' look the same to respondents"),
        (unlabelled(["office", "\u043effice"]), "'\u043e' in '\u043effice' looks like the Latin 'o' beside it"),
        (unlabelled(["cocoa", "\u0441\u043e\u0441\u043e\u0430"]), "look the same to respondents"),
        ({"questions__job__labels__none": {"en": "N\u043ene", "ja": "なし"}}, "looks like the Latin 'o'"),
        ({"questions": {f"q{place}": HOURS for place in range(1001)}}, "1,001 columns, more than the 1,000"),
        ({"questions__job__labels__none": {"en": "Office  work", "ja": "なし"}}, "look the same to respondents"),
        ({"questions__job__labels__none": {"en": "Office\u200dwork", "ja": "事務"}}, "look the same to respondents"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_reason(changes, complaint):
    with pytest.raises(SchemaError, match=complaint):
        Survey.from_dict(changed(**changes))


def test_a_promise_that_cannot_be_kept_is_refused():
    with pytest.raises(CalibrationError, match="more than the 5 records"):
        Survey.from_dict(changed(expected_n=5))


@pytest.mark.parametrize("certainty", [0.5, 1.0, 1.2])
def test_what_is_no_certainty_is_refused(certainty):
    with pytest.raises(CalibrationError, match="certainty must lie above"):
        Survey.from_dict(changed(certainty=certainty, trust="server"))


def test_certainty_takes_less_noise_and_is_told_with_who_is_trusted():
    every, certain = Survey.from_dict(changed(tell=2)), Survey.from_dict(changed(tell=2, **TRUSTED))
    assert [round(one.plan.epsilon, 2) for one in (every, certain)] == [2.35, 3.83]  # as the guide says
    assert round(Survey.from_dict(changed(**TRUSTED)).plan.epsilon, 2) == 2.72
    assert certain.plan.failure() <= 1e-6
    told = certain.definition()
    assert (told["certainty"], told["trust"]) == (0.999999, "server")
    assert {"certainty", "trust"}.isdisjoint(every.definition())
    assert certain.version != every.version
    assert re.search(r"all that holds against this server.*1/10 with certainty 0\.999999", certain.promise)


def test_fewer_answers_than_expected_have_a_k_that_is_kept_with_the_same_certainty():
    survey = Survey.from_dict(changed(tell=2, **TRUSTED))
    before = 1.0
    for n in (1, 2, 50, 200, 500, 800, 999, 1000, 5000):
        plan = survey.plan_for(n)
        assert plan.tells == survey.plan.tells
        assert plan.excess_risk([n]) <= 0
        assert max(before, survey.plan.k_for(n)) <= plan.k <= max(10, survey.plan.k_for(n))
        before = plan.k
    assert survey.plan_for(1).certainty is None
    assert survey.plan_for(800).certainty == 0.999999
    assert survey.plan_for(800).k > 2 * survey.plan.k_for(800)
    assert round(survey.plan_for(900).k, 2) == 8.96  # as the guide says
    assert survey.plan_for(5000) is survey.plan


@pytest.mark.parametrize("text", ["", "id = ", "\x00"])
def test_a_file_that_is_no_survey_is_refused(tmp_path, text):
    (tmp_path / "survey.toml").write_text(text)
    with pytest.raises(SchemaError):
        Survey.load(tmp_path / "survey.toml")


@pytest.mark.parametrize(
    "changes",
    [
        {"k": 11},
        {"minimum_n": 51},
        {"title__en": "Working lives"},
        {"questions__job__values": ["care", "office", "craft", "none"]},
        {"questions__hours__mechanism": "laplace"},
        {"questions__job__labels__none__ja": "なし"},
    ],
)
def test_anything_people_are_asked_told_or_promised_changes_the_version(changes):
    fields = tomllib.loads(TEMPLATE)
    before = Survey.from_dict(copy.deepcopy(fields)).version
    assert Survey.from_dict(fields).version == before
    assert Survey.from_dict(changed(**changes)).version != before


@pytest.mark.parametrize("epsilon", [0.01, 2.0, 30.0, 50.0])
def test_the_epsilon_promised_is_the_epsilon_of_the_mechanisms(epsilon):
    survey = Survey.from_dict(changed(k=None, expected_n=None, epsilon=epsilon))
    assert survey.plan.epsilon == pytest.approx(epsilon, rel=1e-5, abs=1e-6)
    assert survey.definition()["k"] is None


def test_no_answer_is_sent_as_it_is():
    home = Question(Categorical("home", ["here", "there"], role="keep"), {"en": "Where?"})
    with pytest.raises(SchemaError, match="question 'home': every answer is perturbed"):
        Survey("homes", ("en",), {"en": "Homes"}, (home,), epsilon=1.0)


def test_an_id_fits_in_a_file_name():
    home = Question(Categorical("home", ["here", "there"]), {"en": "Where?"})
    with pytest.raises(SchemaError, match="small letters, digits and hyphens"):
        Survey("../homes", ("en",), {"en": "Homes"}, (home,), epsilon=1.0)


def test_an_epsilon_at_which_every_answer_would_be_sent_as_it_is_is_refused():
    job = Question(Categorical("job", ["clerk", "nurse"]), {"en": "Your job?"})
    with pytest.raises(CalibrationError, match="cannot; choose less"):
        Survey("jobs", ("en",), {"en": "Jobs"}, (job,), epsilon=50.0)


def test_k_grows_with_those_who_answer_until_it_is_the_one_promised():
    survey = Survey.from_dict(tomllib.loads(TEMPLATE))
    reached = [survey.plan_for(n).k for n in (1, 100, 500, 999, 1000, 5000)]
    assert reached[0] == 1
    assert reached == sorted(reached)
    assert reached[3] < 10
    assert reached[4:] == [10, 10]
    for n in (2, 500, 1000):
        plan = survey.plan_for(n)
        assert plan.mechanisms == survey.plan.mechanisms
        tally = plan.tally()
        tally.update({}, n)
        plan.check(tally)


def test_draws_are_remembered_under_a_name_that_waves_share_where_answers_are_few():
    fields = {
        "id": "wave-1",
        "languages": ["en"],
        "title": {"en": "Wave"},
        "epsilon": 2.0,
        "questions": {
            "job": {"type": "categorical", "values": ["clerk", "nurse"], "text": {"en": "?"}},
            "hours": {"type": "numeric", "low": 0, "high": 8_000, "step": 1, "text": {"en": "?"}},
        },
    }
    plain, kept = Survey.from_dict(fields), Survey.from_dict(fields | {"memoise": "panel"})
    assert "memoise" not in plain.definition()
    assert kept.definition()["memoise"] == "panel"
    assert plain.version != kept.version
    with pytest.raises(SchemaError, match=r"memoise: job \+ hours may be answered in 16,002 ways.*at most 10,000"):
        Survey.from_dict(fields | {"memoise": "panel", "tell": 2})
    for wrong in (True, "A b"):
        with pytest.raises(SchemaError, match="memoise must be"):
            Survey.from_dict(fields | {"memoise": wrong})


def test_labels_may_have_what_their_language_cannot_do_without():
    label = {"en": "\U0001f469\u200d\u2695\ufe0f", "ja": "看護"}
    assert Survey.from_dict(changed(questions__job__labels__none=label)).questions[0].labels["none"] == label


@pytest.mark.parametrize(("told", "tell"), [("each", 2), ("set", 2), ("each", "all"), ("each", [["symptoms"], ["q0"]])])
def test_the_owner_is_told_of_a_question_that_takes_up_much_of_the_sample(told, tell):
    questions = {f"q{at}": {"type": "categorical", "values": ["a", "b"], "text": {"en": "?"}} for at in range(7)}
    symptoms = {"type": "several", "values": list("wxyz"), "told": told, "text": {"en": "?"}}
    if isinstance(tell, list):
        questions = {"q0": questions["q0"]}
    survey = Survey.from_dict(
        {"id": "health", "languages": ["en"], "title": {"en": "Health"}, "k": 10, "expected_n": 1000, "tell": tell}
        | {"questions": questions | {"symptoms": symptoms}}
    )
    if (told, tell) != ("each", 2):
        assert survey.crowded == []
        return
    (note,) = survey.crowded
    assert note.startswith("question 'symptoms' is drawn for 62% of people, others for 18%: each of its 4 values")
