"""Take the studio's pictures: `python docs/pictures/studio.py`.

Walks through the studio with the made-up census in Chromium, and writes what a steward and an analyst see to
docs/images.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

from kakuran.release import write_table
from kakuran.samples import census
from kakuran.studio import Desk, running

IMAGES = Path(__file__).parents[1] / "images"
PEOPLE = 50_000
SIZE = {"width": 1180, "height": 1320}
SCALE = 0.8
"""Pixels of a picture for one of the page."""


def main() -> None:
    """Load, say, choose, release, read."""
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        write_table(Path(folder, "census.csv"), census(PEOPLE))
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with running(Desk(Path(folder))) as (address, _):
            page = browser.new_page(viewport=SIZE, locale="en-GB", device_scale_factor=SCALE)
            page.set_default_timeout(120_000)
            page.goto(address)
            page.locator(".browser .file").click()
            walk(page)
        browser.close()


def walk(page: Page) -> None:
    """From a table that was opened to a cross-tab."""
    page.locator("#next").click()
    page.locator("#column-1-low").fill("0")
    page.locator("#column-1-low").press("Enter")
    page.locator("#column-1-high").fill("110")
    page.locator("#column-1-high").press("Enter")
    page.locator("#confirm-all").click()
    page.locator("#confirm-all").wait_for(state="detached")
    take(page, "public")
    page.locator("#next").click()
    page.locator("#risk li").first.wait_for()
    take(page, "choose")
    page.locator("#next").click()
    page.locator("#reports").uncheck()
    page.locator("#make").click()
    page.locator("#verdict.passed").wait_for()
    page.locator("#next").click()
    page.locator("#ask-0").select_option("job")
    page.locator("#ask-1").select_option("sex")
    page.locator("#ask").click()
    page.locator("#answer img").wait_for()
    page.evaluate("scrollTo(0, 0)")
    take(page, "read")


def take(page: Page, name: str) -> None:
    """One screen of the page, once it stands still, from its top."""
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.wait_for_timeout(500)
    page.screenshot(path=IMAGES / f"studio-{name}.png")


if __name__ == "__main__":
    main()
