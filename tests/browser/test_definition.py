"""A server that lies in /api/survey alone, all scripts unchanged: the page refuses, or its ε is exact."""

from __future__ import annotations

import copy
import http.server
import json
import math
import re
import threading
import tomllib
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from functools import cache
from importlib import resources
from itertools import product

import httpx
import pytest
from playwright.sync_api import expect

from kakuran.collect.site import served
from kakuran.collect.survey import Survey
from kakuran.errors import SchemaError
from kakuran.mechanism import PRAM, SubsetSelection

from .test_respondent import refuses_a_server_that_lies

TOTAL = 1 << 63
UNSEEN = "\u200b"
SEX = {"type": "categorical", "values": ["f", "m"], "text": {"en": "Sex?"}}
DRINKS = {"type": "numeric", "low": 0, "high": 9, "step": 1, "text": {"en": "Drinks?"}}
SMALL = {"languages": ["en"], "title": {"en": "Health"}, "introduction": {}, "expected_n": 2000}
ALL_KINDS = SMALL | {
    "id": "all-kinds",
    "epsilon": 8.0,
    "k": None,
    "expected_n": None,
    "questions": {
        "sex": SEX | {"skip": True},
        "age": DRINKS | {"skip": True, "unit": {"en": "years"}},
        "mood": {"type": "categorical", "values": ["bad", "fair", "good"], "ordered": True, "text": {"en": "Mood?"}},
        "pay": DRINKS | {"mechanism": "bounded-laplace", "high": 3},
        "since": {"type": "date", "low": "2020-01-01", "high": "2020-05-01", "step": "month", "text": {"en": "When?"}},
        "ways": {"type": "several", "values": ["foot", "train"], "text": {"en": "How?"}, "only_if": {"sex": ["f"]}},
        "clubs": {"type": "several", "values": ["a", "b"], "told": "set", "text": {"en": "Which?"}},
        "town": {"type": "categorical", "values": list("uvwxyz")[:5], "text": {"en": "Where?"}},
        "job": {"type": "categorical", "values": list("abc"), "text": {"en": "What?"}},
    },
}
PROMISED = (
    SMALL
    | {"id": "some", "k": 10, "tell": 2, "memoise": "some", "about": "sex"}
    | {"questions": {"sex": SEX, "age": DRINKS | {"high": 4, "skip": True}, "mood": ALL_KINDS["questions"]["mood"]}}
)


TRUSTED = {"certainty": 0.999999, "trust": "server"}
TRUSTING = {name: value for name, value in PROMISED.items() if name != "memoise"} | TRUSTED | {"k": 20}


def definition(fields):
    survey = Survey.from_dict({name: value for name, value in fields.items() if value is not None})
    return survey.definition() | {"state": "open"}


def all_kinds():
    """Of every kind of question and of mechanism; some that a survey's file cannot ask for are put in by hand."""
    told = definition(ALL_KINDS)
    weights = [str(TOTAL >> shift) for shift in (2, 3, 4, 5, 6, 7)]
    told["questions"][3]["mechanism"] = {"kind": "noise", "size": 4, "reach": 2, "weights": weights}
    told["questions"][-2]["mechanism"] = SubsetSelection(5, 0.4, [0, 1]).drawn_by()
    told["questions"][-1]["mechanism"] = PRAM([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]]).drawn_by()
    told["epsilon"] = 11
    assert {one["mechanism"]["kind"] for one in told["questions"]} == {"retention", "window", "noise", "shifts", "pram"}
    return told


def places(value, path=()):
    """Every field of a definition, however deep; of what is the same again and again the first and the last."""
    if path:
        yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        if isinstance(value, dict) or path == ("questions",) or name in (0, len(value) - 1):
            yield from places(member, (*path, name))


NUMBERS = ["-1", "-0", "0", "1", "2", "0.5", "9", "1e3", "1e999", "-1e999", "9007199254740993", str(1 << 70)]
TEXTS = ["", "__proto__", "0", "1", "01", "-0", "-1", "1e3", "0x10", " 1", "1 ", "1n", "0.5", "\u0663", "\uff11", "NaN"]


