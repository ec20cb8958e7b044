"""From a file to a release to a cross-tab, in a browser; and what another page in that browser gets of it."""

from __future__ import annotations

import re
import shlex
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest
from playwright.sync_api import expect
from typer.testing import CliRunner

from kakuran.cli import app
from kakuran.design import Ledger
from kakuran.release import read_manifest, read_release, write_table
from kakuran.samples import census
from kakuran.studio import Desk, running

from .conftest import WIDTHS
from .test_accessibility import SMALL_TARGETS, poor_contrast

ADULT = Path(__file__).parents[3] / "shared/data/adult.data"
ADULT_COLUMNS = (
    "age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex,gain,loss,hours,"
    "country,income"
)
NAMELESS = """() => [...document.querySelectorAll("button, input, select, textarea, summary, [tabindex='0']")]
    .filter((one) => one.checkVisibility())
    .filter((one) => !(one.labels?.length || one.ariaLabel || one.textContent.trim() || one.closest("label")))
    .map((one) => one.outerHTML.slice(0, 80))"""
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
# Threads of the server share filters: what one silences, another that ends may let be heard again.
pytestmark = pytest.mark.filterwarnings(
    "ignore::kakuran.InferredDomainWarning", "ignore::kakuran.ScatteredNumbersWarning"
)

HOSTILE = '<img src=x onerror=alert(1)>"&{{k}}'


def office_file(rows: int = 900) -> bytes:
    """Semicolons, Shift-JIS, commas before decimals, empty cells, dates."""
    columns = (["事務", "販売", "介護", "技能"], ["東", "", "西"], ["2024-01-05", "2024-11-30"], ["3,5", "12,0", "0,5"])
    lines = [";".join(column[row * 7 % len(column)] for column in columns) for row in range(rows)]
    return "\n".join(["職業;地域;日付;額", *lines, ""]).encode("cp932")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("studio")
    write_table(place / "census.parquet", census(3_000))
    (place / "office.csv").write_bytes(office_file())
    hostile = {HOSTILE: [HOSTILE, "b"] * 300, "</script><script>alert(2)</script>": ["<b>x</b>", "y"] * 300}
    write_table(place / "hostile.parquet", pa.table(hostile))
    return place


@pytest.fixture(scope="module")
def address(folder):
    with running(Desk(folder)) as (served, _):
        yield served


def load(page, address, file):
    page.goto("about:blank")
    page.goto(address)
    with page.expect_response("**/api/open"):
        page.locator(".browser .file", has_text=file).click()
    expect(page.get_by_role("heading", name=file)).to_be_visible()


def go_on(page):
    page.locator("#next").click()


def make_release(page, target, *, with_reports=False):
    page.locator("#target").fill(str(target))
    page.locator("#reports").set_checked(with_reports)
    if page.locator("#confirm-release").count():
        expect(page.locator("#make")).to_have_attribute("aria-disabled", "true")
        page.locator("#make").click(force=True)
        expect(page.locator("#confirm-release")).to_be_focused()
        page.locator("#confirm-release").click()
    page.locator("#make").click()
    expect(page.locator("#made-title")).to_be_visible()


def do_what_the_script_says(page, target, other):
    """Run the first command that the page shows, to write another release of the same."""
    lines = page.locator("#commands").inner_text().splitlines()
    command = next(line for line in lines if line.startswith("kakuran")).replace(f"{target.stem}.", f"{other.stem}.")
    words = shlex.split(command)[1:]
    del words[words.index("--report") : words.index("--public") + 1]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return read_manifest(other)


