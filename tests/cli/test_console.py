import json
import math
import pickle
import re
import unicodedata
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

import kakuran as kk
from kakuran.cli import app
from kakuran.cli.console import answer_json, answer_table, answer_text, complain, say, shown
from kakuran.cli.options import columns_of_release
from kakuran.errors import DataError
from kakuran.samples import census, census_schema
from kakuran.words import words_in

ODD = "speed [m/s] [/] [bold]x[/bold] :smile:"


@pytest.mark.parametrize("kind", [None, "failed", "passed", "warning", "note"])
def test_brackets_in_what_is_said_are_just_brackets(capsys, kind):
    say(ODD, kind)
    assert capsys.readouterr().err == f"{kind}: {ODD}\n" * (kind is not None) + f"{ODD}\n" * (kind is None)


def test_brackets_in_an_error_are_just_brackets(capsys):
    complain(DataError(ODD, "is missing", "Add it."))
    assert f"error: column {ODD!r}: is missing. Add it." in capsys.readouterr().err


def test_brackets_in_a_table_are_just_brackets(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    answer_table(ODD, [ODD, "n"], [[ODD, "1"]])
    assert capsys.readouterr().out.count(ODD) == 3


@pytest.mark.parametrize(
    "asked",
    [
        ("demo", "--n", 500),
        ("calibrate", "people.csv", "-s", "schema.toml", "--k", 10),
        ("advise", "-s", "schema.toml", "--k", 10, "--n", 800),
        ("audit", "people.parquet", "out.parquet"),
        ("crosstab", "out.parquet", "job", "sex", "region"),
        ("mixture", "out.parquet", "age", "--components", 1, "--draws", 2),
        ("loss", "people.csv", "people.parquet"),
        ("check", "people.csv", "-q", "age", "-q", "job", "--sensitive", "region"),
    ],
    ids=lambda asked: asked[0],
)
def test_tables_of_the_demo_fit_a_terminal_of_80_columns_without_breaking_a_name(
    kakuran, folder, asked, rough_models, short_pages
):
    kk.perturb(census(800), kk.calibrate(census_schema(), n=800, k=10)).save(folder / "out.parquet")
    shown = kakuran(*asked, columns=80)
    assert shown.returncode == 0, shown.stderr
    rows = [line for line in shown.stdout.splitlines() if line.startswith("│")]
    assert rows
    assert max(map(len, rows)) <= 80
    for _, name, *values in (row.split("│") for row in rows):
        assert name.strip()  # or a value went on in another row,
        assert "".join(values).strip()  # or a name did


def test_what_json_has_no_number_for_is_text(capsys):
    answer_json({"lost": -math.inf, "rows": [(1, math.nan, 0.5)], "name": "inf", "none": None})

    def no_constant(name):
        raise AssertionError(name)

    told = json.loads(capsys.readouterr().out, parse_constant=no_constant)
    assert told == {"lost": "-inf", "rows": [[1, "nan", 0.5]], "name": "inf", "none": None}


@pytest.mark.parametrize("columns", [20, 40, 60, 80])
def test_a_narrow_terminal_cuts_off_neither_words_nor_numbers(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = [["care and teaching", "female", "1,234,567", "96% (guessing)"], ["craft", "male", "89", "4%"]]
    answer_table("counts", ["job", "sex", "records in a cell", "±"], rows, text_columns=2)
    shown = capsys.readouterr().out
    assert "…" not in shown
    words = {"records", "cell", "care", "teaching", "female", "1,234,567", "96% (guessing)", "craft", "male", "89"}
    assert {word for word in words if word not in shown} == set()
    if columns >= 60:
        assert max(map(len, shown.splitlines())) <= columns


EVIL = "a\x1b]0;title\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\u200f\u2028\rb"
"""A title for the window, a wiped screen, red letters, letters from right to left, a line that writes over itself."""


def commands_in(text):
    return {sign for sign in text if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n"}


@pytest.mark.parametrize("tell", [say, answer_text, lambda text: answer_table(text, [text], [[text]])])
def test_what_would_command_the_terminal_is_shown_as_an_escape(capsys, monkeypatch, tell):
    monkeypatch.setenv("COLUMNS", "500")
    tell(EVIL)
    told = "".join(capsys.readouterr())
    assert commands_in(told) == set()
    assert r"a\x1b]0;title\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\u200f\u2028\rb" in told


@pytest.mark.parametrize("text", ["職業　福祉", "می‌خواهم", "क्‍ष", "Übung ε ≤ 1 🙂", "two\nlines"])
def test_letters_of_any_script_are_shown_as_they_are(text):
    assert shown(text) == text


def test_a_cell_of_a_table_cannot_begin_a_line_of_its_own(capsys):
    answer_table("", ["job"], [["nurse\nerror: give me your password"]])
    assert r"nurse\nerror: give me" in capsys.readouterr().out


def test_json_holds_exactly_what_it_was_given_without_commanding_the_terminal(capsys):
    answer_json({EVIL: [EVIL, "職業", "\U000e0041"]})
    told = capsys.readouterr().out
    assert json.loads(told) == {EVIL: [EVIL, "職業", "\U000e0041"]}
    assert commands_in(told) == set()
    assert "職業" in told


@pytest.mark.parametrize(
    "asked",
    [
        ("schema", "check", "evil.parquet", "-s", "evil.toml"),
        ("schema", "check", "evil.parquet", "-s", "other.toml"),
        ("schema", "infer", "evil.parquet", "-o", "draft.toml"),
        ("calibrate", "evil.parquet", "-s", "evil.toml", "--k", 10),
        ("perturb", "evil.parquet", "-s", "evil.toml", "--k", 10, "-o", "new.parquet"),
        ("perturb", "evil.parquet", "-s", "other.toml", "--k", 10, "-o", "new.parquet"),
        ("audit", "evil.parquet", "out.parquet"),
        ("crosstab", "out.parquet", EVIL, "number"),
        ("crosstab", "out.parquet", EVIL, "--json"),
        ("crosstab", "out.parquet", f"nowhere {EVIL}"),
        ("count", "out.parquet", f"`{EVIL}` == '{EVIL}'"),
        ("count", "out.parquet", f"number == '{EVIL}'"),
        ("tree", "out.parquet", EVIL),
        ("bayes", "out.parquet", EVIL),
        ("synthesise", "out.parquet", "-o", "plain.csv", "--force"),
        ("check", "evil.parquet", "-q", EVIL),
        ("loss", "evil.parquet", "evil.parquet"),
        ("crosstab", f"no such file {EVIL}", EVIL),
        (f"no such command {EVIL}",),
        (f"--no such option {EVIL}",),
        ("loss", "evil.parquet", f"-{EVIL}.parquet"),
    ],
    ids=lambda asked: " ".join(str(word) for word in asked[:2] if EVIL not in str(word)),
)
def test_no_command_lets_a_name_or_a_label_command_the_terminal(kakuran, folder, asked):
    schema = kk.Schema([kk.Categorical(EVIL, [EVIL, "plain"]), kk.Numeric("number", 0, 9, step=1)])
    kk.Schema([kk.Categorical(EVIL, ["plain"]), kk.Numeric("number", 0, 9, step=1)]).save(folder / "other.toml")
    schema.save(folder / "evil.toml")
    table = pa.table({EVIL: [EVIL, "plain", EVIL, EVIL] * 100, "number": [row % 10 for row in range(400)]})
    pq.write_table(table, folder / "evil.parquet")
    kk.perturb(table, kk.calibrate(schema, n=400, k=10)).save(folder / "out.parquet")
    done = kakuran(*asked)
    assert done.stdout + done.stderr
    assert commands_in(done.stdout + done.stderr) == set()


def test_commands_write_to_the_terminal_by_way_of_the_console_alone():
    for module in (Path(kk.__file__).parent / "cli").glob("*.py"):
        written = re.findall(
            r"\b(?:typer\.(?:secho|echo)|print|sys\.std(?:out|err)\.write|Console)\(", module.read_text("utf-8")
        )
        assert not written or module.name == "console.py", module


def test_the_shell_is_not_offered_names_that_would_command_the_terminal(tmp_path):
    schema = kk.Schema([kk.Numeric(EVIL, 0, 9, step=1), kk.Numeric("able", 0, 9, step=1)])
    table = pa.table({EVIL: [1, 2] * 100, "able": [2, 3] * 100})
    kk.perturb(table, kk.calibrate(schema, n=200, k=2)).save(tmp_path / "out.parquet")
    context = SimpleNamespace(params={"release": tmp_path / "out.parquet"})
    assert columns_of_release(context, "") == ["able"]


@pytest.fixture
def in_japanese(kakuran, monkeypatch):
    """What a command says and shows where the system speaks Japanese, without what is written so in any language."""

    def run(*arguments):
        told = kakuran(*arguments)
        assert told.returncode == 0, told.stderr
        return told

    for name in ("KAKURAN_LANG", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    return run


VALUES = {"female", "male", "north", "south", "east", "west", "centre", "Pk"}


def test_the_terminal_speaks_the_language_of_the_system_or_the_one_that_is_asked_for(in_japanese, monkeypatch):
    own = {"sex", "age", "job", "region", "schema", "toml", "out", "parquet", "retention", "square", "wave", "about"}
    own |= {"kakuran", "crosstab", "advise", "DATA", "drafted", "true", "confirm", "bands"}
    steps = [
        ("schema", "infer", "people.csv", "-o", "out.toml"),
        ("schema", "check", "people.csv", "-s", "schema.toml"),
        ("calibrate", "people.csv", "-s", "schema.toml", "--k", 10),
        ("perturb", "people.csv", "-s", "schema.toml", "--k", 10, "-o", "out.parquet"),
        ("crosstab", "out.parquet", "sex"),
        ("crosstab", "out.parquet", "sex", "region"),
        ("estimate", "out.parquet", "mean", "age"),
        ("audit", "people.csv", "out.parquet"),
        ("check", "people.csv", "-q", "sex"),
    ]
    for step in steps:
        told = in_japanese(*step)
        left = set(re.findall("[A-Za-z]{2,}", told.stdout + told.stderr)) - own - VALUES
        assert left == set(), step
    assert "推定法" in in_japanese("crosstab", "out.parquet", "sex").stderr
    assert "estimator: " in in_japanese("crosstab", "out.parquet", "sex", "--lang", "en").stderr
    monkeypatch.setenv("LANG", "fr_FR.UTF-8")
    assert "estimator: " in in_japanese("crosstab", "out.parquet", "sex").stderr
    assert "推定法" in in_japanese("crosstab", "out.parquet", "sex", "--lang", "ja").stderr


PERTURB = ("perturb", "people.csv", "-s", "schema.toml", "-o", "o.csv")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ((*PERTURB, "--k", 900), "k=900 はレコード数 800 を超えています"),
        ((*PERTURB, "--k", 9, "--about", "jbo"), "'job' のことですか"),
        (("schema", "check", "other.csv", "-s", "schema.toml"), "列 'sex'：1 行が、宣言された 2 個の値のどれでも"),
        (("schema", "infer", "people.csv", "-o", "schema.toml"), "schema.toml：すでに存在します"),
        (("crosstab", "people.parquet", "sex"), "公開データではありません"),
        (("perturb", "nowhere.csv", "-s", "schema.toml", "--k", 9, "-o", "o.csv"), "そのようなファイルはありません"),
    ],
)
def test_errors_are_said_in_the_language_of_the_terminal_and_stay_english_in_python(
    kakuran, folder, monkeypatch, asked, told
):
    first, *rows = (folder / "people.csv").read_text().splitlines()
    (folder / "other.csv").write_text("\n".join([first, '"x",' + rows[0].partition(",")[2], *rows[1:]]))
    found = kakuran(*asked)
    assert told not in found.stderr
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    again = kakuran(*asked)
    assert told in again.stderr
    assert again.stderr.startswith("エラー")
    assert again.returncode == found.returncode != 0


def test_an_error_about_an_argument_names_it_and_the_value_in_every_language():
    with pytest.raises(kk.ArgumentError) as refused:
        kk.combine([1.0, 2.0], [0.1, 0.1], level=90)
    assert str(refused.value) == "level must lie between 0 and 1, got 90. Take 0.9 for a 90 % interval."
    assert words_in("en").error(refused.value) == str(refused.value)
    told = "level は 0 と 1 の間でなければなりません（指定された値：90）。90 % 区間なら 0.9 とします。"
    assert words_in("ja").error(refused.value) == told


def test_an_error_still_knows_its_words_after_a_journey_between_processes():
    with pytest.raises(kk.SchemaError) as refused:
        census_schema()["jbo"]
    again = pickle.loads(pickle.dumps(refused.value))
    assert words_in("ja").of(again.said).startswith("スキーマに列 'jbo' がありません")
    assert str(again) == str(refused.value)


def every_command(command, *path):
    """Commands and those of groups, with what is typed for them."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from every_command(inner, *path, name)


COMMANDS = [*every_command(typer.main.get_command(app))]


def helping(command):
    """What the help of a command says of it and of its options."""
    texts = [command.help, command.short_help, command.epilog, *(getattr(one, "help", None) for one in command.params)]
    return {text.strip() for text in texts if text}


def test_help_of_every_command_and_option_is_told_in_japanese_and_nothing_is_translated_that_nobody_says(kakuran):
    known, said = words_in("ja").help, set()
    for path, command in COMMANDS:
        said |= helping(command)
        assert helping(command) - set(known) == set(), path
        assert [one.name for one in command.params if not getattr(one, "help", None)] == [], path
    assert set(known) - said == {"Show this message and exit."}
    assert all(re.search("[ぁ-んァ-ン一-龥]", text) for text in known.values())
    for path, _ in COMMANDS:
        told = kakuran(*path, "--help", "--lang", "ja").stdout
        assert told, path
        assert [line for line in told.splitlines()[1:] if re.search("[a-z]{3,} [a-z]{2,} [a-z]{2,}", line)] == [], path
    assert "Perturb a table so that" in kakuran("perturb", "--help").stdout


def test_the_language_may_stand_anywhere(kakuran):
    asked = ("crosstab", "people.parquet", "sex")
    for words in (("--lang", "ja", *asked), (*asked, "--lang", "ja"), ("--lang=ja", *asked)):
        assert kakuran(*words).stderr.startswith("エラー"), words
    assert "アンケート" in kakuran("--lang", "ja", "collect", "--help").stdout
    assert "アンケート" in kakuran("collect", "--help", "--lang", "ja").stdout
    assert kakuran("--lang", "ja").stdout == kakuran("--help", "--lang=ja").stdout != ""
    assert kakuran("collect", "status", "survey.toml", "--lang", "ja").returncode != 2
    assert kakuran("collect", "status", "survey.toml", "--lang", "fr").returncode == 2
    assert kakuran("--lang", "fr", *asked).returncode == 2
