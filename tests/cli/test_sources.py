"""The commands take whatever holds records."""

from __future__ import annotations

import json

import duckdb
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran.release.files import FOLDER_MANIFEST
from kakuran.samples import census


@pytest.fixture
def shapes(folder):
    """The census of the folder as several files, as Arrow, in folders that tell a column, and in a database."""
    people = census(800)
    for number in range(4):
        (folder / "many").mkdir(exist_ok=True)
        pq.write_table(people.slice(200 * number, 200), folder / "many" / f"part-{number}.parquet")
    pyarrow.feather.write_feather(people, folder / "people.arrow")
    pq.write_to_dataset(people, folder / "parted", partition_cols=["region"])
    with duckdb.connect(folder / "people.duckdb") as connection:
        connection.register("given", people)
        connection.sql("create table people as from given")
        connection.sql("create table others as select 1 as one")
    return folder


@pytest.mark.parametrize(
    "data",
    [
        ("many/*.parquet",),
        ("many",),
        ("people.arrow",),
        ("parted",),
        ("people.duckdb", "--sql", "select * from people"),
        ("people.csv", "--sql", "from data"),
    ],
    ids=" ".join,
)
def test_any_source_is_drafted_checked_calibrated_perturbed_and_audited(kakuran, shapes, data):
    source, *sql = data
    for command in (
        ("schema", "infer", source, *sql, "-o", "draft.toml"),
        ("schema", "check", source, *sql, "-s", "schema.toml"),
        ("perturb", source, *sql, "-s", "schema.toml", "--k", 10, "-o", "out.parquet"),
        ("audit", source, "out.parquet", *sql),
    ):
        done = kakuran(*command)
        assert done.returncode == 0, done.stderr
    shown = kakuran("calibrate", source, *sql, "-s", "schema.toml", "--k", 10, "--json")
    assert json.loads(shown.stdout)["n"] == 800
    assert kk.read_release(shapes / "out.parquet").n == 800


def test_decimal_commas_are_refused_with_the_options_that_then_read_them(kakuran, folder):
    rows = "".join(f"{pay // 1000}.{pay % 1000:03},50;{'AB'[pay % 20 // 10]}\n" for pay in range(1_000, 5_000, 10))
    (folder / "pay.csv").write_text("pay;team\n" + rows, encoding="utf-8")
    options = ("--decimal", ",", "--thousands", ".")
    drafted = kakuran("schema", "infer", "pay.csv", "-o", "pay.toml")
    assert '--decimal "," --thousands "."' in drafted.stderr
    drafted = kakuran("schema", "infer", "pay.csv", "-o", "pay.toml", "--force", *options)
    assert "not written plainly" not in drafted.stderr
    kakuran("schema", "confirm", "pay.toml")
    command = ("perturb", "pay.csv", "-s", "pay.toml", "--k", 5, "-o", "out.csv")
    for made in (kakuran(*command), kakuran("calibrate", "pay.csv", "-s", "pay.toml", "--k", 5, "--data-dependent")):
        assert made.returncode == 3
        assert 'Say how numbers are written: --decimal "," --thousands "."' in made.stderr
    made = kakuran(*command, *options)
    assert made.returncode == 0, made.stderr
    assert kk.read_release(folder / "out.csv").n == 400


@pytest.mark.parametrize(
    "command",
    [
        ("check", "pay.csv", "-q", "pay"),
        ("microaggregate", "pay.csv", "--k", 2, "-o", "out.csv", "--force"),
        ("loss", "pay.csv", "pay.csv"),
    ],
    ids=lambda command: command[0],
)
def test_where_no_schema_says_numbers_those_taken_for_text_are_warned_of(kakuran, folder, command):
    (folder / "pay.csv").write_text("pay;code;town\n" + "3,5;01;x\n4,5;02;y\n" * 3, encoding="utf-8")
    warned = kakuran(*command)
    assert (
        "column 'pay' is taken for text. If they are numbers, say how they are written in a CSV file: --decimal \",\""
        in warned.stderr
    )
    assert warned.stderr.count("taken for text") == 1
    assert "taken for text" not in kakuran(*command, "--decimal", ",").stderr


