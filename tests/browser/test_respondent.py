"""The respondent's page in a real browser: the true answer stays, chance is drawn once, one answer arrives."""

from __future__ import annotations

import json
import math
import re

import pytest
from playwright.sync_api import expect

TRUE = {"kept": "kept-capybara", "seen": "seen-echidna", "weight": 7_000_173}
TRACES = ["kept-capybara", "One capybara", "seen-echidna", "7000173", "7,000,173"]
"""How the true answers could be told from anything that leaves the page."""

STORED = """async () => JSON.stringify([
    Object.entries(localStorage), Object.entries(sessionStorage), document.cookie, history.state, window.name,
    location.href, await indexedDB.databases(), await caches.keys(),
])"""


def answer(page, address):
    page.goto(address)
    page.get_by_label("Which one do you keep?").select_option("One capybara at home")
    page.get_by_role("group", name="Which one did you see last?").get_by_label("seen-echidna").check()
    page.get_by_label("How heavy is it?").fill("7000173")


def draw(page):
    page.get_by_role("button", name="Draw what will be sent").click()
    page.get_by_role("heading", name="This is what will be sent").wait_for()
    return stored(page)


def stored(page):
    return json.loads(page.evaluate("localStorage.getItem('kakuran:survey:animals')"))


def send(page):
    page.get_by_role("button", name="Send").click()
    page.get_by_role("heading", name="Thank you").wait_for()


def refuses_a_server_that_lies(site, visitor, lie):
    """Somebody whose page is told something else of the survey, and asks nothing then."""
    definition = site.ask("/api/survey")
    lie(definition)
    visitor.page.route("**/api/survey", lambda route: route.fulfill(json=definition))
    visitor.page.goto(site.address)
    visitor.page.get_by_text("so this page does not take part").wait_for()
    assert visitor.page.locator("form").count() == 0


def other_answers_drawn(visit, address, **options):
    """Somebody of whose answers chance has changed every one, so that the true ones can be told from those sent."""
    for _ in range(40):
        visitor = visit(**options)
        answer(visitor.page, address)
        drawn = draw(visitor.page)
        if all(drawn["answers"][name] != value for name, value in TRUE.items()):
            return visitor, drawn
    raise AssertionError("the draw changes nothing")


def test_the_true_answer_never_leaves_the_page(site, visit, width):
    visitor, drawn = other_answers_drawn(visit, site.address, **width)
    send(visitor.page)
    visitor.page.wait_for_load_state("networkidle")
    everything = visitor.sent()
    assert [trace for trace in TRACES if trace in everything] == []
    assert visitor.submissions() == [{"id": drawn["id"], "version": site.survey.version, "answers": drawn["answers"]}]
    assert {re.sub(r"^https?://[^/]+", "", request.url) for request in visitor.requests} == {
        "/",
        "/api/survey",
        "/api/responses",
        "/static/style.css",
        *(
            f"/static/{name}.js"
            for name in ("perturb", "texts", "page", "questions", "definition", "draw", "screens", "sending", "respond")
        ),
    }
    assert site.n == 1


def test_the_capture_would_show_a_true_answer(site, visit):
    """The same look at the traffic finds answers that are sent on purpose."""
    visitor = visit()
    visitor.page.goto(site.address)
    visitor.page.evaluate(
        "fetch('api/survey?seen-echidna', {headers: {'X-Weight': '7000173'}}).then((one) => one.text())"
    )
    assert [trace for trace in TRACES if trace in visitor.sent()] == ["seen-echidna", "7000173"]


