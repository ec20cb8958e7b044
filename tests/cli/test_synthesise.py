"""A plain table to hand on: what is written, what says what it is, and what is refused."""

import codecs
import json

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran.samples import census, census_schema

pytestmark = pytest.mark.usefixtures("rough_models")


@pytest.fixture
def folder(tmp_path):
    """A folder with a release."""
    kk.perturb(census(800), kk.calibrate(census_schema(), n=800, k=10)).save(tmp_path / "out.parquet")
    return tmp_path


def test_a_csv_file_is_for_excel_and_a_page_beside_it_says_what_must_not_be_read_from_it(kakuran, folder):
    result = kakuran("synthesise", "out.parquet", "-o", "plain.csv")
    assert result.returncode == 0, result.stderr
    assert "800 made-up records" in result.stdout
    assert "in the wrong cell of a table: 1-way" in result.stdout
    assert "no row of it is a person" in result.stderr
    written = (folder / "plain.csv").read_bytes()
    assert written.startswith(codecs.BOM_UTF8 + b'"sex"')
    drawn = pyarrow.csv.read_csv(folder / "plain.csv")
    census_schema().validate(drawn)
    assert drawn.num_rows == 800
    assert kk.open_source(folder / "plain.csv").names == list(census_schema().names)
    page = (folder / "plain.about.html").read_text(encoding="utf-8")
    assert "No row is a person" in page
    assert "What must not be read from it" in page
    assert sorted(path.name for path in folder.iterdir()) == ["out.parquet", "plain.about.html", "plain.csv"]


def test_parquet_holds_several_copies_and_says_itself_what_it_is(kakuran, folder):
    options = ("--rows", 300, "--copies", 2, "--lang", "ja", "--json")
    found = json.loads(kakuran("synthesise", "out.parquet", "-o", "plain.parquet", *options).stdout)
    assert (found["records"], found["copies"]) == (300, 2)
    assert found["quality"]["columns"] == [1, 2, 3]
    table = pq.read_table(folder / "plain.parquet")
    assert table.column("copy").to_pylist() == [1] * 300 + [2] * 300
    told = json.loads(pq.read_metadata(folder / "plain.parquet").metadata[b"kakuran.synthetic"])
    assert told["release"]["records"] == 800
    assert len(told["never"]) == 7
    page = (folder / "plain.about.html").read_text(encoding="utf-8")
    assert "どの行も実在の人ではありません" in page
    assert "kk.combine" in page


def test_a_synthetic_table_is_no_release(kakuran, folder):
    kakuran("synthesise", "out.parquet", "-o", "plain.parquet")
    result = kakuran("crosstab", "plain.parquet", "sex")
    assert result.returncode == 5
    assert "is not a release" in result.stderr


@pytest.mark.parametrize("taken", ["plain.csv", "plain.about.html"])
def test_nothing_is_replaced_unless_it_is_asked_for(kakuran, folder, taken):
    (folder / taken).write_text("mine")
    result = kakuran("synthesise", "out.parquet", "-o", "plain.csv")
    assert result.returncode == 5
    assert "exists already; use --force" in result.stderr
    assert (folder / taken).read_text() == "mine"
    assert kakuran("synthesise", "out.parquet", "-o", "plain.csv", "--force").returncode == 0


def test_the_release_itself_is_never_written_over(kakuran):
    result = kakuran("synthesise", "out.parquet", "-o", "out.parquet", "--force")
    assert result.returncode == 5
    assert "is the original itself" in result.stderr


def test_a_file_of_another_kind_is_refused_before_any_work(kakuran):
    result = kakuran("synthesise", "out.parquet", "-o", "plain.txt")
    assert result.returncode == 5
    assert "name a .parquet or a .csv file" in result.stderr
