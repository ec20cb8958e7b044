"""What may be asked over HTTP: by anybody, and by the survey owner, whose token is a file only its owner can read."""

from __future__ import annotations

import asyncio
import os
import time
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kakuran.collect import dashboard
from kakuran.collect.limits import Metrics
from kakuran.collect.messages import Problem, new_secret, without_database
from kakuran.collect.openapi import document
from kakuran.collect.records import Live, TooFewError, export_survey, hidden_among, standing
from kakuran.collect.site import HEADERS, answer
from kakuran.collect.store import Store, StoreError, SurveyState
from kakuran.collect.survey import Survey
from kakuran.collect.writer import Writer
from kakuran.errors import CollectError, KakuranError, MissingExtraError
from kakuran.release import Release, targets
from kakuran.report import release_report
from kakuran.words import LANGUAGES, Phrase

_FRESH = 1.0
"""Seconds for which the public may be told what was true of the database before."""


class PublicRoutes:
    """What anybody may ask: the survey, how it stands, whether the server is well."""

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


def load_token(path: Path) -> str:
    """The token in a file, which is made if it is not there."""
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as made:
            made.write(new_secret() + "\n")
    except FileExistsError:
        pass
    except OSError as error:
        raise CollectError(
            Phrase("{path}: the token could not be written: {why}", path=path, why=error.strerror)
        ) from error
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CollectError(
            Phrase("{path}: not a token that can be read: {error}", path=path, error=str(error))
        ) from error
    if len(token) < 16:
        raise CollectError(Phrase("{path}: a token has at least 16 characters", path=path))
    return token


class Admin:
    """Routes behind the token."""

    def __init__(self, survey: Survey, store: Store, live: Live, public: PublicRoutes) -> None:
        self._survey = survey
        self._store = store
        self._live = live
        self._public = public

    async def summary(self, _: Request) -> Response:
        """Estimated distributions."""
        return await self._statistics(self._summary)

    def _summary(self, records: Release) -> dict[str, Any]:
        """What the dashboard shows, with the k of what can be exported and signs of made-up answers."""
        stands = standing(self._store, records.n)
        people = max(hidden_among(stands["cohorts"], records.n), 1)
        plan = self._survey.plan_for(people)
        told = dashboard.summary(records, minimum_n=self._survey.minimum_n)
        found = [] if told["suppressed"] else records.impossible()
        k = round(max(plan.k, plan.k_for(people)), 5)
        return told | {"export": stands, "k": k, "impossible": [asdict(one) for one in found]}

    async def crosstab(self, request: Request) -> Response:
        """Two questions against each other."""
        rows, columns = _parameter(request, "rows"), _parameter(request, "columns")
        return await self._statistics(
            lambda records: dashboard.crosstab(records, rows, columns, minimum_n=self._survey.minimum_n)
        )

    async def tree(self, request: Request) -> Response:
        """A decision tree for one question."""
        target = _parameter(request, "target")
        return await self._statistics(lambda records: dashboard.tree(records, target, minimum_n=self._survey.minimum_n))

    async def _statistics(self, ask: Callable[[Release], dict[str, Any]]) -> Response:
        return answer(await _in_thread(lambda: ask(self._live.snapshot())))

    async def export(self, request: Request) -> Response:
        """The records of all complete cohorts as a release."""
        kind = _parameter(request, "format")
        if kind not in _EXPORTS:
            raise Problem("invalid", f"format is one of {', '.join(_EXPORTS)}")
        asked = request.query_params.get("lang")
        lang = asked if asked in LANGUAGES else "en"
        make, suffix, media_type = _EXPORTS[kind]
        name = f"{self._survey.id}.{suffix}"
        body = await _in_thread(lambda: make(export_survey(self._store), self._survey.id, lang))
        headers = HEADERS | {"content-disposition": f'attachment; filename="{name}"'}
        return Response(body, headers=headers, media_type=media_type)

    async def close(self, _: Request) -> Response:
        """Take no more answers."""
        return await self._set_state("closed")

    async def reopen(self, _: Request) -> Response:
        """Take answers again."""
        return await self._set_state("open")

    async def _set_state(self, state: SurveyState) -> Response:
        await _in_thread(lambda: self._store.set_state(state))
        self._public.forget()
        return answer({"state": state})


def _parameter(request: Request, name: str) -> str:
    if name not in request.query_params:
        raise Problem("invalid", f"the parameter {name} is missing")
    return request.query_params[name]


async def _in_thread(work: Callable[[], Any]) -> Any:
    try:
        return await asyncio.to_thread(work)
    except StoreError:
        raise without_database() from None
    except TooFewError as error:
        raise Problem("no-records", str(error)) from None
    except MissingExtraError as error:
        raise Problem("not-installed", str(error)) from None
    except KakuranError:
        raise Problem("invalid", "that cannot be asked of this survey") from None


def _parquet(release: Release, name: str, _: str) -> bytes:
    return _saved(release, f"{name}.parquet")[0][1]


def _csv(release: Release, name: str, _: str) -> bytes:
    """The table and its manifest, which must stay together."""
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
        for file, content in _saved(release, f"{name}.csv"):
            files.writestr(file, content)
    return archive.getvalue()


def _html(release: Release, _: str, lang: str) -> bytes:
    return release_report(release, lang=lang).encode()


def _saved(release: Release, name: str) -> list[tuple[str, bytes]]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        release.save(path)
        return [(target.name, target.read_bytes()) for target in targets(path)]


_EXPORTS: dict[str, tuple[Callable[[Release, str, str], bytes], str, str]] = {
    "csv": (_csv, "csv.zip", "application/zip"),
    "html": (_html, "html", "text/html; charset=utf-8"),
    "parquet": (_parquet, "parquet", "application/vnd.apache.parquet"),
}
