"""The regression across companies: two processes over TLS on one machine, from reading their tables to their fits."""

from __future__ import annotations

import json
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.claims import Claim
from benchmarks.peers import admit
from benchmarks.timing import Contestant, race
from kakuran.vertical.alignment import Matching, Shared, intersect
from kakuran.vertical.party import side_by_side
from kakuran.vertical.residual import Settled, accelerate, alternate
from kakuran.vertical.transport import Link

NOTE = "Times are wall clock from start to end of both processes, the best of several runs."
PACKAGES = ("openmined-psi",)
EACH = 20
_MEGABYTE = 1e6


def measure(*, quick: bool) -> Iterator[Claim]:
    """Every claim in turn."""
    yield from gram(1_000, seconds=10, megabytes=60, rounds=1 if quick else 5)
    yield from gram(10_000 if quick else 100_000, seconds=300, megabytes=None, rounds=1)
    yield from rounds_saved(0.9, 1 / 3)
    yield from rounds_saved(0.99, 1 / 20)
    yield from private_set_intersection(300 if quick else 5_000, rounds=1 if quick else 3)


def gram(records: int, *, seconds: float, megabytes: float | None, rounds: int) -> Iterator[Claim]:
    """`kakuran vertical serve` and `join`, start of Python and alignment included; the best of several runs."""
    runs = [_run_two_processes(records) for _ in range(rounds)]
    taken, busy, sent = min(runs)
    text = f"gram, {records:,} shared records, {EACH} + {EACH} columns, two processes over TLS"
    shown = f"{taken:.1f} s ({busy:.1f} s of CPU)"
    yield Claim(text, shown, "—", bar=f"≤ {seconds:g} s", is_met=taken <= seconds)
    bar, is_met = ("—", None) if megabytes is None else (f"≤ {megabytes:g} MB", sent / _MEGABYTE <= megabytes)
    yield Claim(f"{text}: on the wire", f"{sent / _MEGABYTE:.1f} MB", "—", bar=bar, is_met=is_met)


def rounds_saved(correlation: float, share: float) -> Iterator[Claim]:
    """Rounds until S2's exchange is within 1e-8 of least squares, plain and accelerated."""
    plain, fast = (_rounds_to(solve, correlation) for solve in (alternate, accelerate))
    text = f"residual, rounds to 1e-8 at canonical correlation {correlation:g}, accelerated"
    yield Claim(text, f"{fast}", f"plain: {plain}", f"{fast / plain:.3f}×", f"≤ {share:.3g}×", fast <= share * plain)


def private_set_intersection(records: int, rounds: int) -> Iterator[Claim]:
    """Both sides learn the intersection; openmined-psi tells it to one side only, so it is run both ways."""
    ours, theirs = ([b"%d" % number for number in range(start, start + records)] for start in (0, records // 2))

    def run(name: str, links: dict[str, Link]) -> Shared:
        (link,) = links.values()
        return intersect(link, ours if name == "a" else theirs, Matching(b"", 10**6), speaks_first=name == "a")

    def openmined_psi() -> Contestant:
        import private_set_intersection.python as psi

        texts = [[name.decode() for name in names] for names in (ours, theirs)]

        def one_way(client_names: list[str], server_names: list[str]) -> None:
            client, server = psi.client.CreateWithNewKey(True), psi.server.CreateWithNewKey(True)
            setup = server.CreateSetupMessage(1e-9, len(client_names), server_names, psi.DataStructure.RAW)
            client.GetIntersection(setup, server.ProcessRequest(client.CreateRequest(client_names)))

        return Contestant("openmined-psi, both ways", lambda: (one_way(*texts), one_way(*texts[::-1])))

    peers, refused = admit([openmined_psi])
    best = race([Contestant("ours", lambda: side_by_side(["a", "b"], run)), *peers], rounds)
    text = f"private set intersection of two times {records:,} ids, both sides on one core"
    mine = best.pop("ours")
    for name, peer in best.items():
        yield Claim(text, f"{mine:.2f} s", f"{name}: {peer:.2f} s", f"{mine / peer:.2f}×")
    for name, reason in refused.items():
        yield Claim(text, f"{mine:.2f} s", f"{name}: {reason}")


def _rounds_to(solve: Callable[..., Settled], correlation: float, accuracy: float = 1e-8) -> int:
    rng = np.random.default_rng(7)
    basis, _ = np.linalg.qr(rng.normal(size=(1_000, 2 * EACH)))
    cosines = correlation * np.linspace(0, 1, EACH + 1)[1:]
    A, B = basis[:, :EACH], cosines * basis[:, :EACH] + np.sqrt(1 - cosines**2) * basis[:, EACH:]
    y = np.hstack([A, B]) @ rng.normal(size=2 * EACH) + 0.05 * rng.normal(size=1_000)
    exact = A @ np.linalg.lstsq(np.hstack([A, B]), y, rcond=None)[0][:EACH]
    for tolerance in np.geomspace(1e-2, 1e-13, 56):
        settled = solve(y, lambda v: A @ (A.T @ v), lambda v: B @ (B.T @ (y - v)), tolerance)
        if np.linalg.norm(settled.part - exact) <= accuracy * np.linalg.norm(exact):
            return int(settled.rounds)
    raise RuntimeError("never within the accuracy asked for")


def _run_two_processes(records: int) -> tuple[float, float, int]:
    """Seconds from the start of the first process to the end of the last, of CPU of both, and bytes on the wire."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        _write_tables(folder, records)
        _done(_kakuran(folder, "init", "--as", "a", "--data", "a.parquet", "--id", "id", "--target", "y"))
        _done(_kakuran(folder, "init", "--as", "b", "--data", "b.parquet", "--id", "id"))
        with socket.create_server(("127.0.0.1", 0)) as trial:
            port = trial.getsockname()[1]
        start, busy = time.perf_counter(), _busy()
        first = _kakuran(folder, "serve", "--as", "a", "--data", "a.parquet", "--port", str(port))
        second = _kakuran(folder, "join", f"127.0.0.1:{port}", "--as", "b", "--data", "b.parquet")
        _done(first, second)
        taken, busy = time.perf_counter() - start, _busy() - busy
        (transcript,) = json.loads((folder / "a.fit.json").read_text(encoding="utf-8"))["transcripts"]
        return taken, busy, transcript["bytes_sent"] + transcript["bytes_received"]


def _busy() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _write_tables(folder: Path, records: int) -> None:
    rng = np.random.default_rng(7)
    columns = {f"{side}{j}": rng.normal(size=records) for side in "ab" for j in range(EACH)}
    y = sum((columns[f"{side}{j}"] for side in "ab" for j in range(EACH // 2)), rng.normal(size=records))
    for side in "ab":
        held = {"id": np.arange(records)} | {name: values for name, values in columns.items() if name[0] == side}
        table = pa.table(held | ({"y": y} if side == "b" else {}))
        pq.write_table(table.take(rng.permutation(records)), folder / f"{side}.parquet")


def _done(*processes: subprocess.Popen[bytes]) -> None:
    for process in processes:
        _, said = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{' '.join(map(str, process.args))}: {said.decode()}")


def _kakuran(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = shutil.which("kakuran", path=str(Path(sys.executable).parent)) or "kakuran"
    return subprocess.Popen(
        [command, "vertical", *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
