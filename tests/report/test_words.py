"""Nothing that a report says can be forgotten in another language."""

import ast
import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import kakuran as kk
from kakuran import errors
from kakuran.words import LANGUAGES, Phrase, words_in

SOURCE = Path(kk.__file__).parent
SPEAKING = [
    *(path for path in (SOURCE / "report").glob("*.py") if path.name != "page.py"),
    *(
        SOURCE / name
        for name in (
            "advice/methods.py", "advice/comparison.py", "advice/helping.py", "answers/density.py",
            "answers/mixture.py", "answers/estimate.py", "answers/tree/view.py", "model/density.py",
            "audit/auditing.py", "charts/drawing.py", "vertical/leakage.py", "vertical/fit.py",
        )
    ),
]  # fmt: skip
"""What writes the texts, tables and pictures of reports."""


def read(lang):
    return tomllib.loads(files("kakuran.words").joinpath(f"{lang}.toml").read_text(encoding="utf-8"))


def places_in(said):
    """What is to be filled in."""
    return set(re.findall(r"{(\w+)", said))


def first_arguments(path, function):
    """What a function is given first, wherever it is called in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == function:
            yield node.args[0]


def test_every_language_has_every_word_of_a_page_with_the_same_values():
    fields = [
        {name: places_in(said) for name, said in read(lang).items() if isinstance(said, str)} for lang in LANGUAGES
    ]
    assert all(other == fields[0] for other in fields)
    with pytest.raises(kk.SchemaError, match="en or ja"):
        words_in("fr")


def test_whatever_a_page_asks_for_by_name_is_there():
    asked = [name for path in SPEAKING for name in first_arguments(path, "say")]
    asked += [name for path in (SOURCE / "cli").glob("*.py") for name in first_arguments(path, "words")]
    assert {name.value for name in asked if isinstance(name, ast.Constant)} <= set(read("en"))


def test_every_phrase_of_the_library_is_translated_and_nothing_else():
    translated = read("ja")["translated"]
    templates = {one.value for path in SOURCE.rglob("*.py") for one in first_arguments(path, "Phrase")}
    filled_in = [one for path in (SOURCE / "cli").glob("*.py") for one in first_arguments(path, "say")]
    templates |= {one.value for one in filled_in if isinstance(one, ast.Constant) and places_in(one.value)}
    assert templates == set(translated)
    assert all(places_in(template) == places_in(said) for template, said in translated.items())


SAYING = {"needing", "BadParameter", *(name for name in vars(errors) if name.endswith("Error"))}
ENGLISH = ("model/mixture/", "model/operator.py", "randomness.py", "words/")
"""What only programs meet."""


def english_alone(tree):
    """What errors are made of that cannot be said in another language."""
    for node in ast.walk(tree):
        called = getattr(node, "func", None)
        name = getattr(called, "id", getattr(called, "attr", None))
        if name in SAYING:
            parts = node.args[1:3] if name in ("DataError", "ArgumentError") else node.args[:1]
            plain = (part for part in parts if isinstance(part, ast.Constant | ast.JoinedStr | ast.BinOp))
            yield from map(ast.unparse, plain)


def test_no_error_that_people_meet_is_said_in_english_alone():
    names = {path: str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py")}
    found = {
        name: [*english_alone(ast.parse(path.read_text(encoding="utf-8")))]
        for path, name in names.items()
        if not name.startswith(ENGLISH)
    }
    assert {name: texts for name, texts in found.items() if texts} == {}
    assert [*english_alone(ast.parse("raise DataError(name, f'has {k}', Phrase('Mend it.'))"))] == ["f'has {k}'"]


ELSEWHERE = {"Phrase", "warnings.warn", "needing", "wrong_type"}


def prose_in(tree):
    """Two words and more in a text that is neither phrase, error, warning, docstring, nor a place in a picture."""
    said_elsewhere = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.Raise, ast.Assert))
            or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
            or (isinstance(node, ast.Call) and ast.unparse(node.func) in ELSEWHERE)
            or (isinstance(node, ast.keyword) and node.arg == "loc")
        ):
            said_elsewhere |= set(ast.walk(node))
    for node in set(ast.walk(tree)) - said_elsewhere:
        if isinstance(node, ast.Constant) and re.search("[A-Za-z]{2,}[,:;]? [A-Za-z]{2,}", str(node.value)):
            yield node.value


COMMANDS = {"kakuran perturb --tell "}


@pytest.mark.parametrize("path", SPEAKING, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_whoever_writes_a_report_says_nothing_in_english_alone(path):
    assert set(prose_in(ast.parse(path.read_text(encoding="utf-8")))) <= COMMANDS


def test_english_alone_would_be_noticed():
    quiet = 'def f():\n    """In plain words."""\n    axes.set_title(Phrase("no counts"), loc="upper left")'
    assert list(prose_in(ast.parse(quiet))) == []
    assert list(prose_in(ast.parse('table(f"Counts of {name}", ["value"])'))) == ["Counts of "]


def test_phrases_among_values_are_said_in_the_language_of_the_page():
    assert words_in("ja")("estimator", reason=Phrase("nothing was perturbed")) == "推定法：攪乱されていない"
    assert words_in("ja").listed(["age", Phrase("others")]) == "age、その他"
    assert words_in("en").listed(["age", Phrase("others")]) == "age, others"
