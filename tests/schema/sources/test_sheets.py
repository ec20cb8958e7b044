"""Workbooks, beside what openpyxl says of them."""

import datetime as dt

import openpyxl
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.schema import read_all, writer_for

TABLE = pa.table(
    {
        "id": ["007", "008", "012"],
        "年齢": [31, None, 47],
        "pay": [1.5, 2.25, None],
        "born": [dt.date(1980, 2, 29), None, dt.date(1990, 1, 1)],
        "seen": [dt.datetime(2024, 5, 1, 12, 30), dt.datetime(2024, 5, 1), None],
        "smokes": [True, False, None],
        "note": ["=1+1", "https://example.org", " spaced "],
    }
)


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "people.xlsx"
    writer_for(path)(path, TABLE.schema, TABLE.to_batches())
    return path


def test_a_round_trip_keeps_values_dates_and_blanks_and_text_is_no_formula(book):
    rows = [list(row) for row in openpyxl.load_workbook(book)["data"].iter_rows()]
    assert [cell.value for cell in rows[0]] == TABLE.column_names
    assert [cell.value for cell in rows[1]] == [
        "007", 31, 1.5, dt.datetime(1980, 2, 29), dt.datetime(2024, 5, 1, 12, 30), True, "=1+1",
    ]  # fmt: skip
    assert {cell.data_type for row in rows[1:] for cell in row[6:]} == {"s"}
    assert not any(cell.hyperlink for row in rows for cell in row)
    assert rows[1][3].is_date
    assert read_all(kk.open_source(book)).equals(TABLE)


def test_a_sheet_written_by_others_is_read_by_its_name_or_where_there_is_one_only(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "empty"
    sheet = book.create_sheet("people")
    for row in (["age", "job", None], [31, "nurse", None], [None, None, None], ["47", 12, None], [52, 12.5, None]):
        sheet.append(row)
    path = tmp_path / "people.xlsx"
    book.save(path)
    table = read_all(kk.open_source(path))
    assert table.to_pydict() == {"age": ["31", "47", "52"], "job": ["nurse", "12", "12.5"]}
    (part,) = kk.open_source(path).parts({"age": pa.float64()})
    assert part.records.column("age").to_pylist() == [31, 47, 52]
    book.create_sheet("more").append(["x"])
    book.save(path)
    with pytest.raises(kk.SchemaError, match="'people', 'more': say which with --sheet"):
        _ = kk.open_source(path).names
    with pytest.raises(kk.SchemaError, match="no sheet 'peeple'"):
        _ = kk.open_source(path, sheet="peeple").names
    assert kk.open_source(path, sheet="people").rows == 3
    (tmp_path / "people.csv").write_text("a\n1\n")
    with pytest.raises(kk.SchemaError, match="for files that have sheets"):
        kk.open_source(tmp_path / "people.csv", sheet="people")


def test_a_cell_that_is_no_number_is_refused_with_its_column(tmp_path):
    book = openpyxl.Workbook()
    for row in (["age"], [31], ["old"]):
        book.active.append(row)
    book.save(tmp_path / "people.xlsx")
    schema = kk.Schema([kk.Numeric("age", 0, 99, step=1)])
    with pytest.raises(kk.DataError, match="column 'age': at least one cell is not a number, for example 'old'"):
        kk.calibrate(schema, data=tmp_path / "people.xlsx", k=2, calibration="data-dependent")


def test_a_release_in_a_workbook_is_read_back_as_it_was_drawn(tmp_path):
    jobs = kk.Categorical("job", ["007", "nurse"], missing="category")
    table = pa.table({"job": ["007", "nurse", None, "nurse"] * 50, "age": list(range(200))})
    plan = kk.calibrate(kk.Schema([jobs, kk.Numeric("age", 0, 199, step=1)]), n=200, k=5, tell="all")
    kk.perturb_file(table, tmp_path / "out.xlsx", plan)
    release = kk.read_release(tmp_path / "out.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx")["data"]
    assert [row[0] for row in sheet.iter_rows(min_row=2, values_only=True)] == release.table.column("job").to_pylist()
    assert release.n == 200


def test_what_is_no_workbook_and_what_no_sheet_can_hold_is_refused(tmp_path):
    (tmp_path / "broken.xlsx").write_bytes(b"nothing")
    with pytest.raises(kk.SchemaError, match=r"broken\.xlsx: cannot be read"):
        _ = kk.open_source(tmp_path / "broken.xlsx").names
    openpyxl.Workbook().save(tmp_path / "empty.xlsx")
    with pytest.raises(kk.SchemaError, match="nothing in any of its sheets"):
        _ = kk.open_source(tmp_path / "empty.xlsx").names
    path = tmp_path / "out.xlsx"
    for table, problem in (
        (pa.table({"job": [""]}), "column 'job': a cell holds 1 to 32,767"),
        (pa.table({"job": [2**60]}), "column 'job': .*2⁵³"),
        (pa.table({"job": pa.nulls(1_048_576, pa.int8())}), "a sheet holds 1,048,575 records"),
    ):
        with pytest.raises(kk.KakuranError, match=problem):
            writer_for(path)(path, table.schema, table.to_batches())
