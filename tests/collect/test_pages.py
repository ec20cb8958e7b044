from __future__ import annotations

import base64
import hashlib
import re

import pytest

from kakuran.charts import ESTIMATE, INK, NAIVE
from kakuran.collect.site import STATIC, fingerprints, page


@pytest.mark.parametrize("name", ["index.html", "dashboard.html"])
def test_every_script_and_style_of_a_page_carries_its_fingerprint(name):
    loaded = re.findall(r'(?:src|href)="static/([^"]+)" integrity="sha384-([^"]+)"', page(name))
    assert len(loaded) == len(re.findall(r"<script|rel=\"stylesheet\"", page(name)))
    for file, digest in loaded:
        assert base64.b64decode(digest) == hashlib.sha384((STATIC / file).read_bytes()).digest()


@pytest.mark.parametrize("name", ["index.html", "dashboard.html"])
def test_a_page_holds_no_code_and_nothing_from_elsewhere(name):
    html = page(name)
    assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=|https?:|=.//", html)


def test_pages_have_the_colours_of_pictures():
    light, dark = (STATIC / "style.css").read_text(encoding="utf-8").split("prefers-color-scheme: dark", 1)
    assert dark
    for name, colour in (("ink", INK), ("estimate", ESTIMATE), ("naive", NAIVE), ("whisker", INK)):
        assert f"  --{name}: {colour};" in light


def test_scripts_speak_to_their_own_server_alone():
    for path in STATIC.glob("*.js"):
        found = re.findall(r"https?://[^\"'` ]+", path.read_text(encoding="utf-8"))
        assert set(found) <= {"http://www.w3.org/2000/svg"}, path.name


def keys_in(texts):
    """What can be said; where a count decides between forms, it is one thing."""
    return {re.sub(r"\.(one|other)$", "", key) for key in re.findall(r'^    "?([\w.]+)"?:', texts, re.M)}


def test_both_languages_say_everything():
    english, japanese = map(keys_in, (STATIC / "texts.js").read_text(encoding="utf-8").split("  ja: {"))
    assert english == japanese
    assert len(english) > 80


def test_every_word_the_scripts_say_is_there_and_every_word_that_is_there_is_said():
    known = keys_in((STATIC / "texts.js").read_text(encoding="utf-8"))
    scripts = "".join(path.read_text(encoding="utf-8") for path in STATIC.glob("*.js") if path.name != "texts.js")
    said = set(re.findall(r'"([a-z]+(?:\.[a-z]+)*)"', scripts))
    built = {"state.open", "state.closed", "crosstab.rows", "crosstab.columns", "why.noise", "why.pram"} | {
        f"export.{kind}" for kind in ("csv", "parquet", "html")
    }
    assert known - said - built == set()
    assert set(re.findall(r'(?:say|counted)\("([^"]+)"', scripts)) <= known


def test_fingerprints_are_of_the_scripts():
    assert "perturb.js" in fingerprints()
    assert all(value.startswith("sha384-") for value in fingerprints().values())
