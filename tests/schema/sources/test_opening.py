"""Whatever holds records is read the same way: files, patterns, folders, databases, frames."""

from __future__ import annotations

import pickle
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran.schema import open_source
from kakuran.schema.sources import base, databases as duck

TABLE = pa.table(
    {
        "name": [f"person {row}" for row in range(600)],
        "job": ["clerk", "nurse", "nurse"] * 200,
        "age": [row % 90 for row in range(600)],
    }
)
WANTED = {"age": pa.float64(), "job": pa.string()}


def rows_of(source, wanted=WANTED):
    batches = [part.records for part in source.parts(wanted)]
    return [row for batch in batches for row in batch.to_pylist()]


def write(table, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        pa.feather.write_feather(table, path, compression="zstd" if path.suffix == ".feather" else "uncompressed")
    return path


def database(folder, table=TABLE, name="people"):
    path = folder / "data.duckdb"
    with duckdb.connect(path) as connection:
        connection.register("given", table)
        connection.sql(f'create table "{name}" as from given')
    return path


@pytest.fixture(
    params=["csv", "parquet", "arrow", "feather", "folder", "pattern", "duckdb", "pandas", "polars", "lazy"]
)
def source(request, tmp_path):
    """The same 600 records in ten shapes."""
    kind = request.param
    if kind in ("csv", "parquet", "arrow", "feather"):
        return open_source(write(TABLE, tmp_path / f"people.{kind}"))
    if kind in ("folder", "pattern"):
        for place in range(3):
            write(TABLE.slice(200 * place, 200), tmp_path / "many" / f"part-{place}.parquet")
        return open_source(tmp_path / "many" if kind == "folder" else str(tmp_path / "many" / "part-*.parquet"))
    if kind == "duckdb":
        return open_source(database(tmp_path))
    return open_source(
        {"pandas": TABLE.to_pandas, "polars": lambda: pl.from_arrow(TABLE)}.get(
            kind, lambda: pl.from_arrow(TABLE).lazy()
        )()
    )


class TestEverySource:
    def test_it_knows_its_columns(self, source):
        assert source.names == ["name", "job", "age"]

    def test_it_knows_its_length_or_guesses_no_less(self, source):
        assert source.rows in (600, None)
        assert source.rows_guess >= 600

    def test_it_reads_only_what_is_wanted_and_all_of_it_in_order(self, source):
        expected = TABLE.select(["age", "job"]).to_pylist()
        assert rows_of(source) == expected

    def test_it_can_be_read_again(self, source):
        assert rows_of(source) == rows_of(source)

    def test_it_comes_in_parts_that_know_where_they_lie(self, source, monkeypatch):
        monkeypatch.setattr(base, "BATCH", 64)
        parts = list(source.parts(WANTED))
        assert sum(map(len, parts)) == 600
        assert len(parts) > 5 or str(source.described).endswith("csv")
        assert all(place for part in parts for _, place in part.places)

    def test_a_schema_can_be_drafted_from_it(self, source):
        with pytest.warns(kk.InferredDomainWarning):
            schema = kk.Schema.infer(source)
        assert schema["job"] == kk.Categorical("job", ["clerk", "nurse"])
        assert (schema["age"].low, schema["age"].high, schema["age"].step) == (0, 89, 1)

    def test_it_can_be_perturbed_into_a_release(self, source, tmp_path):
        schema = kk.Schema(
            [kk.Dropped("name"), kk.Categorical("job", ["clerk", "nurse"]), kk.Numeric("age", 0, 89, step=1)]
        )
        kk.perturb_file(source, tmp_path / "out.parquet", kk.calibrate(schema, n=600, k=5, tell="all"))
        assert kk.read_release(tmp_path / "out.parquet").n == 600

    def test_data_dependent_calibration_takes_it(self, source):
        schema = kk.Schema(
            [kk.Dropped("name"), kk.Categorical("job", ["clerk", "nurse"]), kk.Numeric("age", 0, 89, step=1)]
        )
        found, expected = (
            kk.calibrate(schema, data=data, calibration="data-dependent", k=5, tell="all") for data in (source, TABLE)
        )
        assert found == expected


class TestFolders:
    def test_folders_tell_columns(self, tmp_path):
        for region in ("east", "north west"):
            for year in (2019, 2020):
                folder = tmp_path / "data" / f"region={region.replace(' ', '%20')}" / f"year={year}"
                write(TABLE.slice(0, 10), folder / "part.parquet")
        source = open_source(tmp_path / "data")
        assert source.names == ["name", "job", "age", "region", "year"]
        found = rows_of(source, {"region": pa.string(), "year": pa.int64()})
        assert len(found) == 40
        assert {(row["region"], row["year"]) for row in found} == {
            (region, year) for region in ("east", "north west") for year in (2019, 2020)
        }

    def test_patterns_tell_columns_too(self, tmp_path):
        for year in (2019, 2020, 2021):
            write(TABLE.slice(0, 5), tmp_path / f"year={year}" / "part.parquet")
        found = rows_of(
            open_source(str(tmp_path / "year=*" / "*.parquet")), {"year": pa.float64(), "age": pa.float64()}
        )
        assert [row["year"] for row in found] == [2019] * 5 + [2020] * 5 + [2021] * 5

    def test_a_column_told_by_folders_is_text_where_the_schema_says_so(self, tmp_path):
        for code in ("01", "1"):
            write(TABLE.slice(0, 1), tmp_path / "data" / f"zip={code}" / "part.parquet")
        assert [row["zip"] for row in rows_of(open_source(tmp_path / "data"), {"zip": pa.string()})] == ["01", "1"]
        with pytest.warns(kk.InferredDomainWarning):
            assert kk.Schema.infer(tmp_path / "data")["zip"].values == ("01", "1")

    def test_hives_word_for_nothing_is_missing(self, tmp_path):
        write(TABLE.slice(0, 2), tmp_path / "data" / "year=__HIVE_DEFAULT_PARTITION__" / "a.parquet")
        write(TABLE.slice(0, 1), tmp_path / "data" / "year=2020" / "a.parquet")
        found = [row["year"] for row in rows_of(open_source(tmp_path / "data"), {"year": pa.float64()})]
        assert found == [2020, None, None]

    def test_a_folder_that_tells_no_number_is_named(self, tmp_path):
        write(TABLE.slice(0, 2), tmp_path / "data" / "year=soon" / "a.parquet")
        with pytest.raises(kk.DataError, match=r"column 'year': .* 'soon', in .*year=soon/a.parquet"):
            rows_of(open_source(tmp_path / "data"), {"year": pa.float64()})

    def test_what_a_cluster_leaves_beside_its_files_is_not_data(self, tmp_path):
        write(TABLE, tmp_path / "data" / "part-0.parquet")
        (tmp_path / "data" / "_SUCCESS").touch()
        write(TABLE, tmp_path / "data" / "_temporary" / "part-1.parquet")
        write(TABLE, tmp_path / "data" / ".part-0.parquet")
        (tmp_path / "data" / "release.json").write_text("{}")
        assert open_source(tmp_path / "data").rows == 600

    def test_files_with_other_columns_are_named(self, tmp_path):
        write(TABLE, tmp_path / "data" / "a.csv")
        write(TABLE.drop_columns(["age"]), tmp_path / "data" / "b.csv")
        with pytest.raises(kk.DataError, match=r"column 'age': missing in .*b\.csv"):
            open_source(tmp_path / "data")

    @pytest.mark.parametrize(
        ("files", "told"),
        [([], r"no \.csv, \.parquet or \.arrow file there"), (["a.csv", "b.parquet"], "files of several kinds")],
    )
    def test_folders_without_one_kind_of_file_are_refused(self, tmp_path, files, told):
        (tmp_path / "data").mkdir()
        for name in files:
            write(TABLE, tmp_path / "data" / name)
        with pytest.raises(kk.SchemaError, match=told):
            open_source(tmp_path / "data")

    def test_a_file_whose_name_looks_like_a_pattern_is_a_file(self, tmp_path):
        path = write(TABLE, tmp_path / "people[1].parquet")
        assert open_source(str(path)).rows == 600

    def test_a_pattern_that_finds_nothing_is_refused(self, tmp_path):
        with pytest.raises(kk.SchemaError, match=r"no \.csv, \.parquet or \.arrow file there"):
            open_source(str(tmp_path / "*.parquet"))

    def test_the_originals_are_not_written_over(self, tmp_path):
        for name in ("a.parquet", "b.parquet"):
            write(TABLE.select(["job"]), tmp_path / "data" / name)
        plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=600, k=5, tell="all")
        with pytest.raises(kk.ReleaseError, match="is the original itself"):
            kk.perturb_file(tmp_path / "data", tmp_path / "data" / "b.parquet", plan, force=True)


