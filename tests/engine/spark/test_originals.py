"""Releases of DataFrames and of files that Spark reads."""

import json
import signal
import sys
import warnings

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran.cli import main
from kakuran.counts import Tally
from kakuran.design import count_columns
from kakuran.engine.spark import Originals, originals, read_originals
from kakuran.errors import CalibrationError, DataError, ReleaseError, SchemaError
from kakuran.samples import census, census_schema

SCHEMA = census_schema()
PEOPLE = census(3_000)


@pytest.fixture
def folder(tmp_path):
    """The census as a folder of three Parquet files, and as one of three CSV files."""
    for number in range(3):
        part = PEOPLE.slice(1_000 * number, 1_000)
        for kind, write in (("parquet", pq.write_table), ("csv", pyarrow.csv.write_csv)):
            (tmp_path / kind).mkdir(exist_ok=True)
            write(part, tmp_path / kind / f"part{number}.{kind}")
    SCHEMA.save(tmp_path / "schema.toml")
    return tmp_path


@pytest.fixture
def kakuran(monkeypatch, folder, capsys, spark):
    """Run the command in this process, where there is a session already; its exit code and what it said."""

    def run(*arguments):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["kakuran", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return end.value.code, said.out, said.err

    monkeypatch.setattr(signal, "signal", lambda *_: None)
    return run


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def rows_of(table):
    return sorted(map(str, table.to_pylist()))


def test_a_folder_of_files_becomes_a_folder_that_anybody_can_read(kakuran, folder, spark, monkeypatch):
    monkeypatch.setattr(originals, "ROWS_A_FILE", 1_000)
    command = ["perturb", "parquet", "-s", "schema.toml", "--k", 20, "-o", "out", "--engine", "spark", "--json"]
    code, answer, said = kakuran(*command)
    assert code == 0, said
    assert json.loads(answer)["k"] == 20
    assert "wrote the folder out: 3,000 records, k = 20" in said
    assert "as in kakuran crosstab out " in said
    assert names_in(folder / "out") == ["_release.json", *(f"part-{number:05}.parquet" for number in range(3))]
    assert names_in(folder) == ["csv", "out", "parquet", "schema.toml"]
    release = kk.read_release(folder / "out")
    assert release.n == 3_000
    assert release.plan == kk.calibrate(SCHEMA, n=3_000, k=20)
    assert rows_of(release.table) == rows_of(pq.read_table(folder / "out")) != rows_of(PEOPLE)
    assert spark.read.parquet(str(folder / "out")).count() == 3_000
    code, _, said = kakuran(*command)
    assert (code, "exists already" in said) == (5, True)
    for refused in ("--keep-order", "--sql=select 1"):
        assert kakuran(*command, "--force", refused)[0] == 2
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, _, said = kakuran(*command, "--force", "--seed", 7)
    assert (code, "not for publication" in said) == (0, True)
    assert rows_of(kk.read_release(folder / "out").table) != rows_of(release.table)


def test_csv_is_read_as_locally(spark, folder):
    found = read_originals(spark, folder / "csv", SCHEMA)
    assert isinstance(found, Originals)
    counted, expected = found.count_columns(SCHEMA.released), Tally.of_columns(SCHEMA.released)
    expected.update(SCHEMA.encode(PEOPLE), 3_000)
    assert (counted.counts == expected.counts).all()


def test_csv_in_another_encoding_is_read_as_told(kakuran, folder):
    text = (folder / "csv/part0.csv").read_text(encoding="utf-8").replace(",", ";")
    (folder / "people.csv").write_text(text, encoding="utf-16")
    arguments = ("perturb", "people.csv", "-s", "schema.toml", "--k", 10, "-o", "out", "--engine", "spark")
    assert kakuran(*arguments)[0] == 3
    assert kakuran(*arguments, "--encoding", "utf-16")[0] == 0
    assert kk.read_release(folder / "out").n == 1_000


def test_decimal_commas_are_read_as_told_and_a_bad_number_is_placed(spark, tmp_path):
    schema = kk.Schema([kk.Numeric("pay", 0, 2_000, step=0.5), kk.Categorical("code", ["1,5", "2"])])
    path = tmp_path / "people.csv"
    path.write_text("pay;code\n1.234,5;1,5\n950;2\n", encoding="utf-8")
    counted = read_originals(spark, path, schema, decimal=",", thousands=".").count_columns(schema.released)
    locally = count_columns(schema, kk.open_source(path, decimal=",", thousands="."))
    assert counted.n == 2
    assert (counted.counts == locally.counts).all()
    with pytest.raises(kk.DataError, match=r"'1\.234,5', in .*people\.csv, rows 1 to 2\. Say .* --thousands"):
        read_originals(spark, path, schema, decimal=",").count_columns(schema.released)


def test_missing_cells_and_odd_column_names_are_read_as_locally(spark, tmp_path):
    schema = kk.Schema(
        [
            kk.Categorical("a.b", ["x", "y, z"], missing="category"),
            kk.Numeric("n `1`", 0, 9, step=1, missing="category"),
            kk.Categorical("flag", [True, False]),
        ]
    )
    path = tmp_path / "odd.csv"
    path.write_text('a.b,n `1`,flag\n"y, z",3,true\n,NA,false\nx,,true\n', encoding="utf-8")
    locally = count_columns(schema, kk.open_source(path))
    table = pa.table({"n `1`": [3, None, None], "flag": [True, False, True], "a.b": ["y, z", "", "x"]})
    for found in (read_originals(spark, path, schema), Originals(spark.createDataFrame(table), schema)):
        counted = found.count_columns(schema.released)
        assert counted.n == 3
        assert (counted.counts == locally.counts).all()


def test_bad_data_names_its_file_and_column_and_nothing_is_published(kakuran, folder):
    bad = PEOPLE.slice(0, 500).set_column(1, "age", pa.array([30] * 498 + [480, 530]))
    pq.write_table(bad, folder / "parquet/part1.parquet", row_group_size=300)
    code, _, said = kakuran("perturb", "parquet", "-s", "schema.toml", "--k", 20, "-o", "out", "--engine", "spark")
    assert code == 3
    assert "column 'age': 2 rows outside" in said
    assert f"{folder / 'parquet/part1.parquet'}, row group 1" in said
    assert "Traceback" not in said
    assert names_in(folder) == ["csv", "parquet", "schema.toml"]


def test_bad_data_in_a_frame_straight_from_files_names_its_file(spark, folder):
    pq.write_table(PEOPLE.slice(0, 9).set_column(1, "age", pa.array([480] * 9)), folder / "parquet/part1.parquet")
    with pytest.raises(DataError, match=r"column 'age': 9 rows outside .*, in .*parquet/part1.parquet"):
        Originals(spark.read.parquet(str(folder / "parquet")), SCHEMA).count_columns(SCHEMA.released)


def test_text_that_is_no_number_is_bad_data_and_not_missing(spark, folder):
    path = folder / "csv/part2.csv"
    path.write_text(
        path.read_text(encoding="utf-8").replace("\n", '\n"male","old","retired","west"\n', 1), encoding="utf-8"
    )
    with pytest.raises(DataError, match=r"not a valid double, for example 'old', in .*part2.csv, after row 0"):
        read_originals(spark, folder / "csv", SCHEMA).count_columns(SCHEMA.released)


def test_values_of_the_data_do_not_reach_the_files_of_a_failed_run(spark, tmp_path):
    """What the tasks write down of bad data says how much there is, not what it is."""
    table = spark.createDataFrame(pa.table({"job": ["clerk"] * 99 + ["only one spy"]}))
    schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse"])])
    with pytest.raises(DataError, match="1 row not among the 2 declared values, for example 'only one spy'"):
        Originals(table, schema).draw(kk.calibrate(schema, n=100, k=2, tell="all"), tmp_path)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert not [path for path in written if b"spy" in path.read_bytes()]


def test_the_promise_is_checked_before_anything_is_published(spark, tmp_path):
    kept = kk.Schema([kk.Categorical("sex", ["female", "male"], role="keep"), kk.Numeric("age", 0, 120, step=1)])
    table = pa.table({"sex": ["female"] * 90 + ["male"] * 10, "age": [30] * 100})
    frame = spark.createDataFrame(table).repartition(3)
    with pytest.raises(CalibrationError, match="there are only 10 in the smallest group"):
        kk.perturb_file(frame, tmp_path / "out", kk.calibrate(kept, n=90, k=5, tell="all"))
    with pytest.raises(CalibrationError, match="the table is empty"):
        kk.perturb_file(frame.limit(0), tmp_path / "out", kk.calibrate(kept, n=90, k=5, tell="all"))
    tally = Originals(frame, kept).count_columns(kept.released)
    plan = kk.calibrate(kept, data=tally, calibration="data-dependent", k=5, tell="all")
    with pytest.raises(CalibrationError, match="calibrated on another table"):
        kk.perturb_file(frame.where("sex = 'female' or age < 0").limit(4), tmp_path / "out", plan)
    assert names_in(tmp_path) == []


def test_a_seed_gives_the_same_release_again_and_marks_it(spark, tmp_path):
    frame = spark.createDataFrame(PEOPLE).repartition(3, "sex", "job")
    plan = kk.calibrate(SCHEMA, n=3_000, k=20, tell="all")
    tables = []
    for name in ("one", "other"):
        with pytest.warns(kk.NotForPublicationWarning):
            manifest = kk.perturb_file(frame, tmp_path / name, plan, seed=7)
        assert manifest.seeded
        tables.append(kk.read_release(tmp_path / name).table)
    assert tables[0].equals(tables[1])


def test_how_a_table_lies_in_partitions_does_not_show(spark, tmp_path):
    """All people say the same and nothing is perturbed, so that releases could differ in their layout alone."""
    schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse"])])
    mechanisms = {"job": kk.RetentionReplacement(2, 1.0)}
    plan = kk.Plan.of_mechanisms(schema, mechanisms, n=1, k=1.0, calibration="worst-case")
    people = spark.createDataFrame(pa.table({"job": ["nurse"] * 500}))
    for partitions in (1, 4):
        kk.perturb_file(people.repartition(partitions), tmp_path / f"{partitions}", plan)
    found = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("1", "4")]
    assert found[0] == found[1]


