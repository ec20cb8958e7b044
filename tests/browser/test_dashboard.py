"""The dashboard in a real browser: it moves when answers come in, tells nothing too early, and needs no mouse."""

from __future__ import annotations

import re
import zipfile
from functools import partial

import pytest
from playwright.sync_api import expect

import kakuran as kk
from kakuran.collect.records import export_survey

from .conftest import FIELDS, TOKEN

pytestmark = pytest.mark.usefixtures("rough_models")
QUESTIONS = FIELDS["questions"]

HURRY = """{
    const after = window.setTimeout;
    window.pauses = [];
    window.setTimeout = (action, pause) => {
        const isBetweenLooks = pause >= 2000 && pause <= 30000;
        if (isBetweenLooks) window.pauses.push(pause);
        return after(action, isBetweenLooks ? pause / 20 : pause);
    };
}"""
"""A page that waits twenty times less from look to look, and notes how long it would have waited."""


@pytest.fixture
def serve(serve):
    """Weights in steps of ten, as they are estimated anew for every page that looks, which is what takes time here."""
    return partial(serve, questions=QUESTIONS | {"weight": QUESTIONS["weight"] | {"step": 10}})


def open_dashboard(visitor, site):
    visitor.context.add_init_script(HURRY)
    visitor.page.goto(site.dashboard)
    visitor.page.locator("#n:not(:empty)").wait_for()
    return visitor.page


def answer_and_send(visitor, site):
    page = visitor.page
    page.goto(site.address)
    page.get_by_label("Which one do you keep?").select_option(index=3)
    page.get_by_label("seen-echidna").check()
    page.get_by_label("How heavy is it?").fill("7000100")
    page.get_by_role("button", name="Draw what will be sent").click()
    page.get_by_role("button", name="Send").click()
    page.get_by_role("heading", name="Thank you").wait_for()


def test_an_answer_sent_from_a_page_moves_the_dashboard(site, visit, width):
    site.fill(19)
    dashboard = open_dashboard(visit(**width), site)
    dashboard.get_by_text("Estimates are shown from 20 answers on; so far there are 19.").wait_for()
    assert dashboard.locator("svg").count() == 0
    answer_and_send(visit(**width), site)
    dashboard.get_by_role("img", name="Which one do you keep?").wait_for()
    assert dashboard.locator("#n").inner_text() == "20"
    answer_and_send(visit(**width), site)
    dashboard.locator("#n", has_text="21").wait_for()
    assert dashboard.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(
    ("locale", "shown", "told"),
    [("en-GB", "1 answer", "so far there is 1."), ("ja-JP", "1 件の回答", "現在 1 件です。")],
)
def test_a_single_answer_is_told_of_as_one(site, visit, locale, shown, told):
    site.fill(1)
    page = open_dashboard(visit(locale=locale), site)
    page.get_by_text(told).wait_for()
    assert page.locator("#live").inner_text() == shown
    site.fill(1)
    page.locator("#n", has_text="2").wait_for()
    assert page.locator("#live").inner_text() == shown.replace("1 answer", "2 answers").replace("1", "2")


def test_no_numbers_reach_the_dashboard_before_there_are_enough(site, visit):
    site.fill(19)
    visitor = visit()
    told = []
    visitor.page.on("response", lambda reply: told.append(reply) if "/api/admin/" in reply.url else None)
    open_dashboard(visitor, site).get_by_text("so far there are 19").wait_for()
    standing = {"n", "minimum_n", "suppressed", "k", "epsilon", "export", "impossible"}
    assert [reply.json().keys() for reply in told] == [standing] * len(told)
    assert [reply.json()["impossible"] for reply in told] == [[]] * len(told)


def test_the_pictures_have_the_numbers_of_the_server(site, visit):
    site.fill(500)
    page = open_dashboard(visit(), site)
    card = page.get_by_role("region", name="Which one did you see last?", exact=True)
    card.get_by_text("Show as a table").click()
    shown = card.locator("tbody tr").all_inner_texts()
    question = next(one for one in site.ask("/api/admin/summary")["questions"] if one["name"] == "seen")
    for row, label, estimate, naive in zip(
        shown, question["labels"], question["estimate"], question["naive"], strict=True
    ):
        assert row.split("\t")[0] == label
        assert row.split("\t")[1] == f"{estimate / 5:.1f}%"
        assert row.split("\t")[3] == f"{naive / 5:.1f}%"
    bars = [float(bar.get_attribute("width")) for bar in card.locator("rect.estimate").all()]
    ratio = [bar / max(bars) for bar in bars]
    assert ratio == pytest.approx([one / max(question["estimate"]) for one in question["estimate"]], abs=0.02)


