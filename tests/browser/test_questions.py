"""Skipping, several answers and branching in a real browser: whatever somebody is asked, the same members leave it."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from .test_respondent import STORED, draw, refuses_a_server_that_lies, send

HOBBIES = {"type": "several", "values": ["sport", "music", "games"], "text": {"en": "What do you do?"}}
NUMBER = {"type": "numeric", "low": 0, "high": 80, "step": 0.5}
QUESTIONS = {
    "job": {
        "type": "categorical",
        "values": ["office", "care", "idle"],
        "text": {"en": "Your job?"},
        "skip": True,
    },
    "hours": NUMBER | {"text": {"en": "How many hours?"}, "only_if": {"job": ["office", "care"]}},
    "team": {
        "type": "categorical",
        "values": ["alone", "shared"],
        "text": {"en": "With whom?"},
        "only_if": {"job": ["office"]},
        "skip": True,
    },
    "pay": NUMBER | {"text": {"en": "What are you paid?"}, "skip": True},
    "hobbies": HOBBIES,
    "clubs": HOBBIES | {"text": {"en": "Which clubs?"}, "told": "set", "only_if": {"hobbies": ["sport", "games"]}},
}
DATED = {"type": "date", "low": "2019-11-20", "high": "2021-03-03"}
DATES = {
    step: DATED | {"step": step, "text": {"en": f"Which {step}?"}, "skip": True}
    for step in ("day", "week", "month", "quarter", "year")
}
SURVEY = {
    "languages": ["en"],
    "title": {"en": "Work"},
    "introduction": {},
    "questions": QUESTIONS,
}


@pytest.fixture
def site(serve):
    return serve(**SURVEY)


def group(page, name):
    return page.get_by_role("group", name=name)


def number(page, name):
    return page.get_by_role("spinbutton", name=name)


def shown(page):
    """The questions that are visible, in order."""
    page.get_by_role("button", name="Draw what will be sent").wait_for()
    return [one.inner_text() for one in page.locator(".asked").all() if one.is_visible()]


def answer_as_worker(page):
    group(page, "Your job?").get_by_label("office").check()
    number(page, "How many hours?").fill("38.5")
    group(page, "With whom?").get_by_label("I would rather not answer").check()
    number(page, "What are you paid?").fill("12")
    for hobby in ("sport", "games"):
        group(page, "What do you do?").get_by_label(hobby).check()
    group(page, "Which clubs?").get_by_label("None of these").check()


def answer_as_idler(page):
    group(page, "Your job?").get_by_label("idle").check()
    page.get_by_label("I would rather not answer").nth(-1).check()
    group(page, "What do you do?").get_by_label("music").check()


def test_whoever_is_asked_what_the_same_members_leave_the_browser(site, visit):
    """Two people who are led through different questions cannot be told apart by anything but what was drawn."""
    seen = []
    for answer, questions in ((answer_as_worker, 6), (answer_as_idler, 3)):
        visitor = visit()
        visitor.page.goto(site.address)
        assert shown(visitor.page) == ["Your job?", "What are you paid?", "What do you do?"]
        answer(visitor.page)
        assert len(shown(visitor.page)) == questions
        before = len(visitor.requests)
        drawn = draw(visitor.page)
        assert len(visitor.requests) == before
        assert list(drawn) == ["version", "id", "title", "epsilon", "tried", "sent", "room", "answers"]
        send(visitor.page)
        visitor.page.wait_for_load_state("networkidle")
        (message,) = visitor.submissions()
        urls = [re.sub(r"^https?://[^/]+", "", request.url) for request in visitor.requests]
        stored = [key for key, *_ in json.loads(visitor.page.evaluate(STORED))[0]]
        seen.append((list(message), list(message["answers"]), sorted(urls), stored))
    assert seen[0] == seen[1]
    assert seen[0][1] == [one.name for one in site.survey.schema]
    assert site.n == 2


def test_what_does_not_apply_or_is_skipped_is_drawn_for_like_any_answer(site, visit):
    """Every value comes out for those who gave another one: of 400 draws none is missed, but in one run of 10¹⁵."""
    page = visit().page
    page.goto(site.address)
    shown(page)
    for codes in ({"outside": True}, {"outside": False}):
        came = page.evaluate(
            """async ({ outside }) => {
                const survey = await Page.loadSurvey();
                const code = ({ outside: one }) => (outside && one !== undefined ? one : 0);
                const codes = Object.fromEntries(survey.questions.map((one) => [one.name, code(one)]));
                return Array.from({ length: 400 }, (_, drawn) => {
                    localStorage.clear();
                    const another = { ...survey, id: `${survey.id}-${outside}-${drawn}` };
                    Draw.once(another, survey.tells[0], codes);
                    return Draw.stored(another).answers;
                });
            }""",
            codes,
        )
        for name in ("job", "team", "clubs"):
            attribute = site.survey.schema[name]
            values = {*attribute.values, *([None] if attribute.missing == "category" else [])}
            assert {one[name] for one in came} == values
        numbers = {one["hours"] for one in came}
        assert None in numbers
        assert len(numbers) > 50
    page.evaluate("localStorage.clear()")


def test_the_page_shows_what_was_skipped_ticked_or_does_not_apply(site, visit):
    visitor = visit()
    page = visitor.page
    page.goto(site.address)
    answer_as_idler(page)
    assert number(page, "What are you paid?").is_disabled()
    draw(page)
    own = dict(zip(page.locator("h3").all_inner_texts(), page.locator(".own dd").all_inner_texts(), strict=True))
    assert own == {
        "Your job?": "idle",
        "How many hours?": "Does not apply",
        "With whom?": "Does not apply",
        "What are you paid?": "I would rather not answer",
        "What do you do? – sport": "No",
        "What do you do? – music": "Yes",
        "What do you do? – games": "No",
        "Which clubs?": "Does not apply",
    }
    assert page.get_by_text("so that nobody can see whom it applies to").count() == 3


def test_a_box_for_none_goes_with_no_other_and_an_empty_question_stays_open(site, visit):
    page = visit().page
    page.goto(site.address)
    answer_as_worker(page)
    hobbies = group(page, "What do you do?")
    hobbies.get_by_label("None of these").check()
    assert hobbies.get_by_role("checkbox", checked=True).count() == 1
    assert not group(page, "Which clubs?").is_visible()
    hobbies.get_by_label("sport").check()
    assert hobbies.get_by_role("checkbox", checked=True).count() == 1
    hobbies.get_by_label("sport").uncheck()
    page.get_by_role("button", name="Draw what will be sent").click()
    assert page.get_by_role("alert").inner_text() == "Please answer every question; 1 still open."
    assert page.evaluate("document.activeElement.value") == "0"
    assert page.evaluate("localStorage.length") == 0


def test_a_question_that_only_leads_to_others_is_asked_and_never_sent(serve, visit):
    site = serve(**SURVEY | {"questions": {name: QUESTIONS[name] for name in ("job", "hours", "team")}, "tell": 1})
    for _ in range(60):
        visitor = visit()
        visitor.page.goto(site.address)
        asked = shown(visitor.page)
        assert asked == ["Your job?"]
        if json.loads(visitor.page.evaluate("localStorage.getItem('kakuran:told:animals')"))["told"] == "hours":
            break
        visitor.context.close()
    expect(visitor.page.get_by_text("This only decides what else you are asked")).to_be_visible()
    group(visitor.page, "Your job?").get_by_label("care").check()
    number(visitor.page, "How many hours?").fill("40")
    draw(visitor.page)
    expect(visitor.page.get_by_text("Your other answers are not sent at all.")).to_be_visible()
    send(visitor.page)
    (message,) = visitor.submissions()
    assert (message["told"], list(message["answers"])) == ("hours", ["hours"])
    assert "care" not in visitor.sent()


def beyond(definition):
    """Whoever it does not apply to would be released beside all others."""
    definition["questions"][2]["outside"] = 1000


def between(definition):
    definition["questions"][2]["outside"] = 0.5


def too_many_ticks(definition):
    definition["questions"][4]["several"]["ticks"] = ["sport", "music", "games"]


@pytest.mark.parametrize("lie", [beyond, between, too_many_ticks], ids=lambda lie: lie.__name__)
def test_a_server_whose_answers_would_fall_outside_what_is_perturbed_gets_none(site, visit, lie):
    refuses_a_server_that_lies(site, visit(), lie)


def test_the_dashboard_calls_these_answers_as_the_page_does(site, visit):
    site.fill(200)
    page = visit().page
    page.goto(site.dashboard)
    card = page.get_by_role("region", name="With whom?")
    card.get_by_text("Show as a table").click()
    assert card.locator("tbody th").all_inner_texts() == [
        "alone",
        "shared",
        "Does not apply",
        "I would rather not answer",
    ]
    page.get_by_role("region", name="What do you do? – sport").get_by_text("Show as a table").click()
    ticked = page.get_by_role("region", name="What do you do? – sport").locator("tbody th")
    assert ticked.all_inner_texts() == ["No", "Yes"]
    hours = page.get_by_role("region", name="How many hours?")
    hours.get_by_text("Show as a table").click()
    assert hours.locator("tbody th").all_inner_texts()[-1] == "Does not apply"


def test_dates_are_typed_in_and_drawn_as_periods(serve, visit):
    site = serve(languages=["en"], title={"en": "Since when?"}, introduction={}, k=20, questions=DATES)
    visitor = visit()
    visitor.page.goto(site.address)
    typed = {"day": "2020-02-29", "week": "2020-03-01", "month": "2020-04", "quarter": "2020-05"}
    for step, value in typed.items():
        visitor.page.get_by_label(f"Which {step}?", exact=True).first.fill(value)
    number(visitor.page, "Which year?").fill("2022")
    visitor.page.get_by_role("button", name="Draw what will be sent").click()
    expect(visitor.page.get_by_text("Please enter a date from 2019 to 2021.")).to_be_visible()
    number(visitor.page, "Which year?").fill("2020")
    drawn = draw(visitor.page)
    own = visitor.page.locator(".own dd").all_inner_texts()
    assert own == ["2020-02-29", "2020-02-26 – 2020-03-03", "2020-04", "2020-Q2", "2020"]
    send(visitor.page)
    assert visitor.submissions()[0]["answers"] == drawn["answers"]
    assert site.n == 1


def test_every_day_is_in_the_same_period_in_python_and_in_the_browser(serve, visit):
    site = serve(languages=["en"], title={"en": "Since when?"}, introduction={}, k=20, questions=DATES)
    page = visit().page
    page.goto(site.address)
    found = page.evaluate(
        """async () => {
            const survey = await (await fetch("/api/survey")).json();
            const days = Array.from({ length: 470 }, (_, at) => new Date(Date.UTC(2019, 10, 20 + at)));
            const typed = days.map((day) => day.toISOString().slice(0, 10));
            return survey.questions.map((column) => [
                column.name,
                Questions.countOf(column),
                typed.map((day) => Questions.codesOf({ ...column, columns: [column] }, day)[column.name]),
                [-3, 0, 1, 2].map((code) => Questions.answerOf(column, code)),
            ]);
        }"""
    )
    for name, count, codes, starts in found:
        attribute = site.survey.schema[name]
        days = attribute.number_of("2019-11-20") + np.arange(470.0)
        assert count == attribute.size
        assert codes == attribute.codes_of(days).astype(int).tolist()
        assert starts == [attribute.written(day) for day in attribute.ends_of(np.array([-3, 0, 1, 2]))[0]]