class TestQueries:
    def test_a_database_answers_a_query(self, tmp_path):
        source = open_source(database(tmp_path), sql="select age + 1 as age from people where job = 'clerk';")
        assert source.names == ["age"]
        assert source.rows == 200
        assert rows_of(source, {"age": pa.float64()})[0] == {"age": 1}

    @pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
    def test_plain_files_answer_a_query_as_data(self, tmp_path, kind):
        path = write(TABLE, tmp_path / f"it's.{kind}")
        source = open_source(path, sql="select job, count(*) as age from data group by job order by job -- all")
        assert rows_of(source) == [{"age": 200, "job": "clerk"}, {"age": 400, "job": "nurse"}]

    def test_a_query_over_a_pattern_sees_what_folders_tell(self, tmp_path):
        for year in (2019, 2020):
            write(TABLE.slice(0, 5), tmp_path / f"year={year}" / "a.parquet")
        source = open_source(str(tmp_path / "*" / "*.parquet"), sql="select age, year from data where year > 2019")
        assert source.rows == 5

    def test_odd_names_of_columns_and_tables_are_quoted(self, tmp_path):
        path = database(tmp_path, TABLE.rename_columns(["name", 'a "job"', "age"]), name="odd table")
        assert len(rows_of(open_source(path), {'a "job"': pa.string()})) == 600

    def test_which_of_several_tables_must_be_said(self, tmp_path):
        path = database(tmp_path)
        with duckdb.connect(path) as connection:
            connection.sql("create table others (age int)")
        with pytest.raises(kk.SchemaError, match=r"which table\? it has others, people; say with a query \(--sql\)"):
            open_source(path)

    @pytest.mark.parametrize(
        ("sql", "told"),
        [
            ("select from where", "Parser Error"),
            ("select nothing from people", "Binder Error"),
            ("drop table people", "a query is one SELECT, and this has DROP"),
        ],
    )
    def test_a_query_that_is_none_is_refused_and_changes_nothing(self, tmp_path, sql, told):
        path = database(tmp_path)
        with pytest.raises(kk.SchemaError, match=rf"data\.duckdb: {told}"):
            rows_of(open_source(path, sql=sql), None)
        assert open_source(path).rows == 600

    @pytest.mark.parametrize("kind", ["duckdb", "csv", "parquet", "arrow"])
    @pytest.mark.parametrize(
        "sql",
        [
            "select 1 as a) as s; copy (select 1) to 'stolen.csv'; select * from (select 1 as a",
            "select 1; copy (select 1) to 'stolen.csv'",
            "copy (select 1) to 'stolen.csv'",
            "attach 'stolen.csv'",
            "export database 'stolen.csv'",
            "install httpfs",
            "set threads = 1",
            "create table stolen as select 1",
            "call pragma_version()",
            "",
        ],
    )
    def test_a_query_that_would_do_more_than_ask_is_refused_and_writes_nothing(self, tmp_path, monkeypatch, kind, sql):
        path = database(tmp_path) if kind == "duckdb" else write(TABLE, tmp_path / f"people.{kind}")
        monkeypatch.chdir(tmp_path)
        source = open_source(path, sql=sql)
        for asked in (lambda: source.names, lambda: source.rows, lambda: rows_of(source, None)):
            with pytest.raises(kk.SchemaError, match=r"a query is one SELECT|Parser Error"):
                asked()
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize("kind", ["duckdb", "csv", "parquet", "arrow"])
    @pytest.mark.parametrize(
        ("sql", "told"),
        [
            ("from read_csv('{other}')", "file system operations are disabled"),
            ("from read_text('{other}')", "file system operations are disabled"),
            ("from '{other}'", "file system operations are disabled"),
            ("from glob('*')", "file system operations are disabled"),
            ("from variable_of_python", "does not exist"),
            ("from query('copy (select 1) to ''stolen.csv''')", "Expected a single SELECT"),
        ],
    )
    def test_a_query_reaches_nothing_but_what_it_is_asked_of(self, tmp_path, monkeypatch, kind, sql, told):
        variable_of_python = TABLE
        other = write(variable_of_python, tmp_path / "other" / "secret.csv")
        path = database(tmp_path) if kind == "duckdb" else write(TABLE, tmp_path / f"people.{kind}")
        monkeypatch.chdir(tmp_path)
        with pytest.raises(kk.SchemaError, match=told):
            rows_of(open_source(path, sql=sql.format(other=other)), None)

    LATE = "select case i when 300000 then cast('x' || i as int) end as x from range(400000) t(i)"

    def test_what_goes_wrong_deep_in_the_result_is_told(self, tmp_path):
        with pytest.raises(kk.SchemaError, match=r"data\.duckdb: .*Could not convert string 'x300000'"):
            rows_of(open_source(database(tmp_path), sql=self.LATE), None)

    def test_so_is_what_another_thread_stumbled_over(self, tmp_path, monkeypatch):
        def interrupted(result, described):
            raise OSError("INTERRUPT Error: Interrupted!")

        monkeypatch.setattr(duck, "arrow_parts", interrupted)
        with pytest.raises(kk.SchemaError, match=r"data\.duckdb: .*Could not convert string 'x300000'"):
            rows_of(open_source(database(tmp_path), sql=self.LATE), None)

    def test_a_database_that_is_none_is_named(self, tmp_path):
        with pytest.raises(kk.SchemaError, match=r"none\.duckdb: no such file"):
            open_source(tmp_path / "none.duckdb")
        (tmp_path / "odd.duckdb").write_bytes(b"x" * 5000)
        with pytest.raises(kk.SchemaError, match=r"odd\.duckdb: "):
            open_source(tmp_path / "odd.duckdb")