def test_a_new_user_walks_from_file_to_release_to_cross_tab(visit, address, folder):
    visitor = visit(viewport=WIDTHS["desktop"])
    page, target = visitor.page, folder / "colleagues.parquet"
    load(page, address, "census.parquet")
    go_on(page)
    page.get_by_role("region", name="region", exact=True).get_by_label("Drop").check()
    page.get_by_role("button", name="All of this is public knowledge").click()
    age = page.get_by_role("region", name="age", exact=True)
    age.get_by_role("textbox", name="Least").fill("0")
    age.get_by_role("textbox", name="Least").press("Enter")
    expect(page.locator("#toml")).to_have_value(re.compile("low = 0\n"))
    age.get_by_role("textbox", name="Most").fill("120")
    age.get_by_role("textbox", name="Most").press("Enter")
    expect(page.locator("#toml")).to_have_value(re.compile("low = 0\nhigh = 120"))
    go_on(page)
    expect(page.locator("#choice .design.chosen")).to_have_count(1)
    page.get_by_label("Questions will be about").select_option("job")
    expect(page.locator("#risk li")).to_have_count(4)
    page.get_by_role("button", name="Rehearse").click()
    expect(page.locator("#rehearsed img")).to_be_visible()
    go_on(page)
    make_release(page, target, with_reports=True)
    expect(page.locator("#verdict")).to_contain_text("Passed")
    expect(page.get_by_text("Public report")).to_be_visible()
    assert violations(page) == []
    other = do_what_the_script_says(page, target, folder / "typed.parquet")
    made = read_manifest(target)
    assert other.plan.to_dict() == made.plan.to_dict()
    assert (made.plan.k, made.plan.schema["age"].high, {"job"} <= set(made.plan.tells[0].columns)) == (10, 120, True)
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Open", exact=True).first.click()
    expect(opened.value.get_by_role("heading", level=1)).to_contain_text("3,000")
    go_on(page)
    page.locator("#ask-0").select_option("job")
    page.locator("#ask-1").select_option("sex")
    page.locator("#ask").click()
    expect(page.locator("#answer table")).to_be_visible()
    assert violations(page) == []
    first = page.locator("#answer tbody tr").first.inner_text().split("\t")
    found = read_release(target).crosstab("job", "sex")
    assert first[2] == f"{found.counts[0, 0]:,.0f}"
    assert "release.crosstab('job', 'sex')" in page.locator("#ask-python").inner_text()
    stored = page.evaluate("JSON.stringify([{ ...localStorage }, Object.keys(sessionStorage)])")
    assert stored in ('[{},["kakuran:studio"]]', '[{"kakuran:language":"en"},["kakuran:studio"]]')
    addresses = {request.url for request in visitor.requests if "/api/" in request.url}
    assert all(one.rsplit("/", 1)[1].isalpha() for one in addresses)
    assert page.url.endswith("/")


def test_k_with_certainty_is_chosen_beside_k_in_every_draw_and_released(visit, address, folder):
    page, target = visit(viewport=WIDTHS["desktop"]).page, folder / "certain.parquet"
    load(page, address, "census.parquet")
    go_on(page)
    page.get_by_role("button", name="All of this is public knowledge").click()
    go_on(page)
    both = page.locator("#beside .design")
    expect(both).to_have_count(2)
    expect(page.locator("#beside .design.chosen")).to_contain_text("In every draw")
    wrong = [float(text.strip(" %")) for text in both.locator("li:nth-child(2) .count").all_inner_texts()]
    assert wrong[1] < wrong[0]
    expect(page.locator("#choice")).to_contain_text("against an attacker who knows which record is yours")
    expect(page.locator("#choice")).to_contain_text("against an attacker who sees all of it and knows everybody else")
    page.get_by_role("radio", name="With certainty 0.999999").check()
    expect(page.locator("#beside .design.chosen")).to_contain_text("With certainty 0.999999")
    expect(page.locator("#choice")).to_contain_text("right at most once in 10, given the release and")
    page.locator("#k").fill("2")
    page.locator("#k").press("Enter")
    expect(page.locator("#beside .design.chosen")).to_contain_text("The ceiling of 1 on the central ε binds")
    assert violations(page) == []
    page.locator("#k").fill("10")
    page.locator("#k").press("Enter")
    expect(page.locator("#choice")).to_contain_text("right at most once in 10,")
    go_on(page)
    expect(page.locator("#making-title")).to_have_text("Release at k = 10 with certainty 0.999999")
    make_release(page, target)
    assert "--certainty 0.999999" in page.locator("#commands").inner_text()
    other = do_what_the_script_says(page, target, folder / "typed-certain.parquet")
    made = read_manifest(target)
    assert made.plan.certainty == 0.999999
    assert other.plan.to_dict() == made.plan.to_dict()
    go_on(page)
    expect(page.get_by_text("at k = 10 with certainty 0.999999; local ε₀ = ")).to_be_visible()


