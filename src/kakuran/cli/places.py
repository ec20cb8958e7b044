"""Where commands read and write beyond this machine's files: `-` and object stores (s3://, gs://, abfs://).

What is named so is copied into a private folder, which commands work in as in any other, and which is gone at the end;
what they write there is sent on once they have succeeded. Everything said names the address, not the copy. What comes
through the standard input has no name on the disk where the system can do without: not even `kill -9` leaves it there.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from kakuran.cli.console import AT_THE_END, CALLED, STANDARD
from kakuran.errors import ReleaseError, SchemaError, without_secrets
from kakuran.words import Phrase
from kakuran.writing import held_folder

_SIGNS = {b"PAR1": ".parquet", b"ARROW1": ".arrow"}
"""How files begin that are not CSV."""


@dataclass
class _Copies:
    """Copies of what lies elsewhere, and copies that have to go there."""

    standard: Any = None
    incoming: set[str] = field(default_factory=set)
    outgoing: dict[str, Path] = field(default_factory=dict)
    rooms: ExitStack = field(default_factory=ExitStack)

    def room(self, address: str, name: str) -> Path:
        """A place for a copy, for its owner alone."""
        if _end not in AT_THE_END:
            self.standard = sys.stdout
            AT_THE_END.append(_end)
        folder = self.rooms.enter_context(held_folder(Path(tempfile.gettempdir()), "kakuran"))
        is_standard = address == STANDARD
        local = f"{folder}/{name}" if is_standard else f"{folder}/"
        shown = without_secrets(address, address).partition("?")[0]
        CALLED[local] = STANDARD if is_standard else f"{shown.rpartition('/')[0]}/"
        return Path(folder, name)

    def check_apart(self) -> None:
        """Refuse to write over what is read."""
        for address in self.incoming & self.outgoing.keys() - {STANDARD}:
            raise ReleaseError(Phrase("{address}: is the original itself; write elsewhere", address=address))


_copies = _Copies()


def copied(address: str) -> Path:
    """A copy of what lies elsewhere."""
    _copies.incoming.add(address)
    _copies.check_apart()
    return _received() if address == STANDARD else _fetched(address)


def to_be_sent(address: str, ending: str) -> Path:
    """Where to write what will be sent elsewhere; what goes to the standard output ends so."""
    local = _copies.room(address, f"standard-output{ending}") if address == STANDARD else _room_for(address)
    _copies.outgoing[address] = local
    _copies.check_apart()
    if address == STANDARD:
        sys.stdout = sys.stderr  # what is shown to people would be in the middle of it
    return local


def _received() -> Path:
    """What comes through the standard input; it may be read more than once."""
    incoming: BinaryIO = sys.stdin.buffer
    start = incoming.read(8)
    if not start:
        raise SchemaError(
            Phrase("-: nothing came through the standard input; pipe a CSV, Parquet or Arrow file into it")
        )
    ending = next((ending for sign, ending in _SIGNS.items() if start.startswith(sign)), ".csv")
    local = _copies.room(STANDARD, f"standard-input{ending}")
    file = _copies.rooms.enter_context(local.open("wb"))
    handle = Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")
    if handle.exists():
        local.unlink()
        local.symlink_to(handle)
    file.write(start)
    shutil.copyfileobj(incoming, file)
    file.flush()
    return local


def _fetched(address: str) -> Path:
    """An object, or a folder of them, and the manifest beside a release that has one there."""
    from pyarrow import fs

    from kakuran.release import targets

    with _saying(address, Phrase("could not be read")):
        store, path = fs.FileSystem.from_uri(address)
        found = store.get_file_info(path)
    if found.type == fs.FileType.NotFound:
        raise SchemaError(Phrase("{address}: there is no such object or folder", address=address))
    with _saying(address, Phrase("could not be read")):
        local = _copies.room(address, found.base_name)
        if not found.is_file:
            local.mkdir()
        fs.copy_files(path, str(local), store, fs.LocalFileSystem())
        for beside in targets(local)[1:] if found.is_file else ():
            manifest = f"{path.rpartition('/')[0]}/{beside.name}"
            if store.get_file_info(manifest).is_file:
                fs.copy_files(manifest, str(beside), store, fs.LocalFileSystem())
    return local


def _room_for(address: str) -> Path:
    """A place to write; what is there already has an empty file of its name, so that it is not replaced unasked."""
    from pyarrow import fs

    with _saying(address, Phrase("could not be looked up")):
        store, path = fs.FileSystem.from_uri(address)
        local = _copies.room(address, Path(path).name)
        if store.get_file_info(path).type != fs.FileType.NotFound:
            local.touch()
    return local


def _end(is_well: bool) -> None:
    """Send what a command has written, if it ended well; leave no copy, however it ended."""
    try:
        for address, local in _copies.outgoing.items() if is_well else ():
            for file in sorted(local.parent.iterdir()):
                if file.stat().st_size:  # else it was there before, and was not replaced
                    _send(file, address)
    finally:
        sys.stdout = _copies.standard
        _copies.rooms.close()
        _copies.incoming.clear()
        _copies.outgoing.clear()


def _send(file: Path, address: str) -> None:
    """To its address, or to the standard output; beside what it belongs to."""
    if address == STANDARD:
        with file.open("rb") as written:
            if written.read(len(BOM_UTF8)) != BOM_UTF8:  # which is for those who open a file in Excel
                written.seek(0)
            shutil.copyfileobj(written, _copies.standard.buffer)
        return
    from pyarrow import fs

    with _saying(address, Phrase("could not be written")):
        store, path = fs.FileSystem.from_uri(address)
        fs.copy_files(str(file), f"{path.rpartition('/')[0]}/{file.name}", fs.LocalFileSystem(), store)


@contextmanager
def _saying(address: str, problem: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, NotImplementedError) as error:  # arrow's own are among them
        shown, why = (without_secrets(text, address) for text in (address, str(error)))
        raise ReleaseError(Phrase("{address}: {problem}: {error}", address=shown, problem=problem, error=why)) from None
