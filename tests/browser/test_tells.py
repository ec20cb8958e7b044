"""A survey that asks everybody some of its questions, in a real browser: drawn once, before anything is answered."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from .test_respondent import TRACES, draw, refuses_a_server_that_lies, send, stored

ANSWERS = {
    "kept": lambda page: page.get_by_label("Which one do you keep?").select_option("One capybara at home"),
    "seen": lambda page: page.get_by_role("group", name="Which one did you see last?").get_by_label("echidna").check(),
    "weight": lambda page: page.get_by_label("How heavy is it?").fill("7000173"),
}
OF_QUESTION = {"kept": TRACES[:2], "seen": TRACES[2:3], "weight": TRACES[3:]}


@pytest.fixture
def site(serve):
    return serve(tell=2)


def told(page):
    return json.loads(page.evaluate("localStorage.getItem('kakuran:told:animals')"))


def arrive(page, address):
    """Open the survey; the names of the questions that were drawn."""
    page.goto(address)
    page.get_by_role("button", name="Draw what will be sent").wait_for()
    return told(page)["told"].split(" + ")


def shown(page):
    return [name for at, name in enumerate(ANSWERS) if page.locator(f"#q{at}").count()]


def test_only_what_was_drawn_is_asked_shown_and_sent(site, visit):
    visitor = visit()
    names = arrive(visitor.page, site.address)
    assert len(names) == 2
    assert shown(visitor.page) == names
    expect(visitor.page.get_by_text("You are asked 2 of 3 questions, drawn at random on this device")).to_be_visible()
    for name in names:
        ANSWERS[name](visitor.page)
    drawn = draw(visitor.page)
    assert visitor.page.locator(".compared").count() == 2
    assert (drawn["told"], list(drawn["answers"])) == (" + ".join(names), names)
    send(visitor.page)
    assert visitor.submissions() == [{key: drawn[key] for key in ("id", "version", "told", "answers")}]
    assert site.n == 1
    visitor.page.reload()
    visitor.page.get_by_role("heading", name="Thank you").wait_for()


SYMPTOMS = {"type": "several", "values": list("wxyz"), "text": {"en": "Symptoms?"}}


@pytest.mark.parametrize(
    ("changes", "english", "japanese"),
    [
        (
            {"tell": 2},
            "has 3 sets of questions to draw from; each is as likely",
            "質問の組が 3 通りあり、どの組も同じ確率",
        ),
        (
            {"tell": [["kept", "weight"], ["seen"]]},
            "has 2 sets of questions",
            "質問の組が 2 通りあり、どの組も同じ確率",
        ),
        (
            # Of ten pairs of the five columns six are of symptoms alone, and four have sex: so of the two questions.
            {"tell": 2, "questions": {"sex": {"type": "categorical", "values": ["f", "m"]}, "symptoms": SYMPTOMS}},
            "has 2 sets of questions to draw from; some are likelier than others. "
            "Drawn most often: “\u2068Symptoms?\u2069”, for 100% of all people; "
            "least often: “\u2068Sex?\u2069”, for 40%.",
            "組によって違います。最も多く選ばれるのは「\u2068症状\u2069」（全員の 100%）、"
            "最も少ないのは「\u2068性別\u2069」（40%）です。",
        ),
    ],
    ids=["pairs", "listed", "several columns"],
)
def test_people_are_told_how_likely_sets_of_questions_are(serve, visit, changes, english, japanese):
    if "questions" in changes:
        words = {"sex": {"en": "Sex?", "ja": "性別"}, "symptoms": {"en": "Symptoms?", "ja": "症状"}}
        changes["questions"] = {name: one | {"text": words[name]} for name, one in changes["questions"].items()}
    page = visit().page
    page.goto(serve(**changes).address)
    expect(page.get_by_text(english)).to_be_visible()
    page.get_by_role("button", name="日本語").click()
    expect(page.get_by_text(japanese)).to_be_visible()


def test_what_is_drawn_stays_drawn_whatever_one_does(site, visit):
    visitor = visit()
    names = arrive(visitor.page, site.address)
    kept = told(visitor.page)
    for _ in range(8):  # another of three sets each time it is drawn: all alike in one run of 3⁸·3
        visitor.page.reload()
        visitor.page.get_by_role("button", name="Draw what will be sent").wait_for()
        assert (told(visitor.page), shown(visitor.page)) == (kept, names)
    visitor.page.goto("about:blank")
    visitor.page.go_back()
    visitor.page.get_by_role("button", name="Draw what will be sent").wait_for()
    other = visitor.context.new_page()
    assert arrive(other, site.address) == names
    visitor.page.get_by_role("button", name="日本語").click()
    expect(visitor.page.get_by_text("全 3 問のうち 2 問にお答えいただきます")).to_be_visible()
    assert (told(visitor.page), shown(visitor.page)) == (kept, names)
    assert visitor.submissions() == []


def test_different_people_are_asked_different_questions(site, visit):
    first = arrive(visit().page, site.address)
    assert any(arrive(visit().page, site.address) != first for _ in range(25))  # all 26 alike: below 1e-11


def test_asked_for_everything_one_sends_what_was_drawn(serve, visit):
    site = serve(tell=2, ask="all")
    for _ in range(40):
        visitor = visit()
        names = arrive(visitor.page, site.address)
        assert shown(visitor.page) == list(ANSWERS)
        expect(visitor.page.get_by_text("You are asked 3 questions.")).to_be_visible()
        for answer in ANSWERS.values():
            answer(visitor.page)
        drawn = draw(visitor.page)
        expect(visitor.page.get_by_text("Your other answers are not sent at all.")).to_be_visible()
        send(visitor.page)
        assert list(visitor.submissions()[0]["answers"]) == names == list(drawn["answers"])
        (untold,) = set(ANSWERS) - set(names)
        assert not [
            trace for trace in OF_QUESTION[untold] if trace in visitor.sent() + json.dumps(stored(visitor.page))
        ]
        if untold == "seen":
            return
    raise AssertionError("the same question is told again and again")


def test_a_browser_that_keeps_nothing_is_asked_nothing(site, visit):
    visitor = visit()
    visitor.context.add_init_script(
        "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }"
    )
    visitor.page.goto(site.address)
    visitor.page.get_by_text("This browser does not let the page keep anything").wait_for()
    assert visitor.page.locator("form").count() == 0


def weaker(definition):
    definition["tells"][1]["threshold"] = str(int(definition["tells"][1]["threshold"]) * 11 // 10)


def narrower(definition):
    """Fewer numbers near the true one, with the same coin."""
    definition["questions"][2]["mechanism"]["half_width"] //= 2


def always_the_same(definition):
    weights = [str(1 << 63), "0", "0"]
    for tell, weight in zip(definition["tells"], weights, strict=True):
        tell["weight"] = weight


def only_one(definition):
    definition["tells"] = [definition["tells"][0] | {"weight": str(1 << 63)}]


def two_of_a_name(definition):
    """ε would be that of the second, and the first would be drawn from."""
    weak = definition["questions"][0]["mechanism"] | {"kind": "window", "half_width": 0, "may_be_missing": False}
    definition["questions"].insert(0, definition["questions"][0] | {"mechanism": weak})


@pytest.mark.parametrize(
    "lie", [weaker, narrower, always_the_same, only_one, two_of_a_name], ids=lambda lie: lie.__name__
)
def test_a_server_that_does_not_draw_as_it_promises_gets_no_answer(site, visit, lie):
    visitor = visit()
    refuses_a_server_that_lies(site, visitor, lie)
    assert visitor.page.evaluate("localStorage.length") == 0


def test_the_dashboard_says_what_rests_on_a_model(serve, visit):
    site = serve(tell=[["kept", "weight"], ["seen"]])
    site.fill(300)
    visitor = visit()
    visitor.page.goto(site.dashboard)
    visitor.page.get_by_label("Rows").select_option("kept")
    visitor.page.get_by_label("Columns").select_option("seen")
    visitor.page.get_by_text("Nobody is asked both questions").wait_for()
    visitor.page.get_by_label("Columns").select_option("weight")
    visitor.page.get_by_text("Nobody is asked both questions").wait_for(state="detached")