def test_what_is_chosen_while_an_earlier_answer_is_slow_is_kept_and_shown(visit, address):
    page, held = visit(viewport=WIDTHS["desktop"]).page, []
    page.route("**/api/confirm", lambda route: held.append(route), times=1)
    load(page, address, "census.parquet")
    go_on(page)
    page.get_by_role("button", name="All of this is public knowledge").click()
    go_on(page)
    page.get_by_label("Questions will be about").select_option("job")
    held[0].continue_()
    expect(page.get_by_label("Across")).to_have_value("job")  # of the rehearsal: the wish was granted
    expect(page.get_by_label("Questions will be about")).to_have_value("job")
    expect(page.locator("#choice .design.chosen")).to_have_count(1)
    expect(page.locator("#risk li")).to_have_count(4)


def test_what_was_drawn_before_something_changed_does_not_pass_for_what_is_said_now(visit, address, folder):
    page, held = visit(viewport=WIDTHS["desktop"]).page, []
    load(page, address, "census.parquet")
    go_on(page)
    codes = page.get_by_role("region", name="age", exact=True).get_by_label("Numbers that mean missing")
    codes.fill("30")
    codes.press("Enter")
    expect(page.get_by_text("30 lies between")).to_be_visible()
    expect(codes).to_have_value("30")
    codes.fill("999")
    codes.press("Enter")
    expect(page.locator("#toml")).to_have_value(re.compile(r"missing_codes = \[999\]"))
    page.get_by_role("region", name="age", exact=True).get_by_label("Drop").check()
    go_on(page)
    page.locator("#k").fill("2")
    page.locator("#k").press("Enter")
    page.get_by_label("Questions will be about").select_option("job")
    page.route("**/api/rehearse", lambda route: held.append(route), times=1)
    with page.expect_request("**/api/rehearse"):
        page.get_by_role("button", name="Rehearse").click()
    page.get_by_role("button", name="日本語").click()  # which draws the page again
    page.get_by_role("button", name="English").click()
    held[0].continue_()
    expect(page.locator("#rehearsed img")).to_be_visible()
    expect(page.locator("#rehearsed .notice")).to_have_count(0)
    page.get_by_label("job by two others, or models of it").check()
    expect(page.locator("#rehearsed .notice")).to_contain_text("before you changed something")
    page.get_by_role("button", name="Tell two columns").click()
    expect(page.locator('.design[data-key="2"].chosen')).to_be_visible()
    expect(page.get_by_label("job by one other column")).to_be_checked()
    go_on(page)
    page.get_by_label("Kind of file").select_option(".csv")
    expect(page.locator("#target")).to_have_value(re.compile(r"census-release\.csv$"))
    make_release(page, folder / "once.csv")
    expect(page.get_by_text("Its manifest")).to_be_visible()
    expect(page.locator("#verdict.passed")).to_be_visible()
    assert {len(tell.columns) for tell in read_manifest(folder / "once.csv").plan.tells} == {2}
    page.locator("#undo").click()
    expect(page.locator("#made-title")).to_contain_text("Released earlier: once.csv at k = 2")
    expect(page.locator("#again")).to_contain_text("joined they promise k = 1.0 only")
    page.get_by_role("button", name="Start a ledger").click()
    expect(page.get_by_label("Enter it into the ledger")).to_have_value(str(folder / "census.ledger"))
    assert [entry.spending.release for entry in Ledger(folder / "census.ledger").account().entries][-1] == "once.csv"


