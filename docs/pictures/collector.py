"""Take the collector's pictures: `python docs/pictures/collector.py`.

Serves the survey that `kakuran collect init` writes, lets made-up people answer it through the API and one through
Chromium, and writes what they and the survey owner see to docs/images.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from playwright.sync_api import Browser, Page, sync_playwright

from kakuran.collect import open_store, survey as survey_module
from kakuran.collect.client import SurveyClient
from kakuran.collect.limits import RequestLimits
from kakuran.collect.server import create_app
from kakuran.collect.serving import Serving, running
from kakuran.collect.survey import Survey
from kakuran.randomness import Randomness

IMAGES = Path(__file__).parents[1] / "images"
TEMPLATE = Path(survey_module.__file__).parent / "template.toml"
PEOPLE = 40_000
TOKEN = "for-these-pictures"  # noqa: S105
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 1000}


def main() -> None:
    """Serve, answer, look."""
    survey = replace(Survey.load(TEMPLATE), expected_n=PEOPLE)
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        store = open_store(Path(folder) / "answers.db", survey)
        limits = RequestLimits(rate=float("inf"))
        chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with running(create_app(survey, store, TOKEN, limits=limits), Serving(port=0, limits=limits)) as address:
            with SurveyClient(address, survey) as client:
                client.submit_many(people(PEOPLE))
            respond(browser, address)
            dashboard(browser, f"{address}/dashboard#{TOKEN}")
        browser.close()


def people(count: int) -> pa.Table:
    """Made-up workers: those without work do few hours, carers are less content."""
    dice = Randomness.seeded(7).generator()
    job = dice.choice(4, count, p=[0.42, 0.22, 0.26, 0.1])
    hours = np.clip(np.rint(dice.normal(np.array([39, 31, 43, 2])[job], 7)), 0, 80).astype(int)
    content = np.array([[1, 2, 5, 4], [3, 4, 3, 1], [1, 2, 4, 5], [5, 3, 2, 1]])[job].cumsum(axis=1)
    chosen = (content < dice.random((count, 1)) * content[:, -1:]).sum(axis=1)
    return pa.table(
        {
            "job": np.array(["office", "care", "craft", "none"])[job],
            "hours": hours,
            "content": np.array(["no", "rather-no", "rather-yes", "yes"])[chosen],
        }
    )


def respond(browser: Browser, address: str) -> None:
    """Answer on a phone."""
    page = _page(browser, PHONE)
    page.goto(address)
    page.get_by_label("Care or teaching").check()
    page.get_by_label("How many hours").fill("31")
    page.get_by_label("Rather not").check()
    page.screenshot(path=IMAGES / "collector-form.png", full_page=True)
    page.get_by_role("button", name="Draw what will be sent").click()
    page.get_by_role("button", name="Send").wait_for()
    page.screenshot(path=IMAGES / "collector-review.png", full_page=True)


def dashboard(browser: Browser, address: str) -> None:
    """Look at the estimates at a desk."""
    page = _page(browser, DESK)
    page.goto(address)
    page.locator(".heatmap").wait_for()
    page.locator(".tree .node").first.wait_for()
    height = page.locator("#export-title").bounding_box()
    assert height is not None  # noqa: S101
    area = {"x": 0, "y": 0, "width": DESK["width"], "height": height["y"] - 40}
    page.screenshot(path=IMAGES / "collector-dashboard.png", full_page=True, clip=area)


def _page(browser: Browser, viewport: dict[str, int]) -> Page:
    return browser.new_page(viewport=viewport, locale="en-GB", color_scheme="light")


if __name__ == "__main__":
    main()
