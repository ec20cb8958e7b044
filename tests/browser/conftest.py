"""One Chromium for all tests; pages of it that complain of nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    assert chromium, "these tests need Chromium: tests/system-packages installs it"
    running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
    yield running
    running.close()