def test_odd_numbers_are_mended_and_a_release_is_entered_into_the_ledger_that_is_chosen(visit, address, folder):
    place = folder / "promised"
    place.mkdir()
    incomes = [999 if row % 20 == 0 else 9_000 + row * 37 for row in range(1_000)]
    schools = [("primary", "vocational", "degree")[row * 7 % 3] for row in range(1_000)]
    write_table(place / "staff.parquet", pa.table({"income": incomes, "school": schools}))
    firm, town = (Ledger.create(place / f"{name}.ledger", f"the {name}", k=2, epsilon=9) for name in ("firm", "town"))
    page = visit(viewport=WIDTHS["desktop"]).page
    page.goto("about:blank")
    page.goto(address)
    page.locator("#named").fill(str(place / "staff.parquet"))
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Take 999 for missing").click()
    expect(page.get_by_role("button", name="Take 999 for missing")).to_have_count(0)
    page.get_by_role("button", name="Make bands").click()
    expect(page.get_by_role("button", name="Make bands")).to_have_count(0)
    page.locator("#step-choose").click()
    page.get_by_label("Questions will be about").select_option("income")
    expect(page.get_by_label("Across")).to_have_value("income")
    go_on(page)
    page.get_by_role("button", name="Say what is public", exact=True).click()
    expect(page.locator("#toml")).to_have_value(re.compile(r"missing_codes = \[999\]"))
    page.locator("#step-release").click()
    expect(page.get_by_label("Enter it into the ledger").locator("option")).to_have_text(
        ["firm.ledger", "town.ledger", "into none"]
    )
    page.get_by_label("Enter it into the ledger").select_option("town.ledger")
    make_release(page, place / "out.parquet")
    expect(page.locator("#spent")).to_contain_text("the town")
    assert town.account().epsilon > firm.account().epsilon == 0
    assert read_manifest(place / "out.parquet").plan.schema["income"].bands is not None


def test_values_are_found_privately_with_a_click_and_what_that_spent_is_said(visit, address, folder):
    place = folder / "private"
    place.mkdir()
    write_table(
        place / "towns.parquet", pa.table({"town": ["here", "there"] * 3_000 + ["my own"], "ill": [True] * 6_001})
    )
    page = visit(viewport=WIDTHS["desktop"]).page
    page.goto("about:blank")
    page.goto(address)
    page.locator("#named").fill(str(place / "towns.parquet"))
    page.keyboard.press("Enter")
    go_on(page)
    expect(page.locator("#toml")).to_have_value(re.compile("my own"))
    page.get_by_role("button", name="Find values and bounds privately instead").click()
    expect(page.get_by_text("Values and bounds were found privately: ε = 0.1, δ = 1e-7.")).to_be_visible()
    expect(page.locator("#toml")).to_have_value(re.compile(r'values = \["here", "there", "other"\]'))
    expect(page.get_by_role("button", name="All of this is public knowledge")).to_have_count(0)


def test_a_file_without_names_is_given_them_and_records_that_weigh_are_counted_once(visit, address, folder):
    rows = [f"{'fm'[row % 2]},{100 + row % 3 * 100},{row % 9}" for row in range(600)]
    (folder / "bare.csv").write_text("\n".join([*rows, ""]))
    page, target = visit(viewport=WIDTHS["desktop"]).page, folder / "named.parquet"
    load(page, address, "bare.csv")
    page.get_by_label("Columns, if the first line is a record").fill("sex,stands_for,visits")
    page.get_by_role("button", name="Read it so").click()
    expect(page.get_by_role("columnheader", name="stands_for")).to_be_visible()
    expect(page.get_by_text("600 records")).to_be_visible()
    go_on(page)
    page.get_by_role("region", name="stands_for", exact=True).get_by_label("Weight").check()
    expect(page.locator("#toml")).to_have_value(re.compile('role = "weight"'))
    page.locator("#step-release").click()
    make_release(page, target)
    go_on(page)
    page.locator("#kind").select_option("tree")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#ask-python")).to_contain_text("release.tree('sex')")
    page.get_by_label("Count every record once").check()
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#ask-python")).to_contain_text("release.tree('sex', weights=False)")
    expect(page.locator("#alert")).to_be_empty()


