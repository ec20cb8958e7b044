"""Files written whole or not at all, where nothing stands in the way."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kakuran.errors import ReleaseError
from kakuran.randomness import Randomness


def check_free(*paths: Path, force: bool) -> None:
    """Refuse to write files that exist already, or have nowhere to be."""
    for path in paths:
        if path.is_dir():
            raise ReleaseError(f"{path}: is a folder; name a file")
        check_place(path, force=force)


def check_place(path: Path, *, force: bool) -> None:
    """Refuse to write a file or a folder that exists already, or has nowhere to be."""
    if path.exists() and not force:
        raise ReleaseError(f"{path}: exists already; use --force (force=True) to replace it")
    if not path.parent.is_dir():
        raise ReleaseError(f"{path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise ReleaseError(f"{path}: the folder {path.parent} cannot be written to")


def check_apart(target: Path, originals: Iterable[Path]) -> None:
    """Refuse to write over what is read."""
    if target.exists() and any(path.exists() and target.samefile(path) for path in originals):
        raise ReleaseError(f"{target}: is the original itself; write elsewhere")


def write_text(path: Path, text: str) -> None:
    """Write a text, whole or not at all."""
    with whole_or_nothing(path) as folder:
        (folder / path.name).write_text(text, encoding="utf-8")


@contextmanager
def whole_or_nothing(*paths: Path) -> Iterator[Path]:
    """A private folder beside the targets; files left there under their names take their places, or nothing does."""
    with private_folder(paths[0]) as folder:
        yield folder
        for path in paths:
            settle(folder / path.name)
        # Without its manifest a release is refused: better than one that goes with the old table.
        for path in paths[1:]:
            path.unlink(missing_ok=True)
        for path in paths:
            (folder / path.name).replace(path)


@contextmanager
def private_folder(target: Path) -> Iterator[Path]:
    """A folder beside a target that nobody else can look into, gone afterwards; its failures are told of the target."""
    folder = target.parent / f".{target.name}.{Randomness.secure().words(1)[0]:016x}"
    try:
        folder.mkdir(mode=0o700)  # in here, so that it goes away however early we are interrupted
        yield folder
    except OSError as error:
        raise ReleaseError(f"{target}: could not be written: {error.strerror or error}") from error
    finally:
        gone = folder.with_name(f"{folder.name}.gone")
        # Renamed first: a task of a cluster that nobody waits for could put a new file into it while it is emptied.
        with suppress(OSError):
            folder.rename(gone)
        for left in (gone, folder):
            shutil.rmtree(left, ignore_errors=True)


def settle(path: Path) -> None:
    """Wait until a file is on the disk."""
    with path.open("rb") as written:
        os.fsync(written.fileno())
