import warnings
from html.parser import HTMLParser

import pytest

import kakuran as kk
from kakuran.samples import census, census_schema

VOID = {"meta", "img", "br", "link", "hr", "source"}


class WellFormed(HTMLParser):
    """Reads a page and fails where a tag is not closed in order; keeps its tags, texts and attributes."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.texts, self.links = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.links += [value for name, value in attributes if name in ("src", "href", "data", "srcset", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.texts.append(text)

    @property
    def text(self):
        return " ".join(self.texts)


@pytest.fixture
def read():
    """Parse a page, which must be well-formed."""
    return WellFormed


def perturbed(table, plan):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kk.perturb(table, plan, seed=1)


@pytest.fixture(scope="session")
def people():
    return census(4_000)


@pytest.fixture(scope="session")
def release(people):
    return perturbed(people, kk.calibrate(census_schema(), n=4_000, k=3, tell="all"))
