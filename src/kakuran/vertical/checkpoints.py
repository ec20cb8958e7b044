"""Completed stages of a run, kept where only their owner can read them, so that a restart goes on from there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from kakuran import parsing
from kakuran.errors import ProtocolError
from kakuran.words import Phrase
from kakuran.writing import whole_or_nothing

_PREFIX = "kakuran-"


class Checkpoints:
    """Stages by name, each with a tag that all who share the stage must agree on.

    Without a folder nothing is kept. Stages that are damaged, or of another plan or other data, count as none; what
    else is in the folder is not ours to read or to remove.
    """

    def __init__(self, folder: Path | None, run: str) -> None:
        self._folder, self._run = folder, run
        if folder is not None:
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise ProtocolError(
                    Phrase("{folder}: cannot keep the state of the run: {why}", folder=folder, why=error.strerror)
                ) from error

    def save(self, stage: str, tag: str, facts: Mapping[str, Any], **arrays: NDArray[Any]) -> None:
        """Keep a stage, whole or not at all."""
        if self._folder is None:
            return
        path = self._path(self._folder, stage)
        content = json.dumps({"run": self._run, "tag": tag, "facts": dict(facts)})
        with whole_or_nothing(path, is_private=True) as scratch:
            np.savez(scratch / path.name, allow_pickle=False, about=np.array(content), **arrays)

    def load(self, stage: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The facts and arrays of a stage that `tags` listed."""
        assert self._folder is not None  # noqa: S101 - nothing is listed without a folder
        with parsing.ALONE, np.load(self._path(self._folder, stage), allow_pickle=False) as kept:
            facts = json.loads(str(kept["about"]))["facts"]
            return facts, {name: kept[name] for name in kept.files if name != "about"}

    def tags(self) -> dict[str, str]:
        """The stages that are kept, with their tags."""
        if self._folder is None:
            return {}
        found = {}
        for path in self._kept():
            try:
                with parsing.ALONE, path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                    about = json.loads(str(kept["about"]))
                    run, tag = about["run"], str(about["tag"])
            except (OSError, EOFError, BadZipFile, ValueError, KeyError, TypeError, RecursionError):
                continue
            if run == self._run:
                found[path.stem.removeprefix(_PREFIX)] = tag
        return found

    def start_over(self) -> None:
        """Remove all stages: those of another order of records must not be mixed with new ones."""
        for path in self._kept():
            path.unlink()

    def forget(self) -> None:
        """Remove all stages, once the run is over, and the folder if nothing else is in it."""
        if self._folder is None:
            return
        self.start_over()
        for scratch in self._folder.glob(f".{_PREFIX}*"):  # of a run that was killed
            shutil.rmtree(scratch, ignore_errors=True)
        with suppress(OSError):
            self._folder.rmdir()

    def _kept(self) -> list[Path]:
        return [] if self._folder is None else sorted(self._folder.glob(f"{_PREFIX}*.npz"))

    @staticmethod
    def _path(folder: Path, stage: str) -> Path:
        return folder / f"{_PREFIX}{stage}.npz"
