"""The studio's server: one desk, for whoever has the secret, from a browser on the same machine.

Other websites and other users of the machine reach the port, too. So every call needs the secret, which came behind
the # of an address and travels in a header that no other origin may send; it must name this server as its host, so
that no name that somebody else resolves to this machine will do, and come from this server's own page.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import math
import mimetypes
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from kakuran.charts import new_figure
from kakuran.collect import POLICY, new_secret, served as served_by_collector
from kakuran.errors import CollectError, KakuranError
from kakuran.sockets import listen_on
from kakuran.studio.desk import Desk
from kakuran.words import LANGUAGES, Phrase, words_in

log = logging.getLogger(__name__)
STATIC = Path(__file__).parent / "static"
LOOPBACK = "127.0.0.1"
MOST_BYTES = 8 * 2**20
"""Of a call; the longest is a schema, written out."""
_SHARED = ("page.js", "style.css")
"""What the collector's pages have, too."""
_HEADERS = POLICY | {"cache-control": "no-store"}
_REPORT = POLICY | {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
}


@cache
def served() -> dict[str, bytes]:
    """Every script and style by its name; `texts.js` holds the page's own words, taken from the one catalogue."""
    texts = {lang: dict(words_in(lang).studio) for lang in LANGUAGES}
    made = f'"use strict";\nconst Texts = {json.dumps(texts, ensure_ascii=False, indent=1)};\n'
    found = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.suffix in (".js", ".css")}
    return {name: served_by_collector()[name] for name in _SHARED} | found | {"texts.js": made.encode()}


