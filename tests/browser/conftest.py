"""One Chromium for all tests, surveys served for real, and pages of which every request and complaint is on record."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import httpx
import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Playwright, expect, sync_playwright

from kakuran.collect.client import SurveyClient
from kakuran.collect.databases import open_store
from kakuran.collect.limits import RequestLimits
from kakuran.collect.messages import new_ids, secret_hash
from kakuran.collect.server import create_app
from kakuran.collect.serving import Serving, running
from kakuran.collect.survey import Survey
from kakuran.randomness import Randomness
from kakuran.schema import Layout

TOKEN = "correct-horse-battery-staple"
PATIENCE = 30_000
"""Milliseconds, on a machine that has much else to do; whoever does not have to wait does not."""
expect.set_options(timeout=PATIENCE)
WIDTHS = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1280, "height": 900}}

ANIMALS = ("axolotl", "binturong", "capybara", "dugong", "echidna", "fossa", "gharial", "hoatzin", "ibex", "jerboa")
FIELDS = {
    "id": "animals",
    "languages": ["en", "ja"],
    "title": {"en": "Animals", "ja": "動物"},
    "introduction": {"en": "Which animals do you know?", "ja": "どの動物を知っていますか。"},
    "k": 10,
    "expected_n": 1000,
    "minimum_n": 20,
    "questions": {
        "kept": {
            "type": "categorical",
            "values": [f"kept-{animal}" for animal in ANIMALS],
            "text": {"en": "Which one do you keep?", "ja": "何を飼っていますか。"},
            "labels": {f"kept-{name}": {"en": f"One {name} at home", "ja": f"家の{name}"} for name in ANIMALS},
        },
        "seen": {
            "type": "categorical",
            "values": [f"seen-{animal}" for animal in ANIMALS[:6]],
            "text": {"en": "Which one did you see last?", "ja": "最後に見たのは何ですか。"},
        },
        "weight": {
            "type": "numeric",
            "low": 7_000_000,
            "high": 7_000_400,
            "step": 1,
            "text": {"en": "How heavy is it?", "ja": "重さはどのくらいですか。"},
            "unit": {"en": "grams", "ja": "グラム"},
        },
    },
}


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert chromium, "these tests need Chromium: tests/system-packages installs it"
    running_browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
    yield running_browser
    running_browser.close()


class Site:
    """A survey that is being served."""

    def __init__(self, address: str, survey: Survey, store) -> None:
        self.address, self.survey, self._store = address, survey, store
        self._http = httpx.Client(
            base_url=address, headers={"authorization": f"Bearer {TOKEN}"}, timeout=30, verify=False
        )
        self.dashboard = f"{address}/dashboard#{TOKEN}"

    @property
    def n(self) -> int:
        return self._store.count()

    def ask(self, path: str, method: str = "GET"):
        reply = self._http.request(method, path)
        reply.raise_for_status()
        return reply.json()

    def invite(self, code: str) -> None:
        self._store.invite([secret_hash(code)])

    def fill(self, count: int) -> None:
        """So many made-up people answer, all with something from the first half of what they can."""
        dice = Randomness.seeded(1)
        codes = {
            attribute.name: (dice.below(attribute.size, count) // 2).astype(np.int32)
            for attribute in self.survey.schema.released
        }
        people = pa.Table.from_batches([Layout(self.survey.schema).decode(codes)])
        with SurveyClient(self.address, self.survey) as client:
            assert client.submit_many(people) == count

    def flood(self, count: int) -> None:
        """Somebody sends the same answer sheet again and again, each under an id of its own."""
        columns = {name: [value] * count for name, value in self._first_answers().items()}
        batch = {"ids": new_ids(count), "version": self.survey.version, "answers": columns}
        self._http.post("/api/responses/batch", json=batch).raise_for_status()

    def _first_answers(self) -> dict:
        codes = {attribute.name: np.zeros(1, np.int32) for attribute in self.survey.schema.released}
        return Layout(self.survey.schema).decode(codes).to_pylist()[0]

    def close(self) -> None:
        self._http.close()


@pytest.fixture
def serve(tmp_path):
    """Serve a survey until the test is over."""
    opened = []

    def served(**changes) -> Site:
        survey = Survey.from_dict(FIELDS | changes)
        store = open_store(tmp_path / "answers.db", survey)
        context = running(create_app(survey, store, TOKEN, limits=RequestLimits(rate=float("inf"))), Serving(port=0))
        site = Site(context.__enter__(), survey, store)
        opened.append((context, site))
        return site

    yield served
    for context, site in opened:
        site.close()
        context.__exit__(None, None, None)


@pytest.fixture
def site(serve) -> Site:
    return serve()


class Visitor:
    """Somebody with a browser of their own; everything that leaves it and everything it complains of is kept."""

    def __init__(self, browser: Browser, **options) -> None:
        self.context = browser.new_context(**({"viewport": WIDTHS["phone"], "locale": "en-GB"} | options))
        self.context.set_default_timeout(PATIENCE)
        self.requests, self.complaints = [], []
        self.context.add_init_script(
            "addEventListener('securitypolicyviolation', (event) => console.error('CSP', event.violatedDirective))"
        )
        self.context.on("request", self._record)
        self.context.on("console", self._hear)
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self.page = self.context.new_page()

    def _record(self, request) -> None:
        self.requests.append(request)

    def _hear(self, message) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def sent(self) -> str:
        """All that left the browser so far, as one text."""
        parts = [
            part
            for request in self.requests
            for part in (request.url, str(request.all_headers()), request.post_data or "")
        ]
        return "\n".join(parts)

    def submissions(self) -> list:
        return [request.post_data_json for request in self.requests if request.method == "POST"]


@pytest.fixture
def visit(browser):
    """Let somebody come; at the end nobody's browser may have complained, but of what the test expected."""
    visitors = []

    def visited(**options) -> Visitor:
        visitors.append(Visitor(browser, **options))
        return visitors[-1]

    yield visited
    complaints = [complaint for visitor in visitors for complaint in visitor.complaints]
    for visitor in visitors:
        visitor.context.close()
    assert complaints == []


@pytest.fixture(params=WIDTHS)
def width(request):
    return {"viewport": WIDTHS[request.param]}
