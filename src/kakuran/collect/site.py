"""The pages people see, served from memory with a policy that lets nothing else in."""

from __future__ import annotations

import mimetypes
from html import escape

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from kakuran.collect.pages import STATIC, page
from kakuran.collect.problems import KINDS

POLICY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_PAGE = POLICY | {"cache-control": "no-cache"}
_SERVED = (".js", ".css")


class Site:
    """The pages and the static files that come with kakuran."""

    def __init__(self) -> None:
        self._files = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.suffix in _SERVED}
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
        if name not in self._files:
            raise HTTPException(404)
        return Response(self._files[name], media_type=mimetypes.guess_type(name)[0], headers=_PAGE)

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
