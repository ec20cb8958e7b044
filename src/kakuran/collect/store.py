"""A store and its tables: records and invitations in, each once only; and exports out, whole cohorts or nothing.

Whoever has two exports of a survey that runs knows which records came in between, and perhaps that somebody answered in
that time. So what is added at a time, a cohort, is a release by itself: as many people as the promise needs, each
hidden among those of the same cohort only.

Nothing in its tables says who answered or when; PostgreSQL's alone tell the order, in groups (`databases`). A record
lies under the random id its client made, an invitation under its hash until it is used and then nowhere. SQLite keeps
both in the order of these keys (WITHOUT ROWID), and a file at rest in no other way (`databases`). Records that have
been exported carry the number of their cohort, as anybody can tell who has the exports.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, NamedTuple, TypeAlias

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from kakuran.collect.messages import Submission, new_secret, secret_hash
from kakuran.collect.survey import Survey
from kakuran.errors import CollectError
from kakuran.words import Phrase

metadata = MetaData()

surveys = Table(
    "surveys",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("version", Text, unique=True, nullable=False),
    Column("definition", Text, nullable=False),
    Column("state", Text, nullable=False),
)

records = Table(
    "records",
    metadata,
    Column("id", LargeBinary, primary_key=True),
    Column("survey", Integer, ForeignKey("surveys.number"), nullable=False),
    Column("codes", LargeBinary, nullable=False),
    Column("cohort", Integer),
    sqlite_with_rowid=False,
)

cohorts = Table(
    "cohorts",
    metadata,
    Column("survey", Integer, ForeignKey("surveys.number"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("size", Integer, nullable=False),
)

invitations = Table("invitations", metadata, Column("hash", LargeBinary, primary_key=True), sqlite_with_rowid=False)


class StoreError(CollectError):
    """A database that cannot be reached or written to; what was sent may be sent again."""


@contextmanager
def store_errors(engine: Engine) -> Iterator[None]:
    """Turn errors of a database into ours, and start afresh the next time."""
    try:
        yield
    except SQLAlchemyError as error:
        engine.dispose()
        reason = str(error.orig).partition("\n")[0] if isinstance(error, DBAPIError) else type(error).__name__
        raise StoreError(f"the database cannot be used: {reason}") from None


SurveyState: TypeAlias = Literal["open", "closed"]
StoreVerdict: TypeAlias = Literal["new", "replayed", "conflict", "closed", "bad-invitation"]
Mark: TypeAlias = Any
"""How far records have been read; only the store that made it knows what it means."""

_ATTEMPTS = 5


class StoreOutcome(NamedTuple):
    """What became of a submission, and how many records it added."""

    verdict: StoreVerdict
    added: int = 0


class News(NamedTuple):
    """Rows that a reader has not seen.

    Attributes
    ----------
    rows : Sequence[bytes]
        Packed.
    mark : Mark
        How far the reader has read by now.
    is_all : bool
        These are all there are, and what was read before is to be forgotten.
    """

    rows: Sequence[bytes]
    mark: Mark
    is_all: bool


class Exported(NamedTuple):
    """What an export holds: records, packed and in no order that means anything, and the size of each cohort."""

    rows: Sequence[bytes]
    cohorts: tuple[int, ...]


class Store(ABC):
    """Keeps the answers to one version of a survey, beside those to other versions; `open_store` makes one.

    Everything may be called from any thread, `add` from one at a time.
    """

    def __init__(self, engine: Engine, survey: Survey) -> None:
        self.engine = engine
        self.survey = survey
        with self.writing() as connection:
            self._make_tables(connection)
            self.number = self._register(connection)

    def _make_tables(self, connection: Connection) -> None:
        metadata.create_all(connection)

    def _register(self, connection: Connection) -> int:
        """The number of this version, which is told to the database when it first hears of it."""
        wanted = select(surveys.c.number).where(surveys.c.version == self.survey.version)
        number = connection.scalar(wanted)
        if number is None:
            definition = json.dumps(self.survey.plan.to_dict(), ensure_ascii=False)
            row = {"version": self.survey.version, "definition": definition, "state": "open"}
            connection.execute(insert(surveys), row)
            number = connection.scalar(wanted)
        assert number is not None  # noqa: S101
        return int(number)

    def add(self, submissions: Sequence[Submission]) -> list[StoreOutcome]:
        """Store submissions in one transaction, durable on return; each of them whole or, for its own fault, not."""
        for _ in range(_ATTEMPTS):
            with self.writing() as connection:
                outcomes = self._add(connection, submissions)
                if outcomes is not None:
                    return outcomes
                connection.rollback()
        raise StoreError("another server keeps storing the same records; try again")

    def _add(self, connection: Connection, submissions: Sequence[Submission]) -> list[StoreOutcome] | None:
        """The outcomes; or nothing, where another server stored one of these records in the meantime."""
        is_open = self._state(connection, locked="shared") == "open"
        kept = self._kept(connection, [key for submission in submissions for key in submission.ids])
        brought = [one.invitation for one in submissions if one.invitation is not None]
        unused = self._unused(connection, brought)
        added: dict[bytes, bytes] = {}
        spent: list[bytes] = []
        outcomes: list[StoreOutcome] = []
        for submission in submissions:
            verdict = self._judge(submission, kept, unused, is_open=is_open)
            fresh = {key: row for key, row in _pairs(submission) if key not in kept} if verdict == "new" else {}
            outcomes.append(StoreOutcome(verdict, len(fresh)))
            added |= fresh
            kept |= {key: (self.number, row) for key, row in fresh.items()}
            if fresh and submission.invitation is not None:
                unused.remove(submission.invitation)
                spent.append(submission.invitation)
        # The order of random ids says nothing about the order they came in.
        keys = sorted(added)
        is_done = self._insert(connection, keys, [added[key] for key in keys]) and self._spend(connection, spent)
        return outcomes if is_done else None

    def _judge(
        self, submission: Submission, kept: Mapping[bytes, tuple[int, bytes]], unused: set[bytes], *, is_open: bool
    ) -> StoreVerdict:
        """What was stored before is a replay even if the survey is closed and the invitation spent by now."""
        known = [(kept[key], (self.number, row)) for key, row in _pairs(submission) if key in kept]
        if any(before != now for before, now in known):
            return "conflict"
        if len(known) == len(submission.ids):
            return "replayed"
        if not is_open:
            return "closed"
        if self.survey.invitations and submission.invitation not in unused:
            return "bad-invitation"
        return "new"

    @abstractmethod
    def _kept(self, connection: Connection, keys: Sequence[bytes]) -> dict[bytes, tuple[int, bytes]]:
        """The survey and the row of every id that is taken."""

    def _unused(self, connection: Connection, hashes: Sequence[bytes]) -> set[bytes]:
        if not hashes:
            return set()
        wanted = select(invitations.c.hash).where(invitations.c.hash.in_(hashes)).with_for_update()
        return {bytes(found) for (found,) in connection.execute(wanted)}

    @abstractmethod
    def _insert(self, connection: Connection, keys: Sequence[bytes], rows: Sequence[bytes]) -> bool:
        """Insert records; whether all were new to the database."""

    def _spend(self, connection: Connection, spent: Sequence[bytes]) -> bool:
        if not spent:
            return True
        gone = connection.execute(delete(invitations).where(invitations.c.hash.in_(sorted(spent))))
        return gone.rowcount == len(spent)

    @abstractmethod
    def read_new(self, mark: Mark) -> News:
        """The rows stored since a mark (None: since ever), each exactly once over successive marks."""

    def count(self) -> int:
        """Records of this version."""
        with self._reading() as connection:
            return connection.scalar(select(func.count()).where(records.c.survey == self.number)) or 0

    def counts(self) -> dict[str, int]:
        """Records of every version there is."""
        counted = select(surveys.c.version, func.count(records.c.id)).outerjoin(records).group_by(surveys.c.version)
        with self._reading() as connection:
            return {version: number for version, number in connection.execute(counted)}  # noqa: C416 - rows are no pairs to mypy

    @property
    def state(self) -> SurveyState:
        """Whether answers are taken."""
        with self._reading() as connection:
            return self._state(connection)

    def _state(self, connection: Connection, *, locked: Literal["shared", "alone"] | None = None) -> SurveyState:
        wanted = select(surveys.c.state).where(surveys.c.number == self.number)
        if locked is not None:
            wanted = wanted.with_for_update(read=locked == "shared")
        state: SurveyState = connection.scalar(wanted) or "closed"
        return state

    def cohorts(self) -> tuple[int, ...]:
        """How many records each export added to the one before."""
        with self._reading() as connection:
            return self._cohorts(connection)

    def _cohorts(self, connection: Connection) -> tuple[int, ...]:
        sizes = select(cohorts.c.size).where(cohorts.c.survey == self.number).order_by(cohorts.c.number)
        return tuple(connection.scalars(sizes))

    def export(self) -> Exported:
        """All cohorts, having made one more of the records that are in none, where the survey lets so many be one.

        What was made once is never changed: whoever compares two exports sees whole cohorts.
        """
        own = records.c.survey == self.number
        with self.writing() as connection:
            # Alone: nothing may be added between counting the records and giving them their cohort.
            state = self._state(connection, locked="alone")
            made = self._cohorts(connection)
            waiting = connection.scalar(select(func.count()).where(own, records.c.cohort.is_(None))) or 0
            needed = self.survey.cohort_n(made, is_closed=state == "closed")
            if needed is not None and waiting >= needed:
                made = (*made, waiting)
                connection.execute(update(records).where(own, records.c.cohort.is_(None)).values(cohort=len(made)))
                connection.execute(insert(cohorts).values(survey=self.number, number=len(made), size=waiting))
            rows = connection.scalars(select(records.c.codes).where(own, records.c.cohort.is_not(None)))
            return Exported([bytes(row) for row in rows], made)

    def origin(self) -> str:
        """What tells these records from those of any other database: a digest of the random ids of the first cohort."""
        first = select(records.c.id).where(records.c.survey == self.number, records.c.cohort == 1)
        with self._reading() as connection:
            return hashlib.sha256(b"".join(sorted(map(bytes, connection.scalars(first))))).hexdigest()

    def set_state(self, state: SurveyState) -> None:
        """Open or close the survey; no answer is stored once this has returned."""
        with self.writing() as connection:
            connection.execute(update(surveys).where(surveys.c.number == self.number).values(state=state))

    def check(self) -> None:
        """Raise a `StoreError` unless the database can be reached and has room."""
        self.state  # noqa: B018

    def probe(self) -> None:
        """Raise a `StoreError` unless the database can be written to."""
        with self.writing() as connection:
            connection.execute(update(surveys).where(surveys.c.number == self.number).values(state=surveys.c.state))

    def invite(self, hashes: Sequence[bytes]) -> None:
        """Let the bearers of some more invitations answer."""
        with self.writing() as connection:
            connection.execute(insert(invitations), [{"hash": one} for one in sorted(hashes)])

    def unused_invitations(self) -> int:
        """Invitations that nobody has used."""
        with self._reading() as connection:
            return connection.scalar(select(func.count()).select_from(invitations)) or 0

    @abstractmethod
    def claim(self) -> None:
        """Say that this process adds records; refused where another does that must not."""

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write."""
        with store_errors(self.engine), self.engine.begin() as connection:
            self._begin(connection)
            yield connection

    @abstractmethod
    def _begin(self, connection: Connection) -> None:
        """What a kind of database needs to hear at the start of a transaction that writes."""

    @abstractmethod
    def reading_at_once(self) -> AbstractContextManager[Connection]:
        """A connection to which nothing changes any more."""

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with store_errors(self.engine), self.engine.connect() as connection:
            yield connection


def _pairs(submission: Submission) -> Iterator[tuple[bytes, bytes]]:
    return zip(submission.ids, submission.rows, strict=True)


def invite(store: Store, count: int, address: str, keep: Callable[[list[str]], object] = list) -> list[str]:
    """Links that are good for one answer sheet each.

    Parameters
    ----------
    store : Store
        Where the survey keeps its answers; of a link it keeps a fingerprint only.
    count : int
        How many links.
    address : str
        Of the survey, as ``https://survey.example/``.
    keep : callable
        Told the links before they are good for anything, so that none is lost.
    """
    if not store.survey.invitations:
        raise CollectError(Phrase("{survey}: says invitations = false, so nobody needs one", survey=store.survey.id))
    secrets = [new_secret() for _ in range(count)]
    links = [f"{address.rstrip('/')}/#i={secret}" for secret in secrets]
    keep(links)
    store.invite([secret_hash(secret) for secret in secrets])
    return links
