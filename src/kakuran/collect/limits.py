"""How much one address may send and hold at a time, kept in memory and never logged; and numbers for Prometheus.

They are counts of events alone: nothing of any answer.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from kakuran.collect.messages import Problem
from kakuran.sockets import client_of

T = TypeVar("T")

_MOST_ADDRESSES = 100_000
_MOMENT = 1.0
"""Seconds for which a connection that was of use is left alone."""


@dataclass(frozen=True)
class RequestLimits:
    """What a server takes from its clients.

    Attributes
    ----------
    rate : float
        Records a second from one address in the long run; infinite for no limit.
    burst : float
        Records at once from one address; a larger batch is taken where so many would be, and leaves a debt.
    head_bytes : int
        The largest head of a request.
    body_bytes, batch_bytes : int
        The largest answer sheet and the largest batch.
    bodies_bytes : int
        Of bodies on their way from one address at the same time.
    seconds : float
        For a request to arrive in, head and body each, and for a connection to stay idle.
    answer_seconds : float
        For a request to arrive in whole and for its answer to be ready.
    connections, connections_each : int
        At the same time, together and from one address that is no proxy of ours.
    waiting : int
        Records that may wait for the disk; beyond that clients are told to come back.
    """

    rate: float = 50.0
    burst: float = 1_000.0
    head_bytes: int = 32 * 1024
    body_bytes: int = 64 * 1024
    batch_bytes: int = 8 * 1024 * 1024
    bodies_bytes: int = 32 * 1024 * 1024
    seconds: float = 10.0
    answer_seconds: float = 60.0
    connections: int = 2_000
    connections_each: int = 200
    waiting: int = 50_000


class RateLimiter:
    """Tokens by address; the clock is the monotonic one, which nobody sets."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, address: str, records: int, *, paid: int = 0) -> None:
        """Take a token for each record, but for those paid before; or raise a `Problem` that says how long to wait."""
        if self._rate == math.inf:
            return
        now = time.monotonic()
        key = _network(address)
        tokens, since = self._buckets.get(key, (self._burst, now))
        tokens = min(self._burst, tokens + (now - since) * self._rate)
        needed = min(records, self._burst) - paid
        if tokens < needed:
            wait = math.ceil((needed + paid - tokens) / self._rate)
            raise Problem("too-many-requests", "your address has sent too many answers", retry_after=wait)
        if len(self._buckets) >= _MOST_ADDRESSES and key not in self._buckets:
            self._forget_full(now)
        self._buckets[key] = (tokens - max(records - paid, 0), now)

    def _forget_full(self, now: float) -> None:
        """Forget addresses whose bucket is full again; all of them, should that not be enough."""
        self._buckets = {
            key: (tokens, since)
            for key, (tokens, since) in self._buckets.items()
            if tokens + (now - since) * self._rate < self._burst
        }
        if len(self._buckets) >= _MOST_ADDRESSES:
            self._buckets.clear()


class ConnectionPlaces(Generic[T]):
    """Connections by address: where there are too many, one that has not been of use for longest goes.

    An address that holds all it may loses one of its own to its next, unless all were of use a moment ago: then the
    next is turned away, so that coming back at once costs us little. Where all places are taken, the address with most
    of them loses one. So nobody keeps others out, and idle connections of a busy school cost nobody anything.
    """

    def __init__(self, most: int, each: int) -> None:
        self._most = most
        self._each = each
        self._used: dict[str, dict[T, float]] = {}
        self._network_of: dict[T, str] = {}

    def take(self, newcomer: T, address: str) -> T | None:
        """Give a newcomer a place; who has to go, if somebody has: perhaps the newcomer."""
        network, now = _network(address), time.monotonic()
        own = self._used.get(network, {})
        leaving: T | None = None
        if len(own) >= self._each:
            leaving, used = next(iter(own.items()))
            if now - used < _MOMENT:
                return newcomer
        elif len(self._network_of) >= self._most:
            crowded = max(self._used.values(), key=len)
            leaving = next(iter(crowded))
        if leaving is not None:
            self.leave(leaving)
        self._used.setdefault(network, {})[newcomer] = now
        self._network_of[newcomer] = network
        return leaving

    def renew(self, one: T) -> None:
        """It has just been of use: others go first."""
        if one in self._network_of:
            own = self._used[self._network_of[one]]
            del own[one]
            own[one] = time.monotonic()

    def leave(self, one: T) -> None:
        """Free a place; nothing where it has none."""
        network = self._network_of.pop(one, None)
        if network is not None:
            del self._used[network][one]
            if not self._used[network]:
                del self._used[network]


