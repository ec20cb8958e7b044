"""A load generator of its own, in a process of its own: answers at a steady rate whether or not earlier ones are back.

Latency counts from the moment an answer was due, so a server that stalls cannot hide it by slowing the generator.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from kakuran.collect import Survey
from kakuran.collect.messages import new_ids
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness

_TICK = 0.002


def answers(survey: Survey, count: int) -> dict[str, list[Any]]:
    """Perturbed answers of people who answered anything at all."""
    dice = Randomness.seeded(7)
    kernel = Kernel(survey.plan)
    codes = {one.name: dice.below(one.size, count).astype(np.int32) for one in survey.schema.released}
    return kernel.decode(kernel.sample(codes, dice)).to_pydict()


def sheets(survey: Survey, count: int) -> list[bytes]:
    """Bodies of so many single answers."""
    columns = answers(survey, count)
    rows = ({name: column[row] for name, column in columns.items()} for row in range(count))
    return [
        json.dumps({"id": one, "version": survey.version, "answers": row}).encode()
        for one, row in zip(new_ids(count), rows, strict=True)
    ]


def batches(survey: Survey, count: int, each: int) -> list[bytes]:
    """Bodies of batches."""
    columns = answers(survey, count)
    return [
        json.dumps(
            {
                "ids": new_ids(len(range(count)[start : start + each])),
                "version": survey.version,
                "answers": {name: column[start : start + each] for name, column in columns.items()},
            }
        ).encode()
        for start in range(0, count, each)
    ]


@dataclass
class Load:
    """What is to be sent, and what came of it."""

    path: str
    host: str
    waiting: deque[tuple[float, bytes]] = field(default_factory=deque)
    idle: deque[Connection] = field(default_factory=deque)
    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def request(self, body: bytes) -> bytes:
        """As it goes over the wire."""
        head = f"POST {self.path} HTTP/1.1\r\nhost: {self.host}\r\ncontent-type: application/json\r\n"
        return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body

    def send_waiting(self) -> None:
        """Give every idle connection something to do, in turn: a server closes those that are idle for long."""
        while self.waiting and self.idle:
            self.idle.popleft().send(*self.waiting.popleft())


class Connection(asyncio.Protocol):
    """One keep-alive connection; one request at a time."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._buffer = b""
        self._due = 0.0

    def connection_made(self, transport: Any) -> None:
        """Ready."""
        self._transport = transport
        self._load.idle.append(self)

    def send(self, due: float, request: bytes) -> None:
        """Send a request that was due at some time."""
        self._due = due
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Count an answer once it is whole."""
        self._buffer += data
        head, end, body = self._buffer.partition(b"\r\n\r\n")
        if not end or len(body) < int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            return
        self._load.seconds.append(time.perf_counter() - self._due)
        self._load.statuses[int(self._buffer[9:12])] += 1
        self._buffer = b""
        self._load.idle.append(self)
        self._load.send_waiting()


async def run(address: str, path: str, bodies: list[bytes], rate: float, connections: int) -> dict[str, Any]:
    """Send all bodies at a rate, or (0) as fast as answers come back."""
    url = urlsplit(address)
    load = Load(path, url.netloc)
    loop = asyncio.get_running_loop()
    for _ in range(connections):
        await loop.create_connection(lambda: Connection(load), url.hostname, url.port)
    requests = [load.request(body) for body in bodies]
    start, sent = time.perf_counter(), 0
    while sent < len(requests):
        now = time.perf_counter()
        due = len(requests) if not rate else min(int((now - start) * rate) + 1, len(requests))
        load.waiting.extend((start + place / rate if rate else now, requests[place]) for place in range(sent, due))
        sent = due
        load.send_waiting()
        await asyncio.sleep(_TICK)
    while sum(load.statuses.values()) < len(requests):
        await asyncio.sleep(_TICK)
    taken = time.perf_counter() - start
    quantiles = np.quantile(load.seconds, [0.5, 0.99, 1.0])
    return {
        "requests": len(requests),
        "seconds": taken,
        "statuses": dict(load.statuses),
        **dict(zip(("p50_ms", "p99_ms", "max_ms"), (quantiles * 1e3).round(1).tolist(), strict=True)),
    }


def main() -> None:
    """Print what came of it as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("address")
    parser.add_argument("survey", type=Path)
    parser.add_argument("--rate", type=float, default=1_650)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--records", type=int, default=0, help="send so many in batches instead")
    parser.add_argument("--each", type=int, default=5_000, help="records a batch")
    chosen = parser.parse_args()
    survey = Survey.load(chosen.survey)
    if chosen.records:
        path, bodies, rate = "/api/responses/batch", batches(survey, chosen.records, chosen.each), 0.0
    else:
        path, bodies, rate = "/api/responses", sheets(survey, int(chosen.rate * chosen.seconds)), chosen.rate
    import uvloop

    print(json.dumps(uvloop.run(run(chosen.address, path, bodies, rate, chosen.connections))))


if __name__ == "__main__":
    main()
