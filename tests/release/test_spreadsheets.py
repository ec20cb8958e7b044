"""What a spreadsheet would run: neutral in tables of answers and made-up records, said of a release."""

import csv
import io

import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.parsing import would_run
from kakuran.studio import Desk
from kakuran.words import words_in

RUN = ["=cmd|'/c calc'!A1", "@SUM(1)", "+1+cmd", "-2+3", "\t=1", "\r=1", "-a"]
FINE = ["plain", "", "-1", "+81312345678", "-1.5e3", "-.5", "+", "-", "--", "10-20", "< 1", "'=1", "-12 %"]


@pytest.mark.parametrize("text", RUN + FINE)
def test_what_would_run_is_told_from_numbers_and_signs(text):
    assert would_run(text) == (text in RUN)


@pytest.fixture
def release():
    values = [*RUN[:2], "-1", "+"]
    table = pa.table({"=1+1": values * 25, "age": [*range(20, 70)] * 2})
    schema = kk.Schema([kk.Categorical("=1+1", values), kk.Numeric("age", 20, 69, step=1)])
    return kk.perturb(table, kk.calibrate(schema, n=100, k=5, tell="all"))


def rows(text):
    return [*csv.reader(io.StringIO(text))]


def is_neutral(lines):
    assert lines[0][0] == "'=1+1"
    found = {line[0] for line in lines[1:]}
    assert found <= {"'=cmd|'/c calc'!A1", "'@SUM(1)", "-1", "+"}
    assert {"'@SUM(1)", "-1"} <= found


def test_made_up_records_for_a_spreadsheet_run_nothing_there(release, tmp_path, rough_models):
    kk.save_synthetic(release.synthesise(200), tmp_path / "made.csv")
    is_neutral(rows((tmp_path / "made.csv").read_text(encoding="utf-8-sig")))
    kk.save_synthetic(release.synthesise(200), tmp_path / "made.parquet")
    assert "@SUM(1)" in pa.parquet.read_table(tmp_path / "made.parquet")["=1+1"].to_pylist()


def test_answers_that_are_saved_run_nothing_and_those_shown_are_as_they_are(release, tmp_path, rough_models):
    release.save(tmp_path / "out.csv")
    desk = Desk(tmp_path)
    desk.read(str(tmp_path / "out.csv"))
    is_neutral(rows(desk.ask({"kind": "crosstab", "columns": ["=1+1"]}, words_in("en"))["csv"]))
    assert "@SUM(1)" in release.crosstab("=1+1").to_arrow()["=1+1"].to_pylist()


def test_a_release_keeps_its_values_and_is_read_as_it_was_written(release, tmp_path):
    release.save(tmp_path / "out.csv")
    assert set(kk.read_release(tmp_path / "out.csv").table["=1+1"].to_pylist()) <= {*RUN[:2], "-1", "+"}


@pytest.mark.parametrize("suffix", ["sav", "dta"])
@pytest.mark.parametrize("length", [31, 32, 33, 64, 65, 200])
def test_a_column_of_any_name_is_written_for_spss_and_stata(suffix, length, tmp_path):
    name = "x" * length
    schema = kk.Schema([kk.Categorical(name, ["yes", "no"])])
    made = kk.perturb(pa.table({name: ["yes", "no"] * 20}), kk.calibrate(schema, n=40, k=2))
    made.save(tmp_path / f"out.{suffix}")
    assert kk.read_release(tmp_path / f"out.{suffix}").n == 40