def test_an_offices_file_with_gaps_is_mended_by_clicks_and_released_in_japanese(visit, address, folder):
    page = visit(locale="ja-JP").page
    load(page, address, "office.csv")
    expect(page.get_by_label("文字コード")).to_have_value("cp932")
    expect(page.get_by_label("列の区切り")).to_have_value(";")
    expect(page.get_by_label("小数点")).to_have_value(",")
    mend = page.get_by_role("button", name="空も一つの値とする")
    expect(mend).to_have_count(0)  # drafted as one
    go_on(page)
    page.get_by_label("空も一つの値とする").and_(page.locator(":checked")).first.uncheck()
    page.locator("#step-load").click()
    mend.click()
    expect(mend).to_have_count(0)
    go_on(page)
    page.get_by_role("slider", name="最後の日").press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#toml")).to_have_value(re.compile("high = .2024-12-08"))  # a week later
    amount = page.get_by_role("region", name="額", exact=True)
    amount.get_by_label("ウェイト").check()
    expect(page.locator("#toml")).to_have_value(re.compile('role = "weight"'))
    page.locator("#undo").click()
    expect(page.locator("#toml")).not_to_have_value(re.compile('role = "weight"'))
    page.get_by_role("button", name="すべて公知である").click()
    page.locator("#undo").click()
    expect(page.get_by_role("button", name="すべて公知である")).to_be_visible()
    page.locator("#redo").click()
    go_on(page)
    page.locator("#k").fill("5")
    page.locator("#k").press("Enter")
    expect(page.locator(".facts dd").first).to_have_text("5")
    go_on(page)
    target = folder / "office-out.csv"
    make_release(page, target)
    made = read_manifest(target)
    assert do_what_the_script_says(page, target, folder / "office-again.csv").plan.to_dict() == made.plan.to_dict()
    assert (made.plan.k, made.plan.schema["地域"].missing) == (5, "category")
    go_on(page)
    page.locator("#ask-0").select_option("職業")
    page.locator("#ask-1").select_option("")
    page.locator("#ask").click()
    expect(page.locator("#answer tbody tr")).to_have_count(4)


@pytest.mark.skipif(not ADULT.exists(), reason="the Adult data set is not beside the checkout")
def test_adult_is_released_at_k_10_to_study_income_by_education(visit, address, folder):
    rows = [line.replace(", ", ",") for line in ADULT.read_text().splitlines() if line.strip()]
    (folder / "adult.csv").write_text("\n".join([ADULT_COLUMNS, *rows[:8_000], ""]))
    page = visit(viewport=WIDTHS["desktop"]).page
    load(page, address, "adult.csv")
    go_on(page)
    page.get_by_role("region", name="fnlwgt", exact=True).get_by_label("Drop").check()
    page.get_by_role("button", name="All of this is public knowledge").click()
    go_on(page)
    page.get_by_label("Questions will be about").select_option("income")
    page.get_by_label("By", exact=True).select_option("education")
    page.get_by_role("button", name="Leave out the others").click()
    expect(page.get_by_role("button", name="Leave out the others")).to_have_count(0)
    expect(page.locator("#choice .design.chosen")).to_have_count(1)
    expect(page.get_by_label("By", exact=True)).to_have_count(0)
    go_on(page)
    target = folder / "adult-out.parquet"
    make_release(page, target)
    assert (
        do_what_the_script_says(page, target, folder / "adult-again.parquet").plan.to_dict()
        == read_manifest(target).plan.to_dict()
    )
    expect(page.locator("#verdict.passed")).to_be_visible()
    go_on(page)
    page.locator("#ask-0").select_option("education")
    page.locator("#ask-1").select_option("income")
    page.locator("#ask").click()
    expect(page.locator("#answer tbody tr")).to_have_count(32)


def violations(page):
    """What axe complains of; it comes in by the debugger's door, as the page's policy lets no script in."""
    page.evaluate(f"{AXE}; 0")
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]]


@pytest.mark.parametrize(("scheme", "size"), [("light", "desktop"), ("dark", "phone")])
def test_every_step_stands_out_has_names_and_fits(visit, address, scheme, size):
    page = visit(viewport=WIDTHS[size], color_scheme=scheme).page
    load(page, address, "census.parquet")
    for step, shown in (("load", "#browser li"), ("public", "#toml"), ("choose", "#risk li"), ("release", "#make")):
        page.locator(f"#step-{step}").click()
        page.locator(shown).first.wait_for()
        assert violations(page) == [], step
        assert poor_contrast(page) == [], step
        assert page.evaluate(SMALL_TARGETS) == [], step
        assert page.evaluate(NAMELESS) == [], step
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), step
        assert page.get_by_role("heading", level=1).count() == 1


def test_a_bound_is_moved_and_everything_reached_with_the_keyboard_alone(visit, address):
    page = visit(viewport=WIDTHS["desktop"]).page
    load(page, address, "census.parquet")
    page.locator("#step-public").focus()
    page.keyboard.press("Enter")
    handle = page.get_by_role("slider", name="Most")
    handle.focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#toml")).to_have_value(re.compile("high = 100"))
    page.locator("#step-load").focus()
    page.keyboard.press("Control+z")
    expect(page.locator("#toml")).to_have_value(re.compile("high = 94"))


