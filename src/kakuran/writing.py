"""Files written once and whole, or not at all, and never over something that should stay."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE

from kakuran.errors import ReleaseError
from kakuran.randomness import Randomness
from kakuran.words import Phrase

IS_POSIX = os.name == "posix"
OWNER_ALONE = 0o600
"""Who may read and write what others should not see."""


def state_folder() -> Path:
    """The folder for what kakuran remembers of a user between runs."""
    if (given := Path(os.environ.get("XDG_STATE_HOME", ""))).is_absolute():
        place = given
    elif sys.platform == "win32":
        place = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
    else:
        place = Path.home() / ("Library/Application Support" if sys.platform == "darwin" else ".local/state")
    return place / "kakuran"


def check_free(*paths: Path, force: bool) -> None:
    """Refuse to write files that exist already, or have nowhere to be."""
    for path in paths:
        if path.is_dir():
            raise ReleaseError(Phrase("{path}: is a folder; name a file", path=path))
        check_place(path, force=force)


def check_place(path: Path, *, force: bool) -> None:
    """Refuse to write a file or a folder that exists already, or has nowhere to be."""
    if path.exists() and not force:
        raise ReleaseError(Phrase("{path}: exists already; use --force (force=True) to replace it", path=path))
    if not path.parent.is_dir():
        raise ReleaseError(Phrase("{path}: there is no folder {folder}", path=path, folder=path.parent))
    if not os.access(path.parent, os.W_OK):
        raise ReleaseError(Phrase("{path}: the folder {folder} cannot be written to", path=path, folder=path.parent))


def check_apart(target: Path, originals: Iterable[Path]) -> None:
    """Refuse to write over what is read."""
    if target.exists() and any(path.exists() and target.samefile(path) for path in originals):
        raise ReleaseError(Phrase("{path}: is the original itself; write elsewhere", path=target))


@contextmanager
def whole_or_nothing(*paths: Path, is_private: bool = False) -> Iterator[Path]:
    """A private folder beside the targets; files left there under their names take their places, or nothing does.

    Private files are for their owner alone: all that holds true counts, or that a steward has typed. A file that takes
    the place of another may be read by those who could read that one.
    """
    with private_folder(paths[0]) as folder:
        yield folder
        sync(folder / path.name for path in paths)
        for path in paths:
            if is_private or path.is_file():
                (folder / path.name).chmod(OWNER_ALONE if is_private else S_IMODE(path.stat().st_mode))
        # Without its manifest a release is refused: better than one that goes with the old table.
        for path in paths[1:]:
            path.unlink(missing_ok=True)
        for path in paths:
            (folder / path.name).replace(path)


@contextmanager
def private_folder(path: Path) -> Iterator[Path]:
    """A folder beside a target, for its owner alone and gone at the end; what goes wrong is said of the target."""
    try:
        with held_folder(path.parent, path.name) as folder:
            yield folder
    except OSError as error:
        raise ReleaseError(
            Phrase("{path}: could not be written: {why}", path=path, why=error.strerror or error)
        ) from error


@contextmanager
def held_folder(parent: Path, name: str) -> Iterator[Path]:
    """A hidden folder, for its owner alone and gone at the end; such as killed processes left there go first."""
    _sweep(parent, name)
    folder, handle = _fresh(parent, name), None
    try:
        while True:
            folder.mkdir(mode=0o700)  # in here, so that it goes away however early we are interrupted
            with suppress(BlockingIOError, FileNotFoundError):
                handle = _locked(folder)
                if folder.exists():
                    break
            folder = _fresh(parent, name)  # as another process took it for one that was left behind
        yield folder
    finally:
        # Renamed first: a task that nobody waits for could put a new file into it while it is emptied.
        with suppress(OSError):
            folder = folder.replace(f"{folder}.gone")
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _fresh(parent: Path, name: str) -> Path:
    return parent / f".{name}.{Randomness.secure().words(1)[0]:016x}"


def _sweep(parent: Path, name: str) -> None:
    """Remove folders of that name which no process holds any more."""
    ours = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{16}}(\.gone)?")
    with suppress(OSError):
        for folder in [entry for entry in parent.iterdir() if ours.fullmatch(entry.name)]:
            with suppress(OSError):
                if (handle := _locked(folder)) is not None:
                    shutil.rmtree(folder, ignore_errors=True)
                    os.close(handle)


def _locked(folder: Path) -> int | None:
    """A handle that holds a folder until its process ends; a `BlockingIOError` if another does.

    There is none where folders cannot be locked, as on Windows and some network drives: there nothing is swept.
    """
    if not IS_POSIX:
        return None
    from fcntl import LOCK_EX, LOCK_NB, flock

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        flock(handle, LOCK_EX | LOCK_NB)
    except OSError as error:
        os.close(handle)
        if isinstance(error, BlockingIOError):
            raise
        return None
    return handle


def write_text(path: Path, text: str, *, is_private: bool = False) -> None:
    """Write a text file, whole or not at all; a private one is for its owner alone."""
    with whole_or_nothing(path, is_private=is_private) as folder:
        (folder / path.name).write_text(text, encoding="utf-8")


def sync(files: Iterable[Path]) -> None:
    """Wait until what was written is on the disk."""
    for file in files:
        with file.open("r+b") as written:  # Windows refuses where nothing could have been written
            os.fsync(written.fileno())
