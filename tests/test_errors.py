"""What errors say beside what was wrong."""

import pickle

import pytest
from hypothesis import given, strategies as st

import kakuran as kk
from kakuran.errors import ArgumentError, counted, without_secrets
from kakuran.report.page import page
from kakuran.studio.script import NamedTable
from kakuran.words import which_there_are, words_in


@pytest.mark.parametrize(
    ("asked", "names", "meant"),
    [
        ("jobs", ["sex", "age", "job"], "job"),
        ("AGE", ["sex", "age"], "age"),
        ("workclass", [" workclass", "age"], " workclass"),
        ("年令", ["性別", "年齢"], "年齢"),
    ],
)
def test_a_slip_of_the_finger_is_pointed_out(asked, names, meant):
    listed = ", ".join(map(repr, names))
    assert which_there_are(asked, names) == f"Did you mean {meant!r}? There are {listed}."


def test_what_is_like_nothing_is_not_guessed_at():
    assert which_there_are("salary", ["job", "sex"]) == "There are 'job', 'sex'."


def test_an_argument_is_not_called_a_column():
    with pytest.raises(ArgumentError) as refused:
        kk.reconstruct([1, 2], [None], method="best")
    assert str(refused.value).startswith("method must be one of auto, ibt,")
    assert str(refused.value).endswith("got 'best'. Choose one.")
    again = pickle.loads(pickle.dumps(refused.value))
    assert (type(again), str(again)) == (ArgumentError, str(refused.value))


def test_words_fit_one_as_well_as_many():
    assert [counted(n, "record") for n in (0, 1, 1_000)] == ["0 records", "1 record", "1,000 records"]
    assert [counted(n, "axis", "axes") for n in (1, 2)] == ["1 axis", "2 axes"]


PLACES = {
    "an error": lambda text: f"{kk.SchemaError(text)!r} {kk.SchemaError(text)}",
    "an error of a column": lambda text: str(kk.DataError("job", text, "Look.", example=text)),
    "a report": lambda text: page(words_in("en"), "title", command=text),
    "again.sh": lambda text: " ".join([*NamedTable(text).words, str(NamedTable(text)), NamedTable(text).python]),
}


@pytest.mark.parametrize("place", PLACES)
@given(
    secret=st.from_regex(r"Zq[A-Za-z0-9_.~+-]{6,20}", fullmatch=True),
    address=st.sampled_from(
        [
            "postgresql://alice:{}@h:5432/db",
            "postgresql://h/db?sslmode=require&password={}",
            "s3://AKIA:{}@bucket/x.csv",
            *(f"https://h/x.csv?page=2&{name}={{}}" for name in ("code", "sig", "token", "key", "access_token")),
            "host=h password={} dbname=d",
            "dbname=d password = '{}'",
            "Server=h;PWD={};Port=1",
        ]
    ),
)
def test_a_secret_is_in_none_of_the_places_where_an_address_comes_to_stand(place, secret, address):
    assert secret not in PLACES[place](address.format(secret))


