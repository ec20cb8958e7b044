"""A plain table to hand on: what is written, what says what it is, and what is refused."""

import codecs
import json

import openpyxl
import pyarrow.csv
import pyarrow.parquet as pq
import pyreadstat
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


def test_what_is_said_of_made_up_records_is_said_in_japanese(kakuran, folder):
    told = kakuran("synthesise", "out.parquet", "-o", "plain.csv", "--copies", 2, "--lang", "ja").stdout.splitlines()
    assert told[0].startswith("架空のレコード 800 件を 2 組（copy, sex, ")
    assert told[1].startswith("表の誤ったセルに入る人の見込み：1 元表 ")


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
    page = (folder / "plain.parquet.about.html").read_text(encoding="utf-8")
    assert "どの行も実在の人ではありません" in page
    assert "kk.combine" in page


def test_a_workbook_says_itself_what_it_is_and_has_a_page_and_a_manifest_of_its_own(kakuran, folder):
    for name in ("plain.csv", "plain.xlsx"):
        assert kakuran("synthesise", "out.parquet", "-o", name, "--rows", 50).returncode == 0
    assert (folder / "plain.about.html").exists()
    assert (folder / "plain.xlsx.about.html").exists()
    book = openpyxl.load_workbook(folder / "plain.xlsx")
    assert book.sheetnames == ["data", "about this table"]
    assert book.properties.title == "Made up by kakuran: no row is a person"
    told = [cell.value for (cell,) in book["about this table"].rows]
    assert "How wrong it is expected to be, and what must not be read from it: plain.xlsx.about.html" in told
    assert any("どの行も実在の人ではありません" in line for line in told)
    assert kk.open_source(folder / "plain.xlsx").rows == 50

    release = kk.read_release(folder / "out.parquet")
    other = kk.perturb(census(800), kk.calibrate(census_schema(), n=800, k=3, tell=1))
    release.save(folder / "rel.csv")
    other.save(folder / "rel.xlsx")
    assert kk.read_release(folder / "rel.csv").plan.k == 10
    assert kk.read_release(folder / "rel.xlsx").plan.k == 3
    told = [cell.value for (cell,) in openpyxl.load_workbook(folder / "rel.xlsx")["about this table"].rows]
    assert told[0] == "Perturbed by kakuran: these are not the true records"
    assert any("empty on purpose" in line for line in told)
    asked = next(line for line in told if "kakuran crosstab" in line)
    assert kakuran(*asked.partition("kakuran ")[2].split()[-3:]).returncode == 0
    other.save(folder / "rel.sav")
    assert pyreadstat.read_sav(folder / "rel.sav", metadataonly=True)[1].file_label == told[0]


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
