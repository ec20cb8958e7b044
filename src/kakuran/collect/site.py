"""What the collector serves: pages from memory, each file with its fingerprint, headers, and answers to requests.

Bodies are read and answers sent by hand where it is in a hurry, by Starlette elsewhere; a policy lets nothing else in.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import mimetypes
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from kakuran.collect.messages import KINDS, Problem
from kakuran.words import LANGUAGES, words_in

STATIC = Path(__file__).parent / "static"

_INCLUDED = re.compile(r"<!-- (\w+\.html) -->")
_LOADED = re.compile(r'(?:src|href)="static/([\w.-]+)"')


def page(name: str) -> str:
    """An HTML page whose scripts and stylesheets carry their fingerprints (Subresource Integrity).

    A browser runs none of them that a proxy or a cache has changed. What pages share is in a file that they name.
    """
    html = _INCLUDED.sub(lambda found: _text(found[1]), _text(name))
    return _LOADED.sub(lambda found: f'{found[0]} integrity="{fingerprint(found[1])}"', html)


def _text(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


@cache
def served() -> dict[str, bytes]:
    """Every script and style by its name; `texts.js` holds the pages' own words in ASCII, from the one catalogue."""
    texts = {lang: dict(words_in(lang).pages) for lang in LANGUAGES}
    made = f'"use strict";\nconst Texts = {json.dumps(texts, indent=1)};\n'
    found = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.suffix in (".js", ".css")}
    return found | {"texts.js": made.encode()}


def fingerprint(name: str) -> str:
    """The SHA-384 of a file, as browsers write it."""
    return _digest(served()[name])


def _digest(content: bytes) -> str:
    return f"sha384-{base64.b64encode(hashlib.sha384(content).digest()).decode()}"


def fingerprints() -> dict[str, str]:
    """The fingerprint of every file of the pages, to be compared with those of another copy of the same version."""
    html = {name: _digest(page(name).encode()) for name in ("dashboard.html", "index.html")}
    return {name: fingerprint(name) for name in sorted(served())} | html


POLICY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_PAGE = POLICY | {"cache-control": "no-cache"}


class Site:
    """The pages and the static files that come with kakuran."""

    def __init__(self) -> None:
        self._respondent, self._dashboard = page("index.html"), page("dashboard.html")

    async def respondent(self, _: Request) -> Response:
        """The survey."""
        return HTMLResponse(self._respondent, headers=_PAGE)

    async def dashboard(self, _: Request) -> Response:
        """The survey owner's view; its script asks for the statistics with a token."""
        return HTMLResponse(self._dashboard, headers=_PAGE)

    async def static(self, request: Request) -> Response:
        """A script or a style."""
        name = request.path_params["file"]
        if name not in served():
            raise HTTPException(404)
        return Response(served()[name], media_type=mimetypes.guess_type(name)[0], headers=_PAGE)

    async def problem(self, request: Request) -> Response:
        """What a problem means and what to do about it, for who follows its type."""
        kind = KINDS.get(request.path_params["name"])
        if kind is None:
            raise HTTPException(404)
        text = f"<h1>{escape(kind.title)}</h1><p>Status {kind.status}. {escape(kind.advice)}</p>"
        return HTMLResponse(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(kind.title)}</title>{text}</html>',
            headers=_PAGE,
        )


_COMMON = [(name.encode(), value.encode()) for name, value in POLICY.items()]


async def read_body(
    scope: Scope, receive: Receive, most: int, seconds: float, room_for: Callable[[int], AbstractContextManager[None]]
) -> bytes:
    """The JSON body of a request, or a `Problem` if it is too large, takes too long or finds no room.

    Parameters
    ----------
    scope : Scope
        The request.
    receive : Receive
        Its channel.
    most : int
        Bytes it may have.
    seconds : float
        It may take.
    room_for : Callable[[int], AbstractContextManager[None]]
        Holds room for so many bytes while they arrive.
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