def test_with_certainty_the_owner_reads_what_holds_against_the_server_and_that_one_export_is_all(serve, visit):
    site = serve(k=20, certainty=0.999999, trust="server")
    site.fill(25)
    page = open_dashboard(visit(), site)
    promise = page.locator("#promise")
    expect(promise).to_contain_text("Against this server")
    expect(promise).to_contain_text("0.999999")
    expect(promise).to_contain_text(f"(ε = {site.survey.plan.epsilon:.2f})")
    assert not promise.inner_text().startswith("Nobody can be linked")
    expect(page.locator("#left-out")).to_have_text(re.compile("exported once, after you close it"))
    site.ask("/api/admin/close", "POST")
    export_survey(site._store)
    site.ask("/api/admin/reopen", "POST")
    site.fill(3)
    expect(page.locator("#left-out")).to_have_text(re.compile("3 answers came after the export.*stay out"))


def test_two_questions_are_looked_at_with_the_arrow_keys(site, visit):
    site.fill(500)
    page = open_dashboard(visit(), site)
    page.get_by_label("Columns").select_option("How heavy is it?")
    page.get_by_role("table", name="Which one do you keep? × How heavy is it?").wait_for()
    page.get_by_label("Columns").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    found = site.ask("/api/admin/crosstab?rows=kept&columns=weight")
    first = found["columns"]["labels"][0]
    said = page.locator("#cell").inner_text()
    assert said.startswith(f"One binturong at home and {first}: {found['estimate'][1][0] / 5:.1f}%, between")
    assert f"(naive {found['naive'][1][0] / 5:.1f}%)" in said
    assert page.locator(".heatmap td[tabindex='0']").count() == 1


def test_a_refresh_leaves_the_focus_and_open_tables_where_they_are(site, visit):
    site.fill(25)
    page = open_dashboard(visit(), site)
    page.get_by_role("region", name="How heavy is it?", exact=True).get_by_text("Show as a table").press("Enter")
    site.fill(25)
    page.locator("#n", has_text="50").wait_for()
    assert page.evaluate("document.activeElement.closest('section').getAttribute('aria-label')") == "How heavy is it?"
    expect(page.get_by_role("table", name="How heavy is it?", exact=True)).to_be_visible()


def test_a_tree_shows_the_leaves_the_server_found(serve, visit):
    site = serve(k=1.5, expected_n=4000)
    site.fill(4000)
    page = open_dashboard(visit(), site)
    page.get_by_label("Target").select_option("Which one did you see last?")
    page.locator("#grown[data-target=seen] .node").first.wait_for()
    root = site.ask("/api/admin/tree?target=seen")["root"]
    assert page.locator(".node").count() == count_nodes(root)
    share, people = re.search(r"(\d+)% of about ([\d,]+)", page.locator(".node").first.inner_text()).groups()
    assert int(share) == pytest.approx(100 * max(root["counts"]) / sum(root["counts"]), abs=0.501)
    assert int(people.replace(",", "")) == pytest.approx(sum(root["counts"]), abs=0.501)


def test_the_token_leaves_the_address_bar_and_no_address_holds_it(site, visit):
    site.fill(25)
    visitor = visit()
    page = open_dashboard(visitor, site)
    page.get_by_role("img", name="Which one do you keep?").wait_for()
    assert page.url == f"{site.address}/dashboard"
    assert page.evaluate("Object.values(localStorage)").count(TOKEN) == 0
    assert [request.url for request in visitor.requests if TOKEN in request.url.split("#")[0]] == []
    page.reload()
    page.get_by_role("img", name="Which one do you keep?").wait_for()


def test_without_the_token_it_is_asked_for(site, visit):
    site.fill(25)
    visitor = visit()
    page = visitor.page
    page.goto(f"{site.address}/dashboard#wrong")
    page.get_by_text("This token does not open the dashboard.").wait_for()
    assert page.locator("#n").count() == 0
    page.get_by_label("Access token").fill(TOKEN)
    page.keyboard.press("Enter")
    page.get_by_role("img", name="Which one do you keep?").wait_for()
    assert all("401" in complaint for complaint in visitor.complaints)
    visitor.complaints.clear()


def test_closing_asks_first_and_works_without_a_mouse(site, visit):
    page = open_dashboard(visit(), site)
    page.get_by_role("button", name="Close the survey").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Close the survey?")
    dialog.wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    assert site.ask("/api/status")["state"] == "open"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Open the survey again").wait_for()
    assert site.ask("/api/status")["state"] == "closed"
    page.get_by_role("button", name="Open the survey again").press("Enter")
    page.get_by_role("button", name="Close the survey").wait_for()
    assert site.ask("/api/status")["state"] == "open"


