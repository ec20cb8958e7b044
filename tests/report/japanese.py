"""What is left in English on a page that should be Japanese."""

import base64
import re
from html.parser import HTMLParser

KNOWN = frozenset(
    "kakuran EM ILD retention laplace bounded-laplace bounded-gaussian pram PRAM Pk- k- "
    "AIC AICc BIC VIF SHA- gram residual".split()
)
"""Names of methods and measures, which are the same in every language; mechanisms as an option calls them."""


class _Said(HTMLParser):
    """All that a page says: to the eye, to the ear, and in its pictures."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.texts, self._in_style = [], False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self._in_style = tag == "style"
        for name, value in attributes:
            if name == "alt":
                self.texts.append(value)
            if name in ("src", "srcset"):
                drawn = base64.b64decode(value.partition("base64,")[2]).decode()
                self.texts += [re.sub(r"<[^>]*>", "", text) for text in re.findall(r"<text.*?</text>", drawn, re.DOTALL)]

    def handle_endtag(self, tag):
        self._in_style = False

    def handle_data(self, text):
        if not self._in_style:
            self.texts.append(text)


def english_on(page, *own):
    """Words in Latin letters on a page, besides names of methods, what was typed, and the reader's own names."""
    said = _Said(page).texts
    assert len(said) > 20
    theirs = {word for text in own for word in _latin(str(text))}
    return {word for text in said for word in _latin(text)} - KNOWN - theirs


def _latin(text):
    return set(re.findall(r"[A-Za-z][A-Za-z-]+", text))
