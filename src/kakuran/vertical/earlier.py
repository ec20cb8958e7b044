"""What earlier runs told of the same people: two sums that differ in one person tell that person's values.

Sums of several runs can be added and subtracted. A combination that is left with few people is a run over those few,
and every run adds sums over people whom earlier ones were about. A person whose values have changed is in the
difference of two runs like one who has come.
"""

from __future__ import annotations

import hmac
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.counts import distinct_rows
from kakuran.errors import DataError, GuardError, ProtocolError
from kakuran.randomness import Randomness
from kakuran.typing import Array
from kakuran.vertical.own import OwnColumns
from kakuran.words import Phrase, so_many_people
from kakuran.writing import state_folder

Members: TypeAlias = NDArray[np.uint64]

_COMBINATIONS = 10_000
"""So many combinations of runs are looked at; where there are more, one might speak of anybody."""
_SAMPLED, _SLACK = 1_000, 20
"""Records by which two columns are seen to differ in many people, and how many may differ there by chance."""
_ZERO = 1e-9
_PERSON = np.uint64(2**40 - 1)
"""The part of a hash that is the same for all contents of a person's record."""
WAY_OUT = Phrase("--despite-earlier-runs (despite_earlier_runs=True) runs it all the same")
_TABLES = """
CREATE TABLE IF NOT EXISTS secret (key BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS people (number INTEGER PRIMARY KEY, members BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS runs (number INTEGER PRIMARY KEY, people INTEGER NOT NULL, sums INTEGER NOT NULL, told BLOB);
CREATE TABLE IF NOT EXISTS contents (run INTEGER NOT NULL, name TEXT NOT NULL, people INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS ids (name TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS alignments
    (number INTEGER PRIMARY KEY, day TEXT NOT NULL, party TEXT, theirs INTEGER NOT NULL, ours INTEGER, shared INTEGER);
CREATE TABLE IF NOT EXISTS agreed (number INTEGER PRIMARY KEY, certificate TEXT, terms TEXT, fingerprint TEXT);
CREATE TABLE IF NOT EXISTS predictions (model TEXT, about TEXT, people INTEGER NOT NULL);
"""
_A_YEAR = timedelta(days=365)
_ONE_BIT = '{"": [0.5, 0.0]}'
"""What a refusal tells, as a column without a name: ½ log₂(1 + 12 · 0.5²) bits, of any column."""


def user_memory() -> Path:
    """The file that remembers all runs of this user, whatever folder, plan or key they are made with.

    It is ``kakuran/earlier.runs`` in the folder that ``XDG_STATE_HOME`` names, or where this system keeps such files. A
    relative folder is ignored, as the XDG specification has it: it would be another one wherever the user stands.

    Examples
    --------
    >>> from kakuran.vertical import user_memory
    >>> user_memory().name
    'earlier.runs'
    """
    return state_folder() / "earlier.runs"


@dataclass(frozen=True)
class Told:
    """How many earlier runs were about the same people, and how many of their sums fall to them."""

    runs: int = 0
    sums: float = 0.0


class _Run(NamedTuple):
    people: Members
    sums: int