def test_exports_are_releases(site, visit, tmp_path):
    site.fill(60)
    site.ask("/api/admin/close", "POST")
    page = open_dashboard(visit(), site)
    saved = {}
    for name in ("CSV", "Parquet"):
        with page.expect_download() as started:
            page.get_by_role("button", name=name).press("Enter")
        saved[name] = tmp_path / started.value.suggested_filename
        started.value.save_as(saved[name])
    assert kk.read_release(saved["Parquet"]).n == 60
    with zipfile.ZipFile(saved["CSV"]) as archive:
        archive.extractall(tmp_path)
    assert kk.read_release(tmp_path / "animals.csv").n == 60


@pytest.mark.parametrize(
    ("locale", "button", "lang"), [("en-GB", "HTML report", "en"), ("ja-JP", "HTML レポート", "ja")]
)
def test_the_report_can_be_saved_in_the_language_of_the_page(site, visit, tmp_path, locale, button, lang):
    site.fill(60)
    site.ask("/api/admin/close", "POST")
    page = open_dashboard(visit(locale=locale), site)
    with page.expect_download() as started:
        page.get_by_role("button", name=button).click()
    started.value.save_as(tmp_path / "report.html")
    assert f'<html lang="{lang}">' in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_page_looks_more_seldom_while_nothing_happens(site, visit):
    site.fill(25)
    page = open_dashboard(visit(), site)
    page.get_by_role("img", name="Which one do you keep?").wait_for()
    while len(pauses := page.evaluate("window.pauses")) < 9:
        page.wait_for_timeout(200)
    assert pauses[0] == 2000
    assert pauses[:9] == sorted(pauses[:9])
    assert pauses[8] == 30_000


def test_a_server_without_its_database_is_told_of(site, visit):
    visitor = visit()
    visitor.page.route("**/api/survey", lambda route: route.fulfill(status=503, json={"title": "Could not be stored"}))
    visitor.page.goto(site.dashboard)
    visitor.page.get_by_text("The survey could not be loaded.").wait_for()
    assert all("503" in complaint for complaint in visitor.complaints)
    visitor.complaints.clear()


def test_an_unreachable_server_is_told_and_waited_for(site, visit):
    site.fill(25)
    visitor = visit()
    page = open_dashboard(visitor, site)
    page.get_by_role("img", name="Which one do you keep?").wait_for()
    visitor.context.set_offline(True)
    page.get_by_text("The server cannot be reached; trying again.").wait_for()
    visitor.context.set_offline(False)
    page.get_by_text("The server cannot be reached; trying again.").wait_for(state="hidden")
    assert all("ERR_INTERNET_DISCONNECTED" in complaint for complaint in visitor.complaints)
    visitor.complaints.clear()


def count_nodes(node):
    return 1 + sum(map(count_nodes, node.get("children", ())))


@pytest.mark.parametrize(
    ("locale", "first", "later"),
    [
        (
            "en-GB",
            "The first export needs 5 more answers, or that you close the survey.",
            "7 answers came after the last export. They stay out until 23 more have come",
        ),
        ("ja-JP", "最初の書き出しには、あと 5 件の回答", "7 件の回答が届きました。"),
    ],
)
def test_the_dashboard_says_what_an_export_leaves_out(serve, visit, locale, first, later):
    site = serve(k=2, expected_n=30)
    site.fill(25)
    page = open_dashboard(visit(locale=locale), site)
    expect(page.locator("#left-out")).to_contain_text(first)
    site.fill(5)
    page.locator("#n", has_text="30").wait_for()
    expect(page.locator("#left-out")).to_have_text("")
    with page.expect_download():
        page.get_by_role("button", name="CSV").click()
    site.fill(7)
    expect(page.locator("#left-out")).to_contain_text(later)


def test_the_dashboard_says_how_far_one_made_up_answer_reaches_and_when_answers_look_made_up(serve, visit):
    site = serve(questions=QUESTIONS)
    site.fill(300)
    page = open_dashboard(visit(), site)
    page.get_by_text("A single made-up answer can move an estimate here by").first.wait_for()
    expect(page.get_by_role("heading", name="Some answers look made up")).to_have_count(0)
    site.flood(60)
    page.get_by_role("heading", name="Some answers look made up").wait_for()
    # The sixty, and of the three hundred whoever happens to say the same: nine or more with a chance far below 10⁻⁶.
    expect(page.get_by_text(re.compile("The same answers to all questions came 6[0-9] times"))).to_have_count(1)
    expect(page.get_by_text("in at most 1 look of 1,000")).to_have_count(1)
