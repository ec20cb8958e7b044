"""The messages of respondents: from JSON to packed rows of released codes, every value checked. No input or output.

With them stand random names, of answer sheets (UUID version 4), invitations and tokens; and what can go wrong with a
request, as problem details (RFC 9457), none of which ever repeats what was sent.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from kakuran.collect.survey import Survey
from kakuran.errors import counted
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness
from kakuran.schema import Date, Numeric, Value

UUID4 = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_PATTERN = re.compile(UUID4)


def new_ids(count: int) -> list[str]:
    """Ids for so many answer sheets."""
    words = Randomness.secure().words(2 * count).tobytes()
    return [str(uuid.UUID(bytes=words[start : start + 16], version=4)) for start in range(0, len(words), 16)]


def id_bytes(text: Any) -> bytes | None:
    """The bytes of an id, or nothing if it is not one."""
    if type(text) is not str or not _PATTERN.fullmatch(text):
        return None
    return bytes.fromhex(text.replace("-", ""))


def id_text(key: bytes) -> str:
    """The inverse of `id_bytes`."""
    text = key.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_secret() -> str:
    """128 random bits that fit in an address."""
    return base64.urlsafe_b64encode(Randomness.secure().words(2).tobytes()).decode().rstrip("=")


def secret_hash(secret: str) -> bytes:
    """What is kept of a secret to recognise it."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


LARGEST_BATCH = 20_000
_OFF_GRID = 1e-6
"""How far a number may lie off its grid point, in steps: what floats do, and no more."""


@dataclass(frozen=True, slots=True)
class Submission:
    """Records that are stored together or not at all.

    Attributes
    ----------
    ids : Sequence[bytes]
        A random 16 bytes for each, made by the client.
    rows : Sequence[bytes]
        The released codes of each, packed.
    invitation : bytes | None
        The hash of the invitation it comes with.
    """

    ids: Sequence[bytes]
    rows: Sequence[bytes]
    invitation: bytes | None = None


@dataclass(frozen=True)
class _Sheet:
    """What those send who tell some of the questions.

    Attributes
    ----------
    blank : Sequence[int]
        The codes of a row before anything is answered.
    readers : Sequence[tuple[int, str, Callable]]
        Of every question that is told: where its code stands, its name, and what reads its answer.
    nullable : frozenset[str]
        Those of them whose answer may be missing, which is null.
    """

    blank: Sequence[int]
    readers: Sequence[tuple[int, str, Callable[[Any], int]]]
    nullable: frozenset[str]

    def codes(self, answers: Mapping[str, Any]) -> list[int]:
        """The codes of a row."""
        codes = list(self.blank)
        try:
            for place, name, read in self.readers:
                codes[place] = read(answers[name])
        except KeyError:
            _refuse(f"question {name!r} is not answered")
        if len(answers) > len(self.readers):
            _refuse("there is an answer to a question that is not asked")
        return codes


