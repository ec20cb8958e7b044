"""Keys, sockets, proxies and parties that misbehave."""

from __future__ import annotations

import dataclasses
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from kakuran.vertical import Meeting, Party, meet
from kakuran.vertical.transport import make_key


def certified(plan, folder):
    """The plan with a fresh key for every party; keys lie in the folder as NAME.key."""
    parties = tuple(
        dataclasses.replace(terms, certificate=make_key(folder / f"{terms.name}.key", terms.name))
        for terms in plan.parties
    )
    return dataclasses.replace(plan, parties=parties)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as trial:
        return trial.getsockname()[1]


def over_tls(plan, folder, frames, *, through=None, timeout=20.0, states=None):
    """Fit over real sockets, optionally with the joining party connecting through a proxy's port."""
    port = free_port()
    entrance = port if through is None else through(port)

    def run(name):
        first = name == plan.names[0]
        meeting = Meeting(
            folder / f"{name}.key",
            ("127.0.0.1", port) if first else None,
            [] if first else [("127.0.0.1", entrance)],
            timeout,
            timeout,
        )
        with meet(plan, name, meeting) as links:
            return Party(name, plan, frames[name], state=(states or {}).get(name)).fit(links)

    with ThreadPoolExecutor(len(plan.names)) as pool:
        return dict(zip(plan.names, pool.map(run, plan.names), strict=True))


class RecordingProxy:
    """Sits on the wire between two parties and keeps every byte."""

    def __init__(self):
        self.recorded = bytearray()
        self._server = socket.create_server(("127.0.0.1", 0))
        self._threads = []

    def before(self, port):
        """Listen, pass everything on to this port; returns our own."""
        self._start(self._accept, port)
        return self._server.getsockname()[1]

    def _accept(self, port):
        near, _ = self._server.accept()
        far = _connected(port)
        self._start(self._pump, near, far)
        self._start(self._pump, far, near)

    def _pump(self, source, target):
        try:
            while content := source.recv(1 << 16):
                self.recorded += content
                target.sendall(content)
        except OSError:
            pass
        for end in (source, target):
            end.close()

    def _start(self, function, *arguments):
        self._threads.append(threading.Thread(target=function, args=arguments, daemon=True))
        self._threads[-1].start()

    def close(self):
        self._server.close()


def _connected(port, seconds=20):
    """A connection to somebody who may not listen yet."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
