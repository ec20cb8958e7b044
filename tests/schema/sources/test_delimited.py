"""CSV as people have it: with semicolons or tabs, in Shift-JIS, with a byte order mark."""

import tracemalloc

import pyarrow as pa
import pyarrow.parquet
import pytest

import kakuran as kk
from kakuran.schema.schema import read_all
from kakuran.schema.sources import delimited

PEOPLE = pa.table({"番号": ["01", "02", "10"], "職業": ["医師, 女", "", '"看護"'], "年齢": [30, 41, None]})
TEXT = '番号,職業,年齢\r\n01,"医師, 女",30\r\n02,,41\r\n10,"""看護""",\r\n\r\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "euc_jp", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_all_of_them_are_the_same_table(tmp_path, delimiter, encoding):
    path = tmp_path / "in.csv"
    path.write_bytes(TEXT.replace(", 女", "、女").replace(",", delimiter).replace("、女", ", 女").encode(encoding))
    told = {} if encoding.startswith("utf-8") else {"encoding": encoding}
    assert read_all(kk.open_source(path, **told)) == PEOPLE


def test_a_folder_of_them_is_read_as_told(tmp_path):
    for number in range(2):
        (tmp_path / f"{number}.csv").write_bytes(TEXT.encode("cp932"))
    assert read_all(kk.open_source(tmp_path, encoding="cp932")).num_rows == 6


def test_a_strange_character_far_down_is_told_of(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(b"job,age\n" + b"nurse,30\n" * 20_000 + "医師,31\n".encode("cp932"))
    assert kk.open_source(path).names == ["job", "age"]
    schema = kk.Schema([kk.Categorical("job", ["nurse", "医師"]), kk.Numeric("age", 0, 99, step=1)])
    with pytest.raises(kk.SchemaError, match=r"in\.csv: line 20,002 is not utf-8, but perhaps cp932.*--encoding"):
        kk.Schema.infer(path)
    with pytest.raises(kk.SchemaError, match=r"in\.csv: line 20,002 is not utf-8, but perhaps cp932"):
        kk.perturb_file(path, tmp_path / "out.csv", kk.calibrate(schema, n=20_001, k=5, tell="all"))
    with pytest.raises(kk.SchemaError, match=r"in\.csv: line 20,002 is not ascii, but perhaps cp932"):
        read_all(kk.open_source(path, encoding="ascii"))
    assert not (tmp_path / "out.csv").exists()
    assert (
        kk.calibrate(
            schema, data=kk.open_source(path, encoding="cp932"), calibration="data-dependent", k=5, tell="all"
        ).n
        == 20_001
    )


@pytest.mark.parametrize("records", [40, 500_000])
def test_a_row_with_too_few_cells_is_named_and_not_shown(tmp_path, records):
    path = tmp_path / "in.csv"
    path.write_text("job,age\n" + "nurse,30\n" * records + "secret\n" + "nurse,30\n" * 40)
    schema = kk.Schema([kk.Categorical("job", ["nurse", "clerk"]), kk.Numeric("age", 0, 99, step=1)])
    told = rf"in\.csv: row {records + 2:,}, the names being row 1, has 1 cell where 2 columns are named"
    for read in (
        kk.Schema.infer,
        lambda path: kk.calibrate(schema, data=path, calibration="data-dependent", k=5, tell="all"),
    ):
        with pytest.raises(kk.SchemaError, match=told) as refusal:
            read(path)
        assert "secret" not in str(refusal.value)


def test_text_is_translated_as_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 1 << 16)
    path = tmp_path / "in.csv"
    path.write_bytes("職業,年齢\r\n".encode("cp932") + "医師,31\r\n".encode("cp932") * 2_000_000)
    source = kk.open_source(path, encoding="cp932")
    wanted = {"職業": pa.string(), "年齢": pa.int64()}
    next(iter(source.parts(wanted)))
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    most = max(pa.total_allocated_bytes() - before for _ in source.parts(wanted))
    most += tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < path.stat().st_size / 2  # arrow reads some blocks ahead, however long the file


@pytest.mark.parametrize("option", [{"delimiter": ";"}, {"encoding": "cp932"}, {"decimal": ","}, {"thousands": " "}])
def test_what_is_no_csv_is_not_told_how_it_is_written(tmp_path, option):
    (tmp_path / "in.csv").write_text("a,b\n1,2\n")
    pa.parquet.write_table(PEOPLE, tmp_path / "in.parquet")
    for data, sql in ((PEOPLE, None), (tmp_path / "in.parquet", None), (tmp_path / "in.csv", "from data")):
        with pytest.raises(kk.SchemaError, match="are for CSV files"):
            kk.open_source(data, sql, **option)


def test_a_release_is_plain_and_names_with_semicolons_come_back(tmp_path):
    schema = kk.Schema([kk.Categorical("a;b;c", ["x", "y"])])
    table = pa.table({"a;b;c": ["x", "y"] * 20})
    kk.perturb(table, kk.calibrate(schema, n=40, k=5, tell="all")).save(tmp_path / "out.csv")
    assert kk.read_release(tmp_path / "out.csv").crosstab("a;b;c").counts.sum() == pytest.approx(40)


GERMAN = 'PLZ;Beruf;Lohn;Anteil\r\n01067;3,5;1.234,50;"0,25"\r\n80331;x;950;\r\n10115;y;12.000;1\r\n'
SIGNS = {"decimal": ",", "thousands": "."}


