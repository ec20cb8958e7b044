"""Whatever breaks: what was acknowledged is there, once, and the server says how it stands."""

import itertools
import json
import os
import random
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import pytest

from kakuran.collect.databases import open_store
from kakuran.collect.messages import Form, id_bytes

from .processes import STOPPED_BY_SIGNAL
from .sheets import batch, problem, sheet

KILLS = 20


class Respondents:
    """People who answer one after the other, and send again, unchanged, until they have an answer."""

    def __init__(self, survey, url):
        self._survey, self._url = survey, url
        self._over = threading.Event()
        self.sent, self.acknowledged = {}, set()

    def answer(self):
        dice = random.Random(threading.get_ident())
        with httpx.Client(base_url=self._url, verify=False, timeout=5) as client:
            while not self._over.is_set():
                answers = {"job": dice.choice(["clerk", "nurse", "smith"]), "age": dice.randrange(121)}
                sent = sheet(self._survey, answers=answers)
                self.sent[sent["id"]] = sent
                self._send(client, sent)

    def _send(self, client, sent):
        while not self._over.is_set():
            try:
                response = client.post("/api/responses", json=sent)
            except httpx.TransportError:
                time.sleep(0.01)
                continue
            if response.status_code in (200, 201):
                self.acknowledged.add(sent["id"])
                return
            assert response.status_code in (429, 503), response.text
            assert int(response.headers["retry-after"]) > 0
            time.sleep(0.05)

    def go_on(self, count):
        """Until so many more have been told that their answer is stored."""
        enough, until = len(self.acknowledged) + count, time.monotonic() + 60
        while len(self.acknowledged) < enough:
            assert time.monotonic() < until
            time.sleep(0.01)

    def __enter__(self):
        self._threads = [threading.Thread(target=self.answer) for _ in range(4)]
        [thread.start() for thread in self._threads]
        return self

    def __exit__(self, *_):
        self._over.set()
        [thread.join() for thread in self._threads]


def check_nothing_lost(respondents, survey, address):
    """Every acknowledged record is there, once, with the row that was sent; and nothing that was not sent."""
    store, form = open_store(address, survey), Form(survey)
    rows = {id_bytes(key): form.read_one(json.dumps(sent).encode()).rows[0] for key, sent in respondents.sent.items()}
    with store.engine.connect() as connection:
        kept = [(bytes(key), bytes(row)) for key, row in connection.exec_driver_sql("SELECT id, codes FROM records")]
    store.close()
    assert len(respondents.acknowledged) >= 20
    assert {id_bytes(key) for key in respondents.acknowledged} <= dict(kept).keys()
    assert len(dict(kept)) == len(kept)
    assert all(rows[key] == row for key, row in kept)


def test_killed_at_random_moments_nothing_acknowledged_is_lost_and_nothing_is_doubled(survey, address, start):
    dice = random.Random(7)
    server = start(survey, address)
    with Respondents(survey, server.url) as respondents:
        for _ in range(KILLS):
            time.sleep(dice.uniform(0.01, 0.15))
            server.kill()
            server.start()
        respondents.go_on(20)
    server.stop()
    check_nothing_lost(respondents, survey, address)


def test_told_to_stop_it_answers_everybody_and_ends(survey, address, start):
    server = start(survey, address)
    with httpx.Client(base_url=server.url, verify=False, timeout=60) as client, ThreadPoolExecutor(8) as people:
        sheets = [sheet(survey) for _ in range(200)]
        answered = [people.submit(client.post, "/api/responses", json=sent) for sent in sheets]
        next(itertools.islice((one.result() for one in answered), 40, None))
        assert server.stop() in STOPPED_BY_SIGNAL
    kept = {sent["id"] for sent, one in zip(sheets, answered, strict=True) if _was_kept(one)}
    store = open_store(address, survey)
    assert len(kept) > 40
    assert store.count() == len(kept)
    store.close()


def _was_kept(answered):
    try:
        return answered.result().status_code == 201
    except httpx.TransportError:  # it had stopped listening
        return False


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 4 MB, mounted as root or with sudo; nobody else can have one."""
    as_root = [] if os.getuid() == 0 else ["sudo", "-n"]
    if as_root and (shutil.which("sudo") is None or subprocess.run([*as_root, "true"], check=False).returncode):
        pytest.skip("mounting a small disk takes root, or sudo without a password")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run([*as_root, "mount", "-t", "tmpfs", "-o", "size=4m,mode=1777", "tmpfs", disk], check=True)
    yield disk
    subprocess.run([*as_root, "umount", "--lazy", disk], check=True)


def fill_up(disk):
    with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(1024))


def test_a_full_disk_loses_nothing_and_is_said_plainly(survey, small_disk, start):
    server = start(survey, small_disk / "answers.db")
    with httpx.Client(base_url=server.url, verify=False, timeout=60) as client:
        kept, late = [batch(survey, 20) for _ in range(5)], batch(survey, 20)
        assert [client.post("/api/responses/batch", json=sent).status_code for sent in kept] == [200] * 5
        for _ in range(2):
            fill_up(small_disk)  # again, as the log of a database that failed is written back and gives its room away
            refused = client.post("/api/responses/batch", json=late)
            assert (refused.status_code, problem(refused)) == (503, "not-kept")
            assert int(refused.headers["retry-after"]) > 0
            assert problem(client.get("/readyz")) == "not-kept"
        assert "kakuran_collect_ready 0" in client.get("/metrics").text
        assert client.get("/healthz").status_code == 200
        (small_disk / "filler").unlink()
        assert client.get("/readyz").status_code == 200
        answers = [client.post("/api/responses/batch", json=sent).json() for sent in (*kept, late)]
        assert [answer["replayed"] for answer in answers] == [20] * 5 + [0]
        assert client.get("/api/status").json()["n"] == 120
    server.stop()


def test_a_database_that_goes_away_and_comes_back_loses_nothing(survey, postgres, start):
    address = postgres.new_database()
    server = start(survey, address)
    with httpx.Client(base_url=server.url, verify=False, timeout=60) as client:
        assert client.get("/readyz").status_code == 200
        with Respondents(survey, server.url) as respondents:
            respondents.go_on(10)
            postgres.stop()
            try:
                sent = sheet(survey)
                refused = client.post("/api/responses", json=sent)
                assert (refused.status_code, problem(refused)) == (503, "not-kept")
                assert problem(client.get("/readyz")) == "not-kept"
                assert client.get("/healthz").status_code == 200
            finally:
                postgres.start()
            assert client.get("/readyz").status_code == 200
            assert client.post("/api/responses", json=sent).status_code == 201
            respondents.sent[sent["id"]] = sent
            respondents.go_on(20)
    server.stop()
    check_nothing_lost(respondents, survey, address)


@pytest.mark.parametrize("jump", [-10 * 365 * 86_400, 10 * 365 * 86_400])
def test_a_clock_that_jumps_changes_nothing(serve, survey, tmp_path, monkeypatch, jump):
    true_time = time.time
    with serve(survey, tmp_path / "answers.db") as base, httpx.Client(base_url=base, verify=False) as client:
        sent = [sheet(survey) for _ in range(survey.minimum_n)]
        for place, one in enumerate(sent):
            if place == 10:
                monkeypatch.setattr(time, "time", lambda: true_time() + jump)
            assert client.post("/api/responses", json=one).status_code == 201
        assert [client.post("/api/responses", json=one).status_code for one in sent] == [200] * len(sent)
        assert client.get("/readyz").status_code == 200
        time.sleep(1.1)
        assert client.get("/api/status").json() == {"state": "open", "n": len(sent)}
