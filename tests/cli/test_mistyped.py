import re

import pytest

MISTYPED = [
    ("perturbb",),
    ("xyzzy",),
    ("schema", "infr"),
    ("tree", "--foo"),
    ("tree", "-x"),
    ("perturb",),
    ("perturb", "people.csv"),
    ("perturb", "--k", "2", "--k", "3"),
    ("perturb", "people.csv", "--k", "two"),
    ("tree", "release", "sex", "--max-depth"),
    ("tree", "release", "sex", "--max-depth", "0"),
    ("tree", "release", "sex", "--max-depth", "few"),
    ("tree", "release", "sex", "--json=3"),
    ("crosstab", "release", "sex", "--lang", "fr"),
    ("collect", "serve", "--port", "99999"),
    ("estimate", "release", "mean", "age", "--report", "a.html", "--public", "--plot=\x1b[31m.png", "--bin{}"),
]


@pytest.mark.parametrize("words", MISTYPED, ids=" ".join)
def test_what_was_mistyped_is_told_in_japanese_and_in_english_and_nothing_is_run(kakuran, words):
    """In Japanese every word in Latin letters is one that somebody typed, or may type; \"env var\" is typer's own."""
    english, japanese = kakuran(*words), kakuran("--lang", "ja", *words)
    assert english.returncode == japanese.returncode == 2
    assert english.stdout == japanese.stdout == ""
    assert "Error: " in english.stderr
    told = japanese.stderr.partition("エラー: ")[2]
    typable = re.sub(r"'[^']*'|--?\w[\w-]*|env var|schema infer|calibrate|perturb|audit|crosstab|count|tree", "", told)
    assert told
    assert not set(re.findall("[A-Za-z]{2,}", typable)) - set(words), told
    assert "\x1b[31m" not in japanese.stderr