class TestLazyFrames:
    def test_a_lazy_frame_is_read_in_pieces_and_only_what_is_wanted(self, tmp_path):
        write(TABLE, tmp_path / "people.parquet")
        seen = []
        lazy = pl.scan_parquet(tmp_path / "people.parquet").with_columns(
            name=pl.col("name").map_batches(lambda column: seen.append(1) or column, return_dtype=pl.String)
        )
        assert rows_of(open_source(lazy)) == TABLE.select(["age", "job"]).to_pylist()
        assert not seen

    def test_an_index_of_pandas_is_no_column(self):
        assert open_source(pd.DataFrame({"age": [1]}, index=pd.Index(["x"], name="id"))).names == ["age"]


class TestWhereBadValuesLie:
    SCHEMA = kk.Schema(
        [kk.Dropped("name"), kk.Categorical("job", ["clerk", "nurse"]), kk.Numeric("age", 0, 89, step=1)]
    )
    PLAN = kk.calibrate(SCHEMA, n=600, k=5, tell="all")

    def spoilt(self, row=437):
        ages = TABLE["age"].to_pylist()
        ages[row] = 777
        return TABLE.set_column(2, "age", pa.array(ages))

    def refused(self, source, tmp_path, told, error=kk.DataError):
        with pytest.raises(error, match=told):
            kk.perturb_file(source, tmp_path / "out.parquet", self.PLAN)
        assert not list(tmp_path.glob("out*"))
        assert not list(tmp_path.glob(".out*"))

    @pytest.mark.parametrize(
        ("groups", "batch", "place"), [(100, 50, 4), (7, 250, 62), (600, 50, 0), (100, 1 << 17, 4)]
    )
    def test_file_row_group_and_column_are_named(self, tmp_path, monkeypatch, groups, batch, place):
        monkeypatch.setattr(base, "BATCH", batch)
        pq.write_table(self.spoilt(), tmp_path / "in.parquet", row_group_size=groups)
        told = rf"column 'age': 1 row outside 0 … 89, for example 777\.0, in .*in\.parquet, row group {place}\. Correct"
        self.refused(tmp_path / "in.parquet", tmp_path, told)

    def test_the_one_file_of_many_is_named(self, tmp_path):
        for place in range(3):
            (tmp_path / "many").mkdir(exist_ok=True)
            pq.write_table(
                self.spoilt().slice(200 * place, 200), tmp_path / "many" / f"{place}.parquet", row_group_size=50
            )
        self.refused(tmp_path / "many", tmp_path, r"column 'age': .*many/2\.parquet, row group 0\.")

    def test_rows_of_a_csv_file_are_named(self, tmp_path, monkeypatch):
        monkeypatch.setattr("kakuran.schema.sources.delimited.BLOCK", 4000)
        path = write(self.spoilt(), tmp_path / "in.csv")
        with pytest.raises(kk.DataError) as caught:
            kk.perturb_file(path, tmp_path / "out.parquet", self.PLAN)
        first, last = (int(word.replace(",", "")) for word in caught.value.place.rpartition("rows ")[2].split(" to "))
        assert first <= 438 <= last
        assert last - first < 300

    def test_text_among_numbers_of_a_csv_file_is_placed_after_what_was_read(self, tmp_path, monkeypatch):
        monkeypatch.setattr("kakuran.schema.sources.delimited.BLOCK", 4000)
        ages = [str(age) for age in TABLE["age"].to_pylist()]
        ages[437] = "old"
        path = write(TABLE.set_column(2, "age", pa.array(ages)), tmp_path / "in.csv")
        self.refused(
            path,
            tmp_path,
            r"column 'age': .* is not a valid double, for example 'old', in .*in\.csv, after row [34]\d\d\.",
        )

    def test_a_damaged_row_group_is_named_with_its_column(self, tmp_path):
        path = tmp_path / "in.parquet"
        pq.write_table(TABLE, path, row_group_size=100, compression="zstd", use_dictionary=False)
        chunk = pq.read_metadata(path).row_group(3).column(2)
        content = bytearray(path.read_bytes())
        start = chunk.data_page_offset
        content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
        path.write_bytes(content)
        self.refused(path, tmp_path, r"in\.parquet, row group 3, column 'age': cannot be read", kk.SchemaError)

    def test_the_place_is_named(self, tmp_path):
        pq.write_table(self.spoilt(), tmp_path / "in.parquet")
        with pytest.raises(kk.DataError, match=r"777.*row group 0"):
            kk.perturb_file(tmp_path / "in.parquet", tmp_path / "out.parquet", self.PLAN)


