"""A report in a real browser: on a phone, in the dark, on paper."""

from __future__ import annotations

from io import BytesIO

import pytest
from PIL import Image

import kakuran as kk
from kakuran.charts import new_figure
from kakuran.report.page import page as whole_page, picture
from kakuran.samples import census, census_schema
from kakuran.words import words_in


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    people = census(4_000)
    release = kk.perturb(people, kk.calibrate(census_schema(), n=4_000, k=3, tell="all"))
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(kk.release_report(release, original=people), encoding="utf-8")
    return path.as_uri()


def heatmap_of(page):
    """Where the first heatmap is, and its shape."""
    return page.locator("picture img").first.evaluate("image => [image.clientWidth, image.clientHeight]")


def test_heatmaps_stand_below_each_other_where_there_is_no_room_beside(report, visit, width):
    page = visit(**width).page
    page.goto(report)
    across, down = heatmap_of(page)
    assert (down > across) == (width["viewport"]["width"] < 768)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_wide_picture_can_be_scrolled_along_on_a_phone(visit, width, tmp_path):
    tall, wide = (picture(new_figure(inches, 3), "nothing") for inches in (5, 10))
    (tmp_path / "page.html").write_text(whole_page(words_in("en"), "pictures", tall, wide), encoding="utf-8")
    page = visit(**width).page
    page.goto((tmp_path / "page.html").as_uri())
    beyond = page.locator("figure").evaluate_all("all => all.map(one => one.scrollWidth > one.clientWidth)")
    assert beyond == [False, width["viewport"]["width"] < 768]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def luminance(page, selector, field):
    colour = page.locator(selector).first.evaluate("(one, field) => getComputedStyle(one)[field]", field)
    red, green, blue = (int(part) for part in colour[colour.index("(") + 1 :].split(")")[0].split(",")[:3])
    return (red + green + blue) / (3 * 255)


def test_a_report_follows_the_dark_but_its_pictures_and_its_paper_stay_light(report, visit):
    page = visit(color_scheme="dark", viewport={"width": 1280, "height": 900}).page
    page.goto(report)
    assert luminance(page, "main", "backgroundColor") < 0.2
    assert luminance(page, "body", "color") > 0.8
    assert luminance(page, "figure", "backgroundColor") > 0.8
    across, down = heatmap_of(page)
    assert across > down
    page.emulate_media(media="print", color_scheme="dark")
    assert luminance(page, "body", "color") < 0.3
    assert Image.open(BytesIO(page.screenshot())).convert("L").getpixel((2, 2)) > 240
    page.set_viewport_size({"width": 680, "height": 900})  # about a sheet of A4
    across, down = heatmap_of(page)
    assert across > down
