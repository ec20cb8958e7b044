"""Whoever is not the steward gets nothing: other websites, other names for this machine, other users of it."""

from __future__ import annotations

import logging
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import httpx
import pytest

from kakuran.studio import Desk, running
from kakuran.studio.server import _CHANGES, _LOOKS, served
from kakuran.words import LANGUAGES, words_in

CALLS = [*_CHANGES, *_LOOKS, "progress", "report", "show"]


class Steward(httpx.Client):
    """Somebody who has the address."""

    def __init__(self, address: str) -> None:
        self.home, self.secret = address.split("/#")
        self.port = int(self.home.rsplit(":", 1)[1])
        super().__init__(base_url=self.home, headers={"authorization": f"Bearer {self.secret}"}, timeout=60)


@pytest.fixture(scope="module")
def client(folder):
    desk = Desk(folder)
    desk.open(str(folder / "census.parquet"))
    with running(desk) as (address, _), Steward(address) as made:
        yield made


def test_the_page_calls_with_the_secret_and_is_answered(client):
    reply = client.post("/api/state", json={}, headers={"origin": client.home, "sec-fetch-site": "same-origin"})
    assert reply.status_code == 200
    assert reply.json()["opened"]["rows"] == 2_000


@pytest.mark.parametrize("shown", ["", "Bearer", "Bearer wrong", "Basic {secret}", "Bearer {secret}x", "{secret}"])
def test_no_call_is_answered_without_the_secret(client, shown):
    for name in CALLS:
        reply = client.post(f"/api/{name}", json={}, headers={"authorization": shown.format(secret=client.secret)})
        assert reply.status_code == 401, name
        assert set(reply.json()) == {"detail"}


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.evil.example:{port}"])
def test_a_name_that_somebody_makes_mean_this_machine_is_refused_whatever_it_asks(client, host):
    """DNS rebinding: the page of evil.example, now at our address, would be of the same origin as the studio."""
    for method, path in (("POST", "/api/state"), ("GET", "/"), ("GET", "/static/studio.js")):
        reply = client.request(method, path, headers={"host": host.format(port=client.port)})
        assert reply.status_code == 421
        assert "kakuran" not in reply.text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://localhost:{port}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
    ],
    ids=str,
)
def test_another_website_is_refused_even_if_it_had_the_secret(client, headers):
    sent = {name: value.format(port=client.port) for name, value in headers.items()}
    assert client.post("/api/undo", json={}, headers=sent).status_code == 403


def test_other_origins_are_never_allowed_in(client):
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    replies = [client.options("/api/state", headers=asked), client.post("/api/state", json={}), client.get("/")]
    assert replies[0].status_code == 405
    assert not [name for reply in replies for name in reply.headers if name.startswith("access-control")]


def test_what_a_form_or_a_link_could_send_is_refused(client):
    assert client.get("/api/state").status_code == 405
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert client.post("/api/undo", content=b"{}", headers={"content-type": kind}).status_code == 415


