"""The pages people see, with the fingerprint of every file they load, and a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import json
import mimetypes
import re
from functools import cache
from html import escape
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from kakuran.collect.messages import KINDS
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
    """Every script and style by its name; `texts.js` holds the pages' own words, taken from the one catalogue."""
    texts = {lang: dict(words_in(lang).pages) for lang in LANGUAGES}
    made = f'"use strict";\nconst Texts = {json.dumps(texts, ensure_ascii=False, indent=1)};\n'
    found = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.suffix in (".js", ".css")}
    return found | {"texts.js": made.encode()}


def fingerprint(name: str) -> str:
    """The SHA-384 of a file, as browsers write it."""
    return f"sha384-{base64.b64encode(hashlib.sha384(served()[name]).digest()).decode()}"


def fingerprints() -> dict[str, str]:
    """The fingerprint of every script, to be compared with those of another copy of the same version."""
    return {name: fingerprint(name) for name in sorted(served()) if name.endswith(".js")}


POLICY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
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
