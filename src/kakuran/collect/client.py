"""A client in Python: perturbs here, with the same mechanisms, and sends only what came out."""

from __future__ import annotations

import http.client
import json
import os
import sqlite3
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import date
from hashlib import sha256
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Any

import pyarrow as pa

from kakuran.collect.messages import MEDIA_TYPE, new_ids
from kakuran.collect.survey import Survey
from kakuran.errors import CollectError, wrong_type
from kakuran.perturbation import Kernel
from kakuran.schema import to_arrow
from kakuran.words import Phrase
from kakuran.writing import OWNER_ALONE, state_folder

_ATTEMPTS = 8
_LONGEST_WAIT = 30.0
_AT_A_TIME = 10_000
_ANSWERS_AT_A_TIME = 100_000
"""Of all records together, so that a batch stays far below what a server takes."""
_LONGEST_REPLY = 1 << 16
_AGAIN = {429, 502, 503, 504}


class _Draw:
    """What was drawn for true answers, or how far a table has been sent; on disk before any of it is sent."""

    def __init__(self, content: dict[str, Any], keep: Callable[[dict[str, Any]], None]) -> None:
        self.content = content
        self._keep = keep

    def keep(self) -> None:
        """Write it down as it has become."""
        self._keep(self.content)


class _Unsent:
    """Draws that no server has said to have stored: who submits the same again, in whatever process, sends the same.

    Each process has a file of its own, for its owner alone, and holds it locked; what processes have left that are no
    more it takes over. Of the true answers a file holds a salted hash. Those that another thread or process is sending
    at the same time are somebody else's.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turn = threading.Lock()
        self._taken: set[bytes] = set()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / f"{token_hex(8)}.draws"
        os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER_ALONE))
        self._file = _locked(self._path)

    @contextmanager
    def draw(self, truth: bytes, make: Callable[[], dict[str, Any]]) -> Iterator[_Draw]:
        """The draw that was made for the same before, or one that is made now; forgotten once this has gone well."""
        with self._turn:
            self._take_over()
            salt, content = self._found(truth) or self._made(truth, make())
            self._taken.add(salt)
        try:
            yield _Draw(
                content, lambda now: self._write("UPDATE draws SET content = ? WHERE salt = ?", _text(now), salt)
            )
            self._write("DELETE FROM draws WHERE salt = ?", salt)
        finally:
            self._taken.discard(salt)

    def _found(self, truth: bytes) -> tuple[bytes, dict[str, Any]] | None:
        for salt, digest, content in self._file.execute("SELECT salt, digest, content FROM draws"):
            if salt not in self._taken and digest == sha256(salt + truth).digest():
                return salt, json.loads(content)
        return None

    def _made(self, truth: bytes, content: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
        salt = token_bytes(16)
        row = (salt, sha256(salt + truth).digest(), _text(content))
        self._file.execute("INSERT INTO draws VALUES (?, ?, ?)", row)
        return salt, content

    def _write(self, statement: str, *values: Any) -> None:
        with self._turn:
            self._file.execute(statement, values)

    def _take_over(self) -> None:
        for path in self._folder.glob("*.draws"):
            if path == self._path:
                continue
            with suppress(sqlite3.OperationalError), closing(_locked(path)) as left:  # else its process lives
                rows = left.execute("SELECT salt, digest, content FROM draws").fetchall()
                self._file.executemany("INSERT OR IGNORE INTO draws VALUES (?, ?, ?)", rows)
                left.execute("DELETE FROM draws")
                for gone in (path, Path(f"{path}-journal")):
                    with suppress(OSError):
                        gone.unlink()


def _locked(path: Path) -> sqlite3.Connection:
    """A file of draws that is ours alone from now on; an error where it is somebody else's."""
    file = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=TRUNCATE", "secure_delete=ON", "synchronous=FULL"):
            file.execute(f"PRAGMA {pragma}")
        file.execute("BEGIN EXCLUSIVE")
        file.execute("CREATE TABLE IF NOT EXISTS draws (salt BLOB PRIMARY KEY, digest BLOB, content TEXT)")
        file.execute("COMMIT")
    except sqlite3.Error:
        file.close()
        raise
    return file


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, default=date.isoformat)


_MEMORIES: dict[tuple[int, Path], _Unsent] = {}
"""By process, as a file must not be used on both sides of a fork, and folder."""
_REMEMBERING = threading.Lock()


@contextmanager
def _unsent(truth: bytes, make: Callable[[], dict[str, Any]]) -> Iterator[_Draw]:
    folder = state_folder() / "unsent"
    try:
        with _REMEMBERING:
            if (os.getpid(), folder) not in _MEMORIES:
                _MEMORIES[os.getpid(), folder] = _Unsent(folder)
        with _MEMORIES[os.getpid(), folder].draw(truth, make) as draw:
            yield draw
    except (OSError, sqlite3.Error) as error:
        raise CollectError(
            Phrase(
                "{folder}: draws cannot be kept there, and who draws again tells another ε: {error}; set "
                "XDG_STATE_HOME to a folder that can be written to",
                folder=folder,
                error=str(error),
            )
        ) from error


class SurveyClient:
    """Sends answers to a survey.

    Every record gets its id and is perturbed once, before the first attempt; further attempts send the very same
    bytes, so nothing is lost, counted twice or drawn twice. What failed is kept, in a file for this user alone: the
    same answers submitted again, by whatever client or process, send the same draw, and a table goes on where it
    stopped. So a server that only claims not to have got the first gets no other. Where a survey wants some answers of
    each only, those are drawn here as well, and no others are sent.

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

    def submit(self, answers: Mapping[str, Any], *, invitation: str | None = None) -> str:
        """Perturb one person's answers and send them, or those that were drawn; the id they are stored under."""
        truth = repr((self._survey.version, sorted(answers.items()), invitation)).encode()
        with _unsent(truth, lambda: self._drawn(answers, invitation)) as draw:
            self._send("/api/responses", draw.content)
        return str(draw.content["id"])

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
        with _unsent(self._known_by(table), lambda: {"sent": 0, "stored": 0, "message": None}) as draw:
            begun = draw.content
            while begun["sent"] < table.num_rows:
                batch = table.slice(begun["sent"], height)
                if begun["message"] is None:
                    begun["message"] = self._drawn_batch(batch)
                    draw.keep()
                begun["stored"] += self._send("/api/responses/batch", begun["message"], batch.num_rows)
                begun["sent"], begun["message"] = begun["sent"] + batch.num_rows, None
        return int(begun["stored"])

    def _known_by(self, table: pa.Table) -> bytes:
        whole = pa.BufferOutputStream()
        plain = table.replace_schema_metadata(None).combine_chunks()
        with pa.ipc.new_stream(whole, plain.schema) as stream:
            stream.write_table(plain)
        return self._survey.version.encode() + sha256(whole.getvalue()).digest()

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
                    "{problem}. What was sent may have arrived all the same: submit the same again on this machine, "
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
