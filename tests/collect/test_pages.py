from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

from kakuran.charts import ESTIMATE, INK, NAIVE
from kakuran.collect.site import fingerprints, page, served
from kakuran.words import LANGUAGES, words_in


@pytest.mark.parametrize("name", ["index.html", "dashboard.html"])
def test_every_script_and_style_of_a_page_carries_its_fingerprint(name):
    loaded = re.findall(r'(?:src|href)="static/([^"]+)" integrity="sha384-([^"]+)"', page(name))
    assert len(loaded) == len(re.findall(r"<script|rel=\"stylesheet\"", page(name)))
    for file, digest in loaded:
        assert base64.b64decode(digest) == hashlib.sha384(served()[file]).digest()


@pytest.mark.parametrize("name", ["index.html", "dashboard.html"])
def test_a_page_holds_no_code_and_nothing_from_elsewhere(name):
    html = page(name)
    assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=|https?:|=.//", html)


def test_pages_have_the_colours_of_pictures():
    light, dark = served()["style.css"].decode().split("prefers-color-scheme: dark", 1)
    assert dark
    for name, colour in (("ink", INK), ("estimate", ESTIMATE), ("naive", NAIVE), ("whisker", INK)):
        assert f"  --{name}: {colour};" in light


def test_scripts_speak_to_their_own_server_alone():
    for name, content in served().items():
        found = re.findall(r"https?://[^\"'` ]+", content.decode())
        assert set(found) <= {"http://www.w3.org/2000/svg"}, name


def keys_in(*languages):
    """What can be said; where a count decides between forms, it is one thing."""
    return {re.sub(r"\.(one|other)$", "", key) for lang in languages for key in words_in(lang).pages}


def test_both_languages_say_everything():
    assert keys_in("en") == keys_in("ja")
    assert len(keys_in("en")) > 80


def test_the_words_of_pages_have_the_same_places_in_both_languages():
    english, japanese = (words_in(lang).pages for lang in LANGUAGES)
    for key, said in japanese.items():
        assert set(re.findall(r"{(\w+)}", said)) == set(re.findall(r"{(\w+)}", english[key])), key


def test_pages_are_given_the_words_of_the_catalogue():
    script = served()["texts.js"].decode().removeprefix('"use strict";\nconst Texts = ')
    assert json.loads(script.removesuffix(";\n")) == {lang: words_in(lang).pages for lang in LANGUAGES}


def test_every_word_the_scripts_say_is_there_and_every_word_that_is_there_is_said():
    known = keys_in(*LANGUAGES)
    scripts = "".join(served()[name].decode() for name in served() if name not in ("texts.js", "style.css"))
    said = set(re.findall(r'"([a-z]+(?:\.[a-z]+)*)"', scripts))
    built = (
        {"state.open", "state.closed", "crosstab.rows", "crosstab.columns", "why.noise", "why.pram"}
        | {"why.window", "why.shifts", "why.date"}
        | {f"export.{kind}" for kind in ("csv", "parquet", "html")}
    )
    assert known - said - built == set()
    assert set(re.findall(r'(?:say|counted)\("([^"]+)"', scripts)) <= known


def test_fingerprints_are_of_all_that_a_respondent_loads():
    assert {"perturb.js", "style.css", "index.html"} <= set(fingerprints())
    made = base64.b64encode(hashlib.sha384(page("index.html").encode()).digest()).decode()
    assert fingerprints()["index.html"] == f"sha384-{made}"
    assert all(value.startswith("sha384-") for value in fingerprints().values())


def test_scripts_mean_the_same_in_whatever_encoding_a_server_says_they_are():
    """Fingerprints are of bytes, and a server may say Shift_JIS: but for comments there is nothing but ASCII."""
    names = re.findall(r'src="static/([\w.-]+)"', page("index.html"))
    code = {name: re.sub(r"/\*.*?\*/|// [^\n]*", "", served()[name].decode(), flags=re.S) for name in names}
    assert "texts.js" in names
    assert [name for name, text in code.items() if not text.isascii()] == []
