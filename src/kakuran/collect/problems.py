"""What can go wrong with a request, as problem details (RFC 9457). Nothing here ever repeats what was sent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class Kind:
    """A kind of problem: its stable name, status and title, and what to do about it."""

    name: str
    status: int
    title: str
    advice: str


KINDS = {
    kind.name: kind
    for kind in (
        Kind("malformed", 400, "Not a message", "Send one JSON object in UTF-8, as the API's description says."),
        Kind("unauthorised", 401, "Not authorised", "Send the survey owner's token: Authorization: Bearer TOKEN."),
        Kind("bad-invitation", 403, "No valid invitation", "An invitation is good for one answer sheet; ask for one."),
        Kind("not-found", 404, "Nothing here", "See /openapi.json for what there is."),
        Kind("method-not-allowed", 405, "Not with this method", "See /openapi.json for what there is."),
        Kind("too-slow", 408, "Too slow", "Send the whole request without pausing."),
        Kind("conflict", 409, "Another answer has this id", "Make a new random id for every answer sheet."),
        Kind("wrong-version", 409, "Another version of the survey", "Load /api/survey again and perturb anew."),
        Kind("no-records", 409, "Too few records yet", "Wait until more people have answered."),
        Kind("closed", 410, "The survey is closed", "No more answers are taken."),
        Kind("too-large", 413, "Too large", "Send fewer records at a time."),
        Kind("wrong-media-type", 415, "Not JSON", "Send Content-Type: application/json."),
        Kind("invalid", 422, "Not an answer to this survey", "Answer every question, with a value it can have."),
        Kind("busy", 429, "Too busy", "Try again after the time in Retry-After, with the same id."),
        Kind(
            "too-many-requests", 429, "Too many requests", "Try again after the time in Retry-After, with the same id."
        ),
        Kind("internal", 500, "Something went wrong here", "Try again with the same id; tell the survey owner."),
        Kind("not-installed", 501, "Not installed here", "Ask whoever runs the server to install the part it names."),
        Kind("not-kept", 503, "Could not be stored", "Try again after the time in Retry-After, with the same id."),
    )
}


class Problem(Exception):  # noqa: N818 - RFC 9457 calls it that
    """A request that cannot be fulfilled.

    Attributes
    ----------
    kind : one of `KINDS`
    detail : a sentence on this occurrence, without anything that was sent
    retry_after : seconds to wait, where waiting helps
    """

    def __init__(self, name: str, detail: str, *, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.kind = KINDS[name]
        self.detail = detail
        self.retry_after = retry_after

    def to_dict(self) -> dict[str, Any]:
        """The members RFC 9457 asks for."""
        kind = self.kind
        return {"type": f"/problems/{kind.name}", "title": kind.title, "status": kind.status, "detail": self.detail}

    def body(self) -> bytes:
        """As it is sent."""
        return json.dumps(self.to_dict()).encode()

    def headers(self) -> dict[str, str]:
        """What goes with it."""
        extra = {} if self.retry_after is None else {"retry-after": str(self.retry_after)}
        if self.kind.status == 401:
            extra["www-authenticate"] = "Bearer"
        if self.kind.status == 405:
            extra["allow"] = "POST"
        return {"content-type": MEDIA_TYPE, "cache-control": "no-store"} | extra


def without_database() -> Problem:
    """What to tell while the database cannot be used."""
    return Problem("not-kept", "the database cannot be used", retry_after=2)