def test_whatever_is_answered_comes_with_a_policy_that_lets_nothing_else_in(client):
    for path in ("/", "/static/studio.js", "/api/state", "/nowhere", "/static/../server.py"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy


def test_the_page_holds_no_code_and_nothing_from_elsewhere(client):
    assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=|https?:|=.//", client.get("/").text)
    for name, content in served().items():
        assert set(re.findall(r"https?://[^\"'` ]+", content.decode())) <= {"http://www.w3.org/2000/svg"}, name


@pytest.mark.parametrize("body", [b"[]", b"{", b"1", b"[" * 100_000, b'{"column": 1, "changes": 2}', b'{"column": {}}'])
def test_a_call_that_is_no_call_is_refused_and_changes_nothing(client, body):
    before = client.post("/api/state", json={}).json()
    reply = client.post("/api/edit", content=body, headers={"content-type": "application/json"})
    assert reply.status_code in (400, 422)
    assert client.post("/api/state", json={}).json() == before


@pytest.mark.parametrize("named", ["", "{empty}", "/nowhere.csv", "\0.csv", "x" * 5_000, "postgresql://x", "/dev/null"])
def test_what_cannot_be_opened_is_refused_and_what_was_open_stays(client, named, tmp_path):
    named = named.format(empty=tmp_path)
    assert client.post("/api/open", json={"named": named}).status_code in (400, 422)
    assert client.post("/api/folder", json={"folder": f"{named}/none"}).status_code in (400, 422)
    assert client.post("/api/state", json={}).json()["opened"]["rows"] == 2_000


def test_too_much_at_once_is_refused(client):
    reply = client.post("/api/write", content=b" " * 9_000_000, headers={"content-type": "application/json"})
    assert reply.status_code == 413


def confirm_all(client):
    drafted = client.post("/api/state", json={}).json()["read_off"]
    client.post("/api/confirm", json={"columns": drafted, "public": True})


def test_only_reports_of_this_session_are_shown_and_each_ticket_once(client, tmp_path):
    other = tmp_path / "other.html"
    other.write_text("<p>other</p>")
    assert client.post("/api/show", json={"path": str(other)}).status_code == 422
    assert {client.post(f"/api/{name}", json={}).status_code for name in ("attack", "report")} == {422}
    client.post("/api/edit", json={"column": "age", "changes": {"role": "drop"}})
    confirm_all(client)
    assert client.post("/api/release", json={"target": str(tmp_path / "out.csv")}).status_code == 200
    assert client.post("/api/attack", json={}).json()["passed"] is True
    made = client.post("/api/report", json={}).json()
    (report,) = (file["path"] for file in made if file["kind"] == "public")
    address = client.post("/api/show", json={"path": report}).json()["address"]
    shown = client.get(f"/{address}", headers={"authorization": ""})
    assert shown.status_code == 200
    assert "script-src" not in shown.headers["content-security-policy"]
    assert client.get(f"/{address}").status_code == 404
    client.post("/api/undo", json={})


def test_nothing_of_the_data_is_logged_whatever_goes_wrong(client, caplog, capfd, monkeypatch):
    caplog.set_level(logging.DEBUG)
    client.post("/api/edit", json={"column": "job", "changes": {"values": ["planted"]}})
    assert client.post("/api/release", json={"target": "/nowhere/out.csv"}).status_code == 422
    assert client.post("/api/rehearse", json={"down": "job", "across": "planted"}).status_code == 422

    def fail(self):
        raise RuntimeError("planted")

    monkeypatch.setattr(Desk, "curve", fail)
    assert client.post("/api/curve", json={}).status_code == 500
    client.post("/api/undo", json={})
    logged = caplog.text + "".join(capfd.readouterr())
    assert "RuntimeError" in logged
    assert "planted" not in logged
    assert "office" not in logged


def test_it_listens_on_this_machine_only_and_every_secret_is_another(client, folder):
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", client.port), timeout=2)
    with running(Desk(folder)) as (address, _):
        other = address.partition("#")[2]
    assert len({client.secret, other}) == 2
    assert min(map(len, (client.secret, other))) >= 22, "128 bits"


def test_both_languages_say_everything_with_the_same_places():
    english, japanese = (words_in(lang).studio for lang in LANGUAGES)
    assert set(english) == set(japanese)
    for key, said in japanese.items():
        assert set(re.findall(r"{(\w+)}", said)) == set(re.findall(r"{(\w+)}", english[key])), key


def test_every_word_the_scripts_say_is_there_and_every_word_that_is_there_is_said():
    known = {re.sub(r"\.(one|other)$", "", key) for key in words_in("en").studio}
    scripts = "".join(
        content.decode() for name, content in served().items() if name.endswith(".js") and name != "texts.js"
    )
    said = set(re.findall(r'(?:say|counted)\(\s*"([^"]+)"', scripts))
    built = tuple(re.findall(r"say\(`([\w.]+)\.\$\{", scripts))
    assert said - {"language"} <= known
    others = {key for key in known - said if not key.startswith(tuple(f"{start}." for start in built))}
    assert {key for key in others if f'"{key}"' not in scripts} == set()


def test_an_analyst_need_not_wait_for_reports_that_are_being_written(client, tmp_path, monkeypatch):
    confirm_all(client)
    released = client.post("/api/release", json={"target": str(tmp_path / "out.parquet")}).json()
    is_read, is_reporting = Event(), Event()

    def report(*_, **__):
        is_reporting.set()
        assert is_read.wait(30), "what was asked waits for the report"
        return ""

    monkeypatch.setattr("kakuran.studio.desk.release_report", report)
    with ThreadPoolExecutor() as other:
        reporting = other.submit(client.post, "/api/report", json={})
        assert is_reporting.wait(30)
        assert client.post("/api/read", json={"path": released["release"]}).json()["records"] == 2_000
        asked = client.post("/api/ask", json={"kind": "crosstab", "columns": ["job"]})
        assert "<table>" in asked.json()["html"]
        assert [one["what"] for one in client.post("/api/progress", json={}).json()] == ["reporting"]
        assert client.post("/api/state", json={}).status_code == 200
        is_read.set()
        assert len(reporting.result().json()) == 2
    assert client.post("/api/progress", json={}).json() == []


def test_what_is_refused_is_said_in_the_language_of_the_page(client):
    asked = [{"lang": lang, "path": "nowhere.parquet"} for lang in LANGUAGES]
    english, japanese = (client.post("/api/read", json=given).json()["detail"] for given in asked)
    assert english.endswith("nowhere.parquet: no such file")
    assert japanese.endswith("nowhere.parquet：そのようなファイルはありません")