class EarlierRuns:
    """The records of every run and what was in them, as keyed hashes in a file for its owner alone, or nothing.

    A run is written down before anything that depends on the data is sent, so that one that was cut off counts, too.
    Whom it was with does not matter: partners may talk to each other, and one may come under two names.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._number: int | None = None

    def look_back(self, ids: Sequence[bytes]) -> Told:
        """What was told before a run that is going on, whose own record is the last."""
        if self._path is None:
            return Told()
        with self._opened(self._path) as file:
            return _told(np.unique(_hashed(file, ids)), _runs(file, but_last=1))

    def begin(
        self,
        ids: Sequence[bytes],
        sums: int,
        *,
        fewest: int,
        records_per_sum: float,
        own: OwnColumns | None = None,
        known_by: str = "",
        despite: bool = False,
    ) -> Told:
        """Write down a run over these records that tells so many sums of each column of ours, or refuse it.

        Parameters
        ----------
        fewest : int
            People whom any combination of sums of all runs has to speak of.
        records_per_sum : float
            Records there have to be for each sum of all runs.
        own : OwnColumns
            Our columns over these records: two runs differ in those whose values have changed, too.
        known_by : str
            The column the ids are in; the same people under other ids would be others.
        despite : bool
            Refuse nothing.
        """
        if self._path is None:
            return Told()
        with self._opened(self._path) as file:
            members, runs = np.unique(_hashed(file, ids)), _runs(file)
            contents = {} if own is None else _contents(file, ids, own)
            if not despite:
                _check_ids(file, known_by)
                _check_apart(members, [run.people for run in runs], fewest)
                for name, versions in contents.items():
                    _check_apart(versions, _earlier_contents(file, name), fewest, f" of {name!r}, which has changed,")
                    for other in _earlier_contents(file, name, under_other_names=True):
                        if _is_nearly(versions, other, fewest):
                            of = f" of {name!r}, which is nearly a column of an earlier run,"
                            _check_apart(versions, [other], fewest, of)
                _check_load(members, sums, runs, records_per_sum)
            self._number = _write_down(file, members, sums, contents, known_by)
            return _told(members, runs)

    def compare(self, party: str, theirs: int, ours: int, *, most: float) -> None:
        """Write down that a party is about to try so many ids on ours, or refuse more than `most` in a year.

        All parties count together: one may come under two names.
        """
        if self._path is None:
            return
        today = datetime.now(UTC).date()
        with self._opened(self._path) as file:
            since = (today - _A_YEAR).isoformat()
            ((tried,),) = file.execute("SELECT coalesce(sum(theirs), 0) FROM alignments WHERE day > ?", (since,))
            if tried + theirs > most:
                raise GuardError(
                    Phrase(
                        "{party} brings {theirs:,} ids, after {tried:,} that were tried on ours within a year, more "
                        "than the plan's ids_per_year, {most:,.0f}: who may try any number finds out whom we know. "
                        "Wait, or agree on another limit",
                        party=party,
                        theirs=theirs,
                        tried=tried,
                        most=most,
                    )
                )
            row = (today.isoformat(), party, theirs, ours)
            file.execute("INSERT INTO alignments (day, party, theirs, ours) VALUES (?, ?, ?, ?)", row)

    def compared(self, party: str, shared: int) -> None:
        """Note how many of the ids that a party has tried last are ours; where nothing is noted, it broke off."""
        if self._path is None:
            return
        with self._opened(self._path) as file:
            last = "SELECT max(number) FROM alignments WHERE party = ?"
            file.execute(f"UPDATE alignments SET shared = ? WHERE number = ({last})", (shared, party))  # noqa: S608

    def knows(self, fingerprint: str) -> bool:
        """Whether the others have read this fingerprint of a plan out before."""
        if self._path is None:
            return False
        with self._opened(self._path) as file:
            held = file.execute("SELECT 1 FROM agreed WHERE fingerprint = ?", (fingerprint,))
            return held.fetchone() is not None

    def recognise(self, fingerprint: str) -> None:
        """Remember a plan by its fingerprint."""
        if self._path is not None:
            with self._opened(self._path) as file:
                file.execute("INSERT INTO agreed (fingerprint) VALUES (?)", (fingerprint,))

    def agree(self, certificate: str, terms: Mapping[str, Any]) -> None:
        """Remember what we agree to under this certificate of ours."""
        if self._path is not None:
            with self._opened(self._path) as file:
                row = (certificate, json.dumps(dict(terms)))
                file.execute("INSERT INTO agreed (certificate, terms) VALUES (?, ?)", row)

    def agreed(self, certificate: str) -> list[dict[str, Any]]:
        """All that we agreed to under this certificate of ours, the last first."""
        if self._path is None:
            return []
        with self._opened(self._path) as file:
            held = file.execute("SELECT terms FROM agreed WHERE certificate = ? ORDER BY number DESC", (certificate,))
            return [json.loads(terms) for (terms,) in held]

    def predict(
        self,
        ids: Sequence[bytes],
        own: OwnColumns,
        model: str,
        about: str,
        by_model: Callable[[list[str]], object],
        by_values: Callable[[list[str]], object],
        *,
        known_by: str,
        despite: bool = False,
    ) -> None:
        """Write down predictions of these records by a model, of which `about` says what they tell of each person.

        The same values by the same model are rounded alike, and tell nothing new.

        Parameters
        ----------
        by_model : Callable[[list[str]], object]
            Called with what was told before, for every set of earlier models that somebody was predicted by; refuses
            what is too much for people of any values.
        by_values : Callable[[list[str]], object]
            The same, by the values of these people. Whoever chose them learns one bit from its refusal, which is
            written down.
        """
        if self._path is None:
            by_values([])
            return
        with self._opened(self._path) as file:
            content = [one + row.tobytes() for one, row in zip(ids, own.values + 0.0, strict=True)]
            members = np.unique(_hashed(file, ids) & _PERSON | _hashed(file, content) & ~_PERSON)
            held = file.execute("SELECT model, about, members FROM predictions JOIN people ON people = number")
            earlier = [(name, told, np.frombuffer(people, np.uint64)) for name, told, people in held]
            alike = np.concatenate([np.empty(0, np.uint64), *(people for name, _, people in earlier if name == model)])
            members = np.setdiff1d(members, alike)
            if not len(members):
                return
            if not despite:
                _check_ids(file, known_by)
                people, before = members & _PERSON, [(told, people & _PERSON) for _, told, people in earlier]
                for told in _told_before(np.setdiff1d(people, alike & _PERSON), before):
                    by_model(told)
                try:
                    for told in _told_before(people, before):
                        by_values(told)
                except (DataError, GuardError):
                    file.execute("INSERT INTO predictions VALUES ('', ?, ?)", (_ONE_BIT, _kept(file, members)))
                    file.execute("COMMIT")
                    raise
            file.execute("INSERT INTO predictions VALUES (?, ?, ?)", (model, about, _kept(file, members)))
            file.execute("INSERT OR IGNORE INTO ids VALUES (?)", (known_by,))

    def settle(self, between: Array, decoys: int) -> None:
        """Note what the sums came to: a run with the very same ones as another told nothing new but its decoys."""
        if self._path is None or self._number is None:
            return
        with self._opened(self._path) as file:
            told = hmac.digest(_key(file), np.ascontiguousarray(between).tobytes(), "sha256")
            same = "SELECT 1 FROM runs AS other WHERE other.people = runs.people AND other.told = ?"
            file.execute(
                f"UPDATE runs SET told = ?, sums = CASE WHEN EXISTS ({same}) THEN ? ELSE sums END WHERE number = ?",  # noqa: S608
                (told, told, decoys, self._number),
            )

    @staticmethod
    @contextmanager
    def _opened(path: Path) -> Iterator[sqlite3.Connection]:
        """The file, ours alone meanwhile; what is written is written whole or not at all."""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            path.chmod(0o600)
            with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as file:
                file.execute("PRAGMA synchronous = EXTRA")  # after FULL a power failure may still undo the last commit
                file.executescript(_TABLES)
                file.execute("BEGIN IMMEDIATE")
                yield file
                file.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise ProtocolError(
                Phrase(
                    "{path}: cannot keep what earlier runs were about: {error}; without it nobody would notice "
                    "that two runs differ in one person",
                    path=path,
                    error=str(error),
                )
            ) from error


def fewest_apart(members: Members, earlier: Sequence[Members], enough: int) -> int:
    """Of how many people a combination of this run's sums with earlier ones speaks at the least, up to `enough`.

    A combination is a weight for each run, and speaks of everybody whose runs' weights do not add up to zero. Somebody
    with several contents counts in equal parts for each of them.
    """
    if not earlier or any(np.array_equal(people, members) for people in earlier):
        return enough
    runs = [members, *earlier]
    everybody = np.unique(np.concatenate(runs))
    takes_part = np.column_stack([np.isin(everybody, people, assume_unique=True) for people in runs])
    _, person, contents = np.unique(everybody & _PERSON, return_inverse=True, return_counts=True)
    found = distinct_rows(list(takes_part.T), 1 / contents[person])
    patterns, sizes = np.column_stack(found.columns).astype(np.float64), found.counts
    if np.linalg.matrix_rank(patterns) == np.linalg.matrix_rank(patterns[:, 1:]):
        return enough  # its sums are those of earlier runs, added and subtracted
    if _holds_everywhere(patterns, sizes, enough):
        return enough
    # To speak of few, a combination has to cancel wherever many took part in the same runs.
    weights = _null_space(patterns[sizes >= enough])
    weights = weights @ _row_space(patterns @ weights)
    sums = patterns @ weights
    left = (np.abs(sums) > _ZERO).any(axis=1)
    sums, sizes, cancelled = sums[left], sizes[left], weights.shape[1] - 1
    if cancelled < 0:
        return enough
    if comb(len(sums), cancelled) > _COMBINATIONS:
        return 0
    fewest = enough
    # One that speaks of as few as can be cancels on so many patterns that only its direction is left.
    for chosen in combinations(range(len(sums)), cancelled):
        direction = _null_space(sums[list(chosen)])[:, 0]
        if abs(weights[0] @ direction) > _ZERO:  # what earlier runs tell without this one is told
            fewest = min(fewest, int(sizes[np.abs(sums @ direction) > _ZERO].sum() + _ZERO))
    return fewest


def _holds_everywhere(patterns: Array, sizes: Array, enough: int) -> bool:
    """Whether people make up so many groups, each with patterns enough that no combination cancels on a whole group.

    Then every combination speaks of somebody in each group. It holds for most runs, and is quicker seen than searched.
    """
    left, rank = np.floor(sizes + _ZERO), int(np.linalg.matrix_rank(patterns))
    for _ in range(enough):
        order = np.argsort(-left, kind="stable")
        group = order[_independent(patterns[order[left[order] > 0]], rank)]
        if len(group) < rank:
            return False
        left[group] -= 1
    return True


def _independent(rows: Array, rank: int) -> list[int]:
    """The first rows of which none is a combination of those before it, up to so many."""
    found: list[int] = []
    basis = np.zeros((0, rows.shape[1]))
    for place, row in enumerate(rows):
        if len(found) == rank:
            break
        rest = row - basis.T @ (basis @ row)
        if (length := np.linalg.norm(rest)) > _ZERO:
            found.append(place)
            basis = np.vstack([basis, rest / length])
    return found


def _null_space(matrix: Array) -> Array:
    """The directions (as columns) in which a matrix is zero."""
    strengths, directions = _directions(matrix)
    return directions[:, int((strengths > _ZERO).sum()) :]


def _row_space(matrix: Array) -> Array:
    """The directions (as columns) in which a matrix is not zero."""
    strengths, directions = _directions(matrix)
    return directions[:, : int((strengths > _ZERO).sum())]


def _directions(matrix: Array) -> tuple[Array, Array]:
    _, strengths, directions = np.linalg.svd(np.linalg.qr(matrix, mode="r"))  # as small as it has columns
    return strengths, directions.T


def _check_ids(file: sqlite3.Connection, known_by: str) -> None:
    before = [name for (name,) in file.execute("SELECT name FROM ids")]
    if before and known_by not in before:
        raise GuardError(
            Phrase(
                "earlier runs knew our records by {before}, this one by {known_by!r}: whether they are the "
                "same people cannot be told. Take the ids of the earlier runs. {way_out}",
                before=" and ".join(map(repr, before)),
                known_by=known_by,
                way_out=WAY_OUT,
            )
        )


def _check_apart(members: Members, earlier: Sequence[Members], fewest: int, of: str = "") -> None:
    if (found := fewest_apart(members, earlier, fewest)) < fewest:
        raise GuardError(
            Phrase(
                "put together with those of earlier runs, this run's sums{of} would speak of {people} only, "
                "fewer than {fewest}; share the records of an earlier run, or wait until more have changed. "
                "{way_out}",
                of=of,
                people=so_many_people(found),
                fewest=fewest,
                way_out=WAY_OUT,
            )
        )


def _check_load(members: Members, sums: int, runs: Sequence[_Run], records_per_sum: float) -> None:
    """A sum is spread over the people it is about; refuse where one person's parts would come to too much."""
    load = np.full(len(members), sums / len(members))
    for run in runs:
        load[np.isin(members, run.people, assume_unique=True)] += run.sums / len(run.people)
    if runs and load.max() * records_per_sum > 1 + _ZERO:
        raise GuardError(
            Phrase(
                "with those of earlier runs there would be a sum for every {found:.1f} of our records, not for "
                "every {records_per_sum:g}: each run over the same people tells more of them. {way_out}",
                found=1 / load.max(),
                records_per_sum=records_per_sum,
                way_out=WAY_OUT,
            )
        )


