"""What the survey owner may ask and do."""

from __future__ import annotations

import asyncio
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kakuran.collect import dashboard, exports
from kakuran.collect.live import Live, Snapshot
from kakuran.collect.problems import Problem, without_database
from kakuran.collect.public import Public
from kakuran.collect.responses import HEADERS, answer
from kakuran.collect.store import State, Store, StoreError
from kakuran.collect.survey import Survey
from kakuran.errors import KakuranError, MissingExtraError
from kakuran.mine import impossible
from kakuran.mine.impossible import FALSE_ALARM
from kakuran.release import Release
from kakuran.release.files import targets
from kakuran.report import release_report
from kakuran.report.words import LANGUAGES


class Admin:
    """Routes behind the token."""

    def __init__(self, survey: Survey, store: Store, live: Live, public: Public) -> None:
        self._survey = survey
        self._store = store
        self._live = live
        self._public = public

    async def summary(self, _: Request) -> Response:
        """Estimated distributions."""
        return await self._statistics(self._summary)

    def _summary(self, records: Snapshot) -> dict[str, Any]:
        """What the dashboard shows, with the k of what can be exported and signs of made-up answers."""
        stands = exports.standing(self._store, records.n)
        k = self._survey.plan.k_for(exports.crowd(stands["cohorts"], records.n))
        told = dashboard.summary(records, minimum_n=self._survey.minimum_n)
        found = [] if told["suppressed"] else impossible(records.plan, records.codes, FALSE_ALARM)
        return told | {"export": stands, "k": round(k, 5), "impossible": [asdict(one) for one in found]}

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

    async def _statistics(self, ask: Callable[[Snapshot], dict[str, Any]]) -> Response:
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
        body = await _in_thread(lambda: make(exports.export(self._store), self._survey.id, lang))
        headers = HEADERS | {"content-disposition": f'attachment; filename="{name}"'}
        return Response(body, headers=headers, media_type=media_type)

    async def close(self, _: Request) -> Response:
        """Take no more answers."""
        return await self._set_state("closed")

    async def reopen(self, _: Request) -> Response:
        """Take answers again."""
        return await self._set_state("open")

    async def _set_state(self, state: State) -> Response:
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
    except exports.TooFewError as error:
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
