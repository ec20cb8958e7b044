"""Waves of a survey at one address, in a real browser: the same answer is sent in the same way, and nothing else is."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from kakuran.collect.databases import open_store
from kakuran.collect.limits import RequestLimits
from kakuran.collect.server import create_app
from kakuran.collect.serving import Serving, running
from kakuran.collect.survey import Survey

from .conftest import FIELDS, TOKEN
from .test_respondent import STORED, TRACES

WAVES = ("first", "second", "third", "fourth")


@pytest.fixture
def wave(tmp_path):
    """One wave after the other at one address, as browsers keep what they keep for each."""
    port = []

    @contextmanager
    def served(number, **changes):
        survey = Survey.from_dict(FIELDS | {"id": WAVES[number]} | changes)
        app = create_app(survey, open_store(tmp_path / "answers.db", survey), TOKEN, limits=RequestLimits(rate=1e9))
        with running(app, Serving(port=port[0] if port else 0)) as address:
            port.append(int(address.rpartition(":")[2]))
            yield address

    return served


def answered(page, address, number, kept="capybara"):
    """What is to be sent, once everything that is asked has been answered."""
    page.goto(address)
    page.get_by_role("button", name="Draw what will be sent").wait_for()
    if (field := page.get_by_label("Which one do you keep?")).count():
        field.select_option(f"One {kept} at home")
    if (group := page.get_by_role("group", name="Which one did you see last?")).count():
        group.get_by_label("seen-echidna").check()
    if (field := page.get_by_label("How heavy is it?")).count():
        field.fill("7000173")
    page.get_by_role("button", name="Draw what will be sent").click()
    page.get_by_role("heading", name="This is what will be sent").wait_for()
    return json.loads(page.evaluate(f"localStorage.getItem('kakuran:survey:{WAVES[number]}')"))


def tables(page):
    """What is remembered for the one survey whose waves were all shown in the same words."""
    (found,) = json.loads(page.evaluate("localStorage.getItem('kakuran:draws:animals')")).values()
    return found.values()


def test_the_same_answers_are_sent_again_in_every_wave_and_a_new_answer_is_drawn_for(wave, visit):
    visitor, sent = visit(), []
    for number in range(3):
        with wave(number, memoise="animals") as address:
            sent.append(answered(visitor.page, address, number))
            assert [trace for trace in TRACES[-2:] if trace in visitor.page.evaluate(STORED)] in ([], ["7000173"])
    assert sent[0]["answers"] == sent[1]["answers"] == sent[2]["answers"]
    assert len({one["id"] for one in sent}) == 3
    with wave(3, memoise="animals") as address:
        other = answered(visitor.page, address, 3, kept="dugong")
    same = ("seen", "weight")
    assert [other["answers"][name] for name in same] == [sent[0]["answers"][name] for name in same]
    assert sorted(map(len, tables(visitor.page))) == [6, 10, 401]  # a draw for every answer there is, given or not


def test_where_nothing_is_to_be_remembered_every_wave_draws_anew(wave, visit):
    visitor, sent = visit(), []
    for number in range(2):
        with wave(number) as address:
            sent.append(answered(visitor.page, address, number)["answers"])
            expect(visitor.page.get_by_text("This survey will be asked again")).to_have_count(0)
    assert visitor.page.evaluate("Object.keys(localStorage).filter((key) => key.includes('draws'))") == []


def test_of_several_sets_of_questions_the_same_is_asked_and_told_as_one_value_again(wave, visit):
    questions = {name: FIELDS["questions"][name] for name in ("kept", "seen")}
    wish = {"tell": [["kept", "seen"], ["kept"], ["seen"]], "memoise": "animals", "questions": questions}
    for _ in range(3):
        visitor, sent = visit(), []
        for number in range(2):
            with wave(number, **wish) as address:
                sent.append(answered(visitor.page, address, number))
        assert (sent[0]["told"], sent[0]["answers"]) == (sent[1]["told"], sent[1]["answers"])


DEPENDS = {
    "aboard": {"type": "categorical", "values": ["yes", "no"], "text": {"en": "A?", "ja": "A"}},
    "kept": FIELDS["questions"]["kept"] | {"only_if": {"aboard": ["yes"]}},
}
OTHER_WORDS = {
    "title": {"title": {"en": "Diseases", "ja": "病気"}},
    "introduction": {"introduction": {"en": "Think of your diseases.", "ja": "病気について。"}},
    "decider": {"questions": DEPENDS | {"aboard": DEPENDS["aboard"] | {"text": {"en": "B?", "ja": "B"}}}},
}


@pytest.mark.parametrize("words", OTHER_WORDS)
def test_a_wave_that_shows_any_other_words_is_asked_for_and_drawn_for_anew(wave, visit, words):
    """Else what has the same words would be told by whether it is sent as in a wave whose answer is known."""
    page, wish = visit().page, {"memoise": "animals", "questions": DEPENDS, "tell": 1}
    with wave(0, **wish) as address:
        page.goto(address)
        page.locator("#q0-card input").nth(1).check()
        page.get_by_role("button", name="Draw what will be sent").click()
        page.get_by_role("button", name="Send").click()
        page.get_by_role("heading", name="Thank you").wait_for()
    with wave(1, **wish) as address:
        page.goto(address)
        page.locator("form").wait_for()
    with wave(2, **wish | OTHER_WORDS[words]) as address:
        page.goto(address)
        page.locator("form, #screen h2").first.wait_for()
        expect(page.locator("h2")).to_have_text("This device has answered here before", timeout=1)


def test_who_is_to_be_asked_again_is_told_in_both_languages(wave, visit):
    page = visit().page
    with wave(0, memoise="animals") as address:
        page.goto(address)
        expect(page.get_by_text("This survey will be asked again. Your device remembers how it draws")).to_be_visible()
        page.get_by_role("button", name="日本語").click()
        expect(page.get_by_text("この調査は後日もう一度行われます")).to_be_visible()


def test_draws_for_every_answer_follow_the_mechanism(wave, visit):
    """How many of the 401 weights were drawn near, on three devices; false alarm in about one run of a million."""
    near = Survey.from_dict(FIELDS | {"id": WAVES[0], "memoise": "animals"}).plan["weight"]
    found = []
    with wave(0, memoise="animals") as address:
        for _ in range(3):
            page = visit().page
            answered(page, address, 0)
            (table,) = (table for table in tables(page) if len(table) == 401)
            found += [abs(code - place) <= near.half_width for place, (code,) in enumerate(table)]
    outputs = 401 + 2 * near.half_width
    chance = near.retention + (1 - near.retention) * (2 * near.half_width + 1) / outputs
    assert abs(sum(found) - chance * len(found)) <= 4.9 * (len(found) * chance * (1 - chance)) ** 0.5