def _told_before(people: Members, earlier: Sequence[tuple[str, Members]]) -> list[list[str]]:
    """What earlier predictions told, for every set of them that somebody was in."""
    takes_part = np.array([np.isin(people, others) for _, others in earlier]).reshape(len(earlier), len(people))
    patterns = np.unique(takes_part, axis=1).T.tolist() if earlier else [[]]
    return [[told for (told, _), is_in in zip(earlier, pattern, strict=True) if is_in] for pattern in patterns]


def _told(members: Members, runs: Sequence[_Run]) -> Told:
    shared = [(run, int(np.isin(run.people, members, assume_unique=True).sum())) for run in runs]
    return Told(sum(count > 0 for _, count in shared), sum(run.sums * count / len(run.people) for run, count in shared))


def _key(file: sqlite3.Connection) -> bytes:
    if (held := file.execute("SELECT key FROM secret").fetchone()) is None:
        held = (Randomness.secure().words(4).tobytes(),)
        file.execute("INSERT INTO secret VALUES (?)", held)
    return bytes(held[0])


def _hashed(file: sqlite3.Connection, ids: Sequence[bytes]) -> Members:
    """Records by eight bytes each, which say nothing without the key; two of 100,000 agree once in 10⁹ runs."""
    key = _key(file)
    return np.frombuffer(b"".join(hmac.digest(key, one, "sha256")[:8] for one in ids), np.uint64)


