"""What somebody meets who does not see the pages, or sees them badly: names, roles, contrast."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import WIDTHS
from .test_dashboard import open_dashboard
from .test_respondent import answer, draw, send

pytestmark = pytest.mark.usefixtures("rough_models")

CONTRAST = """() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgb = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const luminance = ([red, green, blue]) => [red, green, blue]
        .map((one) => (one / 255 <= 0.04045 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4))
        .reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = rgb(getComputedStyle(at).backgroundColor);
            if (colour[3] === 255) return colour;
        }
        return [255, 255, 255, 255];
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        const words = walker.currentNode.textContent.trim().slice(0, 40);
        if (!words || !element.checkVisibility() || element.closest("noscript, title")) continue;
        const style = getComputedStyle(element);
        const colour = rgb(element instanceof SVGElement ? style.fill : style.color);
        const [lighter, darker] = [colour, behind(element)].map(luminance).sort((a, b) => b - a);
        const isLarge = parseFloat(style.fontSize) >= (Number(style.fontWeight) >= 700 ? 18.66 : 24);
        found.push([(lighter + 0.05) / (darker + 0.05), isLarge ? 3 : 4.5, words]);
    }
    return found;
}"""

SMALL_TARGETS = """() => [...document.querySelectorAll("button, select, input, summary, a")]
    .filter((one) => one.checkVisibility())
    .map((one) => [(one.closest("label") ?? one).getBoundingClientRect(), one.textContent || one.id])
    .filter(([box]) => Math.min(box.width, box.height) < 24).map(([, name]) => name)"""


def poor_contrast(page):
    found = page.evaluate(CONTRAST)
    assert len(found) > 3
    return [one for one in found if one[0] < one[1]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_of_the_respondents_page_stands_out(site, visit, scheme):
    page = visit(color_scheme=scheme).page
    page.goto(site.address)
    page.get_by_role("button", name="Draw what will be sent").click()
    expect(page.get_by_role("alert")).to_contain_text("3 still open")
    assert poor_contrast(page) == []
    answer(page, site.address)
    page.get_by_text("How does this protect me?").click()
    assert poor_contrast(page) == []
    draw(page)
    assert poor_contrast(page) == []
    send(page)
    assert poor_contrast(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_of_the_dashboard_stands_out(site, visit, scheme):
    site.fill(300)
    page = open_dashboard(visit(color_scheme=scheme, viewport=WIDTHS["desktop"]), site)
    page.locator(".heatmap").wait_for()
    page.locator(".tree .node").first.wait_for()
    for summary in page.get_by_text("Show as a table").all():
        summary.click()
    assert poor_contrast(page) == []
    page.get_by_role("button", name="Close the survey").click()
    page.get_by_role("dialog", name="Close the survey?").wait_for()
    assert poor_contrast(page) == []


def test_contrast_that_is_too_low_would_be_seen(site, visit):
    page = visit().page
    page.goto(site.address)
    page.get_by_role("heading", name="Animals").evaluate("(title) => { title.style.color = '#999'; }")
    assert [words for _, _, words in poor_contrast(page)] == ["Animals"]


def test_every_field_has_a_name_and_a_role(site, visit):
    page = visit().page
    page.goto(site.address)
    expect(page.get_by_role("combobox", name="Which one do you keep?")).to_be_visible()
    seen = page.get_by_role("group", name="Which one did you see last?")
    assert seen.get_by_role("radio").count() == 6
    assert seen.get_by_role("radio", name="seen-fossa", exact=True).count() == 1
    heavy = page.get_by_role("spinbutton", name="How heavy is it?")
    described = page.locator(f"#{heavy.get_attribute('aria-describedby').split()[0]}")
    assert described.inner_text() == "A number from 7,000,000 to 7,000,400."
    expect(
        page.get_by_role("group", name="Language").get_by_role("button", name="English", pressed=True)
    ).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.title() == "Animals"
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.evaluate(SMALL_TARGETS) == []


def test_every_picture_of_the_dashboard_has_a_name_and_a_table(site, visit):
    site.fill(300)
    page = open_dashboard(visit(), site)
    page.locator(".heatmap").wait_for()
    for question in ("Which one do you keep?", "Which one did you see last?", "How heavy is it?"):
        card = page.get_by_role("region", name=question, exact=True)
        expect(card.get_by_role("img", name=question)).to_be_visible()
        card.get_by_text("Show as a table").press("Enter")
        expect(card.get_by_role("table", name=question)).to_be_visible()
        assert card.get_by_role("rowheader").count() > 5
    expect(page.get_by_role("region", name="How intervals shrink").get_by_role("img")).to_be_visible()
    assert page.get_by_role("status").first.inner_text().split() == ["300", "answers"]
    assert page.evaluate(SMALL_TARGETS) == []


def test_nobody_is_made_to_watch_things_move(site, visit):
    page = visit(reduced_motion="reduce").page
    page.goto(site.address)
    page.locator(".choice").first.wait_for()
    durations = "() => [...document.querySelectorAll('*')].map((one) => getComputedStyle(one).transitionDuration)"
    assert set(page.evaluate(durations)) == {"0s"}
