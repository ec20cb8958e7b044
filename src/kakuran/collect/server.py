"""The collector's HTTP server: an ASGI application around a survey and its store."""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from kakuran.collect.limits import Bodies, Metrics, RateLimiter, RequestLimits
from kakuran.collect.messages import Form, Problem, Submission, id_text, secret_hash
from kakuran.collect.records import Live
from kakuran.collect.routes import Admin, PublicRoutes
from kakuran.collect.site import Site, answer_problem, read_body, send_json, send_problem
from kakuran.collect.store import Store, StoreError
from kakuran.collect.survey import Survey
from kakuran.collect.writer import Writer

log = logging.getLogger(__name__)
_FOLLOWING = 5.0
_RECORD_BYTES = 8 * 1024
"""Bytes of a batch that count as a record, where it holds fewer."""
_SUBMIT, _BATCH = "/api/responses", "/api/responses/batch"


def create_app(survey: Survey, store: Store, token: str, *, limits: RequestLimits | None = None) -> Collector:
    """The application that serves a survey.

    Parameters
    ----------
    survey : Survey
        What is asked.
    store : Store
        Where answers are kept, opened for the same survey.
    token : str
        What the survey owner shows to see statistics.
    limits : RequestLimits | None
        What is taken from clients.
    """
    return Collector(survey, store, token, limits or RequestLimits())


class Collector:
    """Takes answers directly; everything else is routed."""

    def __init__(self, survey: Survey, store: Store, token: str, limits: RequestLimits) -> None:
        store.claim()
        self._form = Form(survey)
        self._store = store
        self._limits = limits
        self._limiter = RateLimiter(limits.rate, limits.burst)
        self._bodies = Bodies(limits.bodies_bytes)
        self._metrics = Metrics()
        self._writer = Writer(store, self._metrics, limits.waiting)
        self._live = Live(store, self._form)
        public = PublicRoutes(survey, store, self._live, self._writer, self._metrics)
        admin = Admin(survey, store, self._live, public)
        self.routes = _routes(Site(), public, admin, token)
        self._routed = Starlette(
            routes=self.routes,
            lifespan=self._lifespan,
            exception_handlers={Problem: self._answer_problem, HTTPException: self._answer_http, 500: _answer_failure},
        )
        self._routed.router.redirect_slashes = False  # to wherever a request says that it was sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        try:
            if scope["type"] == "http" and scope["path"] in (_SUBMIT, _BATCH):
                await self._take(scope, receive, send)
            else:
                await self._routed(scope, receive, send)
        except Exception as error:  # answered already; the log must not repeat what was sent
            where = traceback.extract_tb(error.__traceback__)[-1]
            log.error("%s at %s:%s", type(error).__name__, where.filename, where.lineno)

    async def _take(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["method"] != "POST":
                raise Problem("method-not-allowed", "answers are sent with POST")
            if scope["path"] == _SUBMIT:
                await self._take_one(scope, receive, send)
            else:
                await self._take_batch(scope, receive, send)
        except Problem as problem:
            self._metrics.refused[problem.kind.name] += 1
            await send_problem(send, problem)
        except Exception:
            await send_problem(send, Problem("internal", "this is not your fault"))
            raise

    async def _take_one(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._limiter.take(_address(scope), 1)
        body = await self._read(scope, receive, self._limits.body_bytes)
        submission = self._form.read_one(body)
        added = await self._store_or_refuse(submission)
        await send_json(send, 201 if added else 200, {"id": id_text(submission.ids[0])})

    async def _take_batch(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._limiter.take(_address(scope), 1)  # a batch that is refused costs something too
        body = await self._read(scope, receive, self._limits.batch_bytes)
        paid = math.ceil(len(body) / _RECORD_BYTES) or 1
        self._limiter.take(_address(scope), paid, paid=1)  # reading keeps everybody waiting, whatever it holds
        submission = self._form.read_batch(body)
        count = len(submission.ids)
        self._limiter.take(_address(scope), count, paid=paid)
        added = await self._store_or_refuse(submission)
        await send_json(send, 200, {"accepted": added, "replayed": count - added})

    async def _read(self, scope: Scope, receive: Receive, most: int) -> bytes:
        room_for = partial(self._bodies.room_for, address=_address(scope))
        return await read_body(scope, receive, most, self._limits.seconds, room_for)

    async def _store_or_refuse(self, submission: Submission) -> int:
        verdict, added = await self._writer.submit(submission)
        if verdict not in ("new", "replayed"):
            raise Problem(verdict, _DETAILS[verdict])
        self._metrics.accepted += added
        self._metrics.replayed += len(submission.ids) - added
        return added

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(self._live.refresh)
        self._writer.start()
        following = asyncio.create_task(self._follow())
        try:
            yield
        finally:
            following.cancel()
            await self._writer.stop()
            await asyncio.to_thread(self._store.close)

    async def _follow(self) -> None:
        """Keep the columns in memory near the store, whether or not somebody looks at them."""
        while True:
            await asyncio.sleep(_FOLLOWING)
            with suppress(StoreError):
                await asyncio.to_thread(self._live.refresh)

    async def _answer_problem(self, _: Request, problem: Exception) -> Response:
        assert isinstance(problem, Problem)  # noqa: S101
        self._metrics.refused[problem.kind.name] += 1
        return answer_problem(problem)

    async def _answer_http(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        name = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "malformed")
        response = await self._answer_problem(request, Problem(name, "there is nothing like that"))
        response.headers.update(error.headers or {})
        return response


async def _answer_failure(_: Request, __: Exception) -> Response:
    return answer_problem(Problem("internal", "this is not your fault"))


_DETAILS = {
    "conflict": "another answer sheet has this id",
    "closed": "the survey is closed",
    "bad-invitation": "the invitation is not known or was used",
}


def _routes(site: Site, public: PublicRoutes, admin: Admin, token: str) -> list[Route]:
    guarded = _guard(token)
    return [
        Route("/", site.respondent),
        Route("/dashboard", site.dashboard),
        Route("/static/{file}", site.static),
        Route("/problems/{name}", site.problem),
        Route("/openapi.json", public.openapi),
        Route("/api/survey", public.survey),
        Route("/api/status", public.status),
        Route("/healthz", public.health),
        Route("/readyz", public.ready),
        Route("/metrics", public.metrics),
        Route("/api/admin/summary", guarded(admin.summary)),
        Route("/api/admin/crosstab", guarded(admin.crosstab)),
        Route("/api/admin/tree", guarded(admin.tree)),
        Route("/api/admin/export", guarded(admin.export)),
        Route("/api/admin/close", guarded(admin.close), methods=["POST"]),
        Route("/api/admin/reopen", guarded(admin.reopen), methods=["POST"]),
    ]


def _guard(token: str) -> Callable[..., Callable[..., object]]:
    """Let nobody through without the token; how long the comparison takes tells nothing of it."""
    expected = secret_hash(token)

    def guarded(endpoint: Callable[..., object]) -> Callable[..., object]:
        async def checked(request: Request) -> object:
            kind, _, shown = request.headers.get("authorization", "").partition(" ")
            if not hmac.compare_digest(secret_hash(shown.strip()), expected) or kind.lower() != "bearer":
                raise Problem("unauthorised", "this is for the survey owner")
            return await endpoint(request)  # type: ignore[misc]

        return checked

    return guarded


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""
