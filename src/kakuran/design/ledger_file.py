"""The file of a ledger: every release of the same people entered before it is drawn, whole or not at all.

Whether there is enough left for it, its account says (`account`).

A release is entered before it is drawn, and counts from then on, whether or not anything comes of it; only one that
failed by itself, before anything took its place, is withdrawn.

The ledger is one file of text, replaced as a whole under a lock: it is there before a release or after it, never half.
It holds neither originals nor seeds; what counts is the order of entries, never the clock.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from kakuran.design.account import Account, EntryState, Spending
from kakuran.design.central import DELTA
from kakuran.errors import CalibrationError, ReleaseError
from kakuran.parsing import naming
from kakuran.words import Phrase
from kakuran.writing import check_free, whole_or_nothing, write_text

FORMAT = 2
"""Raised whenever an older kakuran could count a newer ledger wrongly."""
IS_POSIX = os.name == "posix"
"""Elsewhere, on Windows, an open file cannot be replaced, nor a folder be synced."""


class Ledger:
    """What releases of the same people have spent, in a file; `create` makes one.

    Parameters
    ----------
    path : str | Path | Ledger
        The file, or the ledger in it.

    Examples
    --------
    >>> import tempfile, kakuran as kk
    >>> from pathlib import Path
    >>> from kakuran.samples import census, census_schema
    >>> plan = kk.calibrate(census_schema(), n=1_000, k=10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = kk.Ledger.create(Path(folder, "people.ledger"), "survey 2026", k=10, epsilon=1)
    ...     release = kk.perturb(census(1_000), plan, ledger=ledger)
    ...     account = ledger.account()
    >>> account.k, round(account.epsilon, 3), account.entries[0].state
    (10.0, 0.454, 'made')
    """

    def __init__(self, path: str | Path | Ledger) -> None:
        self.path: Path = path.path if isinstance(path, Ledger) else Path(path)

    @classmethod
    def create(
        cls,
        path: str | Path,
        people: str,
        *,
        k: float | None = None,
        epsilon: float | None = None,
        delta: float = DELTA,
        certainty: float | None = None,
    ) -> Ledger:
        """Make a ledger of nothing; never in place of another.

        Parameters
        ----------
        path : str | Path
            The file.
        people : str
            Who they are, in words.
        k : float | None
            What is promised over all releases: nobody is linked above 1/k.
        epsilon : float | None
            What is promised as well, or instead: all releases together are (ε, δ)-differentially private.
        delta : float
            δ.
        certainty : float | None
            The probability over the draws of all releases with which k holds; None for every draw.
        """
        account, ledger = Account(people, k, epsilon, delta, certainty=certainty), cls(path)
        check_free(ledger.path, force=False)
        write_text(ledger.path, _sealed(account), is_private=True)
        ledger._sync_folder()
        return ledger

    def account(self) -> Account:
        """What it says now."""
        try:
            text, names = self.path.read_text(encoding="utf-8"), self.path.stat().st_nlink
        except FileNotFoundError:
            raise ReleaseError(
                Phrase("{path}: no such ledger; make one with `kakuran ledger init`", path=self.path)
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise ReleaseError(
                Phrase("{path}: not a ledger that can be read: {error}", path=self.path, error=str(error))
            ) from error
        if names > 1:  # an entry replaces the file under one of them: two ledgers, each of which knows half
            raise ReleaseError(
                Phrase(
                    "{path}: is one of {names} names of the same file (hard links), so that an entry under one would "
                    "be missing under the others. Keep one, and link to it with `ln -s`",
                    path=self.path,
                    names=names,
                )
            )
        return _unsealed(text, self.path)

    def entry(self, spending: Spending) -> Entering:
        """What enters a release while it is drawn."""
        return Entering(self, spending)

    def check(self, spending: Spending) -> Account:
        """What the ledger would say with one more release, which is refused as it would be if it were made."""
        return self._with(spending)

    def add(self, spending: Spending) -> int:
        """Enter a release, on disk when this returns; its number."""
        with self._alone():
            account = self._with(spending)
            self._replace(account)
        return len(account.entries)

    def _with(self, spending: Spending) -> Account:
        with naming(self.path):
            return self.account().with_entry(spending)

    @contextmanager
    def entered(self, spending: Spending) -> Iterator[None]:
        """Enter a release that is made inside; it counts whatever becomes of it."""
        entering = Entering(self, spending)
        entering.__enter__()
        yield
        entering.finish()

    def mark(self, number: int, state: EntryState) -> None:
        """Say what became of an entry."""
        with self._alone():
            self._replace(self.account().with_state(number, state))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While nobody else writes. Who waited may hold a file that was replaced meanwhile, and waits again."""
        while True:
            try:
                with self._key() as held:
                    _lock(held)
                    if not IS_POSIX or os.path.samestat(os.fstat(held.fileno()), self._place.stat()):
                        yield
                        return
            except FileNotFoundError:
                raise ReleaseError(
                    Phrase("{path}: no such ledger; make one with `kakuran ledger init`", path=self.path)
                ) from None
            except PermissionError as error:
                raise ReleaseError(
                    Phrase("{path}: cannot be written to, so nothing can be entered", path=self.path)
                ) from error

    def _key(self) -> BinaryIO:
        """What is locked: the ledger itself, or where it could not be replaced then, a file beside it."""
        file = self._place.open("r+b")
        if IS_POSIX:
            return file
        file.close()  # it is there, and can be written to
        return self._place.with_name(f".{self._place.name}.lock").open("ab")

    @property
    def _place(self) -> Path:
        """Where the file really is: a link to it must not become a second ledger."""
        return self.path.resolve()

    def _replace(self, account: Account) -> None:
        """Durably: the text is on disk before it takes its place, and its place before this returns."""
        place = self._place
        try:
            with whole_or_nothing(place) as folder:
                (folder / place.name).write_text(_sealed(account), encoding="utf-8")
                shutil.copymode(place, folder / place.name)
            self._sync_folder()
        except (OSError, ReleaseError) as error:
            why = error.__cause__ if isinstance(error, ReleaseError) else error
            raise ReleaseError(
                Phrase(
                    "{path}: could not be written ({why}), so nothing is released",
                    path=self.path,
                    why=getattr(why, "strerror", None) or str(error),
                )
            ) from error

    def _sync_folder(self) -> None:
        if not IS_POSIX:  # its journal keeps a name that was given
            return
        folder = os.open(self._place.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class Entering:
    """A release that is being made: entered when drawing begins, and withdrawn if that fails by itself."""

    def __init__(self, ledger: Ledger, spending: Spending) -> None:
        self._ledger = ledger
        self._spending = spending
        self._number = 0

    def __enter__(self) -> Entering:
        self._number = self._ledger.add(self._spending)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Nothing has taken its place yet; but a draw that somebody stopped may have been stopped for what it shows.
        if kind is not None and not issubclass(kind, KeyboardInterrupt):
            self._mark("withdrawn")

    def finish(self) -> None:
        """Say that the release is there."""
        self._mark("made")

    def _mark(self, state: EntryState) -> None:
        with suppress(ReleaseError):  # what cannot be marked stays as it is, and counts
            self._ledger.mark(self._number, state)


def _lock(file: BinaryIO) -> None:
    """Wait until nobody else holds a file; the system lets go of it when it is closed, however that comes about."""
    if IS_POSIX:
        from fcntl import LOCK_EX, flock

        flock(file, LOCK_EX)
        return
    import msvcrt

    while True:
        file.seek(0)
        try:  # for ten seconds, then it gives up
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EDEADLOCK):
                raise
        else:
            return


def _sealed(account: Account) -> str:
    """The text of a ledger, with a digest of all that it says."""
    told = {"kakuran_ledger": FORMAT} | account.to_dict()
    return json.dumps(told | {"digest": _digest(told)}, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _unsealed(text: str, path: Path) -> Account:
    try:
        told = json.loads(text)
        digest, found = told.pop("digest"), told["kakuran_ledger"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReleaseError(_damaged(path, Phrase("it is cut off, or no ledger"))) from error
    if type(found) is int and found > FORMAT:
        raise ReleaseError(
            Phrase("{path}: was written by a newer kakuran (format {found}); upgrade", path=path, found=found)
        )
    if digest != _digest(told):
        raise ReleaseError(_damaged(path, Phrase("it does not say what kakuran wrote into it")))
    try:
        return Account.from_dict(told)
    except (CalibrationError, ValueError, KeyError, TypeError) as error:
        raise ReleaseError(_damaged(path, str(error))) from error


def _digest(told: Mapping[str, Any]) -> str:
    canonical = json.dumps(told, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _damaged(path: Path, why: str) -> str:
    return Phrase(
        "{path}: is damaged: {why}. Nothing is released with it. Put back a copy that has every release in it; with "
        "an older one, what was released since would count for nothing",
        path=path,
        why=why,
    )
