"""Reading a request's body and sending an answer: by hand where it is in a hurry, by Starlette elsewhere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kakuran.collect.messages import Problem
from kakuran.collect.site import POLICY

_COMMON = [(name.encode(), value.encode()) for name, value in POLICY.items()]


async def read_body(
    scope: Scope, receive: Receive, most: int, seconds: float, room_for: Callable[[int], AbstractContextManager[None]]
) -> bytes:
    """The JSON body of a request, or a `Problem` if it is too large, takes too long or finds no room.

    Parameters
    ----------
    scope, receive : the request
    most : bytes it may have
    seconds : it may take
    room_for : holds room for so many bytes while they arrive
    """
    headers = dict(scope["headers"])
    if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        raise Problem("wrong-media-type", "the body must be application/json")
    declared = headers.get(b"content-length", b"%d" % most)  # in chunks it may grow to anything
    if not declared.isdigit() or int(declared) > most:
        raise Problem("too-large", f"the body may have {most:,} bytes")
    with room_for(int(declared)):
        try:
            async with asyncio.timeout(seconds):
                return await _whole(receive, most)
        except TimeoutError:
            raise Problem("too-slow", f"the body did not arrive within {seconds:g} s") from None


async def _whole(receive: Receive, most: int) -> bytes:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem("too-slow", "the client went away")
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size > most:
            raise Problem("too-large", f"the body may have {most:,} bytes")
        if not message.get("more_body"):
            return b"".join(parts)


async def send_json(send: Send, status: int, value: Any) -> None:
    """Answer with JSON."""
    await _send(send, status, json.dumps(value).encode(), [(b"content-type", b"application/json")])


async def send_problem(send: Send, problem: Problem) -> None:
    """Answer with problem details."""
    headers = [(name.encode(), value.encode()) for name, value in problem.headers().items()]
    if problem.kind.status in (408, 413):
        headers.append((b"connection", b"close"))  # the rest of the body is not waited for
    await _send(send, problem.kind.status, problem.body(), headers)


async def _send(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length, *_COMMON]})
    await send({"type": "http.response.body", "body": body})


HEADERS = POLICY | {"cache-control": "no-store"}


def answer(value: Any, *, status: int = 200) -> Response:
    """JSON."""
    return Response(json.dumps(value, ensure_ascii=False, allow_nan=False), status, HEADERS, "application/json")


def answer_problem(problem: Problem) -> Response:
    """Problem details."""
    return Response(problem.body(), problem.kind.status, HEADERS | problem.headers())