class TestWrittenNumbers:
    @pytest.fixture
    def path(self, tmp_path):
        (tmp_path / "in.csv").write_text(GERMAN)
        return tmp_path / "in.csv"

    def test_they_are_read_as_told_and_codes_and_texts_stay_as_they_are(self, path):
        assert read_all(kk.open_source(path, **SIGNS)).to_pydict() == {
            "PLZ": ["01067", "80331", "10115"],
            "Beruf": ["3,5", "x", "y"],
            "Lohn": [1234.5, 950, 12000],
            "Anteil": [0.25, None, 1],
        }

    def test_without_being_told_nothing_is_guessed(self, path):
        assert read_all(kk.open_source(path)).column("Lohn").to_pylist() == ["1.234,50", "950", "12.000"]
        with pytest.warns(kk.InferredDomainWarning, match=r'--decimal "," --thousands ".", elsewhere .*: Lohn\.'):
            kk.Schema.infer(path)

    def test_a_schema_says_which_columns_are_numbers(self, path):
        source = kk.open_source(path, **SIGNS)
        wanted = {"Anteil": pa.float64(), "Beruf": pa.string(), "Lohn": pa.float64()}
        (part,) = source.parts(wanted)
        assert part.records.column_names == list(wanted)
        assert part.records.column("Lohn").to_pylist() == [1234.5, 950, 12000]
        assert part.records.column("Beruf").to_pylist() == ["3,5", "x", "y"]

    def test_whole_numbers_that_are_categories_may_be_written_so(self, tmp_path):
        (tmp_path / "in.csv").write_text("size\n" + '"1,000"\n"2,000"\n' * 10)
        schema = kk.Schema([kk.Categorical("size", [1000, 2000])])
        assert (
            kk.calibrate(
                schema,
                k=2,
                data=kk.open_source(tmp_path / "in.csv", thousands=","),
                calibration="data-dependent",
                tell="all",
            ).n
            == 20
        )

    @pytest.mark.parametrize(
        ("told", "way_out"),
        [
            ({}, r"'1\.234,50', in .*in\.csv, after row 0\. Say .*: --decimal \",\" --thousands \"\.\""),
            ({"decimal": ","}, r"'1\.234,50', in .*in\.csv, rows 1 to 3\. Say .*: --decimal \",\" --thousands \"\.\""),
        ],
    )
    def test_the_error_names_place_and_options(self, path, tmp_path, told, way_out):
        others = [kk.Dropped(name) for name in ("PLZ", "Beruf", "Anteil")]
        plan = kk.calibrate(kk.Schema([kk.Numeric("Lohn", 0, 20_000, step=10), *others]), n=100, k=5, tell="all")
        with pytest.raises(kk.DataError, match=way_out):
            kk.perturb_file(kk.open_source(path, **told), tmp_path / "out.csv", plan)
        assert not (tmp_path / "out.csv").exists()

    def test_a_bad_number_far_down_is_found_block_by_block(self, tmp_path, monkeypatch):
        monkeypatch.setattr(delimited, "BLOCK", 1 << 12)
        path = tmp_path / "in.csv"
        path.write_text("x;y\n" + "1.234,5;a\n" * 2_000 + "1.23,5;a\n")
        parts = kk.open_source(path, **SIGNS).parts({"x": pa.float64()})
        assert len(next(parts)) < 1_000
        with pytest.raises(kk.DataError, match=r"for example '1\.23,5', in .*in\.csv, rows [\d,]+ to 2,001\. Correct"):
            list(parts)
        assert read_all(kk.open_source(path, **SIGNS)).column("x").type == pa.string()


RECORDS = "39, State-gov,  77516, ?\n50, Self emp, 83311, \n"


@pytest.mark.parametrize("ending", [".csv", ".data", ".tsv"])
def test_a_file_without_names_is_read_with_those_it_is_told(tmp_path, ending):
    path = tmp_path / f"in{ending}"
    path.write_text(RECORDS + "\n")
    source = kk.open_source(path, delimiter=", ", names="age, class,weight,country")
    assert source.names == ["age", "class", "weight", "country"]
    assert read_all(source).to_pylist() == [
        {"age": 39, "class": "State-gov", "weight": 77516, "country": "?"},
        {"age": 50, "class": "Self emp", "weight": 83311, "country": ""},
    ]


def test_spaces_after_commas_are_no_part_of_names_and_words_where_that_is_told(tmp_path):
    (tmp_path / "in.csv").write_text("age, class\n39, State-gov\n")
    spaced = kk.open_source(tmp_path / "in.csv", delimiter=", ")
    assert read_all(spaced).to_pylist() == [{"age": 39, "class": "State-gov"}]
    assert read_all(kk.open_source(tmp_path / "in.csv")).to_pylist() == [{"age": 39, " class": " State-gov"}]


def test_as_many_names_as_cells_have_to_be_told(tmp_path):
    (tmp_path / "in.csv").write_text(RECORDS)
    with pytest.raises(kk.SchemaError, match=r"has 2 names where the first row has 4 cells; name every column"):
        read_all(kk.open_source(tmp_path / "in.csv", names="age,class"))


def test_a_space_in_place_of_a_number_is_a_blank(tmp_path):
    (tmp_path / "in.csv").write_text("total,word\n29.85,a\n , \n")
    assert read_all(kk.open_source(tmp_path / "in.csv")).to_pydict() == {"total": [29.85, None], "word": ["a", " "]}