def _contents(file: sqlite3.Connection, ids: Sequence[bytes], own: OwnColumns) -> dict[str, Members]:
    """For each column the records by eight bytes each, five of the person and three of the value."""
    people, values = _hashed(file, ids) & _PERSON, own.values + 0.0  # one zero, not two
    return {
        name: np.unique(
            people | _hashed(file, [one + value.tobytes() for one, value in zip(ids, column, strict=True)]) & ~_PERSON
        )
        for name, column in zip(own.names, values.T, strict=True)
    }


def _earlier_contents(file: sqlite3.Connection, name: str, *, under_other_names: bool = False) -> list[Members]:
    found = file.execute(
        "SELECT members FROM people WHERE number IN (SELECT people FROM contents WHERE (name <> ?) = ?)",
        (name, under_other_names),
    )
    return [np.frombuffer(held, np.uint64) for (held,) in found]


def _is_nearly(versions: Members, other: Members, fewest: int) -> bool:
    """Whether fewer people than that differ between two columns; some of the first one's records show it mostly."""
    some = versions[:: max(1, len(versions) // _SAMPLED)]
    missing = len(some) - np.isin(some, other, assume_unique=True, kind="sort").sum()
    if missing > _SLACK + 4 * fewest * len(some) / len(versions):
        return False
    return bool(np.isin(versions, other, assume_unique=True, invert=True).sum() < fewest)


def _runs(file: sqlite3.Connection, but_last: int = 0) -> list[_Run]:
    """All runs without those written down last."""
    held = file.execute("SELECT * FROM people WHERE number IN (SELECT people FROM runs)")
    people = {number: np.frombuffer(members, np.uint64) for number, members in held}
    told = file.execute("SELECT people, sums FROM runs WHERE number <= (SELECT max(number) FROM runs) - ?", (but_last,))
    return [_Run(people[number], sums) for number, sums in told]


def _write_down(
    file: sqlite3.Connection, members: Members, sums: int, contents: Mapping[str, Members], known_by: str
) -> int | None:
    kept = (_kept(file, members), sums)
    run = file.execute("INSERT INTO runs (people, sums) VALUES (?, ?)", kept).lastrowid
    for name, versions in contents.items():
        file.execute("INSERT INTO contents VALUES (?, ?, ?)", (run, name, _kept(file, versions)))
    file.execute("INSERT OR IGNORE INTO ids VALUES (?)", (known_by,))
    return run


def _kept(file: sqlite3.Connection, members: Members) -> int | None:
    """The number under which these are kept, each only once."""
    content = members.tobytes()
    held = file.execute("SELECT number FROM people WHERE members = ?", (content,)).fetchone()
    return held[0] if held else file.execute("INSERT INTO people (members) VALUES (?)", (content,)).lastrowid