def instead(old):
    """What a server may say instead of it, as JSON: every type, and of the right type what is hardly the same."""
    is_number = type(old) in (bool, int, float) or (isinstance(old, str) and old.isdigit())
    numbers, texts = (NUMBERS, TEXTS) if is_number else (NUMBERS[:5], TEXTS[:2])
    yield from ("null", "true", "false", "[]", "{}", *numbers, *map(json.dumps, texts))
    yield from (json.dumps([old]), json.dumps({"0": old}), json.dumps({"toString": old, "valueOf": old}))
    yield json.dumps(json.dumps(old))
    if isinstance(old, str):
        yield from (json.dumps(old + tail) for tail in ("0", UNSEEN, "\ud800", "\u202e", "\n", " "))
        yield json.dumps(old * 200)
        if old.isdigit():
            yield from (json.dumps(str(int(old) + more)) for more in (-1, 1, 1 << 40, 1 << 62, 1 << 64))
            yield old
    if isinstance(old, list):
        yield from (json.dumps(one) for one in (old + old, old + old[-1:], old[:-1], old[::-1], [None, *old]))
        yield json.dumps({str(place): one for place, one in enumerate(old)} | {"length": len(old)})
    if isinstance(old, dict):
        yield from (json.dumps(old | more) for more in ({"__proto__": old}, {"constructor": 1}, {"unknown": 1}))
        yield from (json.dumps({key: one for key, one in old.items() if key != left}) for left in old)


def lies(told):
    return [(path, said) for path in places(told) for said in dict.fromkeys(instead(at(told, path)))]


def at(told, path):
    for name in path:
        told = told[name]
    return told


def lied(told, path, said):
    told = copy.deepcopy(told)
    at(told, path[:-1])[path[-1]] = json.loads(said)
    return told


READ = """([told, lies]) => lies.map(([path, said]) => {
    const given = JSON.parse(told);
    const owner = path.slice(0, -1).reduce((one, name) => one[name], given);
    owner[path.at(-1)] = JSON.parse(said);
    try {
        const survey = Definition.read(given);
        return isFrozen(survey) ? survey.epsilon : "not frozen";
    } catch {
        return null;
    }
    function isFrozen(one) {
        return typeof one !== "object" || one === null || (Object.isFrozen(one) && Object.values(one).every(isFrozen));
    }
})"""


# What is drawn from a definition, enumerated in fractions, with nothing of the page's.


def is_whole(value):
    """And not more than can be enumerated: no lie that a page may believe has more."""
    return type(value) is int and 0 <= value < 1000


def chance(text, total=1 << 64):
    assert type(text) is str
    assert text.isascii()
    assert text.isdigit()
    assert int(text) <= total
    return Fraction(int(text), total)


def near_and_all(mechanism):
    """The places near each true code, and how many places there are."""
    kind, size = mechanism["kind"], mechanism["size"]
    assert is_whole(size)
    if kind == "retention":
        return [[code] for code in range(size)], size
    if kind == "shifts":
        assert all(map(is_whole, mechanism["shifts"]))
        return [[(code + shift) % size for shift in mechanism["shifts"]] for code in range(size)], size
    half, missing = mechanism["half_width"], mechanism["may_be_missing"]
    assert kind == "window"
    assert is_whole(half)
    assert type(missing) is bool
    width, points = 2 * half + 1, size - missing
    near = [list(range(code, code + width)) for code in range(points)]
    outputs = points + 2 * half
    return ([*near, list(range(outputs, outputs + width))], outputs + width) if missing else (near, outputs)


def two_levels(threshold, mechanisms):
    """The law of each combination of true codes: over combinations of places."""
    kept, tables = chance(threshold), [near_and_all(one) for one in mechanisms]
    every = list(product(*(range(outputs) for _, outputs in tables)))
    for codes in product(*(range(len(near)) for near, _ in tables)):
        close = [near[code] for (near, _), code in zip(tables, codes, strict=True)]
        law = dict.fromkeys(every, (1 - kept) / len(every))
        for place in product(*close):
            law[place] += kept / math.prod(map(len, close))
        yield law


def rows(mechanism):
    """The law of each true code of a mechanism by itself."""
    kind, size = mechanism["kind"], mechanism["size"]
    assert is_whole(size)
    if kind == "pram":
        return [dict(enumerate(chance(one, TOTAL) for one in row)) for row in mechanism["weights"]]
    if kind != "noise":
        return list(two_levels(mechanism["threshold"], [mechanism]))
    reach, weights = mechanism["reach"], [chance(one, TOTAL) for one in mechanism["weights"]]
    assert is_whole(reach)
    laws = []
    for code in range(size):
        law = {released: weights[abs(released - code)] for released in range(-reach, size + reach)}
        laws.append({released: one / sum(law.values()) for released, one in law.items()})
    return laws


def epsilon_of(laws):
    worst = Fraction(1)
    laws = list(laws)
    for released in {place for law in laws for place in law}:
        chances = [law.get(released, Fraction(0)) for law in laws]
        if max(chances):
            worst = max(worst, max(chances) / min(chances)) if min(chances) else math.inf
    return math.log(worst)