SLOW_ANSWERS = """const asked = fetch;
    window.fetch = async (...given) => {
        const reply = await asked(...given);
        if (/confirm|edit/.test(given[0])) await new Promise((done) => setTimeout(done, 800));
        return reply;
    };"""


def test_answers_that_come_late_take_nothing_out_of_ones_hands(visit, address):
    page = visit(viewport=WIDTHS["desktop"]).page
    page.add_init_script(SLOW_ANSWERS)
    load(page, address, "census.parquet")
    go_on(page)
    age, toml = page.get_by_role("region", name="age", exact=True), page.locator("#toml")
    least, most = (age.get_by_role("textbox", name=name) for name in ("Least", "Most"))

    page.get_by_role("button", name="All of this is public knowledge").click()
    least.select_text()
    page.keyboard.insert_text("1")
    page.wait_for_timeout(1_200)  # the answer is there, and waits for what is being written
    expect(least).to_have_value("1")
    page.keyboard.press("Enter")
    expect(toml).to_have_value(re.compile("low = 1\n"))

    least.fill("2")
    least.press("Enter")
    most.select_text()
    expect(toml).to_have_value(re.compile("low = 2\n"))  # drawn anew with all of it selected
    page.keyboard.insert_text("120")
    page.keyboard.press("Enter")
    expect(toml).to_have_value(re.compile("low = 2\nhigh = 120"))
    page.locator("#undo").click()
    expect(toml).to_have_value(re.compile("low = 2\nhigh = 94"))

    handle = page.get_by_role("slider", name="Most")
    handle.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(toml).to_have_value(re.compile("high = 95"))
    expect(handle).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    expect(toml).to_have_value(re.compile("high = 94"))


def test_hostile_names_and_values_are_only_text(visit, address):
    page = visit(viewport=WIDTHS["desktop"]).page
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    load(page, address, "hostile.parquet")
    for step, shown in (("public", "#toml"), ("choose", "#risk li")):
        page.locator(f"#step-{step}").click()
        page.locator(shown).first.wait_for()
    page.get_by_role("button", name="Rehearse").click()
    page.locator("#rehearsed img").wait_for()
    assert page.evaluate("document.querySelectorAll('img[src=x], #screen script, #screen b').length") == 0


class _Elsewhere(BaseHTTPRequestHandler):
    """Another website."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>evil</title>")

    def log_message(self, *_):
        pass


def test_another_website_in_the_same_browser_can_neither_read_nor_drive_it(visit, address):
    steward = visit()
    load(steward.page, address, "census.parquet")
    home, secret = address.split("/#")
    with HTTPServer(("127.0.0.1", 0), _Elsewhere) as elsewhere:
        Thread(target=elsewhere.serve_forever, daemon=True).start()
        other = steward.context.new_page()
        other.goto(f"http://localhost:{elsewhere.server_address[1]}/")
        tried = other.evaluate(
            """async ([home, secret]) => {
                const tries = [
                    ["GET", "", {}],
                    ["POST", "api/state", { headers: { Authorization: `Bearer ${secret}` } }],
                    ["POST", "api/undo", { headers: { "Content-Type": "text/plain" } }],
                    ["POST", "api/undo", { mode: "no-cors" }],
                ];
                const results = [];
                for (const [method, path, options] of tries) {
                    try {
                        const body = method === "GET" ? undefined : "{}";
                        const reply = await fetch(`${home}/${path}`, { method, body, ...options });
                        results.push([reply.type, reply.status, (await reply.text()).length]);
                    } catch (fault) { results.push("refused"); }
                }
                const frame = document.createElement("iframe");
                frame.src = home;
                document.body.append(frame);
                await new Promise((done) => { frame.onload = done; setTimeout(done, 2000); });
                try { results.push(frame.contentDocument?.title ?? "closed"); } catch { results.push("closed"); }
                return results;
            }""",
            [home, secret],
        )
        elsewhere.shutdown()
    assert tried == ["refused"] * 4 + ["closed"]
    assert any("CORS" in one for one in steward.complaints)
    steward.complaints.clear()
    expect(steward.page.get_by_role("heading", name="census.parquet")).to_be_visible()
