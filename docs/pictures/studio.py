"""Take the studio's pictures: `python docs/pictures/studio.py`.

Walks through the studio with the made-up census in Chromium, and writes what a steward and an analyst see to
docs/images. With a folder, `python docs/pictures/studio.py FOLDER` writes all of every step there, light and dark, in
English and Japanese, wide and on a phone: to be looked at after a change of the pages.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, sync_playwright

from kakuran.release import write_table
from kakuran.samples import census
from kakuran.studio import Desk, running

IMAGES = Path(__file__).parents[1] / "images"
SHOWN = ("public", "choose", "read")
PEOPLE = 50_000
SIZE = {"width": 1180, "height": 1320}
PHONE = {"width": 390, "height": 844}
SCALE = 0.8
"""Pixels of a picture for one of the page."""


def main(folder: Path | None = None) -> None:
    """Those of the guide or, with a folder, all."""
    with sync_playwright() as driver:
        chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        if folder is None:
            walk(browser, lambda page, name: name in SHOWN and take(page, IMAGES / f"studio-{name}.png"), viewport=SIZE)
        else:
            take_all(browser, folder)
        browser.close()


def take_all(browser: Browser, folder: Path) -> None:
    """Every step as everybody sees it."""
    folder.mkdir(parents=True, exist_ok=True)
    for locale, scheme, (width, size) in product(
        ("en-GB", "ja-JP"), ("light", "dark"), (("wide", SIZE), ("phone", PHONE))
    ):
        seen = f"{locale[:2]}-{scheme}-{width}"
        walk(
            browser,
            lambda page, name, seen=seen: take(page, folder / f"{name}-{seen}.png", is_whole=True),
            viewport=size,
            locale=locale,
            color_scheme=scheme,
        )


def walk(browser: Browser, seen: Callable[[Page, str], object], *, locale: str = "en-GB", **screen: object) -> None:
    """From a table to a cross-tab; `seen` is called at every step."""
    with TemporaryDirectory() as folder:
        write_table(Path(folder, "census.csv"), census(PEOPLE))
        with running(Desk(Path(folder))) as (address, _):
            page = browser.new_page(locale=locale, device_scale_factor=SCALE, **screen)
            page.set_default_timeout(120_000)
            page.goto(address)
            page.locator(".browser .file").click()
            page.locator("#next").wait_for()
            seen(page, "load")
            page.locator("#next").click()
            say_what_is_public(page)
            seen(page, "public")
            page.locator("#next").click()
            page.locator("#risk li").first.wait_for()
            seen(page, "choose")
            page.locator("#rehearse").click()
            page.locator("#rehearsed img").wait_for()
            seen(page, "rehearsal")
            page.locator("#next").click()
            page.locator("#reports").uncheck()
            page.locator("#make").click()
            page.locator("#verdict.passed").wait_for()
            seen(page, "release")
            page.locator("#next").click()
            ask(page)
            seen(page, "read")
            page.close()


def say_what_is_public(page: Page) -> None:
    """Bounds of an age, and that all else is public."""
    for name, bound in (("low", "0"), ("high", "110")):
        page.locator(f"#column-1-{name}").fill(bound)
        page.locator(f"#column-1-{name}").press("Enter")
    page.locator("#confirm-all").click()
    page.locator("#confirm-all").wait_for(state="detached")


def ask(page: Page) -> None:
    """How jobs go with sex."""
    page.locator("#ask-0").select_option("job")
    page.locator("#ask-1").select_option("sex")
    page.locator("#ask").click()
    page.locator("#answer img").wait_for()


def take(page: Page, path: Path, *, is_whole: bool = False) -> None:
    """One screen of the page from its top, once it stands still, or the whole of it."""
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.wait_for_timeout(500)
    page.screenshot(path=path, full_page=is_whole)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
