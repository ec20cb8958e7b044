"""A release in a folder: its records in several Parquet files, its manifest beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kakuran.errors import ReleaseError
from kakuran.release.files import FOLDER_MANIFEST
from kakuran.release.manifest import Manifest
from kakuran.schema.files import CSV
from kakuran.writing import check_place, private_folder, sync


def check_folder(path: Path, *, force: bool) -> None:
    """Refuse a target that is of the wrong kind, exists already, or has nowhere to be."""
    if path.suffix in CSV:
        raise ReleaseError(f"{path}: Spark writes a folder of Parquet files, not CSV")
    check_place(path, force=force)
    if path.exists() and not (path / FOLDER_MANIFEST).exists():
        raise ReleaseError(f"{path}: is not a release in a folder, so it will not be replaced")


def write_folder(path: Path, make_parts: Callable[[Path], tuple[Sequence[Path], Manifest]]) -> Manifest:
    """Publish the Parquet files that were made in a private folder, whole or not at all."""
    with private_folder(path) as private:
        parts, manifest = make_parts(private)
        release = private / "release"
        release.mkdir()
        for number, part in enumerate(parts):
            part.replace(release / f"part-{number:05}.parquet")
        (release / FOLDER_MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
        sync(release.iterdir())
        _put_in_place(release, path, private / "replaced")
    return manifest


def _put_in_place(release: Path, path: Path, replaced: Path) -> None:
    """What is replaced goes back to its place if its successor does not come."""
    try:
        if path.exists():
            path.replace(replaced)
        release.replace(path)
    finally:
        if replaced.exists() and not path.exists():
            replaced.replace(path)