class TestTypesOfCsv:
    @pytest.mark.parametrize(
        ("late", "expected"),
        [("7", "int64"), ("7.5", "double"), ("seven", "string"), ("true", "bool"), ("", "int64")],
    )
    def test_a_value_far_down_widens_its_column(self, tmp_path, monkeypatch, late, expected):
        monkeypatch.setattr("kakuran.schema.sources.delimited.BLOCK", 2000)
        path = tmp_path / "in.csv"
        path.write_text("a,b\n" + "1,x\n" * 2000 + f"{late},y\n")
        whole = pa.csv.read_csv(path).schema.field("a").type
        (kind,) = {str(part.records.schema.field("a").type) for part in open_source(path).parts()}
        assert kind == str(whole) == expected

    def test_a_column_that_starts_empty_takes_the_type_of_what_comes(self, tmp_path, monkeypatch):
        monkeypatch.setattr("kakuran.schema.sources.delimited.BLOCK", 2000)
        path = tmp_path / "in.csv"
        path.write_text("a,b\n" + ",x\n" * 2000 + "2.5,y\n")
        assert {str(part.records.schema.field("a").type) for part in open_source(path).parts()} == {"double"}


@pytest.mark.parametrize("rows", [1, 120, 400, 10_000])
def test_pieces_of_files_are_read_apart_and_together_are_the_table(tmp_path, rows):
    for year, size in ((2020, 100), (2021, 50)):
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        pq.write_table(TABLE.slice(300 * (year - 2020), 300), folder / "people.parquet", row_group_size=size)
    source, wanted = open_source(tmp_path), WANTED | {"year": pa.int64()}
    pieces = pickle.loads(pickle.dumps(source.pieces(rows)))
    assert [row for piece in pieces for row in rows_of(piece, wanted)] == rows_of(source, wanted)
    assert all(piece.rows >= rows for piece in pieces[:-1])
    places = [place for piece in pieces for part in piece.parts(wanted) for _, place in part.places]
    assert places == [
        f"{path}, row group {group}"
        for path, groups in zip(source.paths, (3, 6), strict=True)
        for group in range(groups)
    ]
    assert [row for piece in pieces[0].pieces(1) for row in rows_of(piece, wanted)] == rows_of(pieces[0], wanted)


@pytest.mark.parametrize("name", ["people.csv.gz", "people.csv.zst", "people.csv.bz2", "people.csv.xz", "people.zip"])
def test_a_file_that_is_compressed_is_refused_with_the_way_to_read_it(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(kk.SchemaError, match=rf"{name}: is compressed; .* pipe its text into the command"):
        kk.open_source(tmp_path / name)


def test_what_duckdb_has_no_memory_for_is_for_its_owner_alone_and_gone_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "in.csv").write_text("age\n30\n")
    source = kk.open_source(tmp_path / "in.csv", "select current_setting('temp_directory') as place from data")
    for part in source.parts():
        place = Path(part.records["place"][0].as_py())
        assert (place.parent, place.stat().st_mode & 0o777) == (tmp_path, 0o700)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
