"""Running the application: uvicorn, with patience for nobody who sends slowly, and no log of who sent what."""

from __future__ import annotations

import asyncio
import math
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kakuran.collect.limits import ConnectionPlaces, RequestLimits
from kakuran.collect.server import Collector
from kakuran.errors import CollectError
from kakuran.sockets import ANYWHERE, Proxies, bare_host, client_of, in_address, listen_on
from kakuran.words import Phrase

_BACKLOG = 2048
_DRAIN = 30
_PIECE = 8 * 1024
"""So much of what arrives is read before it is looked at whether it is too much."""
_MOST_AHEAD = 16
"""Requests that may be sent before earlier ones are answered; browsers send none."""
_SLOWEST = 1024
"""Bytes a second of an answer that a client must take."""
_ELSEWHERE = ("192.0.2.1", 9)
"""An address kept for documentation: routes to it show which of our own is seen from outside."""


@dataclass(frozen=True)
class Serving:
    """Where and how to serve.

    Attributes
    ----------
    host : str
        Where to listen.
    port : int
        At which port; 0 takes a free one.
    certificate, key : Path | None
        For TLS, as PEM files.
    proxies : tuple[str, ...]
        Addresses of proxies that are believed when they say whom they speak for.
    limits : RequestLimits
        What is taken from clients.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    certificate: Path | None = None
    key: Path | None = None
    proxies: tuple[str, ...] = ()
    limits: RequestLimits = field(default_factory=RequestLimits)

    def server(self, app: Collector) -> uvicorn.Server:
        """A server for the application."""
        limits = self.limits

        class Impatient(_Impatient):
            allowed = limits
            places = ConnectionPlaces(limits.connections, limits.connections_each)
            proxies = self._believed()

        return uvicorn.Server(
            uvicorn.Config(
                app,
                http=Impatient,
                ws="none",
                lifespan="on",
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,  # uvicorn's would believe what is no address
                limit_concurrency=limits.connections + 1,
                timeout_keep_alive=math.ceil(limits.seconds),
                timeout_graceful_shutdown=_DRAIN,
                ssl_certfile=self.certificate,
                ssl_keyfile=self.key,
            )
        )

    def _believed(self) -> Proxies:
        try:
            return Proxies(self.proxies)
        except ValueError as error:
            raise CollectError(
                Phrase("a proxy is named by its address, as 10.0.0.1, or its network: {error}", error=str(error))
            ) from None

    def listen(self) -> socket.socket:
        """Take the port, before anything is printed about it."""
        try:
            return listen_on(self.host, self.port, _BACKLOG)
        except OSError as error:
            where = f"{in_address(self.host)}:{self.port}"
            raise CollectError(Phrase("cannot listen on {where}: {why}", where=where, why=error.strerror)) from error

    def address(self, listening: socket.socket) -> str:
        """Where people find the survey."""
        scheme = "https" if self.certificate else "http"
        host = _own_address() if bare_host(self.host) in ANYWHERE else self.host
        return f"{scheme}://{in_address(host)}:{listening.getsockname()[1]}"


def _own_address() -> str:
    """Where others in the network find this machine; nothing is sent to find out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


class _Impatient(HttpToolsProtocol):
    """Waits for nobody without end, where uvicorn waits for ever for heads, bodies and readers.

    One deadline holds at any time: for the head of a request, for all of a request and its answer, and, once that is
    written, for the client to take it and to send the rest of a body that nobody read, or another request. A client
    over IPv4 is known by its IPv4 address whatever socket it came through: proxies are named that way.
    """

    allowed: RequestLimits
    places: ConnectionPlaces[_Impatient]
    proxies: Proxies
    _timer: asyncio.TimerHandle | None = None
    _until = 0.0
    _is_in_head = True
    _head_bytes = 0
    _unsent = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if self.client is not None:
            self.client = (client_of(self.client[0]), self.client[1])
        if not self._is_proxy:
            leaving = self.places.take(self, self.client[0] if self.client else "")
            if leaving is not None:
                leaving.transport.abort()
        self._wait(self.allowed.seconds)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self.places.leave(self)
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            if self._is_in_head:
                self._head_bytes += len(piece)
            super().data_received(piece)
            if self.transport.is_closing():
                return
            if self._head_bytes > self.allowed.head_bytes or len(self.pipeline) > _MOST_AHEAD:
                self.send_400_response("Too much at once.")
                return

    def on_message_begin(self) -> None:
        self._wait(self.allowed.seconds)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_in_head, self._head_bytes = False, 0
        self._wait(self.allowed.answer_seconds)
        if self._is_proxy:
            self._believe()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        has_next = bool(self.pipeline)
        super().on_response_complete()
        self.places.renew(self)
        self._unsent = self.transport.get_write_buffer_size()
        self._wait(self.allowed.answer_seconds if has_next else self.allowed.seconds)

    @cached_property
    def _is_proxy(self) -> bool:
        return self.client is not None and self.client[0] in self.proxies

    def _believe(self) -> None:
        """Take the proxy's word for who the client is and how it came."""
        assert self.client is not None  # noqa: S101
        said = [value for name, value in self.headers if name == b"x-forwarded-for"]
        self.scope["client"] = (self.proxies.client_behind(self.client[0], said), 0)
        if (b"x-forwarded-proto", b"https") in self.headers:
            self.scope["scheme"] = "https"

    def _wait(self, seconds: float) -> None:
        """Until then; it is looked whether the time has come now and then, which costs less than a timer a request."""
        self._until = self.loop.time() + seconds

    def _look(self) -> None:
        left = self._until - self.loop.time()
        if left <= 0 and not self._is_taking_an_answer():
            self.transport.abort()  # closing would wait for what was not taken
            return
        patience = self.allowed.seconds
        self._timer = self.loop.call_later(min(left, patience) if left > 0 else patience, self._look)

    def _is_taking_an_answer(self) -> bool:
        """Whether the client took some of its answer since the last look, and fast enough."""
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        return 0 < self._unsent <= before - _SLOWEST * self.allowed.seconds


@contextmanager
def running(app: Collector, serving: Serving | None = None) -> Iterator[str]:
    """Serve from a thread of this process; gives the address, and stops at the end."""
    serving = serving or Serving(port=0)
    server = serving.server(app)
    with serving.listen() as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            while not server.started:
                if not thread.is_alive():
                    raise CollectError(Phrase("the server did not start"))
                time.sleep(0.01)
            yield serving.address(listening)
        finally:
            server.should_exit = True
            thread.join()