@cache
def epsilon_told(threshold, *mechanisms):
    """Of a set of questions whose mechanisms are given as JSON, so that none is enumerated twice."""
    if threshold is None:
        return sum(map(epsilon_alone, mechanisms))
    return epsilon_of(two_levels(threshold, list(map(json.loads, mechanisms))))


@cache
def epsilon_alone(mechanism):
    return epsilon_of(rows(json.loads(mechanism)))


def exact(told):
    """The ε of a definition."""
    mechanisms = {one["name"]: json.dumps(one["mechanism"]) for one in told["questions"]}
    assert len(mechanisms) == len(told["questions"])
    return max(
        epsilon_told(tell["threshold"], *(mechanisms[name] for name in tell["questions"])) for tell in told["tells"]
    )


@pytest.fixture(scope="module")
def page(browser):
    """The scripts of the respondent's page, of which tests ask what they make of a definition."""
    blank = browser.new_page()
    for name in ("texts", "page", "perturb", "questions", "definition"):
        blank.add_script_tag(content=served()[f"{name}.js"].decode())
    yield blank
    blank.close()


@pytest.mark.parametrize(
    "told",
    [all_kinds(), definition(PROMISED), definition(TRUSTING)],
    ids=["all kinds", "some of each", "with certainty"],
)
def test_whatever_stands_in_a_field_instead_the_page_refuses_or_its_epsilon_is_exact(page, told):
    said = lies(told)
    (honest,) = page.evaluate(READ, [json.dumps(told), [(("id",), json.dumps(told["id"]))]])
    assert honest == pytest.approx(exact(told), abs=1e-9)
    found = page.evaluate(READ, [json.dumps(told), said])
    wrong = [
        (path, said, epsilon)
        for (path, said), epsilon in zip(said, found, strict=True)
        if epsilon is not None and not is_exact(lied(told, path, said), epsilon)
    ]
    assert wrong == []


def honest_surveys():
    """Of every design, mechanism and promise, as large as surveys may be, and in several languages."""
    questions = {name: one for name, one in ALL_KINDS["questions"].items() if "mechanism" not in one}
    numbers = {"low": 0, "high": (1 << 20) - 1, "step": 1, "type": "numeric", "text": {"en": "?"}}
    wide = {"type": "date", "low": "1900-01-01", "high": "2026-12-31", "step": "day", "text": {"en": "?"}}
    promises = ({"k": 10}, {"k": 300}, {"k": 1.5}, {"k": None, "expected_n": None, "epsilon": 1.0})
    for promise, tell in product(promises, ["all", 1, 2]):
        yield SMALL | {"id": "honest", "questions": questions, "tell": tell} | promise
    for k, tell in product((20, 300), ["all", 1, "auto"]):
        some = {name: questions[name] for name in ("sex", "age", "mood")}
        yield SMALL | {"id": "honest", "questions": some, "k": k, "tell": tell} | TRUSTED
    for about, tell in (("mood", 2), (None, "auto"), (None, [["mood", "ways"], ["sex", "age", "clubs"], ["since"]])):
        some = {name: questions[name] for name in ("sex", "age", "mood", "since", "ways", "clubs")}
        yield SMALL | {"id": "honest", "questions": some, "k": 10, "tell": tell, "about": about}
    for mechanism in ("retention", "square-wave", "laplace", "bounded-laplace", "bounded-gaussian"):
        yield SMALL | {"id": "honest", "questions": {"age": DRINKS | {"mechanism": mechanism}}, "k": 20}
    yield SMALL | {"id": "honest", "questions": {"many": numbers | {"skip": True}, "day": wide, "a": SEX}, "k": 10}
    yield tomllib.loads((resources.files("kakuran.collect") / "template.toml").read_text(encoding="utf-8"))


def test_every_honest_survey_is_taken(page):
    told = [definition(fields) for fields in honest_surveys()]
    one = (("state",), '"open"')
    found = [page.evaluate(READ, [json.dumps(survey), [one]])[0] for survey in told]
    assert found == pytest.approx([survey["epsilon"] for survey in told], abs=1e-4)  # of noise, a bound is stated


