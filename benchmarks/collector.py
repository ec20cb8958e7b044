"""The collector under load: server and generator as two processes of one machine, every record synced to disk."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmarks.claims import Claim
from benchmarks.own_peak import peak_of
from kakuran.collect import Survey
from kakuran.collect.databases import open_store
from kakuran.collect.messages import Submission, new_ids

NOTE = "Latency counts from when an answer was due; every acknowledged record is synced to disk (SQLite, WAL, FULL)."
PACKAGES = ()
RATE = 1_650
"""Answers a second that are sent, so that 1,500 a second are sustained with something to spare."""
STALLED = 2_000
"""Connections that never finish a request."""


def measure(*, quick: bool) -> Iterator[Claim]:
    """Every claim in turn."""
    yield from singles(seconds=5 if quick else 60)
    yield from batches(50_000 if quick else 1_000_000)
    yield from refresh(50_000 if quick else 1_000_000)
    yield from stalled(seconds=10 if quick else 60)


def singles(seconds: float) -> Iterator[Claim]:
    """One record a request, at a steady rate."""
    with TemporaryDirectory() as folder, _serving(Path(folder)) as (address, survey, *_):
        came = _load(address, survey, "--rate", str(RATE), "--seconds", str(seconds))
    kept = came["statuses"].get("201", 0)
    text = f"single answers, {seconds:g} s, generator included"
    rate = kept / came["seconds"]
    is_met = rate >= 1_500 and kept == came["requests"]
    yield Claim(text, f"{rate:,.0f} a second", "—", bar="≥ 1,500 a second", is_met=is_met)
    shown = f"{came['p99_ms']:g} ms (median {came['p50_ms']:g}, longest {came['max_ms']:g})"
    yield Claim(f"{text}: 99th percentile", shown, "—", bar="< 150 ms", is_met=came["p99_ms"] < 150)


def batches(records: int) -> Iterator[Claim]:
    """Five thousand records a request, over four connections."""
    with TemporaryDirectory() as folder, _serving(Path(folder)) as (address, survey, *_):
        came = _load(address, survey, "--records", str(records), "--connections", "4")
    rate = records / came["seconds"]
    is_met = rate >= 50_000 and came["statuses"] == {"200": came["requests"]}
    yield Claim(f"{records:,} records in batches", f"{rate:,.0f} a second", "—", bar="≥ 50,000 a second", is_met=is_met)


def refresh(records: int) -> Iterator[Claim]:
    """The dashboard's summary, again after some more answers have come in."""
    with TemporaryDirectory() as folder:
        _fill(Path(folder), records)
        with _serving(Path(folder)) as (address, survey, token, _):
            _get(f"{address}/api/admin/summary", token)
            taken = []
            for _ in range(5):
                _load(address, survey, "--rate", "100", "--seconds", "0.2")
                start = time.perf_counter()
                told = _get(f"{address}/api/admin/summary", token)
                taken.append(time.perf_counter() - start)
    assert told["n"] > records
    shown = f"{np.median(taken):.2f} s (longest {max(taken):.2f})"
    yield Claim(f"dashboard refresh at {records:,} records", shown, "—", bar="< 1 s", is_met=max(taken) < 1)


def stalled(seconds: float) -> Iterator[Claim]:
    """Visitors from another address, while one address holds all the connections it can and lets none go."""
    with TemporaryDirectory() as folder, _serving(Path(folder)) as (address, _, _, pid), _stalling(address):
        taken, statuses = zip(*_visits(address, seconds), strict=True)
        memory = peak_of(pid)
    text = f"while {STALLED:,} connections of another address stall, {seconds:g} s"
    p99 = float(np.quantile(taken, 0.99))
    shown = f"{p99 * 1e3:.0f} ms (longest {max(taken) * 1e3:.0f}), {statuses.count(200):,} of {len(statuses):,} served"
    is_met = p99 < 1 and set(statuses) == {200}
    yield Claim(f"a visit {text}: 99th percentile", shown, "—", bar="< 1 s, all served", is_met=is_met)
    shown = f"{memory / 1e6:.0f} MB"
    yield Claim(f"peak memory of the server {text}", shown, "—", bar="< 400 MB", is_met=memory < 400e6)


@contextmanager
def _stalling(address: str) -> Iterator[None]:
    command = [sys.executable, "-m", "benchmarks.stalling", address, str(STALLED)]
    attacker = subprocess.Popen(command, cwd=Path(__file__).parents[1], stderr=subprocess.DEVNULL)
    try:
        time.sleep(3)
        yield
    finally:
        attacker.kill()
        attacker.wait()


def _visits(address: str, seconds: float) -> Iterator[tuple[float, int]]:
    """How long each visit took, with a connection of its own, and its status: 0 where there was no answer."""
    url, until = urlsplit(address), time.monotonic() + seconds
    while time.monotonic() < until:
        start, status = time.perf_counter(), 0
        visitor = HTTPConnection(url.netloc, timeout=10, source_address=("127.0.0.2", 0))
        try:
            visitor.request("GET", "/api/survey")
            status = visitor.getresponse().status
        except OSError:
            pass
        finally:
            visitor.close()
        yield time.perf_counter() - start, status
        time.sleep(0.02)


def _fill(folder: Path, records: int) -> None:
    survey = _survey(folder)
    store = open_store(folder / "survey.db", survey)
    width, rng = 3, np.random.default_rng(7)
    for start in range(0, records, 50_000):
        count = min(50_000, records - start)
        codes = np.column_stack([rng.integers(0, one.size, count) for one in survey.schema.released]).astype(np.int8)
        ids = [bytes.fromhex(text.replace("-", "")) for text in new_ids(count)]
        packed = codes.tobytes()
        store.add([Submission(ids, [packed[place : place + width] for place in range(0, len(packed), width)])])
    store.close()


def _survey(folder: Path) -> Survey:
    path = folder / "survey.toml"
    path.write_bytes((resources.files("kakuran.collect") / "template.toml").read_bytes())
    return Survey.load(path)


@contextmanager
def _serving(folder: Path) -> Iterator[tuple[str, Path, str, int]]:
    """`kakuran collect serve` in a folder: its address, the survey, the owner's token and the process."""
    _survey(folder)
    kakuran = [sys.executable, "-u", "-c", "from kakuran.cli import main; main()"]
    command = [*kakuran, "collect", "serve", "survey.toml", "--port", "0", "--rate", "0"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    try:
        address = server.stdout.readline().split()[1].rstrip("/")
        yield address, folder / "survey.toml", server.stdout.readline().partition("#")[2].strip(), server.pid
    finally:
        server.terminate()
        server.wait()


def _load(address: str, survey: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.load", address, str(survey), *options]
    came = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    return json.loads(came.stdout)


def _get(address: str, token: str) -> dict[str, Any]:
    request = urllib.request.Request(address, headers={"authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())
