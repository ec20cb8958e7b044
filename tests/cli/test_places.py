"""Commands read and write the standard streams, and object stores: here as much of S3 as pyarrow asks for."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pyarrow.csv
import pyarrow.parquet as pq
import pytest


class ObjectStore(ThreadingHTTPServer):
    """Objects by bucket/key."""

    daemon_threads = True

    def __init__(self):
        self.objects, self.parts = {}, {}
        super().__init__(("127.0.0.1", 0), Requests)


class Requests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _asked(self):
        address = urlsplit(self.path)
        self.key, self.query = unquote(address.path).strip("/"), parse_qs(address.query, keep_blank_values=True)
        sent = b"".join(pieces(self.rfile)) if "transfer-encoding" in self.headers else self._whole()
        return b"".join(pieces(io.BytesIO(sent))) if "aws-chunked" in self.headers.get("content-encoding", "") else sent

    def _whole(self):
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _answer(self, code, body=b"", **headers):
        self.send_response(code)
        for name, value in {"content-length": str(len(body)), "etag": '"made-up"', **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _xml(self, name, **texts):
        inside = "".join(f"<{tag}>{escape(text)}</{tag}>" for tag, text in texts.items())
        self._answer(200, f"<{name}>{inside}</{name}>".encode(), content_type="application/xml")

    def do_PUT(self):
        body = self._asked()
        if "partNumber" in self.query:
            self.server.parts[self.query["uploadId"][0], int(self.query["partNumber"][0])] = body
        elif "/" in self.key:
            self.server.objects[self.key] = body
        self._answer(200)

    def do_POST(self):
        self._asked()
        bucket, _, key = self.key.partition("/")
        if "uploads" in self.query:
            self._xml("InitiateMultipartUploadResult", Bucket=bucket, Key=key, UploadId=f"of-{len(self.server.parts)}")
            return
        mine = sorted(part for part in self.server.parts if part[0] == self.query["uploadId"][0])
        self.server.objects[self.key] = b"".join(self.server.parts.pop(part) for part in mine)
        self._xml("CompleteMultipartUploadResult", Bucket=bucket, Key=key, ETag='"made-up"')

    def do_HEAD(self):
        self._asked()
        found = self.server.objects.get(self.key)
        if found is None:
            self._answer(200 if "/" not in self.key else 404)
        else:
            self._answer(200, found, last_modified="Mon, 16 Nov 2026 00:00:00 GMT")

    def do_GET(self):
        self._asked()
        if "/" not in self.key:
            self._list(self.key, self.query.get("prefix", [""])[0])
        elif (found := self.server.objects.get(self.key)) is None:
            self._answer(404)
        else:
            first, last = re.findall(r"\d+", self.headers.get("range", f"0-{len(found)}"))
            wanted = found[int(first) : int(last) + 1]
            told = f"bytes {first}-{int(first) + len(wanted) - 1}/{len(found)}"
            self._answer(206, wanted, content_range=told, last_modified="Mon, 16 Nov 2026 00:00:00 GMT")

    def _list(self, bucket, prefix):
        keys = [key.partition("/")[2] for key in sorted(self.server.objects) if key.startswith(f"{bucket}/{prefix}")]
        moment = "2026-11-16T00:00:00.000Z"
        listed = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{moment}</LastModified>"
            f"<Size>{len(self.server.objects[f'{bucket}/{key}'])}</Size></Contents>"
            for key in keys
        )
        told = f"<Name>{bucket}</Name><KeyCount>{len(keys)}</KeyCount><IsTruncated>false</IsTruncated>{listed}"
        self._answer(200, f"<ListBucketResult>{told}</ListBucketResult>".encode(), content_type="application/xml")


def pieces(stream):
    """What was sent in pieces, each behind its length in hexadecimal digits; what follows the last is skipped."""
    while length := int(stream.readline().split(b";")[0], 16):
        yield stream.read(length)
        stream.readline()
    while stream.readline().strip():
        pass


@pytest.fixture(scope="module")
def listening():
    """A store that listens, as S3 does: one for all tests, as pyarrow keeps its connections."""
    with ObjectStore() as store:
        thread = Thread(target=store.serve_forever, daemon=True)
        thread.start()
        yield store
        store.shutdown()
        thread.join()


@pytest.fixture
def store(listening, folder, monkeypatch):
    """The same with nothing but the census in it; private copies are made beside the folder."""
    listening.objects.clear()
    for name in ("people.csv", "people.parquet", "schema.toml"):
        listening.objects[f"bucket/{name}"] = (folder / name).read_bytes()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anybody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{listening.server_port}")
    return listening


@pytest.fixture(autouse=True)
def copies(tmp_path_factory, monkeypatch):
    """Where copies are made; none is left."""
    place = tmp_path_factory.mktemp("copies")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert list(place.iterdir()) == []


@pytest.fixture
def pipe(monkeypatch):
    """Let bytes come through the standard input."""
    return lambda content: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


PROMISE = ("-s", "s3://bucket/schema.toml", "--k", 10)


def test_a_table_in_a_store_becomes_a_release_in_a_store_and_is_asked_there(kakuran, store):
    told = kakuran("perturb", "s3://bucket/people.csv", *PROMISE, "-o", "s3://bucket/out/release.parquet")
    assert told.returncode == 0, told.stderr
    assert "wrote s3://bucket/out/release.parquet: 800 records" in told.stderr
    assert pq.read_table(io.BytesIO(store.objects["bucket/out/release.parquet"])).num_rows == 800
    asked = kakuran("crosstab", "s3://bucket/out/release.parquet", "job", "--json", "-o", "s3://bucket/jobs.csv")
    assert len(json.loads(asked.stdout)["cells"]) == 8
    assert pyarrow.csv.read_csv(io.BytesIO(store.objects["bucket/jobs.csv"])).num_rows == 8


def test_a_csv_release_takes_its_manifest_along_there_and_back(kakuran, store):
    told = kakuran("perturb", "s3://bucket/people.parquet", *PROMISE, "-o", "s3://bucket/release.csv")
    assert told.returncode == 0, told.stderr
    assert {"bucket/release.csv", "bucket/release.release.json"} <= store.objects.keys()
    assert kakuran("count", "s3://bucket/release.csv", "age > 40").returncode == 0


def test_what_is_in_a_store_is_replaced_only_when_asked_and_never_if_it_is_what_is_read(kakuran, store):
    store.objects["bucket/out.parquet"] = b"something"
    command = ("perturb", "s3://bucket/people.csv", *PROMISE, "-o")
    told = kakuran(*command, "s3://bucket/out.parquet")
    assert (told.returncode, store.objects["bucket/out.parquet"]) == (5, b"something")
    assert "s3://bucket/out.parquet: exists already; use --force" in told.stderr
    assert kakuran(*command, "s3://bucket/out.parquet", "--dry-run").returncode == 0
    assert store.objects["bucket/out.parquet"] == b"something"
    before = store.objects["bucket/people.csv"]
    told = kakuran(*command, "s3://bucket/people.csv", "--force")
    assert (told.returncode, store.objects["bucket/people.csv"]) == (5, before)
    assert "is the original itself" in told.stderr
    assert kakuran(*command, "s3://bucket/out.parquet", "--force").returncode == 0
    assert store.objects["bucket/out.parquet"].startswith(b"PAR1")


def test_a_folder_of_a_store_is_one_table_and_what_is_not_there_is_said(kakuran, store):
    for part in range(2):
        store.objects[f"bucket/many/part-{part}.csv"] = store.objects["bucket/people.csv"]
    assert "fits 1,600 records" in kakuran("schema", "check", "s3://bucket/many", *PROMISE[:2]).stderr
    told = kakuran("schema", "check", "s3://bucket/nobody.csv", *PROMISE[:2])
    assert (told.returncode, "s3://bucket/nobody.csv: there is no such object" in told.stderr) == (3, True)


def test_a_command_that_fails_sends_nothing(kakuran, store):
    told = kakuran("perturb", "s3://bucket/people.csv", *PROMISE[:2], "--k", 9_000, "-o", "s3://bucket/out.parquet")
    assert told.returncode == 4
    assert "bucket/out.parquet" not in store.objects


@pytest.mark.parametrize("address", ["gs://bucket/people.csv", "abfs://box@account.dfs.core.windows.net/people.csv"])
def test_other_stores_are_asked_by_the_filesystem_that_knows_them(kakuran, address, monkeypatch):

    asked = []

    def refuse(uri):
        asked.append(uri)
        raise OSError("nobody is there")

    monkeypatch.setattr("pyarrow.fs.FileSystem", type("Asked", (), {"from_uri": staticmethod(refuse)}))
    told = kakuran("schema", "infer", address, "-o", "schema.new.toml")
    assert (told.returncode, asked) == (5, [address])
    assert f"{address}: could not be read: nobody is there" in told.stderr


@pytest.mark.usefixtures("short_pages", "rough_models")
@pytest.mark.parametrize("secret", ["TOPSECRET", "wJalr/XUt+nFEMI", "top secret"])
def test_keys_in_an_address_open_the_store_and_are_never_repeated(kakuran, store, folder, secret):
    plain = secret == "TOPSECRET"
    asked = kakuran("schema", "infer", f"s3://AKIAKEY:{secret}@bucket/nobody.csv", "-o", "new.toml")
    assert asked.returncode in (3, 5)
    assert "s3://bucket/nobody.csv" in asked.stderr
    address = f"s3://AKIAKEY:{secret}@bucket/"
    command = ("perturb", f"{address}people.csv", "-s", f"{address}schema.toml", "--k", 10, "--json")
    told = kakuran(*command, "--report", "report.html", "-o", f"{address}out.parquet")
    assert told.returncode == (0 if plain else 5), told.stderr
    written = [path.read_text() for path in folder.glob("*.html")]
    assert len(written) == plain
    for text in (asked.stderr, told.stdout, told.stderr, *written):
        assert not [word for word in ("AKIAKEY", secret, *secret.split()[1:]) if word in text]


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_a_table_comes_through_the_standard_input_and_a_release_goes_through_the_output(
    folder, run_in, pipe, name, monkeypatch
):
    made = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", made)
    pipe((folder / name).read_bytes())
    told = run_in(folder, "perturb", "-", "-s", "schema.toml", "--k", 10, "--json", "-o", "-")
    assert told.returncode == 0, told.stderr
    assert "wrote -: 800 records" in told.stderr
    assert '"expected_errors"' in told.stderr  # what is for people or programs would be in the middle of it
    release = made.buffer.getvalue()
    assert pq.read_table(io.BytesIO(release)).num_rows == 800
    pipe(release)
    monkeypatch.setattr(sys, "stdout", jobs := io.TextIOWrapper(io.BytesIO()))
    assert run_in(folder, "crosstab", "-", "job", "-o", "-").returncode == 0
    assert pyarrow.csv.read_csv(io.BytesIO(jobs.buffer.getvalue())).column_names[0] == "job"


def test_an_empty_standard_input_is_said(kakuran, pipe):
    pipe(b"")
    told = kakuran("schema", "infer", "-", "-o", "new.toml")
    assert (told.returncode, "nothing came through the standard input" in told.stderr) == (3, True)
    assert not Path("new.toml").exists()


needs_signals = pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")


@pytest.fixture
def reading(folder, tmp_path):
    """A command that has read part of the originals and waits for more, with a folder of its own for copies."""
    copies = tmp_path / "copies"
    copies.mkdir()

    @contextmanager
    def start(**options):
        command = [sys.executable, "-c", "from kakuran.cli import main; main()"]
        with subprocess.Popen(
            [*command, "schema", "infer", "-", "-o", "draft.toml"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"TMPDIR": str(copies)},
            **options,
        ) as process:
            # More than a pipe and its reader hold: once all is written, a copy is being made.
            process.stdin.write((folder / "people.csv").read_bytes() + b"#" * (1 << 20))
            process.stdin.flush()
            yield process, copies

    return start


@needs_signals
@pytest.mark.parametrize("name", ["SIGHUP", "SIGQUIT"])
def test_a_signal_leaves_no_copy_of_the_originals(reading, name):
    with reading() as (process, copies):
        process.send_signal(getattr(signal, name))
        _, complained = process.communicate(timeout=60)
    assert process.returncode == 130, complained
    assert list(copies.iterdir()) == []


@needs_signals
def test_whoever_starts_a_command_with_nohup_may_hang_up(reading):
    with reading(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as (process, copies):
        process.send_signal(signal.SIGHUP)
        _, complained = process.communicate(timeout=60)
    assert process.returncode == 3, complained  # as what came is no table
    assert list(copies.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux opens files that have no name")
def test_not_even_kill_leaves_a_copy_and_a_folder_is_swept_by_the_next_command_but_not_before(
    reading, kakuran, monkeypatch, pipe
):
    def next_command():
        monkeypatch.setattr("tempfile.tempdir", str(copies))
        pipe(b"job\nnurse\n")
        kakuran("schema", "infer", "-", "-o", "new.toml", "--force")

    with reading() as (process, copies):
        before = sorted(copies.rglob("*"))
        assert before[1].name == "standard-input.csv"
        next_command()
        assert sorted(copies.rglob("*")) == before
        process.kill()
        process.wait(timeout=60)
    assert [file for file in copies.rglob("*") if file.is_file()] == []
    assert len(list(copies.iterdir())) == 1
    next_command()
    assert list(copies.iterdir()) == []