NAMES = {
    ("\u0430pple", "pear"): False,
    ("pear", "p\u0435ar"): False,
    ("\u0441\u043e\u0441\u043e\u0430", "cocoa"): False,
    ("\u039f\u039a", "OK"): False,
    ("\u13aaT", "tea"): False,
    ("a \u0441at", "a dog"): False,
    ("кот cat", "собака dog"): True,
    ("\u30ab", "\u529b"): False,
    ("\u65e5\u672c\u8a9eのテストTV", "ラジオFM"): True,
    ("Москва", "Moscow"): True,
    ("Москва (Moscow)", "Кёльн (Köln)"): True,
    ("\u03b2-blocker", "\u00b5g"): True,
    ("\u03bcg", "k\u03a9"): True,
    ("Αθήνα", "Athens"): True,
    ("한국어TV", "中文Bopomofoㄅ"): True,
    ("ทีวีHD", "ısı"): True,
    ("שלום", "مرحبا"): True,
}
"""Two answers that respondents choose between, and whether they may be called so."""


@pytest.mark.parametrize("names", NAMES)
def test_page_and_survey_agree_on_names_that_look_like_others(page, names):
    told = definition(PROMISED)
    for place, name in enumerate(names):
        told["questions"][0]["values"][place] = {"value": name, "label": {"en": name}}
    (found,) = page.evaluate(READ, [json.dumps(told), [(("state",), '"open"')]])
    questions = PROMISED["questions"] | {"sex": SEX | {"values": list(names)}}
    with nullcontext() if NAMES[names] else pytest.raises(SchemaError, match="look"):
        definition(PROMISED | {"questions": questions})
    assert (found is not None) == NAMES[names]


def test_page_and_survey_agree_on_how_much_is_remembered(page):
    """Told together the two are answered in 10,201 ways, which a page would have to draw for one by one."""
    fields = SMALL | {"id": "much", "k": 1.5, "tell": 2}
    fields |= {"questions": {name: DRINKS | {"high": 100} for name in ("first", "second", "third")}}
    told = definition(fields)
    asked = [json.dumps(told | {"memoise": "much"}), [(("state",), '"open"')]]
    assert page.evaluate(READ, asked) == [None]
    assert page.evaluate(READ, [json.dumps(told), asked[1]]) != [None]
    with pytest.raises(SchemaError, match="10,201 ways"):
        definition(fields | {"memoise": "much"})


@pytest.mark.parametrize(
    "lie",
    [
        {"certainty": None},
        {"certainty": 1},
        {"certainty": 0.99},
        {"certainty": "0.999999"},
        {"certainty": [0.999999]},
        {"trust": None},
        {"trust": "anybody"},
        {"trust": ["server"]},
        {"k": None, "expected_n": None},
        {"k": 200},
        {"memoise": "some"},
    ],
    ids=str,
)
def test_certainty_is_taken_with_who_is_trusted_and_nothing_that_cannot_be_so(page, lie):
    told = definition(TRUSTING)
    one = (("state",), '"open"')
    assert page.evaluate(READ, [json.dumps(told), [one]]) != [None]
    assert page.evaluate(READ, [json.dumps(told | lie), [one]]) == [None]
    for left_out in TRUSTED:
        without = {name: value for name, value in told.items() if name != left_out}
        assert page.evaluate(READ, [json.dumps(without), [one]]) == [None]


def noisy(size, weights):
    """One number, of so many steps, under noise."""
    told = definition(SMALL | {"id": "noisy", "k": 10, "questions": {"drinks": DRINKS | {"high": size - 1}}})
    told["questions"][0]["mechanism"] = {"kind": "noise", "size": size, "reach": 0, "weights": list(map(str, weights))}
    told["tells"][0]["threshold"] = None
    return told | {"k": None, "expected_n": None, "epsilon": 3.0}


OPEN = [(("state",), '"open"')]


