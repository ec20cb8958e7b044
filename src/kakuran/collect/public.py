"""What anybody may ask: the survey, how it stands, whether the server is well."""

from __future__ import annotations

import asyncio
import time

from starlette.requests import Request
from starlette.responses import Response

from kakuran.collect.limits import Metrics
from kakuran.collect.messages import without_database
from kakuran.collect.openapi import document
from kakuran.collect.records import Live
from kakuran.collect.responses import HEADERS, answer
from kakuran.collect.store.store import Store, StoreError, SurveyState
from kakuran.collect.survey import Survey
from kakuran.collect.writer import Writer

_FRESH = 1.0
"""Seconds for which the public may be told what was true of the database before."""


class PublicRoutes:
    """Public routes."""

    def __init__(self, survey: Survey, store: Store, live: Live, writer: Writer, metrics: Metrics) -> None:
        self._survey = survey
        self._definition = survey.definition()
        self._document = document(survey)
        self._store = store
        self._live = live
        self._writer = writer
        self._metrics = metrics
        self._known: tuple[SurveyState, int, float] | None = None

    def forget(self) -> None:
        """The state has changed: look again."""
        self._known = None

    async def survey(self, _: Request) -> Response:
        """What is asked, and how answers are to be perturbed."""
        state, _n = await self._state_and_count()
        return answer(self._definition | {"state": state})

    async def status(self, _: Request) -> Response:
        """Whether answers are taken, and how many there are once there are enough."""
        state, n = await self._state_and_count()
        return answer({"state": state, "n": n if n >= self._survey.minimum_n else None})

    async def openapi(self, _: Request) -> Response:
        """This API, described."""
        return answer(self._document)

    async def health(self, _: Request) -> Response:
        """The server runs."""
        return answer({"status": "ok"})

    async def ready(self, _: Request) -> Response:
        """Answers can be stored."""
        if not await self._is_ready():
            raise without_database()
        return answer({"status": "ready"})

    async def metrics(self, _: Request) -> Response:
        """For Prometheus; nothing that tells how many have answered before this server has stored enough."""
        are_enough = self._metrics.accepted >= self._survey.minimum_n
        text = self._metrics.text(is_ready=self._writer.failure is None, tells_records=are_enough)
        return Response(text, headers=HEADERS, media_type="text/plain; version=0.0.4")

    async def _is_ready(self) -> bool:
        """Ask the database; after a failure only a write will do."""
        try:
            await asyncio.to_thread(self._store.check)
            if self._writer.failure is not None:
                await asyncio.to_thread(self._store.probe)
                self._writer.failure = None
        except StoreError:
            return False
        return True

    async def _state_and_count(self) -> tuple[SurveyState, int]:
        now = time.monotonic()
        if self._known is None or now - self._known[2] > _FRESH:
            try:
                state, n = await asyncio.to_thread(lambda: (self._store.state, self._live.refresh()))
            except StoreError:
                raise without_database() from None
            self._known = (state, n, now)
        return self._known[:2]
