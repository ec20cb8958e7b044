import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran.release.files import METADATA_KEY
from kakuran.samples import census, census_schema

pytestmark = pytest.mark.usefixtures("rough_models")


@pytest.fixture
def folder(tmp_path):
    """A folder with a release as Parquet and as CSV."""
    with pytest.warns(kk.NotForPublicationWarning):
        release = kk.perturb(census(800), kk.calibrate(census_schema(), n=800, k=10, tell="all"), seed=1)
    release.save(tmp_path / "out.parquet")
    release.save(tmp_path / "out.csv")
    return tmp_path


def test_a_cross_tab_shows_estimates_intervals_and_naive_counts(kakuran):
    result = kakuran("crosstab", "out.parquet", "sex", "region")
    assert result.returncode == 0, result.stderr
    assert "sex × region: estimated counts with 90 % intervals for this table" in " ".join(result.stdout.split())
    assert all(word in result.stdout for word in ("female", "north", "count", "low", "high", "naive", "unclear"))
    assert "cannot be told from noise" in result.stderr
    assert "held-out likelihood" in result.stderr


@pytest.mark.parametrize(
    ("file", "bins", "cells"), [("out.parquet", "age=4", 4), ("out.csv", "age=18,25,40,65", [18, 25, 40, 65])]
)
def test_the_command_answers_what_the_library_answers(kakuran, folder, file, bins, cells):
    release = kk.read_release(folder / file)
    where = "age >= 40 and job != 'student'"
    arguments = ("--bins", bins, "--where", where, "--level", 0.8, "--population", "--json")
    shown = json.loads(kakuran("crosstab", file, "age", "sex", *arguments).stdout)
    expected = release.crosstab("age", "sex", bins={"age": cells}, where=where, level=0.8, about="population")
    assert shown["cells"] == expected.to_arrow().to_pylist()
    assert (shown["level"], shown["about"], shown["method"]) == (0.8, "population", "auto")
    assert shown["reason"] == expected.reason
    counted = json.loads(kakuran("count", file, where, "--method", "inverse", "--json").stdout)
    number = release.count(where, method="inverse")
    assert [counted[name] for name in ("count", "low", "high", "naive")] == [
        number.counts, number.low, number.high, number.naive
    ]  # fmt: skip
    assert counted["gap"] is None or number.counts >= 0


def test_what_nobody_told_has_no_naive_count(kakuran, folder):
    release = kk.perturb(census(800), kk.calibrate(census_schema(), n=800, k=10, tell=1))
    release.save(folder / "told.parquet")
    shown = kakuran("crosstab", "told.parquet", "sex", "region").stdout
    assert "as a model has them: nobody told all of it" in " ".join(shown.split())
    assert "nan" not in shown
    assert "–" in shown
    (cell, *_) = json.loads(kakuran("crosstab", "told.parquet", "sex", "region", "--json").stdout)["cells"]
    assert cell["naive"] is None
    assert "as a model has it" in kakuran("count", "told.parquet", "sex == 'female' and region == 'north'").stdout


def test_a_count_is_one_line(kakuran, folder):
    where = "sex == 'female'"
    number = kk.read_release(folder / "out.parquet").count(where)
    assert kakuran("count", "out.parquet", where).stdout == f"{number}\n"