def test_a_release_on_spark_is_entered_in_a_ledger_and_one_that_fails_is_withdrawn(spark, tmp_path):
    ledger = kk.Ledger.create(tmp_path / "people.ledger", "them", k=20)
    frame = spark.createDataFrame(PEOPLE)
    with pytest.raises(CalibrationError, match="there are only 3,000"):
        kk.perturb_file(frame, tmp_path / "out", kk.calibrate(SCHEMA, n=3_001, k=20, tell="all"), ledger=ledger)
    kk.perturb_file(frame, tmp_path / "out", kk.calibrate(SCHEMA, n=3_000, k=20, tell="all"), ledger=ledger)
    assert [entry.state for entry in ledger.account().entries] == ["withdrawn", "made"]
    with pytest.raises(CalibrationError, match="k = 10 would be left"):
        kk.perturb_file(frame, tmp_path / "more", kk.calibrate(SCHEMA, n=3_000, k=10, tell="all"), ledger=ledger)
    assert names_in(tmp_path) == ["out", "people.ledger"]


def test_a_frame_cannot_be_perturbed_lazily_nor_in_its_order(spark, tmp_path):
    frame = spark.createDataFrame(PEOPLE)
    plan = kk.calibrate(SCHEMA, n=3_000, k=20, tell="all")
    with pytest.raises(ReleaseError, match="perturb_file"):
        kk.perturb(frame, plan)
    with pytest.raises(ReleaseError, match="no order"):
        kk.perturb_file(frame, tmp_path / "out", plan, shuffle=False)
    with pytest.raises(DataError, match="column 'age': declared in the schema but not in the table"):
        kk.perturb_file(frame.drop("age"), tmp_path / "out", plan)


