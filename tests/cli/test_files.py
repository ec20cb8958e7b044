"""From a file of SPSS or a sheet to a release and its answers in Excel, SPSS and Stata, by commands alone."""

import codecs

import numpy as np
import openpyxl
import pandas as pd
import pyreadstat
import pytest

import kakuran as kk

SEX, MOOD = {0: "woman", 1: "man"}, {1: "bad", 2: "good", 5: "very good"}


@pytest.fixture
def folder(tmp_path):
    """A folder with a survey as SPSS writes it, and as a sheet beside another."""
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {"sex": rng.choice([0, 1], 300), "mood": rng.choice([1, 5], 300), "age": rng.integers(20, 30, 300)}
    )
    labels = {"sex": SEX, "mood": MOOD}
    pyreadstat.write_sav(people, str(tmp_path / "people.sav"), variable_value_labels=labels)
    with pd.ExcelWriter(tmp_path / "people.xlsx") as book:
        people.replace(labels).to_excel(book, sheet_name="survey", index=False)
        people.head(0).assign(note=None).to_excel(book, sheet_name="notes", index=False)
    return tmp_path


@pytest.fixture
def done(kakuran):
    """Run a command that has to succeed."""

    def run(*arguments):
        result = kakuran(*arguments)
        assert result.returncode == 0, result.stderr
        return result

    return run


def test_spss_in_and_spss_stata_and_excel_out(done, folder):
    done("schema", "infer", "people.sav", "-o", "schema.toml")
    done("schema", "confirm", "schema.toml")
    schema = kk.Schema.load(folder / "schema.toml")
    assert (schema["mood"].values, schema["mood"].coded) == (("bad", "good", "very good"), (1, 2, 5))
    done("perturb", "people.sav", "-s", "schema.toml", "--k", 5, "--tell", "all", "-o", "out.sav")
    done("audit", "people.sav", "out.sav")
    _, about = pyreadstat.read_sav(str(folder / "out.sav"))
    assert about.variable_value_labels == {"sex": SEX, "mood": MOOD}
    done("crosstab", "out.sav", "sex", "mood", "-o", "table.xlsx")
    rows = list(openpyxl.load_workbook(folder / "table.xlsx")["data"].values)
    assert (rows[0][:2], rows[1][:2], len(rows)) == (("sex", "mood"), ("woman", "bad"), 7)
    done("estimate", "out.sav", "mean", "age", "--by", "sex", "-o", "mean.dta")
    means, about = pyreadstat.read_dta(str(folder / "mean.dta"), apply_value_formats=True)
    assert means.iloc[:, 0].tolist() == ["woman", "man"]
    done("synthesise", "out.sav", "-o", "plain.dta")
    plain, about = pyreadstat.read_dta(str(folder / "plain.dta"))
    assert (len(plain), about.variable_value_labels["mood"]) == (300, MOOD)
    done("microaggregate", "people.sav", "-s", "schema.toml", "--k", 5, "-o", "groups.sav")
    groups, about = pyreadstat.read_sav(str(folder / "groups.sav"))
    assert set(groups["mood"]) <= {1, 5}
    assert about.variable_value_labels["sex"] == SEX


def test_a_sheet_is_named_where_there_are_several(done, folder, refused):
    refused(("schema", "infer", "people.xlsx", "-o", "schema.toml"), 3, "'survey', 'notes': say which with --sheet")
    done("schema", "infer", "people.xlsx", "--sheet", "survey", "-o", "schema.toml")
    done("schema", "confirm", "schema.toml")
    done("perturb", "people.xlsx", "--sheet", "survey", "-s", "schema.toml", "--k", 5, "-o", "out.xlsx")
    assert kk.read_release(folder / "out.xlsx").n == 300


def test_a_table_of_answers_as_csv_starts_with_the_mark_that_excel_looks_for(done, folder):
    done("schema", "infer", "people.sav", "-o", "schema.toml")
    done("schema", "confirm", "schema.toml")
    done("perturb", "people.sav", "-s", "schema.toml", "--k", 5, "-o", "out.parquet")
    done("crosstab", "out.parquet", "mood", "-o", "table.csv")
    written = (folder / "table.csv").read_bytes()
    assert written.startswith(codecs.BOM_UTF8 + b'"mood"')
    assert kk.open_source(folder / "table.csv").names[0] == "mood"


def test_without_the_extra_a_release_is_refused_before_it_is_drawn(kakuran, folder, monkeypatch):
    kakuran("schema", "infer", "people.sav", "-o", "schema.toml")
    kakuran("schema", "confirm", "schema.toml")
    monkeypatch.setattr("kakuran.schema.sources.opening.find_spec", lambda _: None)
    result = kakuran("perturb", "people.sav", "-s", "schema.toml", "--k", 5, "-o", "out.dta")
    assert result.returncode == 6
    assert "pip install 'kakuran[files]'" in result.stderr