class Bodies:
    """Bytes of requests on their way, which lie in memory until they are all there."""

    def __init__(self, each: int) -> None:
        self._each = each
        self._held: Counter[str] = Counter()

    @contextmanager
    def room_for(self, size: int, address: str) -> Iterator[None]:
        """Room for so many bytes from an address, or a `Problem`."""
        network = _network(address)
        if self._held[network] + size > self._each:
            raise Problem("busy", "your address is sending too much at the same time", retry_after=1)
        self._held[network] += size
        try:
            yield
        finally:
            self._held[network] -= size
            if not self._held[network]:
                del self._held[network]


def _network(address: str) -> str:
    """Whoever has an IPv6 address has 2⁶⁴ of them."""
    address = client_of(address)
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address


_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics:
    """Counted by the event loop alone.

    Attributes
    ----------
    accepted, replayed : int
        Records stored, and records that were stored already.
    refused : Counter[str]
        Requests refused, by the name of the problem.
    waiting : int
        Records that wait for the disk.
    """

    def __init__(self) -> None:
        self.accepted = 0
        self.replayed = 0
        self.refused: Counter[str] = Counter()
        self.waiting = 0
        self._commits = [0] * (len(_SECONDS) + 1)
        self._commit_seconds = 0.0

    def committed(self, seconds: float) -> None:
        """A transaction took so long."""
        self._commits[sum(seconds > bound for bound in _SECONDS)] += 1
        self._commit_seconds += seconds

    def text(self, *, is_ready: bool, tells_records: bool) -> str:
        """In Prometheus' text format; perhaps without the metrics from which records could be counted."""
        lines = [
            *_metric("ready", "gauge", "Whether answers can be stored.", int(is_ready)),
            *_heading("requests_refused_total", "counter", "Requests refused, by problem."),
            *(
                f'kakuran_collect_requests_refused_total{{problem="{name}"}} {count}'
                for name, count in self.refused.items()
            ),
            *(self._of_records() if tells_records else ()),
        ]
        return "\n".join(lines) + "\n"

    def _of_records(self) -> list[str]:
        return [
            *_metric("records_accepted_total", "counter", "Records stored by this server.", self.accepted),
            *_metric(
                "records_replayed_total", "counter", "Records sent again that were stored already.", self.replayed
            ),
            *_metric("records_waiting", "gauge", "Records waiting to be stored.", self.waiting),
            *_heading("commit_seconds", "histogram", "How long transactions took."),
            *self._histogram(),
        ]

    def _histogram(self) -> list[str]:
        total, lines = 0, []
        for bound, count in zip([*map(str, _SECONDS), "+Inf"], self._commits, strict=True):
            total += count
            lines.append(f'kakuran_collect_commit_seconds_bucket{{le="{bound}"}} {total}')
        return [
            *lines,
            f"kakuran_collect_commit_seconds_sum {self._commit_seconds:.6f}",
            f"kakuran_collect_commit_seconds_count {total}",
        ]


def _heading(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP kakuran_collect_{name} {text}", f"# TYPE kakuran_collect_{name} {kind}"]


def _metric(name: str, kind: str, text: str, value: int) -> list[str]:
    return [*_heading(name, kind, text), f"kakuran_collect_{name} {value}"]
