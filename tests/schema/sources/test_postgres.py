"""A real PostgreSQL server as a source."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.schema import open_source
from kakuran.schema.sources import base, databases as postgres

PROGRAMS = [
    Path(path).parent for path in (shutil.which("initdb"), *Path("/usr/lib/postgresql").glob("*/bin/initdb")) if path
]


@pytest.fixture(scope="module")
def server():
    """The address of a server of our own, reached by a socket; it refuses to run as root."""
    account = pwd.getpwnam("nobody") if os.getuid() == 0 else None
    as_other = {"user": account.pw_uid, "group": account.pw_gid} if account else {}
    folder = Path(tempfile.mkdtemp())
    if account:
        os.chown(folder, account.pw_uid, account.pw_gid)

    def run(program, *arguments):
        command = [PROGRAMS[0] / program, "-D", folder / "data", *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, **as_other)

    run("initdb", "-U", "steward", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
    run("pg_ctl", "-w", "-l", folder / "log", "-o", f"-k {folder} -c listen_addresses=''", "start")
    try:
        yield f"postgresql://steward:secret@/postgres?host={folder}"
    finally:
        run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def people(server):
    with psycopg.connect(server) as connection:
        connection.execute("create table people (name text, job text, age int, weight numeric, smokes bool)")
        connection.execute(
            "insert into people select 'person ' || i, case i % 4 when 0 then null when 1 then '' "
            "when 2 then 'a \"quoted\", \n job' else 'nurse' end, i % 90, i / 10.0, i % 2 = 0 "
            "from generate_series(0, 999) i"
        )
    return server


@pytest.fixture(autouse=True)
def signature_seen_once(request, monkeypatch):
    """Checking that of DuckDB's extension takes longer than any query: only the first test has it done."""
    connect = duckdb.connect
    if request.function is not test_it_knows_its_columns_and_its_length:
        monkeypatch.setattr(
            "duckdb.connect", lambda config: connect(config=config | {"allow_unsigned_extensions": True})
        )


QUERY = "select * from people order by age, name"


def test_it_knows_its_columns_and_its_length(people):
    source = open_source(people, sql=QUERY)
    assert source.names == ["name", "job", "age", "weight", "smokes"]
    assert source.rows == 1000


def test_only_what_is_wanted_is_read_and_missing_is_told_from_empty(people):
    wanted = {"job": pa.string(), "age": pa.float64()}
    source = open_source(people, sql="select * from people order by length(name), name;")
    rows = [row for part in source.parts(wanted) for row in part.records.to_pylist()]
    assert rows[:4] == [
        {"job": None, "age": 0},
        {"job": "", "age": 1},
        {"job": 'a "quoted", \n job', "age": 2},
        {"job": "nurse", "age": 3},
    ]
    assert len(rows) == 1000


def test_types_are_those_of_the_server(people):
    (batch, *_) = (part.records for part in open_source(people, sql=QUERY).parts())
    assert [str(kind) for kind in batch.schema.types] == ["string", "string", "int64", "double", "bool"]


VALUES = {
    "7::smallint": 7,
    "7::bigint": 7,
    "9007199254740993::bigint": 9007199254740993,
    "1.1::real": 1.1,
    "0.1::double precision": 0.1,
    "1.25::numeric": 1.25,
    "1.25::numeric(8, 2)": 1.25,
    "123456789012345678901234567890.5::numeric(40, 10)": 123456789012345678901234567890.5,
    "true": True,
    "'né, \"a\"'::varchar(9)": 'né, "a"',
    "''": "",
    "date '2020-02-29'": "2020-02-29",
    "timestamp '2020-02-29 01:02:03.5'": "2020-02-29 01:02:03.5",
    "interval '1 day'": "1 day",
    "'00000000-0000-0000-0000-00000000000a'::uuid": "00000000-0000-0000-0000-00000000000a",
    "array[1, 2]": "{1,2}",
    "'{\"a\": 1}'::json": '{"a": 1}',
    "'on the way'::mood": "on the way",
}


def test_numbers_and_truth_stay_what_they_are_and_all_else_is_text_as_the_server_writes_it(people):
    with psycopg.connect(people) as connection:
        connection.execute("create type mood as enum ('here', 'on the way')")
    listed = ", ".join(f"{value} as x{place}" for place, value in enumerate(VALUES))
    source = open_source(people, sql=f"select {listed} union all select {', '.join(['null'] * len(VALUES))}")
    (batch,) = (part.records for part in source.parts())
    assert [column.to_pylist() for column in batch.columns] == [[value, None] for value in VALUES.values()]


def test_a_number_is_text_where_the_schema_says_so(people):
    (batch,) = (part.records for part in open_source(people, sql="select 7 as code").parts({"code": pa.string()}))
    assert batch.column("code").to_pylist() == ["7"]


