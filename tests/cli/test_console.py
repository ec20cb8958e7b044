import json
import math

import pytest

import kakuran as kk
from kakuran.cli.console import answer_json, answer_table, complain, say
from kakuran.errors import DataError
from kakuran.samples import census, census_schema

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
def test_tables_of_the_demo_fit_a_terminal_of_80_columns_without_breaking_a_name(kakuran, folder, asked):
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