def test_a_query_chooses_who_is_released(kakuran, shapes):
    done = kakuran(
        "perturb", "people.duckdb", "--sql", "select * from people where age < 40",
        "-s", "schema.toml", "--k", 10, "-o", "out.parquet",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    young = sum(age < 40 for age in census(800)["age"].to_pylist())
    assert kk.read_release(shapes / "out.parquet").n == young


def test_a_bad_value_deep_in_many_files_is_named_and_nothing_is_published(kakuran, shapes, listing):
    people = census(800).slice(600, 200)
    ages = [*people["age"].to_pylist()[:-1], 300]
    place = people.column_names.index("age")
    pq.write_table(people.set_column(place, "age", [ages]), shapes / "many" / "part-3.parquet", row_group_size=50)
    before = listing()
    done = kakuran("perturb", "many", "-s", "schema.toml", "--k", 10, "-o", "out.parquet")
    assert done.returncode == 3
    told = " ".join(done.stderr.split())
    assert "column 'age': 1 row outside 15 … 94, for example 300.0, in many/part-3.parquet, row group 3." in told
    assert listing() == before


def test_a_release_in_a_folder_is_asked_like_any_other(kakuran, folder):
    release = kk.perturb(census(800), kk.calibrate(kk.Schema.load(folder / "schema.toml"), n=800, k=10))
    (folder / "out").mkdir()
    for number in range(2):
        pq.write_table(release.table.slice(400 * number, 400), folder / "out" / f"part-{number}.parquet")
    (folder / "out" / FOLDER_MANIFEST).write_text(release.manifest.to_json(), encoding="utf-8")
    release.save(folder / "out.parquet")
    answers = [kakuran("crosstab", path, "sex", "--json") for path in ("out", "out.parquet")]
    assert answers[0].returncode == 0, answers[0].stderr
    assert json.loads(answers[0].stdout) == json.loads(answers[1].stdout)


def test_what_is_no_source_gets_one_clear_sentence(kakuran, shapes):
    for data, told in (
        ("nothing/*.csv", "no .csv, .parquet or .arrow file there"),
        ("people.duckdb", "which table? it has others, people"),
        ("postgresql://nowhere/x", "needs a query"),
    ):
        done = kakuran("perturb", data, "-s", "schema.toml", "--k", 10, "-o", "out.parquet")
        assert done.returncode == 3
        assert told in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("check", "-q", "age"), "the table is empty"),
        (("microaggregate", "--k", 5, "-o", "out.csv"), "k=5 is more than the 0 records"),
        (("factorise", "--k", 5, "-o", "out.csv", "--layout", "long"), "holds no row"),
        (("audit", "out.parquet"), "the original has 0 records but the release has 800"),
    ],
    ids=lambda part: part[0] if isinstance(part, tuple) else "",
)
def test_a_table_of_nobody_gets_one_clear_sentence(kakuran, shapes, command, told):
    if command[0] == "audit":
        plan = kk.calibrate(kk.Schema.load(shapes / "schema.toml"), n=800, k=10)
        kk.perturb(census(800), plan).save(shapes / "out.parquet")
    pq.write_table(census(800).slice(0, 0), shapes / "nobody.parquet")
    done = kakuran(command[0], "nobody.parquet", *command[1:])
    assert done.returncode in (3, 4, 5)
    assert told in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "command", [("check", "-q", "job"), ("microaggregate", "--k", 5, "-o", "out.csv", "-c", "age", "--json")]
)
def test_a_query_chooses_who_is_checked_and_aggregated(kakuran, shapes, command):
    done = kakuran(command[0], "people.duckdb", "--sql", "select job, age from people where age < 40", *command[1:])
    assert done.returncode == 0, done.stderr
    young = sum(age < 40 for age in census(800)["age"].to_pylist())
    assert f"{young:,}" in done.stdout


def test_a_semicolon_file_in_shift_jis_goes_all_the_way_to_a_plain_release(kakuran, folder, rough_models, fewer_ks):
    names = {"sex": "性別", "age": "年齢", "job": "職業", "region": "地域"}
    people = census(800).rename_columns(names).to_pandas()
    people.to_csv(folder / "people.csv", sep=";", index=False, encoding="cp932", lineterminator="\r\n")
    refused = kakuran("schema", "infer", "people.csv", "-o", "draft.toml")
    assert refused.returncode == 3
    assert "perhaps cp932 (Shift-JIS). Add --encoding cp932 " in refused.stderr
    told = ("--encoding", "cp932")
    assert kakuran("schema", "infer", "people.csv", "-o", "draft.toml", *told).returncode == 0
    assert kakuran("schema", "confirm", "draft.toml").returncode == 0
    for command in (
        ("schema", "check", "people.csv", "-s", "draft.toml"),
        ("calibrate", "people.csv", "-s", "draft.toml", "--k", 10),
        ("perturb", "people.csv", "-s", "draft.toml", "--k", 10, "-o", "out.csv"),
        ("audit", "people.csv", "out.csv"),
        ("advise", "people.csv", "-s", "draft.toml", "--k", 10),
        ("check", "people.csv", "-q", "性別"),
        ("microaggregate", "people.csv", "--k", 3, "-c", "年齢", "-o", "aggregated.csv"),
        ("loss", "people.csv", "aggregated.csv"),
    ):
        done = kakuran(*command, *told)
        assert done.returncode == 0, done.stderr
    assert (folder / "out.csv").read_text("utf-8").startswith('"told","性別","年齢","職業","地域"\n')
