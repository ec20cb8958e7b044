"""How much one address may send: a bucket of tokens, refilled at a steady rate. Kept in memory, never logged."""

from __future__ import annotations

import ipaddress
import math
import time
from dataclasses import dataclass

from kakuran.collect.problems import Problem
from kakuran.sockets import client_of

_MOST_ADDRESSES = 100_000


@dataclass(frozen=True)
class Limits:
    """What a server takes from its clients.

    Attributes
    ----------
    rate : records a second from one address in the long run; infinite for no limit
    burst : records at once from one address; a larger batch counts as so many
    body_bytes, batch_bytes : the largest answer sheet and the largest batch
    seconds : for a request to arrive in, head and body each
    connections : at the same time
    waiting : records that may wait for the disk; beyond that clients are told to come back
    """

    rate: float = 50.0
    burst: float = 1_000.0
    body_bytes: int = 64 * 1024
    batch_bytes: int = 8 * 1024 * 1024
    seconds: float = 10.0
    connections: int = 2_000
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
        cost = min(records, self._burst) - paid
        if tokens < cost:
            wait = math.ceil((cost + paid - tokens) / self._rate)
            raise Problem("too-many-requests", "your address has sent too many answers", retry_after=wait)
        if len(self._buckets) >= _MOST_ADDRESSES and key not in self._buckets:
            self._forget_full(now)
        self._buckets[key] = (tokens - cost, now)

    def _forget_full(self, now: float) -> None:
        """Forget addresses whose bucket is full again; all of them, should that not be enough."""
        refill = self._burst / self._rate
        self._buckets = {key: bucket for key, bucket in self._buckets.items() if now - bucket[1] < refill}
        if len(self._buckets) >= _MOST_ADDRESSES:
            self._buckets.clear()


def _network(address: str) -> str:
    """Whoever has an IPv6 address has 2⁶⁴ of them."""
    address = client_of(address)
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address
