"""Reports on disk."""

from __future__ import annotations

from pathlib import Path

from kakuran.writing import whole_or_nothing


def write_report(path: Path, page: str) -> None:
    """Write a page whole, or not at all."""
    with whole_or_nothing(path) as folder:
        (folder / path.name).write_text(page, encoding="utf-8")
