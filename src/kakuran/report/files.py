"""Reports on disk."""

from __future__ import annotations

from pathlib import Path

from kakuran.errors import ReleaseError
from kakuran.release.files import whole_or_nothing
from kakuran.report.drawing import new_figure


def check_report(path: Path, *, force: bool) -> None:
    """Refuse a report that could not be written, before the work it is to show."""
    if path.suffix not in (".html", ".htm"):
        raise ReleaseError(f"{path}: a report is an .html file")
    if path.exists() and not force:
        raise ReleaseError(f"{path}: exists already; use --force to replace it")
    if not path.parent.is_dir():
        raise ReleaseError(f"{path}: there is no folder {path.parent}")
    new_figure(1, 1)


def write_report(path: Path, page: str) -> None:
    """Write a page whole, or not at all."""
    with whole_or_nothing(path) as folder:
        (folder / path.name).write_text(page, encoding="utf-8")