def test_the_policy_stops_code_that_is_not_ours_and_the_record_shows_it(site, visit):
    visitor = visit()
    visitor.page.goto(site.address)
    visitor.page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.intruder = true";
            document.head.append(script);
        }"""
    )
    visitor.page.get_by_role("button", name="Draw what will be sent").wait_for()
    assert visitor.page.evaluate("window.intruder") is None
    assert any("CSP script-src" in complaint for complaint in visitor.complaints)
    visitor.complaints.clear()


@pytest.mark.parametrize("script", ["perturb.js", "screens.js", "sending.js"])
def test_a_script_that_was_changed_on_its_way_does_not_run(site, visit, script):
    visitor = visit()
    changed = {"content_type": "text/javascript", "body": "window.intruder = true"}
    visitor.page.route(f"**/static/{script}", lambda route: route.fulfill(**changed))
    visitor.page.goto(site.address)
    visitor.page.get_by_text("A part of this page is missing or was changed on its way").wait_for()
    assert visitor.page.locator("form").count() == 0
    assert visitor.page.evaluate("window.intruder") is None
    expect_complaints(visitor, "integrity")


LEADING = "document.querySelectorAll('body [href], body [src], [action], [ping], [data-href], iframe, base').length"
"""Elements that a browser can be made to fetch, by a header `Speculation-Rules` for what is ticked meanwhile."""


def test_no_element_of_any_screen_leads_elsewhere(site, visit):
    page = visit().page
    answer(page, site.address)
    page.locator("footer summary").click()
    assert page.evaluate(LEADING) == 0
    expect(page.locator("footer")).to_contain_text("static/perturb.js")
    draw(page)
    assert page.evaluate(LEADING) == 0
    send(page)
    assert page.evaluate(LEADING) == 0


def without_policy(visitor, address, html=lambda text: text):
    """The page as a server gives it that leaves out every header."""

    def bare(route):
        route.fulfill(content_type="text/html", body=html(route.fetch().text()))

    visitor.page.route(f"{address}/", bare)


def test_styles_load_nothing_even_where_the_server_sends_no_policy(site, visit):
    """A style that shows another picture for every answer would tell it."""
    visitor = visit()
    without_policy(visitor, site.address, lambda text: re.sub(r' integrity="[^"]+"', "", text))
    leak = "body:has(input:checked) { background-image: url('/leak') }"
    visitor.page.route("**/style.css", lambda route: route.fulfill(content_type="text/css", body=leak))
    left = []
    visitor.page.route("**/leak", lambda route: (left.append(route.request.url), route.fulfill(body="")))
    answer(visitor.page, site.address)
    visitor.page.wait_for_timeout(200)
    assert left == []
    assert any("img-src" in complaint for complaint in visitor.complaints)
    visitor.complaints.clear()


def test_within_another_page_nothing_is_asked(site, visit):
    visitor = visit()
    without_policy(visitor, site.address)
    visitor.page.route("**/frame", lambda route: route.fulfill(content_type="text/html", body="<iframe src='/'>"))
    visitor.page.goto(f"{site.address}/frame")
    frame = visitor.page.frame_locator("iframe")
    frame.locator("form, #alert.notice").first.wait_for()
    expect(frame.locator("#alert")).to_contain_text("A part of this page is missing", timeout=1)


def test_nothing_true_is_kept_in_the_browser_after_the_draw(site, visit):
    visitor, _ = other_answers_drawn(visit, site.address)
    assert [trace for trace in TRACES if trace in visitor.page.evaluate(STORED)] == []
    assert visitor.context.cookies() == []
    send(visitor.page)
    assert [trace for trace in TRACES if trace in visitor.page.evaluate(STORED)] == []
    assert [trace for trace in TRACES if trace in visitor.page.content()] == []


def test_the_page_shows_the_true_answer_and_what_will_be_sent(site, visit):
    visitor, drawn = other_answers_drawn(visit, site.address)
    shown = visitor.page.locator(".card", has_text="How heavy is it?")
    assert shown.locator(".own dd").inner_text() == "7,000,173 grams"
    assert shown.locator(".sent dd").inner_text() == f"{drawn['answers']['weight']:,} grams"
    expect(visitor.page.get_by_text("Only what stands under")).to_be_visible()
    assert visitor.submissions() == []


def test_a_reload_shows_the_same_draw_and_forgets_the_truth(site, visit):
    visitor = visit()
    answer(visitor.page, site.address)
    drawn = draw(visitor.page)
    for _ in range(5):
        visitor.page.reload()
        visitor.page.get_by_text("This was drawn earlier").wait_for()
        assert stored(visitor.page) == drawn
        assert visitor.page.locator(".own").count() == 0
    send(visitor.page)
    assert visitor.submissions()[0]["answers"] == drawn["answers"]


def test_going_away_and_back_does_not_draw_again(site, visit):
    visitor = visit()
    answer(visitor.page, site.address)
    drawn = draw(visitor.page)
    visitor.page.goto("about:blank")
    visitor.page.go_back()
    visitor.page.get_by_role("button", name="Send").wait_for()
    assert stored(visitor.page) == drawn


def test_a_second_tab_has_the_same_draw_and_counts_once(site, visit):
    visitor = visit()
    other = visitor.context.new_page()
    answer(visitor.page, site.address)
    answer(other, site.address)
    drawn = draw(visitor.page)
    assert draw(other) == drawn
    send(visitor.page)
    expect(visitor.page.get_by_text("Your answer has arrived")).to_be_visible()
    other.get_by_role("button", name="Send").click()
    expect(other.get_by_text("already sent from another tab of this browser")).to_be_visible()
    expect(other.get_by_role("heading", name="Thank you")).to_be_focused()
    other.get_by_role("button", name="日本語").click()
    expect(other.get_by_text("別のタブからすでに送られています")).to_be_visible()
    assert site.n == 1
    assert {json.dumps(message) for message in visitor.submissions()} == {json.dumps(visitor.submissions()[0])}


def test_a_tab_whose_answers_are_not_drawn_yet_says_that_another_has_sent_some(site, visit):
    visitor = visit()
    other = visitor.context.new_page()
    answer(other, site.address)
    answer(visitor.page, site.address)
    drawn = draw(visitor.page)
    send(visitor.page)
    other.get_by_role("button", name="Draw what will be sent").click()
    expect(other.get_by_text("already sent from another tab of this browser")).to_be_visible()
    assert stored(other) == drawn | {"tried": True, "sent": True}
    assert len(visitor.submissions()) == site.n == 1


def test_second_clicks_neither_draw_nor_send_again(site, visit):
    visitor = visit()
    answer(visitor.page, site.address)
    visitor.page.evaluate(
        """() => {
            const set = Storage.prototype.setItem;
            window.draws = [];
            Storage.prototype.setItem = function (key, value) {
                if (key.startsWith("kakuran:survey:")) window.draws.push(JSON.parse(value).id);
                return set.call(this, key, value);
            };
        }"""
    )
    visitor.page.get_by_role("button", name="Draw what will be sent").dblclick()
    visitor.page.get_by_role("button", name="Send").dblclick()
    visitor.page.get_by_role("heading", name="Thank you").wait_for()
    assert len(set(visitor.page.evaluate("window.draws"))) == 1
    assert len(visitor.submissions()) == 1
    visitor.page.reload()
    visitor.page.get_by_role("heading", name="Thank you").wait_for()
    assert visitor.page.get_by_role("button").all_inner_texts() == ["English", "日本語"]


def test_an_answer_that_is_missing_or_out_of_range_is_asked_for_by_name(site, visit):
    visitor = visit()
    visitor.page.goto(site.address)
    visitor.page.get_by_label("How heavy is it?").fill("7000401")
    visitor.page.get_by_role("button", name="Draw what will be sent").click()
    assert visitor.page.get_by_role("alert").inner_text() == "Please answer every question; 3 still open."
    expect(visitor.page.get_by_text("Please enter a number from 7,000,000 to 7,000,400.")).to_be_visible()
    assert visitor.page.evaluate("document.activeElement.id") == "q0"
    assert visitor.page.locator("[aria-invalid]").count() > 0
    assert visitor.page.evaluate("localStorage.length") == 0


def test_an_answer_sent_from_a_lonely_place_arrives_once_it_can(site, visit):
    visitor = visit()
    answer(visitor.page, site.address)
    drawn = draw(visitor.page)
    visitor.context.set_offline(True)
    visitor.page.get_by_role("button", name="Send").click()
    visitor.page.get_by_text("The server cannot be reached").wait_for()
    visitor.context.set_offline(False)
    send(visitor.page)
    assert [message["id"] for message in visitor.submissions()] == [drawn["id"]] * 2
    assert site.n == 1
    expect_complaints(visitor, "ERR_INTERNET_DISCONNECTED")


def test_a_reply_that_is_lost_does_not_count_the_answer_twice(site, visit):
    visitor = visit()
    answer(visitor.page, site.address)
    draw(visitor.page)

    def lose(route):
        route.fetch()
        route.abort()

    visitor.page.route("**/api/responses", lose, times=1)
    visitor.page.get_by_role("button", name="Send").click()
    visitor.page.get_by_text("The server cannot be reached").wait_for()
    assert site.n == 1
    send(visitor.page)
    assert site.n == 1
    assert visitor.submissions()[0] == visitor.submissions()[1]
    expect_complaints(visitor, "ERR_FAILED")


def test_a_busy_server_is_waited_for(site, visit):
    visitor = visit()
    answer(visitor.page, site.address)
    draw(visitor.page)
    busy = {"status": 429, "headers": {"Retry-After": "1"}, "content_type": "application/problem+json", "body": "{}"}
    visitor.page.route("**/api/responses", lambda route: route.fulfill(**busy), times=1)
    visitor.page.get_by_role("button", name="Send").click()
    visitor.page.get_by_text("Trying again in 1 s").wait_for()
    visitor.page.get_by_role("heading", name="Thank you").wait_for()
    assert visitor.submissions()[0] == visitor.submissions()[1]
    expect_complaints(visitor, "429")


def test_a_survey_that_closes_meanwhile_says_so(site, visit):
    visitor = visit()
    answer(visitor.page, site.address)
    draw(visitor.page)
    site.ask("/api/admin/close", "POST")
    visitor.page.get_by_role("button", name="Send").click()
    visitor.page.get_by_role("heading", name="This survey is closed").wait_for()
    assert site.n == 0
    expect_complaints(visitor, "410")
    late = visit()
    late.page.goto(site.address)
    late.page.get_by_role("heading", name="This survey is closed").wait_for()


def test_a_survey_that_changes_gets_no_second_draw_from_who_has_sent_one(site, visit):
    visitor = visit()
    answer(visitor.page, site.address)
    drawn = draw(visitor.page)
    changed = {"type": "/problems/wrong-version", "title": "Another version of the survey", "status": 409}
    visitor.page.route("**/api/responses", lambda route: route.fulfill(status=409, json=changed))
    visitor.page.get_by_role("button", name="Send").click()
    visitor.page.get_by_text("The survey was changed while you were answering").wait_for()
    definition = site.ask("/api/survey") | {"version": "another"}
    visitor.page.route("**/api/survey", lambda route: route.fulfill(json=definition))
    visitor.page.reload()
    visitor.page.get_by_role("heading", name="You have already taken part").wait_for()
    assert stored(visitor.page) == drawn | {"tried": True}
    expect_complaints(visitor, "409")


def test_a_survey_that_changes_before_anything_is_sent_is_answered_anew(site, visit):
    visitor = visit()
    answer(visitor.page, site.address)
    draw(visitor.page)
    definition = site.ask("/api/survey") | {"version": "another"}
    visitor.page.route("**/api/survey", lambda route: route.fulfill(json=definition))
    visitor.page.reload()
    visitor.page.get_by_role("button", name="Draw what will be sent").wait_for()


def test_a_browser_that_keeps_nothing_draws_nothing(site, visit):
    visitor = visit()
    visitor.context.add_init_script(
        "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }"
    )
    answer(visitor.page, site.address)
    visitor.page.get_by_role("button", name="Draw what will be sent").click()
    visitor.page.get_by_text("This browser does not let the page keep anything").wait_for()
    assert visitor.page.get_by_role("button", name="Send").count() == 0
    assert visitor.submissions() == []


@pytest.mark.parametrize("question", ["kept", "weight"])
def test_a_server_that_asks_for_less_noise_than_it_promises_gets_no_answer(site, visit, question):
    definition = site.ask("/api/survey")
    mechanism = next(one["mechanism"] for one in definition["questions"] if one["name"] == question)
    mechanism["threshold"] = str(int(mechanism["threshold"]) * 11 // 10)
    visitor = visit()
    visitor.page.route("**/api/survey", lambda route: route.fulfill(json=definition))
    visitor.page.goto(site.address)
    visitor.page.get_by_text("This survey would change answers less than it promises").wait_for()
    assert visitor.page.locator("form").count() == 0


class TestInvitations:
    @pytest.fixture
    def site(self, serve):
        site = serve(invitations=True)
        site.invite("sesame-open-1")
        return site

    def test_an_invitation_in_the_address_reaches_the_server_with_the_answer_only(self, site, visit):
        visitor = visit()
        answer(visitor.page, f"{site.address}/#i=sesame-open-1")
        assert visitor.page.url == f"{site.address}/"
        draw(visitor.page)
        assert "sesame" not in visitor.sent()
        send(visitor.page)
        assert visitor.submissions()[0]["invitation"] == "sesame-open-1"
        assert "sesame" not in visitor.page.evaluate(STORED)
        assert site.n == 1

    def test_a_wrong_invitation_can_be_put_right(self, site, visit):
        visitor = visit()
        answer(visitor.page, site.address)
        drawn = draw(visitor.page)
        visitor.page.get_by_label("Invitation code").fill("sesame-shut-1")
        visitor.page.get_by_role("button", name="Send").click()
        visitor.page.get_by_text("This invitation code is not valid").wait_for()
        assert visitor.page.evaluate("document.activeElement.id") == "invitation"
        visitor.page.get_by_label("Invitation code").fill("sesame-open-1")
        send(visitor.page)
        assert visitor.submissions()[1]["answers"] == drawn["answers"]
        expect_complaints(visitor, "403")


def test_other_languages_are_a_click_away_and_keep_what_was_typed(site, visit):
    visitor = visit()
    answer(visitor.page, site.address)
    visitor.page.get_by_role("button", name="日本語").click()
    assert visitor.page.evaluate("document.documentElement.lang") == "ja"
    expect(visitor.page.get_by_role("heading", name="動物")).to_be_visible()
    assert visitor.page.get_by_label("重さはどのくらいですか。").input_value() == "7000173"
    assert visitor.page.get_by_role("radio", checked=True).count() == 1
    assert visitor.page.get_by_label("何を飼っていますか。").input_value() == "2"
    visitor.page.get_by_role("button", name="送る回答を抽選する").click()
    expect(visitor.page.get_by_role("heading", name="次の内容が送られます")).to_be_visible()


def test_a_browser_speaks_its_own_language_and_the_page_falls_back_on_english(serve, visit):
    french = {
        "languages": ["fr"],
        "title": {"fr": "Bonjour"},
        "introduction": {},
        "questions": {"sex": {"type": "categorical", "values": ["f", "m"], "text": {"fr": "Votre sexe ?"}}},
    }
    visitor = visit(locale="fr-FR")
    visitor.page.goto(serve(**french).address)
    expect(visitor.page.get_by_role("group", name="Votre sexe ?")).to_be_visible()
    expect(visitor.page.get_by_role("button", name="Draw what will be sent")).to_be_visible()
    assert visitor.page.evaluate("document.documentElement.lang") == "fr"


def test_somebody_without_a_mouse_can_take_part(site, visit, width):
    visitor = visit(**width)
    page = visitor.page
    page.goto(site.address)
    page.get_by_label("Which one do you keep?").wait_for()
    press = page.keyboard.press
    for _ in range(3):
        press("Tab")  # two languages, then the first question
    assert page.evaluate("document.activeElement.id") == "q0"
    page.keyboard.type("One c")
    press("Tab")
    press("Space")
    press("ArrowDown")
    press("Tab")
    page.keyboard.type("7000173")
    press("Tab")
    press("Enter")
    page.get_by_role("heading", name="This is what will be sent").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "This is what will be sent"
    assert page.locator(".own dd").all_inner_texts() == ["One capybara at home", "seen-binturong", "7,000,173 grams"]
    press("Tab")
    press("Enter")
    page.get_by_role("heading", name="Thank you").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Thank you"
    assert site.n == 1


def test_a_number_on_a_grid_of_tenths_is_sent_as_it_would_be_written(serve, visit):
    question = {"type": "numeric", "low": 0.1, "high": 0.9, "step": 0.1, "text": {"en": "How much?"}}
    site = serve(languages=["en"], title={"en": "Tenths"}, introduction={}, questions={"much": question})
    for _ in range(3):
        visitor = visit()
        visitor.page.goto(site.address)
        visitor.page.get_by_label("How much?").fill("0.3")
        visitor.page.get_by_role("button", name="Draw what will be sent").click()
        assert visitor.page.locator(".own dd").inner_text() == "0.3"
        send(visitor.page)
        assert visitor.submissions()[0]["answers"]["much"] in {place / 10 for place in range(1, 10)}


def test_a_number_between_two_steps_is_refused_before_the_draw_and_never_rounded(site, visit):
    visitor = visit()
    answer(visitor.page, site.address)
    for typed in ("7000172.5", "7000172.999"):
        visitor.page.get_by_label("How heavy is it?").fill(typed)
        visitor.page.get_by_role("button", name="Draw what will be sent").click()
        expect(
            visitor.page.get_by_text("one of these numbers: 7,000,000, 7,000,001, 7,000,002 … 7,000,400.")
        ).to_be_visible()
    assert visitor.page.evaluate("localStorage.length") == 0
    visitor.page.get_by_label("How heavy is it?").fill("7000173.0")
    draw(visitor.page)


def test_who_has_to_trust_the_server_is_told_what_holds_against_it_before_answering(serve, visit):
    site = serve(k=20, certainty=0.999999, trust="server")
    epsilon = f"{site.survey.plan.epsilon:.2f}"
    visitor = visit()
    page = visitor.page
    answer(page, site.address)
    trust = page.locator("form #trust")
    expect(trust).to_be_visible()
    expect(trust).to_contain_text("trust its server")
    expect(trust).to_contain_text(f"ε₀ = {epsilon}")
    stated = float(re.search(r"at most ([\d.]+) times", trust.inner_text())[1])
    assert 0 <= stated / math.exp(site.survey.plan.epsilon) - 1 < 0.1
    assert "1 in 20" not in page.locator("form").inner_text()
    page.get_by_text("How does this protect me?").click()
    how = page.locator("#footer").inner_text()
    assert re.search(r"only if the server is honest.*1 in 20.*0\.999999.*does not hold against the server", how)
    assert "says little about the person" not in how
    draw(page)
    review = page.locator("#screen").inner_text()
    assert f"ε₀ = {epsilon}" in review
    assert "not even we" not in review
    assert "cannot know" not in review
    send(page)
    assert site.n == 1
    page.get_by_role("button", name="日本語").click()
    expect(page.locator("#footer")).to_contain_text("サーバー")


def test_who_need_not_trust_the_server_is_not_asked_to(site, visit):
    page = visit().page
    answer(page, site.address)
    expect(page.locator("form")).to_be_visible()
    expect(page.locator("#trust")).to_have_count(0)


def test_what_lies_beyond_ordered_answers_is_called_the_same_in_the_browser(serve, visit):
    values = ["bad", "poor", "fair", "good", "great"]
    mood = {"type": "categorical", "values": values, "ordered": True, "text": {"en": "How are you?"}}
    age = {"type": "numeric", "bands": [0, 18, 30, 45, 65, 120], "text": {"en": "How old are you?"}}
    site = serve(languages=["en"], title={"en": "You"}, introduction={}, k=300, questions={"mood": mood, "age": age})
    visitor = visit()
    visitor.page.goto(site.address)
    visitor.page.get_by_label("18–29").check()
    visitor.page.get_by_label("fair").check()
    visitor.page.get_by_role("button", name="Draw what will be sent").click()
    send(visitor.page)
    assert site.n == 1
    names = visitor.page.evaluate(
        """async () => {
            const survey = await (await fetch("/api/survey")).json();
            return survey.questions.map((question) => {
                const reach = question.mechanism.half_width;
                const every = Array.from(Array(question.values.length + 2 * reach).keys());
                return [reach, every.map((at) => Questions.answerOf(question, at - reach))];
            });
        }"""
    )
    for question, (reach, found) in zip(site.survey.questions, names, strict=True):
        assert reach == site.survey.plan.reach(question.name) > 0
        assert tuple(found) == question.attribute.names_of(reach)
    released = {question.name: found for question, (_, found) in zip(site.survey.questions, names, strict=True)}
    assert all(value in released[name] for name, value in visitor.submissions()[0]["answers"].items())


def expect_complaints(visitor, *wanted):
    """The browser has complained of what the test caused, and of nothing else."""
    assert len(visitor.complaints) == len(wanted)
    for complaint, part in zip(visitor.complaints, wanted, strict=True):
        assert part in complaint
    visitor.complaints.clear()