class Form:
    """Reads what people send in answer to one version of a survey; all tables are made beforehand."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        kernel = Kernel(survey.plan)
        # Rows are the same bytes on every machine.
        self.row_type = kernel.row_type.newbyteorder("<")
        self._pack = struct.Struct("<" + "".join(self.row_type[name].char for name in self.row_type.names or ())).pack
        self._names = [question.name for question in survey.questions]
        layout = survey.plan.layout
        places = {attribute.name: place for place, attribute in enumerate(layout.attributes)}
        readers = {name: (places[name], name, _reader(survey, name)) for name in self._names}
        untold = [layout.untold(name) for name in self._names]
        # Where everybody tells the same, nobody says what.
        self._told = {"told"} if layout.told else set()
        self._sheets = {
            tell.named if self._told else None: _Sheet(
                [number, *untold] if self._told else untold,
                [readers[name] for name in tell.columns],
                frozenset(name for name in tell.columns if survey.schema[name].missing == "category"),
            )
            for number, tell in enumerate(survey.plan.tells)
        }

    def read_one(self, body: bytes) -> Submission:
        """The answer sheet in a body, or a `Problem`."""
        message = _message(body, {"id", "version", "answers"} | self._told, optional={"invitation"})
        self._check_version(message["version"])
        answers = message["answers"]
        if type(answers) is not dict:
            _refuse("answers must be an object with a member for each question")
        codes = self._sheet(message.get("told")).codes(answers)
        return Submission([_id(message["id"])], [self._pack(*codes)], self._invitation(message))

    def _sheet(self, told: Any) -> _Sheet:
        sheet = self._sheets.get(told) if told is None or type(told) is str else None
        if sheet is None:
            _refuse("told is none of the question sets that the survey draws from")
        return sheet

    def read_batch(self, body: bytes) -> Submission:
        """The columns of answers in a body, or a `Problem`."""
        message = _message(body, {"ids", "version", "answers"} | self._told, optional=set())
        self._check_version(message["version"])
        if self.survey.invitations:
            raise Problem("bad-invitation", "this survey takes one invited answer sheet at a time, no batches")
        ids, answers = message["ids"], message["answers"]
        if type(ids) is not list or not 1 <= len(ids) <= LARGEST_BATCH:
            _refuse(f"ids must be a list of 1 to {LARGEST_BATCH:,}")
        if type(answers) is not dict:
            _refuse("answers must be an object with a list for each question")
        self._check_names(answers)
        keys = [_id(text) for text in ids]
        if len(set(keys)) < len(keys):
            _refuse("the same id stands twice in the batch")
        told = message.get("told", [None] * len(keys))
        if type(told) is not list or len(told) != len(keys):
            _refuse(f"told must be a list of {counted(len(keys), 'question set')}, one an id")
        return Submission(keys, self._rows(answers, [self._sheet(one) for one in told]))

    def _rows(self, answers: Mapping[str, Any], sheets: Sequence[_Sheet]) -> list[bytes]:
        """Packed; what is not told is null, and so is what is told to be missing."""
        for name in self._names:
            if type(answers[name]) is not list or len(answers[name]) != len(sheets):
                _refuse(f"question {name!r}: expected a list of {counted(len(sheets), 'answer')}, one an id")
        people = zip(*(answers[name] for name in self._names), strict=True)
        return [self._pack(*sheet.codes(self._given(one, sheet))) for one, sheet in zip(people, sheets, strict=True)]

    def _given(self, values: Sequence[Any], sheet: _Sheet) -> dict[str, Any]:
        """The answers of one of many people."""
        answers = zip(self._names, values, strict=True)
        return {name: value for name, value in answers if value is not None or name in sheet.nullable}

    def _check_version(self, version: Any) -> None:
        if version != self.survey.version:
            raise Problem("wrong-version", f"this is version {self.survey.version} of the survey")

    def _check_names(self, answers: Mapping[str, Any]) -> None:
        for name in self._names:
            if name not in answers:
                _refuse(f"question {name!r} is not answered")
        if len(answers) > len(self._names):
            _refuse("there is an answer to a question that is not asked")

    def _invitation(self, message: Mapping[str, Any]) -> bytes | None:
        invitation = message.get("invitation")
        if not self.survey.invitations:
            if invitation is not None:
                _refuse("this survey takes no invitations")
            return None
        if type(invitation) is not str:
            raise Problem("bad-invitation", "this survey needs an invitation")
        return secret_hash(invitation)


def _message(body: bytes, needed: set[str], optional: set[str]) -> dict[str, Any]:
    try:
        message = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Problem("malformed", "the body is not JSON in UTF-8") from None
    if type(message) is not dict:
        raise Problem("malformed", "the body is not a JSON object")
    names = message.keys()
    if not (needed <= names and names <= needed | optional):
        _refuse(
            f"the members must be {', '.join(sorted(needed))}{' and perhaps ' if optional else ''}{', '.join(optional)}"
        )
    return message


def _no_constant(_: str) -> NoReturn:
    raise ValueError


def _refuse(detail: str) -> NoReturn:
    raise Problem("invalid", detail)


def _id(text: Any) -> bytes:
    key = id_bytes(text)
    if key is None:
        _refuse("an id must be a random UUID (version 4) in small letters")
    return key


def _reader(survey: Survey, name: str) -> Callable[[Any], int]:
    attribute, reach = survey.schema[name], survey.plan.reach(name)
    names = _days(attribute, reach) if isinstance(attribute, Date) else attribute.names_of(reach)
    read = _number_reader(attribute, reach) if names is None else _name_reader(name, names, reach)
    if attribute.missing != "category":
        return read
    missing = attribute.size - 1 + reach
    return lambda value: missing if value is None else read(value)


def _days(attribute: Date, reach: int) -> list[str]:
    """The first days of all periods that may be released, as they are sent."""
    return list(map(attribute.written, attribute.ends_of(np.arange(-reach, attribute.points + reach))[0]))


def _name_reader(name: str, names: Sequence[Value], reach: int) -> Callable[[Any], int]:
    table = {value: code - reach for code, value in enumerate(names)}
    kind = type(names[0])
    kinds = {int, float} if kind is float else {kind}  # JSON may write 1.0 as 1
    problem = f"question {name!r}: not one of its values"

    def read(value: Any) -> int:
        # True equals 1 in a dictionary, but it is another answer.
        code = table.get(value) if type(value) in kinds else None
        if code is None:
            _refuse(problem)
        return code

    return read


def _number_reader(attribute: Numeric, reach: int) -> Callable[[Any], int]:
    low, step, lowest, highest = attribute.low, attribute.step, -reach, attribute.points - 1 + reach
    problem = f"question {attribute.name!r}: not a number its mechanism can release"

    def read(value: Any) -> int:
        if type(value) is not int and type(value) is not float:
            _refuse(problem)
        try:
            steps = (value - low) / step
        except OverflowError:
            _refuse(problem)
        if not lowest - 0.5 < steps < highest + 0.5:
            _refuse(problem)
        code = round(steps)
        if abs(steps - code) > _OFF_GRID:
            _refuse(problem)
        return code

    return read


MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class ProblemKind:
    """A kind of problem: its stable name, status and title, and what to do about it."""

    name: str
    status: int
    title: str
    advice: str


KINDS = {
    kind.name: kind
    for kind in (
        ProblemKind("malformed", 400, "Not a message", "Send one JSON object in UTF-8, as the API's description says."),
        ProblemKind(
            "unauthorised", 401, "Not authorised", "Send the survey owner's token: Authorization: Bearer TOKEN."
        ),
        ProblemKind(
            "bad-invitation", 403, "No valid invitation", "An invitation is good for one answer sheet; ask for one."
        ),
        ProblemKind("not-found", 404, "Nothing here", "See /openapi.json for what there is."),
        ProblemKind("method-not-allowed", 405, "Not with this method", "See /openapi.json for what there is."),
        ProblemKind("too-slow", 408, "Too slow", "Send the whole request without pausing."),
        ProblemKind("conflict", 409, "Another answer has this id", "Make a new random id for every answer sheet."),
        ProblemKind("wrong-version", 409, "Another version of the survey", "Load /api/survey again and perturb anew."),
        ProblemKind("no-records", 409, "Too few records yet", "Wait until more people have answered."),
        ProblemKind("closed", 410, "The survey is closed", "No more answers are taken."),
        ProblemKind("too-large", 413, "Too large", "Send fewer records at a time."),
        ProblemKind("wrong-media-type", 415, "Not JSON", "Send Content-Type: application/json."),
        ProblemKind("invalid", 422, "Not an answer to this survey", "Answer every question, with a value it can have."),
        ProblemKind("busy", 429, "Too busy", "Try again after the time in Retry-After, with the same id."),
        ProblemKind(
            "too-many-requests", 429, "Too many requests", "Try again after the time in Retry-After, with the same id."
        ),
        ProblemKind("internal", 500, "Something went wrong here", "Try again with the same id; tell the survey owner."),
        ProblemKind(
            "not-installed", 501, "Not installed here", "Ask whoever runs the server to install the part it names."
        ),
        ProblemKind(
            "not-kept", 503, "Could not be stored", "Try again after the time in Retry-After, with the same id."
        ),
    )
}


class Problem(Exception):  # noqa: N818 - RFC 9457 calls it that
    """A request that cannot be fulfilled.

    Attributes
    ----------
    kind : ProblemKind
        One of `KINDS`.
    detail : str
        A sentence on this occurrence, without anything that was sent.
    retry_after : int | None
        Seconds to wait, where waiting helps.
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
