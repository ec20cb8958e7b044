"""What a release looks like tells nothing of the originals: two tables of which the same was drawn give the same bytes.

Nothing of a record is retained here, so a seed alone decides what is drawn, whatever the originals hold. Any difference
between two releases would be one that no noise covers.
"""

from __future__ import annotations

import datetime as dt
import zipfile

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pyreadstat
import pytest

import kakuran as kk
from kakuran.schema.sources import base, delimited, sheets

pytestmark = pytest.mark.filterwarnings("ignore::kakuran.NotForPublicationWarning")

SCHEMA = kk.Schema(
    [
        kk.Categorical("ill", ["yes", "no"]),
        kk.Categorical("smokes", [True, False], missing="category"),
        kk.Numeric("visits", 0, 9, step=1, missing="category", missing_codes=[-9]),
        kk.Numeric("weight", 40, 60, step=0.5),
        kk.Categorical("health", ["poor", "fair", "good"], ordered=True, missing="category"),
        kk.Date("since", "2020-01-01", "2024-12-31", step="month", missing="category"),
        kk.Numeric("year", 2000, 2004, step=1, role="keep"),
        kk.Dropped("note"),
    ]
)
ROWS = 300
FORMATS = ["parquet", "csv", "xlsx", "sav", "dta"]


def plan_that_retains(share, schema=SCHEMA):
    mechanisms = {one.name: kk.RetentionReplacement(one.size, share) for one in schema.perturbed}
    return kk.Plan.of_mechanisms(schema, mechanisms, n=1, k=1.0, calibration="worst-case")


NOISE = plan_that_retains(0.0)