def test_it_is_perturbed_into_a_release(people, tmp_path):
    schema = kk.Schema([kk.Numeric("age", 0, 89, step=1), kk.Categorical("smokes", [False, True])])
    source = open_source(people, sql="select age, smokes from people")
    manifest = kk.perturb_file(source, tmp_path / "out.parquet", kk.calibrate(schema, n=1000, k=10, tell="all"))
    assert manifest.records == 1000


def test_a_bad_value_is_named_with_where_it_lies(people, tmp_path):
    schema = kk.Schema([kk.Numeric("age", 0, 50, step=1)])
    source = open_source(people, sql="select age from people")
    with pytest.raises(
        kk.DataError, match=r"column 'age': .* outside 0 … 50, .* in postgresql://.*/postgres, rows 1 to"
    ):
        kk.perturb_file(source, tmp_path / "out.parquet", kk.calibrate(schema, n=1000, k=10, tell="all"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sql", ["selekt", "select * from nowhere", "delete from people returning *"])
def test_a_query_that_is_none_is_refused_without_telling_the_password(people, sql):
    with pytest.raises(kk.SchemaError) as caught:
        _ = open_source(people, sql=sql).names
    assert "secret" not in str(caught.value)
    assert open_source(people, sql=QUERY).rows == 1000


@pytest.mark.parametrize(
    "sql",
    [
        "select 1 as a) as s cross join (select 2 as b",
        "select 1 as a) as s; copy (select 1) to program 'touch {stolen}'; select * from (select 1 as a",
        "select 1 as a) as s; commit; copy people to '{stolen}'; select * from (select 1 as a",
        "select 1 as a) as s) to program 'touch {stolen}'; --",
        "select 1 as a; copy people to '{stolen}'",
        "copy people to program 'touch {stolen}'",
        "with gone as (delete from people returning *) select * from gone",
        "select set_config('transaction_read_only', 'off', false) as a",
    ],
)
def test_a_query_that_would_do_more_than_ask_is_refused_and_writes_nothing(people, tmp_path, sql):
    tmp_path.chmod(0o777)
    source = open_source(people, sql=sql.format(stolen=tmp_path / "stolen"))
    for asked in (lambda: source.rows, lambda: list(source.parts())):
        with pytest.raises(kk.SchemaError):
            asked()
    assert list(tmp_path.iterdir()) == []
    assert open_source(people, sql=QUERY).rows == 1000


def test_a_query_may_not_change_anything_by_way_of_a_function(people):
    with psycopg.connect(people) as connection:
        connection.execute("create table visits (at int)")
        connection.execute(
            "create function visit() returns int language sql as 'insert into visits values (1) returning at'"
        )
    with pytest.raises(kk.SchemaError, match="cannot execute INSERT in a read-only transaction"):
        list(open_source(people, sql="select visit()").parts())


def test_what_goes_wrong_deep_in_the_result_is_told(people):
    source = open_source(people, sql="select 1 / (i - 300000) as x from generate_series(1, 400000) i")
    with pytest.raises(kk.SchemaError, match="postgresql:///postgres: division by zero"):
        list(source.parts())


def test_a_query_is_in_the_dialect_of_the_server(people):
    source = open_source(people, sql="select distinct on (smokes) age::text as age from people order by smokes, age")
    assert [row["age"] for part in source.parts() for row in part.records.to_pylist()] == ["1", "0"]


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://steward:secret@127.0.0.1:1/postgres",
        "postgresql://steward:sec%72et@127.0.0.1:1/postgres",
        "postgresql://127.0.0.1:1/postgres?user=steward&password=secret",
    ],
)
def test_a_server_that_is_not_there_is_refused_without_telling_the_password(address):
    with pytest.raises(kk.SchemaError, match=r"postgresql://.*Connection refused") as caught:
        _ = open_source(address, sql="select 1").names
    assert "secret" not in str(caught.value)
    assert "sec%72et" not in str(caught.value)


def test_without_the_extension_at_hand_or_to_be_had_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(postgres, "_WHEEL", "no_such_package")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with pytest.raises(kk.errors.MissingExtraError, match=r"pip install 'kakuran\[postgres\]'"):
        _ = open_source("postgresql://host/name", sql="select 1").names


def test_a_query_must_be_given():
    with pytest.raises(kk.SchemaError, match="needs a query"):
        open_source("postgresql://host/name")


def test_reading_may_stop_early(people, monkeypatch):
    monkeypatch.setattr(base, "BATCH", 2048)
    parts = open_source(people, sql="select 1 as one from generate_series(1, 100000)").parts()
    assert len(next(parts)) == 2048
    parts.close()
    assert open_source(people, sql=QUERY).rows == 1000
