import json
import math

import pytest

from kakuran.cli.console import answer_json, answer_table, complain, say
from kakuran.errors import DataError

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