@pytest.mark.parametrize("file", ["table.csv", "table.parquet"])
def test_the_table_and_the_picture_are_written(kakuran, folder, file):
    arguments = ("crosstab", "out.parquet", "job", "sex", "-o", file, "--plot", "table.png", "--json")
    result = kakuran(*arguments)
    assert result.returncode == 0, result.stderr
    read = pa.csv.read_csv if file.endswith("csv") else pq.read_table
    assert read(folder / file).to_pylist() == json.loads(result.stdout)["cells"]
    assert (folder / "table.png").read_bytes().startswith(b"\x89PNG")
    assert kakuran(*arguments).returncode == 5
    assert kakuran(*arguments, "--force").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("crosstab", "out.parquet", "salary"), 3, "no column 'salary'"),
        (("crosstab", "out.parquet", "sex", "sex"), 3, "a column stands twice"),
        (("crosstab", "out.parquet"), 2, "Missing argument"),
        (("crosstab", "out.parquet", "age", "--bins", "age"), 2, "COLUMN=VALUE"),
        (("crosstab", "out.parquet", "age", "--bins", "age=many"), 2, "COLUMN=NUMBER"),
        (("crosstab", "out.parquet", "age", "--bins", "age=1000"), 3, "cannot be cut into 1000"),
        (("crosstab", "out.parquet", "age", "--bins", "age=30,20"), 3, "nothing between 30 and 20"),
        (("crosstab", "out.parquet", "age", "--bins", "age=30,old"), 2, "COLUMN=NUMBER"),
        (("crosstab", "out.parquet", "sex", "--method", "magic"), 2, "choose one of auto, ibt"),
        (("crosstab", "out.parquet", "sex", "--level", 1.5), 2, "--level"),
        (("crosstab", "out.parquet", "sex", "--plot", "x.gif"), 5, "a picture is a .png"),
        (("crosstab", "out.parquet", "sex", "-o", "x.txt"), 5, ".parquet or a .csv"),
        (("crosstab", "out.parquet", "sex", "-o", "out.parquet", "--force"), 5, "is the original itself"),
        (("crosstab", "out.parquet", "job", "region", "age", "--bins", "age=20", "--plot", "x.png", "-o", "x.csv"), 3,
         "heatmaps are too many"),
        (("crosstab", "nowhere.parquet", "sex"), 5, "no such file"),
        (("count", "out.parquet", "age = 3"), 3, "equality is written =="),
        (("count", "out.parquet", "age < 200"), 3, "is outside"),
        (("count", "out.parquet"), 2, "Missing argument"),
    ],
)  # fmt: skip
def test_a_mistake_gets_one_clear_sentence_and_its_exit_code(refused, arguments, code, words):
    refused(arguments, code, words)


def doctored(folder, table):
    """The release's manifest over another table."""
    manifest = pq.read_metadata(folder / "out.parquet").metadata[METADATA_KEY]
    pq.write_table(table.replace_schema_metadata({METADATA_KEY: manifest}), folder / "doctored.parquet")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.slice(1), "it has 799 records, but its manifest speaks of 800"),
        (
            lambda table: table.append_column("note", pa.nulls(800, pa.string())),
            "region, note",
        ),
        (lambda table: table.drop(["region"]), "its columns are sex, age, job, but"),
        (lambda table: table.set_column(1, "age", pa.array(np.full(800, 300))), "outside 15 … 94"),
        (lambda table: table.select(["age", "sex", "job", "region"]), "its columns are age, sex"),
    ],
)
def test_a_table_that_is_not_the_one_its_manifest_speaks_of_is_refused(kakuran, folder, change, words):
    doctored(folder, change(pq.read_table(folder / "out.parquet")))
    for arguments in (("crosstab", "doctored.parquet", "age"), ("count", "doctored.parquet", "age < 40")):
        result = kakuran(*arguments)
        assert result.returncode == 5, result.stderr
        assert words in " ".join(result.stderr.split())
        assert result.stdout == ""


def test_a_csv_without_its_manifest_is_no_release(kakuran, folder):
    (folder / "out.release.json").unlink()
    result = kakuran("count", "out.csv", "age < 40")
    assert result.returncode == 5
    assert "has no manifest out.release.json beside it" in result.stderr


def test_intervals_can_assume_that_some_records_are_made_up(kakuran, folder):
    release = kk.read_release(folder / "out.parquet")
    for share in ("2%", "0.02"):
        shown = json.loads(kakuran("crosstab", "out.parquet", "job", "--assume-fakes", share, "--json").stdout)
        assert shown["cells"] == release.crosstab("job", fakes=0.02).to_arrow().to_pylist()
        assert shown["fakes"] == 0.02
    counted = json.loads(kakuran("count", "out.parquet", "job == 'care'", "--assume-fakes", "2%", "--json").stdout)
    assert counted["high"] > release.count("job == 'care'").high
    table = kakuran("crosstab", "out.parquet", "job", "--assume-fakes", "2%").stdout
    assert "if at most 2 % of it is made up" in " ".join(table.split())
    for wrong in ("many", "100%", "-1%"):
        refused = kakuran("count", "out.parquet", "job == 'care'", "--assume-fakes", wrong)
        assert refused.returncode != 0
        assert "made up" in refused.stderr or "share" in refused.stderr
