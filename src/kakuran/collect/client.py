"""A client in Python: perturbs here, with the same mechanisms, and sends only what came out."""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa

from kakuran.collect.messages import MEDIA_TYPE, new_ids
from kakuran.collect.survey import Survey
from kakuran.errors import CollectError, wrong_type
from kakuran.perturbation import Kernel
from kakuran.schema import to_arrow
from kakuran.words import Phrase

_ATTEMPTS = 8
_LONGEST_WAIT = 30.0
_AT_A_TIME = 10_000
_ANSWERS_AT_A_TIME = 100_000
"""Of all records together, so that a batch stays far below what a server takes."""
_LONGEST_REPLY = 1 << 16
_AGAIN = {429, 502, 503, 504}


@dataclass(eq=False)
class _Begun:
    """A table that is being sent: records that the server has, and the draw of those that it may have."""

    table: pa.Table
    sent: int = 0
    stored: int = 0
    message: dict[str, Any] | None = None


class SurveyClient:
    """Sends answers to a survey.

    Every record gets its id and is perturbed once, before the first attempt; further attempts send the very same
    bytes, so nothing is lost, counted twice or drawn twice. What failed is kept, as long as the client is: the same
    answers submitted again send the same draw, and a table goes on where it stopped. Another client draws anew, which
    tells another ε to a server that only claims not to have got the first. Where a survey wants some answers of each
    only, those are drawn here as well, and no others are sent.

    Parameters
    ----------
    address : str
        Of the server, as ``https://survey.example``.
    survey : Survey
        What the respondents were shown; the server refuses answers to any other version.
    timeout : float
        Seconds to wait for an answer.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.collect import Question
    >>> job = Question(kk.Categorical("job", ["clerk", "nurse"]), {"en": "What is your job?"})
    >>> survey = kk.Survey("jobs", ("en",), {"en": "Jobs"}, (job,), epsilon=1.0)
    >>> client = kk.SurveyClient("https://survey.example", survey)  # then client.submit({"job": "nurse"})
    """

    def __init__(self, address: str, survey: Survey, *, timeout: float = 30.0) -> None:
        if not isinstance(address, str):
            raise wrong_type(address, str, "as https://survey.example")
        if not isinstance(survey, Survey):
            raise wrong_type(survey, Survey, "Survey.load reads one from its file")
        self._url = urllib.parse.urlsplit(address)
        if self._url.scheme not in ("http", "https") or not self._url.hostname:
            raise CollectError(
                Phrase("the address of a server starts with http:// or https://, got {address!r}", address=address)
            )
        self._survey = survey
        self._timeout = timeout
        self._kernel = Kernel(survey.plan)
        self._told_columns = {tell.named: tell.columns for tell in survey.plan.tells}
        self._connection: http.client.HTTPConnection | None = None
        self._unsent: dict[str, dict[str, Any]] = {}
        self._begun: list[_Begun] = []

    def submit(self, answers: Mapping[str, Any], *, invitation: str | None = None) -> str:
        """Perturb one person's answers and send them, or those that were drawn; the id they are stored under."""
        true = repr((sorted(answers.items()), invitation))
        if true not in self._unsent:
            self._unsent[true] = self._drawn(answers, invitation)
        sheet: str = self._unsent[true]["id"]
        self._send("/api/responses", self._unsent[true])
        del self._unsent[true]
        return sheet

    def _drawn(self, answers: Mapping[str, Any], invitation: str | None) -> dict[str, Any]:
        released, told = self._perturbed(pa.table({name: [value] for name, value in answers.items()}))
        columns = self._told_columns[told[0]] if told else released
        sent = {name: released[name][0] for name in columns}
        message: dict[str, Any] = {"id": new_ids(1)[0], "version": self._survey.version, "answers": sent}
        if told is not None:
            message["told"] = told[0]
        if invitation is not None:
            message["invitation"] = invitation
        return message

    def submit_many(self, frame: Any) -> int:
        """Perturb a table of many people's answers and send it; how many records the server stored."""
        table = to_arrow(frame)
        height = max(1, min(_AT_A_TIME, _ANSWERS_AT_A_TIME // len(self._survey.questions)))
        begun = next((one for one in self._begun if one.table.equals(table)), None)
        if begun is None:
            begun = _Begun(table)
            self._begun.append(begun)
        while begun.sent < table.num_rows:
            batch = table.slice(begun.sent, height)
            if begun.message is None:
                begun.message = self._drawn_batch(batch)
            begun.stored += self._send("/api/responses/batch", begun.message, batch.num_rows)
            begun.sent, begun.message = begun.sent + batch.num_rows, None
        self._begun.remove(begun)
        return begun.stored

    def _drawn_batch(self, table: pa.Table) -> dict[str, Any]:
        released, told = self._perturbed(table)
        message = {"ids": new_ids(table.num_rows), "version": self._survey.version, "answers": released}
        return message if told is None else message | {"told": told}

    def _perturbed(self, table: pa.Table) -> tuple[dict[str, list[Any]], list[str] | None]:
        """What is sent, column by column, and which questions were drawn for each, where not all tell the same."""
        batches = [self._kernel(batch) for batch in table.combine_chunks().to_batches()]
        released: dict[str, list[Any]] = pa.Table.from_batches(batches, self._kernel.schema).to_pydict()
        told = [released.pop(name) for name in self._survey.plan.layout.telling]
        return released, told[0] if told else None

    def _send(self, path: str, message: Mapping[str, Any], records: int | None = None) -> int:
        """Send it; of so many records, how many the server says it has stored."""
        try:
            return self._counted(self._delivered(path, message), records)
        except CollectError as error:
            raise CollectError(
                Phrase(
                    "{problem}. What was sent may have arrived all the same: submit the same again with this client, "
                    "which sends the same draw; to draw again tells another ε",
                    problem=error.said,
                )
            ) from error

    def _counted(self, reply: Mapping[str, Any], records: int | None) -> int:
        if records is None:
            return 1
        counts: list[Any] = [reply.get("accepted"), reply.get("replayed")]
        if not all(type(count) is int and count >= 0 for count in counts) or sum(counts) > records:
            raise self._stranger()  # by type, as True is an int
        return sum(counts)

    def _delivered(self, path: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send until there is an answer, waiting as long as the server asks."""
        body = json.dumps(message, default=date.isoformat).encode()
        for attempt in range(_ATTEMPTS):
            try:
                status, headers, told = self._request(path, body)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                problem, wait = f"the server cannot be reached: {error}", 0.1 * 2**attempt
            else:
                if status in (200, 201):
                    return self._read(told)
                problem = _explained(status, headers, told)
                if status not in _AGAIN:
                    raise CollectError(problem)
                wait = _seconds(headers, 0.1 * 2**attempt)
            if attempt < _ATTEMPTS - 1:
                time.sleep(min(wait, _LONGEST_WAIT))
        raise CollectError(Phrase("gave up after {attempts} attempts: {problem}", attempts=_ATTEMPTS, problem=problem))

    def _request(self, path: str, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        if self._connection is None:
            kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
            self._connection = kind(str(self._url.hostname), self._url.port, timeout=self._timeout)
        headers = {"content-type": "application/json"}
        self._connection.request("POST", self._url.path.rstrip("/") + path, body, headers)
        response = self._connection.getresponse()
        told = response.read(_LONGEST_REPLY)
        if len(told) == _LONGEST_REPLY:
            self.close()  # the rest stays unread
        return response.status, response.headers, told  # type: ignore[return-value]

    def _read(self, told: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(told)
        except (ValueError, RecursionError):
            raise self._stranger() from None
        if not isinstance(answer, dict):
            raise self._stranger()
        return answer

    def _stranger(self) -> CollectError:
        return CollectError(
            Phrase(
                "what answers at {host}{path} is not a collector; is the address right?",
                host=self._url.hostname,
                path=self._url.path,
            )
        )

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> SurveyClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _explained(status: int, headers: Mapping[str, str], told: bytes) -> str:
    if headers.get("content-type") != MEDIA_TYPE:
        return f"the server answered with status {status}"
    try:
        problem = json.loads(told)
        words = f"{problem['title']}: {problem['detail']} (status {status})"
        return "".join(letter for letter in words if letter.isprintable())  # nothing that steers a terminal
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"the server answered with status {status} and a problem that cannot be read"


def _seconds(headers: Mapping[str, str], otherwise: float) -> float:
    asked = headers.get("retry-after", "")
    return float(asked) if asked.isascii() and asked.isdigit() else otherwise