class Studio:
    """The application.

    Parameters
    ----------
    desk : Desk
        What it shows.
    secret : str
        What every call must show.
    port : int
        Where it listens, as calls must name it.
    """

    def __init__(self, desk: Desk, secret: str, port: int) -> None:
        self._desk = desk
        self._secret = secret.encode()
        self._hosts = {f"{host}:{port}" for host in (LOOPBACK, "localhost")}
        self._locks = {part: threading.Lock() for part in ("draft", *_PARTS.values())}
        self._tickets: dict[str, Path] = {}
        self._reports: set[Path] = set()
        self._routed = Starlette(
            routes=[
                Route("/", self._page),
                Route("/static/{file}", self._static),
                Route("/shown/{ticket}", self._shown),
                Route("/api/{call}", self._called, methods=["POST"]),
            ],
            exception_handlers={HTTPException: _answer_refusal, 500: _answer_failure},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; one that names another host is not answered, whatever it asks."""
        try:
            if scope["type"] == "http" and Request(scope).headers.get("host", "") not in self._hosts:
                await _refused(421, "this is not the address of the studio")(scope, receive, send)
            else:
                await self._routed(scope, receive, send)
        except Exception as error:  # answered already; the log must not repeat what a message quotes of the data
            where = traceback.extract_tb(error.__traceback__)[-1]
            log.error("%s at %s:%s", type(error).__name__, where.filename, where.lineno)

    async def _page(self, _: Request) -> Response:
        return HTMLResponse((STATIC / "studio.html").read_text(encoding="utf-8"), headers=_HEADERS)

    async def _static(self, request: Request) -> Response:
        name = request.path_params["file"]
        if name not in served():
            raise HTTPException(404, "there is nothing like that")
        return Response(served()[name], media_type=mimetypes.guess_type(name)[0], headers=_HEADERS)

    async def _shown(self, request: Request) -> Response:
        """A report, once, for whoever was given a ticket for it."""
        path = self._tickets.pop(request.path_params["ticket"], None)
        if path is None:
            raise HTTPException(404, "this has been shown already; ask for it again")
        return HTMLResponse(path.read_text(encoding="utf-8"), headers=_REPORT)

    async def _called(self, request: Request) -> Response:
        self._check(request)
        name, given = request.path_params["call"], await _body(request)
        try:
            if name == "progress":  # of what is being done
                return _answer(self._desk.progress)
            return _answer(await asyncio.to_thread(self._work, name, given))
        except KakuranError as error:
            return _refused(422, words_in(_lang(given)).error(error))
        except OSError as error:
            return _refused(422, error.strerror or "that cannot be read or written")
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            log.error("%s in %s", type(error).__name__, name)
            return _refused(400, "the studio's page and its server do not understand each other; load the page again")

    def _work(self, name: str, given: Mapping[str, Any]) -> Any:
        with self._locks[_PARTS.get(name, "draft")]:
            if name in _CHANGES:
                _CHANGES[name](self._desk, given)
                return self._desk.to_dict(words_in(_lang(given)))
            if name in _LOOKS:
                return _LOOKS[name](self._desk, given)
            if name == "report":
                return self._report(given)
            if name == "show":
                return self._ticket(given)
        raise HTTPException(404, "there is nothing like that")

    def _check(self, request: Request) -> None:
        """Let nobody through who has no secret, or comes from a page that is not ours."""
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "same-origin")
        if origin not in (None, f"http://{request.headers['host']}") or site != "same-origin":
            raise HTTPException(403, "this is for the studio's own page")
        kind, _, shown = request.headers.get("authorization", "").partition(" ")
        if not hmac.compare_digest(shown.strip().encode(), self._secret) or kind.lower() != "bearer":
            raise HTTPException(401, "open the address that kakuran studio printed")
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise HTTPException(415, "calls are written in JSON")

    def _ticket(self, given: Mapping[str, Any]) -> dict[str, str]:
        """An address at which a report that was written here is shown once."""
        path = Path(given["path"])
        if path not in self._reports:
            raise KakuranError(Phrase("{path}: is no report of this session", path=path))
        ticket = new_secret()
        self._tickets[ticket] = path
        return {"address": f"shown/{ticket}"}

    def _report(self, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        files = self._desk.report(_lang(given))
        self._reports.update(Path(file["path"]) for file in files)
        return files


_Given: TypeAlias = Mapping[str, Any]

_CHANGES: dict[str, Callable[[Desk, _Given], object]] = {
    "state": lambda _, __: None,
    "open": lambda desk, given: desk.open(given["named"], given.get("sql"), **_told(given)),
    "edit": lambda desk, given: desk.edit(given["column"], given["changes"]),
    "confirm": lambda desk, given: desk.confirm(given["columns"], is_public=given["public"]),
    "privately": lambda desk, _: desk.find_privately(),
    "wish": lambda desk, given: desk.wish(**given["wishes"]),
    "write": lambda desk, given: desk.write(given["toml"]),
    "undo": lambda desk, _: desk.undo(),
    "redo": lambda desk, _: desk.redo(),
    "only": lambda desk, given: desk.leave_out_others(given["columns"]),
    "band": lambda desk, given: desk.make_bands(given["columns"]),
    "account": lambda desk, _: desk.start_ledger(),
}
"""What changes what was said; the answer is all that is known then."""

_LOOKS: dict[str, Callable[[Desk, _Given], Any]] = {
    "folder": lambda desk, given: desk.look_into(given.get("folder")),
    "choice": lambda desk, given: desk.choice(words_in(_lang(given))),
    "bands": lambda desk, _: desk.bands(),
    "beside": lambda desk, _: desk.beside(),
    "curve": lambda desk, _: desk.curve(),
    "risk": lambda desk, _: desk.risk(),
    "rehearse": lambda desk, given: desk.rehearse(
        given["down"], given["across"], words_in(_lang(given)), is_narrow=bool(given.get("narrow"))
    ),
    "release": lambda desk, given: desk.release(
        given["target"], _lang(given), force=bool(given.get("force")), ledger=given.get("ledger") or None
    ),
    "joined": lambda desk, _: desk.joined(),
    "attack": lambda desk, given: desk.attack(words_in(_lang(given))),
    "read": lambda desk, given: desk.read(given["path"]),
    "ask": lambda desk, given: desk.ask(given, words_in(_lang(given))),
}
"""What changes nothing of that. All is in the body of a call, so that nothing of the data stands in an address."""


_PARTS = {"attack": "made", "report": "made", "read": "read", "ask": "read", "folder": "folder", "show": "show"}
"""What has nothing to do with the draft, and with what it has to do: an analyst need not wait for a report."""


def _lang(given: Mapping[str, Any]) -> str:
    return given["lang"] if given.get("lang") in LANGUAGES else LANGUAGES[0]


_TOLD = ("delimiter", "encoding", "decimal", "thousands", "names", "sheet")


def _told(given: Mapping[str, Any]) -> dict[str, str]:
    told = given.get("told") or {}
    return {name: str(told[name]) for name in _TOLD if told.get(name)}


async def _body(request: Request) -> Mapping[str, Any]:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise HTTPException(413, f"a call may have {MOST_BYTES:,} bytes")
        parts.append(part)
    try:
        given = json.loads(b"".join(parts) or b"{}")
    except (ValueError, RecursionError):
        raise HTTPException(400, "that is no JSON") from None
    if not isinstance(given, dict):
        raise HTTPException(400, "a call has named parts")
    return given


def _answer(value: Any) -> Response:
    return Response(json.dumps(_finite(value), ensure_ascii=False, allow_nan=False), 200, _HEADERS, "application/json")


def _finite(value: Any) -> Any:
    """What JSON has no number for is nothing."""
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _refused(status: int, why: str) -> Response:
    return Response(json.dumps({"detail": why}, ensure_ascii=False), status, _HEADERS, "application/json")


async def _answer_refusal(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    return _refused(error.status_code, error.detail)


async def _answer_failure(_: Request, __: Exception) -> Response:
    return _refused(500, "the studio failed; what was said so far is not lost")


@contextmanager
def running(desk: Desk, port: int = 0) -> Iterator[tuple[str, Callable[[], None]]]:
    """Serve from a thread of this process; gives the address with its secret, and what waits until that ends.

    Parameters
    ----------
    desk : Desk
        What is shown.
    port : int
        Where to listen, on this machine only; 0 takes a free one.
    """
    try:
        listening = listen_on(LOOPBACK, port)
    except OSError as error:
        raise CollectError(
            Phrase("cannot listen on {host}:{port}: {why}", host=LOOPBACK, port=port, why=error.strerror)
        ) from error
    with listening, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # answers say it themselves, and filters are of all threads that answer
        secret, taken = new_secret(), listening.getsockname()[1]
        server = _server(Studio(desk, secret, taken))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            _wait_for(server, thread)
            threading.Thread(target=new_figure, args=(1, 1), daemon=True).start()  # what draws takes a second to load
            yield f"http://{LOOPBACK}:{taken}/#{secret}", thread.join
        finally:
            server.should_exit = True
            thread.join()


def _server(app: Studio) -> uvicorn.Server:
    quiet: Any = {"log_level": "warning", "access_log": False, "server_header": False}
    return uvicorn.Server(uvicorn.Config(app, ws="none", lifespan="off", timeout_graceful_shutdown=2, **quiet))


def _wait_for(server: uvicorn.Server, thread: threading.Thread) -> None:
    while not server.started:
        if not thread.is_alive():
            raise CollectError(Phrase("the studio's server did not start"))
        time.sleep(0.01)
