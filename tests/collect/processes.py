"""Servers as processes of their own, which can be killed."""

import base64
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import httpx


@cache
def _forks():
    command = [sys.executable, str(Path(__file__).with_name("forks.py"))]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _ask(**what):
    forks = _forks()
    forks.stdin.write(json.dumps(what) + "\n")
    forks.stdin.flush()
    return int(forks.stdout.readline())


class Server:
    """A survey served by a process at a port of its own."""

    def __init__(self, survey, address):
        with socket.create_server(("127.0.0.1", 0)) as trial:
            port = trial.getsockname()[1]
        pickled = base64.b64encode(pickle.dumps(survey)).decode()
        self._how = {"survey": pickled, "address": str(address), "port": port}
        self.url = f"http://127.0.0.1:{port}"
        self.start()

    def start(self):
        """Start, and wait until it answers."""
        self.pid = _ask(**self._how)
        until = time.monotonic() + 60
        while True:
            try:
                return httpx.get(f"{self.url}/healthz", verify=False)
            except httpx.TransportError:
                assert time.monotonic() < until
                time.sleep(0.02)

    def kill(self):
        """As if somebody pulled the plug of the process."""
        self._end(signal.SIGKILL)

    def stop(self):
        """Ask it to end; how it did."""
        return self._end(signal.SIGTERM)

    def end(self):
        """If it has not ended yet."""
        if self.pid is not None:
            self.kill()

    def _end(self, number):
        os.kill(self.pid, number)
        pid, self.pid = self.pid, None
        return _ask(pid=pid)


STOPPED_BY_SIGNAL = (0, -signal.SIGTERM)