def test_what_cannot_be_read_is_said_in_one_line(spark, tmp_path):
    with pytest.raises(SchemaError, match=r"nothing.parquet: no such file"):
        read_originals(spark, tmp_path / "nothing.parquet", SCHEMA)
    (tmp_path / "not.parquet").write_text("text", encoding="utf-8")
    with pytest.raises(SchemaError, match="cannot be read"):
        read_originals(spark, tmp_path / "not.parquet", SCHEMA)
    release = kk.perturb(PEOPLE, kk.calibrate(SCHEMA, n=3_000, k=20, tell="all"))
    release.save(tmp_path / "release.csv")
    with pytest.raises(ReleaseError, match="Spark counts Parquet files, not CSV"):
        kk.read_release(tmp_path / "release.csv", spark=spark)


def test_what_goes_wrong_on_the_executors_is_said_in_one_line(spark, tmp_path):
    def broken(batches):
        raise RuntimeError("the disk is on fire")

    frame = spark.createDataFrame(PEOPLE)
    with pytest.raises(ReleaseError, match=r"^Spark failed: RuntimeError: the disk is on fire$"):
        kk.perturb_file(
            frame.mapInArrow(broken, frame.schema), tmp_path / "out", kk.calibrate(SCHEMA, n=3_000, k=20, tell="all")
        )
    assert names_in(tmp_path) == []


def test_missing_values_of_any_type_are_released_as_missing(spark, tmp_path):
    """True/false, whole numbers of both lengths, fractions and text, 30 % missing: shares within 6 standard errors."""
    n = 4000
    columns = {
        "flag": (pa.bool_(), [True, False]),
        "short": (pa.int32(), [7, 0, 3]),
        "long": (pa.int64(), [2**53, 2**53 + 1]),
        "fraction": (pa.float64(), [0.5, -2.0]),
        "text": (pa.string(), ["a", "NA"]),
    }
    table = pa.table(
        {
            name: pa.array([None if at % 10 < 3 else kinds[at % len(kinds)] for at in range(n)], kind)
            for name, (kind, kinds) in columns.items()
        }
    )
    frame = spark.createDataFrame(table).repartition(2)
    schema = kk.Schema([kk.Categorical(name, kinds, missing="category") for name, (_, kinds) in columns.items()])
    plan = kk.calibrate(schema, n=n, k=2, tell="all")
    kk.perturb_file(frame, tmp_path / "out", plan)
    released = pq.read_table(tmp_path / "out")
    for name, (_, kinds) in columns.items():
        column, kept = released[name].to_pylist(), plan[name].retention
        assert set(column) == {None, *kinds}
        assert {type(value) for value in column} == {type(None), type(kinds[0])}
        expected = kept * 0.3 + (1 - kept) / (len(kinds) + 1)
        assert abs(column.count(None) / n - expected) < 6 * 0.5 / n**0.5