SECRETS = ("s3cretPW", "wJalr/XUt+n=FEMI", "p%40ss%2Fw", "p@ss/w?rd#1", "two words", "it's", "12345x")


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "address",
    [
        "postgresql://alice:{}@db.example:5432/people?sslmode=require",
        "postgres://alice:{}@[::1]/people",
        "postgresql://:{}@/people?host=/run/postgresql",
        "s3://AKIAKEY:{}@bucket/x.csv?endpoint_override=127.0.0.1:1&scheme=http",
        "abfs://box:{}@account.dfs.core.windows.net/x.csv",
        "https://alice:{}@host/x.csv",
    ],
)
def test_no_address_is_told_with_its_password_wherever_it_stands(address, secret):
    told = address.format(secret)
    assert secret not in without_secrets(told, told)
    assert secret not in without_secrets(f"{told}: no such file; ask admin@host", told)
    if not {" ", "'"} & set(secret):  # else nobody can tell where the address ends
        refused = kk.SchemaError(f"{told}: no such file")
        assert secret not in f"{refused!r} {refused}"
        assert without_secrets(f"see {told}, or '{told}'").count("://") == 2
        assert secret not in without_secrets(f"see {told}, or '{told}'")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("postgresql://alice:pw@h:5432/db?sslmode=require", "postgresql://alice@h:5432/db?sslmode=require"),
        ("postgresql://alice@h/db?password=pw&sslmode=require", "postgresql://alice@h/db?sslmode=require"),
        ("postgresql://h/db?sslmode=require&PASSWORD=pw", "postgresql://h/db?sslmode=require"),
        ("postgresql://h/db?p%61ssword=pw", "postgresql://h/db"),
        ("s3://AKIAKEY:TOPSECRET@bucket/x.csv?region=eu", "s3://bucket/x.csv?region=eu"),
        ("abfs://box:key==@account.dfs.core.windows.net/x", "abfs://box@account.dfs.core.windows.net/x"),
        ("abfs://box@account.dfs.core.windows.net/x?sv=1&sig=abc", "abfs://box@account.dfs.core.windows.net/x?sv=1"),
        ("gs://bucket/x?access_token=abc", "gs://bucket/x"),
        ("https://h/x?X-Amz-Credential=a&X-Amz-Signature=b&X-Amz-Date=c", "https://h/x?X-Amz-Date=c"),
        ("mysql:/root:pw@h/db", "mysql:/root@h/db"),  # as a path has it
        ("postgresql://alice:12345@host/people", "postgresql://alice@host/people"),
        ("postgresql+psycopg://alice:1234/hunter2@host:5432/db", "postgresql+psycopg://alice@host:5432/db"),
        ("postgres://alice:1234?hunter2@host/db?sslmode=require", "postgres://alice@host/db?sslmode=require"),
        ("postgresql://alice:p@ss?w@host/db?sslmode=require", "postgresql://alice@host/db?sslmode=require"),
        ("postgresql://al/ice:hunter2@host/db", "postgresql://al/ice@host/db"),
        ("s3://AKIAKEY:1234/hunter2@bucket/x", "s3://bucket/x"),
        ("https://alice:12345@host:80/x", "https://alice@host:80/x"),
        ("https://h/x?key=abc&page=2", "https://h/x?page=2"),
        ("gs://b/x?private_key=abc", "gs://b/x"),
        ("gs://b/x?Authorization=Bearer%20abc", "gs://b/x"),
        ("https://h/x?code=abc&page=2", "https://h/x?page=2"),
        ("https://h/x?sig=abc&se=2&token=def&tokens=3", "https://h/x?se=2&tokens=3"),
        ("host=h dbname=d user=alice password=pw", "host=h dbname=d user=alice password=…"),
        ("password = 'it\\'s pw' host=h", "password = … host=h"),
        ("sslpassword=pw PGPASSWORD=pw kakuran", "sslpassword=… PGPASSWORD=… kakuran"),
        ("Server=h;UID=alice;PWD=pw;Port=1", "Server=h;UID=alice;PWD=…;Port=1"),
        ("AccountName=a;AccountKey=pw==;EndpointSuffix=x", "AccountName=a;AccountKey=…;EndpointSuffix=x"),
        ("postgresql://h/db#password=pw", "postgresql://h/db"),
        ("postgresql://h/db?sslmode=require#password=p#w=d", "postgresql://h/db?sslmode=require"),
        ("postgresql://h/db?password=p#w&sslmode=require", "postgresql://h/db?sslmode=require"),
    ],
)
def test_what_is_left_of_an_address_is_enough_to_go_there_with_the_secret_from_elsewhere(address, told):
    assert without_secrets(address) == told
    assert without_secrets(told) == told


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/alice@example.csv",
        "gs://anonymous@bucket/x",
        "postgresql://h:5432/db?options=a@b",
        "http://127.0.0.1:8080/a@b#secret",
        "C:/people/a:b@c.csv, /people/2020:1@2.csv, 12:30 @ home",
        "password == 'none' and token >= 3, --centre key=mean, password",
        "passfile: postgresql://h/db?passfile=/home/a/.pgpass&sslkey=a.key",
    ],
)
def test_what_holds_no_secret_is_told_as_it_is(text):
    assert without_secrets(text) == text == without_secrets(text, text)


def test_secrets_of_an_address_are_not_repeated_by_themselves_either():
    address = "postgresql://alice:p%40ss@h/db?password=Zw9"
    assert without_secrets("no user p@ss or p%40ss, nor Zw9", address) == "no user … or …, nor …"
    assert without_secrets('"wrong" is no port', "postgresql://alice:wrong/pw@h/db") == '"…" is no port'


def test_looking_for_secrets_takes_no_longer_than_reading():
    without_secrets("a." * 200_000)
    without_secrets("password=" * 50_000)
    without_secrets("password" * 50_000)
    without_secrets("password = '" + "\\'" * 200_000)
    without_secrets("a://" + "b:" * 200_000)
    without_secrets("a://b:c?" + "&password" * 50_000)