def test_tables_that_would_keep_a_page_busy_for_minutes_are_refused(page):
    largest, more = 1 << 13, 33_000
    assert page.evaluate(READ, [json.dumps(noisy(largest, [TOTAL // 2 // largest] * largest)), OPEN]) == [0]
    assert page.evaluate(READ, [json.dumps(noisy(more, [TOTAL // 2 // more] * more)), OPEN]) == [None]
    fields = SMALL | {"id": "noisy", "k": None, "expected_n": None, "epsilon": 17.0}
    noise = DRINKS | {"high": largest - 1, "mechanism": "bounded-laplace"}
    with pytest.raises(SchemaError, match=r"1,140,850,688 chances.*larger steps"):
        definition(fields | {"questions": {f"drinks {place}": noise for place in range(17)}})
    shifts = noisy(more, [])
    shifts["questions"][0]["mechanism"] = {"kind": "shifts", "size": more, "shifts": list(range(more - 1))}
    shifts["questions"][0]["mechanism"] |= {"threshold": "1"}
    assert page.evaluate(READ, [json.dumps(shifts), OPEN]) == [None]


@pytest.mark.parametrize(("part", "is_taken"), [(2, True), (1 << 40, False)])
def test_noise_that_is_nearly_always_drawn_again_is_refused(page, part, is_taken):
    """How often depends on the true answer: a page that draws for minutes would tell it by how long it takes."""
    told = noisy(10, [TOTAL // 100 // part * (15 - place) // 2 for place in range(10)])
    (epsilon,) = page.evaluate(READ, [json.dumps(told), OPEN])
    assert (epsilon is not None) == is_taken


def is_exact(told, epsilon):
    try:
        return math.isclose(exact(told), epsilon, abs_tol=1e-9)
    except (AssertionError, TypeError, KeyError, ValueError, AttributeError, IndexError, ZeroDivisionError):
        return False  # nothing to draw from


def test_words_from_right_to_left_turn_nothing_beside_them(serve, visit):
    """Left to the browser, the number of a title would stand among those of the page."""
    named = {
        "type": "categorical",
        "values": ["\u05d0 1", "\u05d1 2"],
        "text": {"en": "\u05d2?"},
        "help": {"en": "\u05d3 3"},
    }
    page = visit().page
    page.goto(serve(**SMALL | {"questions": {"a": named, "b": DRINKS | {"help": {"en": "\u05d3 3"}}}}).address)
    expect(page.locator("#q0-card bdi")).to_have_text(named["values"])
    expect(page.locator("#q1-help")).to_have_text("\u2068\u05d3 3\u2069 A number from 0 to 9.")
    page.locator("#q0-card input").first.check()
    page.locator("#q1").fill("4")
    page.get_by_role("button", name="Draw what will be sent").click()
    expect(page.locator(".own dd bdi")).to_have_text(["\u05d0 1", "4"])
    expect(page.locator(".sent dd bdi")).to_have_count(2)


# Lies from end to end.


@pytest.fixture
def site(serve):
    return serve(**SMALL | {"questions": {"hiv": SEX | {"values": ["yes", "no"]}, "drinks": DRINKS}, "tell": 1})


def alone(told, place, mechanism, **changes):
    """One question that everybody is asked."""
    question = told["questions"][place] | {"mechanism": mechanism} | changes
    told["questions"] = [question]
    told["tells"] = [{"told": "one", "questions": [question["name"]], "weight": str(TOTAL), "threshold": None}]


def kind_in_a_list(told):
    """Nearly all chance lies in columns that stand for the true answer and look like the other."""
    half = str(TOTAL // 2 - 2)
    weights = [["3", "1", half, half, "0", "0"], ["1", "3", "0", "0", half, half]]
    names = ["x", "x", "x", "x", *(name + UNSEEN * many for many in (1, 2) for name in ("yes", "no"))]
    alone(told, 0, {"kind": ["pram"], "size": 2, "reach": 0, "weights": weights}, reach=4, beyond=names)
    told["epsilon"] = 1.1


def missing_as_a_number(told):
    """Two outputs instead of ten, as far as ε is concerned."""
    window = {"kind": "window", "size": 10, "half_width": 0, "may_be_missing": 9, "threshold": str(1 << 63)}
    alone(told, 1, window)
    told["epsilon"] = 1.1


def larger_k(told):
    told["k"] = 1000


def the_same_set_often(told):
    first, last = told["tells"]
    weight = TOTAL // 1000
    told["tells"] = [first | {"told": f"hiv {place}", "weight": str(weight)} for place in range(999)]
    told["tells"].append(last | {"weight": str(TOTAL - 999 * weight)})


def unseen_in_a_value(told):
    told["questions"][0]["values"][1]["value"] = f"yes{UNSEEN}"


def alike_labels(told):
    told["questions"][0]["values"][1]["label"] = {"en": "\uff59es"}


def no_answer_for_whom_it_does_not_apply_to(told):
    told["questions"][1]["only_if"] = {"hiv": ["yes"]}


@pytest.mark.parametrize(
    "lie",
    [
        kind_in_a_list,
        missing_as_a_number,
        larger_k,
        the_same_set_often,
        unseen_in_a_value,
        alike_labels,
        no_answer_for_whom_it_does_not_apply_to,
    ],
    ids=lambda lie: lie.__name__,
)
def test_a_server_that_lies_in_what_it_says_of_the_survey_gets_no_answer(site, visit, lie):
    refuses_a_server_that_lies(site, visit(), lie)


class TestNewIds:
    """A server that calls its survey something else after each answer."""

    @pytest.fixture
    def renamed(self, site):
        told = site.ask("/api/survey")

        def visited(page, number, **changes):
            told.update(id=f"health-{number}", version=f"{number:032x}", **changes)
            page.route("**/api/survey", lambda route: route.fulfill(json=told))
            page.goto(site.address)
            page.locator("#screen h2, form").first.wait_for()

        return visited

    def test_gets_no_second_draw_unless_the_respondent_says_so(self, visit, renamed):
        visitor = visit()
        page = visitor.page
        for number in range(6):
            renamed(page, number)
            if page.locator("form").count():
                take_part(page)
        assert len(visitor.submissions()) == 1
        expect(page.get_by_role("heading", name="This device has answered here before")).to_be_visible()
        epsilon = page.evaluate("JSON.parse(localStorage.getItem('kakuran:survey:health-0')).epsilon")
        expect(page.get_by_text("“\u2068Health\u2069”. Two answer sheets of one person")).to_be_visible()
        expect(page.get_by_text(f"together ε = {2 * epsilon:.2f}")).to_be_visible()
        page.get_by_role("button", name="Answer this one, too").click()
        take_part(page)
        assert len(visitor.submissions()) == 2
        renamed(page, 6)
        expect(page.get_by_text(f"together ε = {3 * epsilon:.2f}")).to_be_visible()
        visitor.complaints.clear()  # of the version, which the server has not

    def test_what_was_drawn_before_another_was_sent_is_not_sent_without_asking(self, visit, renamed):
        visitor = visit()
        page = visitor.page
        renamed(page, 0)
        draw_for(page)
        renamed(page, 1)
        take_part(page)
        renamed(page, 0)
        expect(page.get_by_role("button", name="Answer this one, too")).to_be_visible()
        assert page.locator("#send").count() == 0
        visitor.complaints.clear()

    def test_a_tab_that_was_open_before_asks_as_well(self, visit, renamed):
        visitor = visit()
        page, other = visitor.page, visitor.context.new_page()
        renamed(page, 0)
        draw_for(page)
        renamed(other, 1)
        take_part(other)
        page.locator("#send").click()
        expect(page.get_by_role("button", name="Answer this one, too")).to_be_visible()
        assert len(visitor.submissions()) == 1
        page.get_by_role("button", name="Answer this one, too").click()
        page.locator("#send").click()
        expect(page.get_by_role("alert")).not_to_be_empty()
        assert len(visitor.submissions()) == 2
        visitor.complaints.clear()

    def test_a_wave_whose_draws_are_remembered_is_answered_without_asking_until_it_says_otherwise(self, visit, renamed):
        visitor = visit()
        page = visitor.page
        renamed(page, 0, memoise="health")
        take_part(page)
        renamed(page, 1)
        take_part(page)
        renamed(page, 2, memoise="wealth")
        expect(page.get_by_role("button", name="Answer this one, too")).to_be_visible()
        visitor.complaints.clear()

    def test_draws_that_are_remembered_but_never_left_are_no_reason_not_to_ask(self, visit, renamed):
        visitor = visit()
        page = visitor.page
        renamed(page, 0, memoise="health")
        draw_for(page)
        renamed(page, 1, memoise="wealth")
        take_part(page)
        renamed(page, 0, memoise="health")
        expect(page.get_by_role("button", name="Answer this one, too")).to_be_visible()
        visitor.complaints.clear()


def draw_for(page):
    """Answer what is asked."""
    radio = page.locator("input[type=radio]")
    if radio.count():
        radio.first.check()
    else:
        page.locator("input[type=number]").fill("7")
    page.locator("form button.primary").click()
    page.locator("#send").wait_for()


def take_part(page):
    draw_for(page)
    page.locator("#send").click()
    expect(page.get_by_role("alert")).not_to_be_empty()


def test_a_wave_in_other_words_is_not_one_whose_draws_are_remembered(site, visit):
    """Else a server that turns its answers round would get a draw for each of them."""
    visitor = visit()
    keys = visitor.page.goto(site.address) and visitor.page.evaluate(
        """async () => {
            const told = { ...(await Page.loadSurvey()), memoise: "health" };
            const turned = structuredClone(told);
            const [question] = turned.questions;
            question.values.reverse();
            return [told, turned].map((given, at) => {
                const survey = Definition.read({ ...given, id: `health-${at}` });
                Draw.once(survey, survey.tells[0], { hiv: 0, drinks: 0 });
                return Object.keys(JSON.parse(localStorage.getItem("kakuran:draws:health"))).length;
            });
        }"""
    )
    assert keys == [1, 2]


def test_whether_a_draw_finds_room_does_not_depend_on_what_is_drawn(site, visit):
    """Else who tries again until there is room sends what fits, which tells more: of 60 draws all fail or none."""
    page = visit().page
    page.goto(site.address)
    failed = page.evaluate(
        """async () => {
            const told = await Page.loadSurvey();
            told.questions[0].values[1].value = "n".repeat(900);
            const survey = Definition.read(told);
            const write = Storage.prototype.setItem;
            let failed = 0;
            Storage.prototype.setItem = function (key, value) {
                if (value.length > 700) throw new DOMException("full", "QuotaExceededError");
                write.call(this, key, value);
            };
            for (let drawn = 0; drawn < 60; drawn += 1) {
                localStorage.clear();
                try {
                    Draw.once(survey, survey.tells[0], { hiv: drawn % 2 });
                } catch {
                    failed += 1;
                }
            }
            return failed;
        }"""
    )
    assert failed == 60


def test_whether_a_set_of_questions_finds_room_does_not_depend_on_its_name(site, visit):
    """Else a server gives all sets but one long names, and who reloads until there is room tells that one."""
    page = visit().page
    page.goto(site.address)
    failed = page.evaluate(
        """async () => {
            const told = await Page.loadSurvey();
            told.tells[1].told = '"'.repeat(900);
            const survey = Definition.read(told);
            const write = Storage.prototype.setItem;
            let failed = 0;
            Storage.prototype.setItem = function (key, value) {
                if (value.length > 700) throw new DOMException("full", "QuotaExceededError");
                write.call(this, key, value);
            };
            for (let drawn = 0; drawn < 60; drawn += 1) {
                try {
                    Draw.tell({ ...survey, id: `health-${drawn}` });
                } catch {
                    failed += 1;
                }
            }
            return failed;
        }"""
    )
    assert failed == 60


def test_whether_remembered_draws_find_room_does_not_depend_on_them(serve, visit):
    """Else who tries again until there is room remembers what is short: of 60 tables all fail or none."""
    page = visit().page
    page.goto(serve(memoise="health").address)
    failed = page.evaluate(
        """async () => {
            const told = await Page.loadSurvey();
            const write = Storage.prototype.setItem;
            const lengths = [];
            let most = Infinity;
            let number = 100;
            Storage.prototype.setItem = function (key, value) {
                const isFull = key.startsWith("kakuran:draws:") && value.length > most;
                if (isFull) throw new DOMException("full", "QuotaExceededError");
                write.call(this, key, value);
            };
            const fails = () => {
                localStorage.clear();
                number += 1; // as the page still knows what it has written
                const survey = Definition.read({ ...told, id: `id-${number}`, memoise: `name-${number}` });
                try {
                    Draw.once(survey, survey.tells[0], { kept: 0, seen: 0, weight: 0 });
                } catch {
                    return true;
                }
                lengths.push(localStorage.getItem(`kakuran:draws:name-${number}`).length);
                return false;
            };
            for (let drawn = 0; drawn < 60; drawn += 1) fails();
            most = lengths.sort((one, other) => one - other)[30];
            return Array.from({ length: 60 }, fails).filter(Boolean).length;
        }"""
    )
    assert failed == 60


def test_a_draw_that_could_not_be_kept_is_not_made_again(site, visit):
    """Of 40 tries one draw: all alike by chance below 1e-9."""
    page = visit().page
    page.goto(site.address)
    drawn = page.evaluate(
        """async () => {
            const survey = Definition.read(await Page.loadSurvey());
            const chosen = survey.tells.find(({ questions }) => questions.includes("drinks"));
            const tried = [];
            Storage.prototype.setItem = (_, value) => {
                if (!JSON.parse(value).answers) return;
                tried.push(JSON.parse(value).answers.drinks);
                throw new DOMException("full", "QuotaExceededError");
            };
            for (let time = 0; time < 40; time += 1) try { Draw.once(survey, chosen, { drinks: 0 }); } catch {}
            return tried;
        }"""
    )
    assert len(set(drawn)) == 1


def test_a_draw_takes_the_same_room_whatever_is_drawn(site, visit):
    page = visit().page
    page.goto(site.address)
    lengths = page.evaluate(
        """async () => {
            const told = await Page.loadSurvey();
            told.questions[0].values[1].value = '"'.repeat(900);
            const survey = Definition.read(told);
            const chosen = survey.tells.find(({ questions }) => questions.includes("hiv"));
            return Array.from({ length: 60 }, (_, drawn) => {
                localStorage.clear();
                Draw.once({ ...survey, id: `health-${drawn}` }, chosen, { hiv: drawn % 2 });
                return localStorage.getItem(`kakuran:survey:health-${drawn}`).length;
            });
        }"""
    )
    assert len(set(lengths)) == 1


def test_more_columns_than_a_survey_has_are_refused(site, visit):
    def many(told):
        mechanism = {"kind": "pram", "size": 2, "weights": [[str(TOTAL // 2)] * 2] * 2}
        one = told["questions"][0] | {"mechanism": mechanism}
        told["questions"] = [one | {"name": f"q{place}"} for place in range(1_001)]
        names = [question["name"] for question in told["questions"]]
        told["tells"] = [{"told": "all", "questions": names, "weight": str(TOTAL), "threshold": None}]

    refuses_a_server_that_lies(site, visit(), many)


def test_words_that_turn_the_direction_of_writing_are_refused(site, visit):
    refuses_a_server_that_lies(site, visit(), lambda told: told["title"].update(en="Health \u202e"))


@contextmanager
def forgetful(site, status, headers, sent):
    """The pages of a site from a server that takes answers itself, and has browsers do something with a header."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            told = httpx.get(site.address + self.path)
            self.answer(told.status_code, told.content, {"content-type": told.headers["content-type"]})

        def do_POST(self):
            sent.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.answer(status, b"{}", headers)

        def answer(self, code, body, more):
            self.send_response(code)
            for name, value in ({"content-length": str(len(body))} | more).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_no_cookie_goes_with_an_answer_or_brings_the_survey(site, visit):
    visitor = visit()
    visitor.context.add_cookies([{"name": "who", "value": "visitor-42", "url": site.address}])
    visitor.page.goto(site.address)
    draw_for(visitor.page)
    with visitor.page.expect_response("**/api/responses"):
        visitor.page.locator("#send").click()
    asked = [one for one in visitor.requests if "/api/" in one.url]
    assert len(asked) == 2
    assert [one.all_headers().get("cookie") for one in asked] == [None, None]


def test_what_another_tab_sends_after_somebody_agreed_is_asked_about_as_well(site, visit):
    visitor = visit()
    served_as = ["first"]
    honest = site.ask("/api/survey")
    visitor.context.route("**/api/survey", lambda route: route.fulfill(json=honest | {"id": served_as[0]}))
    visitor.context.route("**/api/responses", lambda route: route.fulfill(status=201, json={}))

    def opened(name):
        served_as[0] = name
        page = visitor.context.new_page()
        page.goto(site.address)
        page.locator("form, section.card button").first.wait_for()
        if page.locator("section.card button").count():
            page.locator("section.card button").click()
        draw_for(page)
        return page

    def sent(page):
        with page.expect_response("**/api/responses"):
            page.locator("#send").click()
        page.locator(".done").wait_for()

    sent(opened("first"))
    second, third = opened("second"), opened("third")
    sent(third)
    second.locator("#send").click()
    second.locator("h2").first.wait_for()
    assert second.locator("section.card button").count() == 1
    assert second.locator(".done").count() == 0


@pytest.mark.parametrize("language", ["de", "ar-EG"])
def test_numbers_among_english_words_are_written_as_in_english(serve, visit, language):
    """1.200 times as likely is 1,200 times to a German, and little more than 1 to whoever reads English."""
    words = {language: "?"}
    sex = SEX | {"text": words}
    survey = {"id": "much", "languages": [language], "title": words, "introduction": {}, "questions": {"sex": sex}}
    site = serve(**survey | {"k": 1.5, "expected_n": 1_000_000})
    page = visit().page
    page.goto(site.address)
    page.locator("footer summary").click()
    said = page.locator("footer").inner_text()
    factor, epsilon = re.search(r"at most (\S+) times .*ε = (\S+)\)", said).groups()
    assert float(epsilon) == pytest.approx(site.survey.plan.epsilon, abs=0.005)
    least = math.exp(site.survey.plan.epsilon)
    unit = 10.0 ** (math.floor(math.log10(least)) - 1)
    assert float(factor.replace(",", "")) == pytest.approx(math.ceil(least / unit) * unit)  # two digits, rounded up


@pytest.mark.parametrize("status", [201, 500])
def test_a_server_whose_reply_has_the_browser_forget_gets_no_second_draw(site, visit, status):
    visitor, sent = visit(), []
    page = visitor.page
    with forgetful(site, status, {"Clear-Site-Data": '"storage"'}, sent) as address:
        page.goto(address)
        page.locator("form").wait_for()
        draw_for(page)
        for _ in range(3):
            with page.expect_response("**/api/responses"):
                page.locator("#send").click()
            expect(page.locator("#send:not([aria-disabled]), .done").first).to_be_visible()
            assert page.locator("form").count() == 0
            page.reload()
            page.locator("#send, .done, form").first.wait_for()
            if status == 201:
                break
        assert page.locator("form").count() == 0
    assert len({one["id"] for one in sent}) == 1
    visitor.complaints.clear()