def people(**change):
    """A table, of which some columns begin otherwise."""
    columns = {
        "ill": ["no", "yes", "no"] * (ROWS // 3),
        "smokes": [True, False] * (ROWS // 2),
        "visits": [number % 10 for number in range(ROWS)],
        "weight": [50.0, 51.5] * (ROWS // 2),
        "health": ["fair", "good"] * (ROWS // 2),
        "since": ["2021-05-03", "2020-02-29"] * (ROWS // 2),
        "year": [2000 + number % 5 for number in range(ROWS)],
        "note": ["x"] * ROWS,
    }
    return {name: [*change.get(name, ()), *column[len(change.get(name, ())) :]] for name, column in columns.items()}


NEIGHBOURS = {
    "another answer": people(ill=["yes"], visits=[7], weight=[40.0]),
    "one who skipped": people(smokes=[None], visits=[None], health=[None], since=[None]),
    "all who skipped": people(smokes=[None] * ROWS, visits=[None] * ROWS, health=[None] * ROWS, since=[None] * ROWS),
    "a code for missing": people(visits=[-9]),
    "no fraction": people(weight=[50.0] * ROWS),
    "a long text that is dropped": people(note=["x" * 500] * ROWS),
}


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch):
    """Row groups of so few records that a small release has several."""
    monkeypatch.setattr("kakuran.perturbation.ROWS_A_GROUP", 64)


def content(path):
    """All bytes of a release."""
    return {file.name: file.read_bytes() for file in sorted(path.parent.iterdir()) if file.name.startswith("out")}


def streamed(kind, suffix, table, folder, plan=NOISE, **options):
    folder.mkdir()
    source, target = folder / f"in.{kind}", folder / f"out.{suffix}"
    table = pa.table(table)
    if kind == "parquet":
        pq.write_table(table, source, **options)
    else:
        pa.csv.write_csv(table, source)
    kk.perturb_file(source, target, plan, seed=3)
    return content(target)


def saved(kind, suffix, table, folder):
    folder.mkdir()
    kk.perturb({"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[kind](table), NOISE, seed=3).save(
        folder / f"out.{suffix}"
    )
    return content(folder / f"out.{suffix}")


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_of_neighbours_are_the_same_bytes(kind, suffix, tmp_path):
    expected = streamed(kind, suffix, people(), tmp_path / "plain")
    for number, table in enumerate(NEIGHBOURS.values()):
        assert streamed(kind, suffix, table, tmp_path / f"{number}") == expected


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_saved_releases_of_neighbours_are_the_same_bytes(kind, suffix, tmp_path):
    expected = saved(kind, suffix, people(), tmp_path / "plain")
    for number, table in enumerate(NEIGHBOURS.values()):
        assert saved(kind, suffix, table, tmp_path / f"{number}") == expected


@pytest.mark.parametrize("suffix", ["sav", "dta"])
def test_no_file_of_spss_or_stata_says_when_it_was_written(suffix, tmp_path):
    saved("arrow", suffix, people(), tmp_path / "plain")
    path = str(tmp_path / "plain" / f"out.{suffix}")
    read = pyreadstat.read_sav if suffix == "sav" else pyreadstat.read_dta
    about = read(path, metadataonly=True)[1]
    assert about.creation_time == about.modification_time == dt.datetime(1980, 1, 1)


def test_no_workbook_says_when_it_was_written(tmp_path):
    saved("arrow", "xlsx", people(), tmp_path / "plain")
    with zipfile.ZipFile(tmp_path / "plain" / "out.xlsx") as book:
        assert book.read("docProps/core.xml").count(b">1980-01-01T00:00:00Z<") == 2
        assert {one.date_time[0] for one in book.infolist()} == {1980}


def test_a_workbook_waits_in_the_folder_that_is_swept(tmp_path, monkeypatch):
    """Files without that folder's protection would stay behind in TMPDIR if the process were killed."""
    elsewhere = tmp_path / "tmp"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    seen, write = set(), sheets._write_cell
    monkeypatch.setattr(sheets, "_write_cell", lambda *cell: (seen.update(elsewhere.iterdir()), write(*cell)))
    saved("arrow", "xlsx", people(), tmp_path / "plain")
    assert not seen


ALIKE = kk.Schema([kk.Categorical("ill", ["yes", "no"]), kk.Numeric("visits", 0, 9, step=1), kk.Dropped("note")])


def alike(rows=ROWS, note="x", **more):
    """People of whom all say the same, so that no order and no batch of them shows."""
    return {"ill": ["no"] * rows, "visits": [3] * rows, "note": [note] * rows, **more}


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_how_the_originals_were_cut_into_blocks_and_row_groups_does_not_show(suffix, tmp_path, monkeypatch):
    plan = plan_that_retains(1.0, ALIKE)
    expected = streamed("csv", suffix, alike(), tmp_path / "plain", plan)
    monkeypatch.setattr(base, "BATCH", 64)
    monkeypatch.setattr(delimited, "BLOCK", 20_000)
    monkeypatch.setattr("kakuran.perturbation.ROWS_AT_A_TIME", 100)
    assert streamed("csv", suffix, alike(note="x" * 2000), tmp_path / "blocks", plan) == expected
    assert streamed("parquet", suffix, alike(), tmp_path / "groups", plan, row_group_size=7) == expected


def test_rows_that_are_not_used_do_not_show(tmp_path, monkeypatch):
    schema = kk.Schema([*ALIKE.attributes], person="id")
    plan = plan_that_retains(1.0, schema)
    monkeypatch.setattr(base, "BATCH", 64)
    monkeypatch.setattr("kakuran.perturbation.ROWS_AT_A_TIME", 200)
    ids = [*range(ROWS)]
    expected = streamed("parquet", "parquet", alike(id=ids), tmp_path / "one", plan)
    more = alike(5 * ROWS, id=ids + [0] * 4 * ROWS)
    assert streamed("parquet", "parquet", more, tmp_path / "many", plan) == expected


@pytest.mark.parametrize("shuffle", [True, False])
def test_row_groups_follow_the_number_of_records_alone(shuffle, tmp_path, monkeypatch):
    monkeypatch.setattr("kakuran.perturbation.ROWS_AT_A_TIME", 70)
    monkeypatch.setattr(base, "BATCH", 50)
    pq.write_table(pa.table(alike()), tmp_path / "in.parquet")
    kk.perturb_file(tmp_path / "in.parquet", tmp_path / "out.parquet", plan_that_retains(1.0, ALIKE), shuffle=shuffle)
    metadata = pq.read_metadata(tmp_path / "out.parquet")
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [64, 64, 64, 64, 44]


def types_of(frame):
    if isinstance(frame, pl.LazyFrame):
        return frame.collect_schema()
    schema = frame.dtypes.to_dict() if isinstance(frame, pd.DataFrame) else frame.schema
    return schema if isinstance(schema, pa.Schema) else dict(schema)


def pandas_of_objects(table):
    """As pandas reads a column in which something is missing, or of which nobody told it the type."""
    return pd.DataFrame(table, dtype=object)


def smallest_pandas(table):
    """As programs make frames that are to need little memory."""
    frame = pd.DataFrame(table).convert_dtypes()
    small = {name: pd.to_numeric(frame[name], downcast="integer") for name in ("visits", "year")}
    return frame.assign(**small).astype({"ill": "category", "health": "category"})


def smallest_polars(table):
    frame = pl.DataFrame(table)
    return frame.select(column.shrink_dtype() for column in frame).with_columns(pl.col("ill").cast(pl.Categorical))


FRAMES = {
    "pandas": [pd.DataFrame, pandas_of_objects, smallest_pandas],
    "polars": [pl.DataFrame, smallest_polars],
    "lazy polars": [lambda table: pl.DataFrame(table).lazy(), lambda table: smallest_polars(table).lazy()],
    "arrow": [pa.table, lambda table: pa.Table.from_pandas(smallest_pandas(table))],
    "record batch": [pa.RecordBatch.from_pydict],
}


@pytest.mark.parametrize("makers", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("plan", [NOISE, kk.calibrate(SCHEMA, n=50, k=5, tell=2)], ids=["all columns", "some columns"])
def test_types_of_a_frame_that_is_released_follow_the_schema_alone(makers, plan):
    types = [
        types_of(kk.perturb(make(table), plan).table) for make in makers for table in (people(), *NEIGHBOURS.values())
    ]
    assert all(found == types[0] for found in types)
