"""Running the application: uvicorn, with patience for nobody who sends slowly, and no log of who sent what."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kakuran.collect.limits import Limits
from kakuran.collect.server import Collector
from kakuran.errors import CollectError
from kakuran.sockets import ANYWHERE, bare_host, client_of, in_address, listen_on

_BACKLOG = 2048
_DRAIN = 30
_ELSEWHERE = ("192.0.2.1", 9)
"""An address kept for documentation: routes to it show which of our own is seen from outside."""


@dataclass(frozen=True)
class Serving:
    """Where and how to serve.

    Attributes
    ----------
    host, port : where to listen; port 0 takes a free one
    certificate, key : for TLS, as PEM files
    proxies : addresses of proxies that are believed when they say whom they speak for
    limits : what is taken from clients
    """

    host: str = "127.0.0.1"
    port: int = 8080
    certificate: Path | None = None
    key: Path | None = None
    proxies: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def server(self, app: Collector) -> uvicorn.Server:
        """A server for the application."""
        seconds = self.limits.seconds

        class Impatient(_Impatient):
            patience = seconds

        return uvicorn.Server(
            uvicorn.Config(
                app,
                http=Impatient,
                ws="none",
                lifespan="on",
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=bool(self.proxies),
                forwarded_allow_ips=list(self.proxies),
                limit_concurrency=self.limits.connections,
                timeout_keep_alive=max(1, round(seconds)),
                timeout_graceful_shutdown=_DRAIN,
                ssl_certfile=self.certificate,
                ssl_keyfile=self.key,
            )
        )

    def listen(self) -> socket.socket:
        """Take the port, before anything is printed about it."""
        try:
            return listen_on(self.host, self.port, _BACKLOG)
        except OSError as error:
            where = f"{in_address(self.host)}:{self.port}"
            raise CollectError(f"cannot listen on {where}: {error.strerror}") from error

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
    """Hangs up on who does not send the head of a request in time, for which uvicorn waits for ever.

    A client over IPv4 is known by its IPv4 address whatever socket it came through: proxies are named that way.
    """

    patience: float
    _deadline: Any = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if self.client is not None:
            self.client = (client_of(self.client[0]), self.client[1])
        self._wait_for_head()

    def on_message_begin(self) -> None:
        self._wait_for_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(self.patience, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


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
                    raise CollectError("the server did not start")
                time.sleep(0.01)
            yield serving.address(listening)
        finally:
            server.should_exit = True
            thread.join()
