"""A release in a folder: its records in several Parquet files, its manifest beside them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kakuran.errors import ReleaseError
from kakuran.release.files import FOLDER_MANIFEST
from kakuran.release.manifest import Manifest
from kakuran.schema.files import CSV


def check_folder(path: Path, *, force: bool) -> None:
    """Refuse a target that is of the wrong kind, exists already, or has nowhere to be."""
    if path.suffix in CSV:
        raise ReleaseError(f"{path}: Spark writes a folder of Parquet files, not CSV")
    if path.exists() and not force:
        raise ReleaseError(f"{path}: exists already; use --force (force=True) to replace it")
    if path.exists() and not (path / FOLDER_MANIFEST).exists():
        raise ReleaseError(f"{path}: is not a release in a folder, so it will not be replaced")
    if not path.parent.is_dir():
        raise ReleaseError(f"{path}: there is no folder {path.parent}")


def write_folder(path: Path, make_parts: Callable[[Path], tuple[Sequence[Path], Manifest]]) -> Manifest:
    """Publish the Parquet files that were made in a private folder, whole or not at all."""
    with _beside(path) as private:
        parts, manifest = make_parts(private)
        release = private / "release"
        release.mkdir()
        for number, part in enumerate(parts):
            part.replace(release / f"part-{number:05}.parquet")
        (release / FOLDER_MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
        for file in release.iterdir():
            with file.open("rb") as written:
                os.fsync(written.fileno())
        if path.exists():
            path.replace(private / "replaced")
        release.replace(path)
    return manifest


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A private folder beside the target; what was replaced goes back to its place if its successor does not come."""
    try:
        private = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise ReleaseError(f"{path}: could not be written: {error.strerror or error}") from error
    try:
        yield private
    except OSError as error:
        raise ReleaseError(f"{path}: could not be written: {error.strerror or error}") from error
    finally:
        if (private / "replaced").exists() and not path.exists():
            (private / "replaced").replace(path)
        # Renamed first: a task that nobody waits for could put a new file into it while it is emptied.
        shutil.rmtree(private.replace(f"{private}.gone"), ignore_errors=True)
