"""Releases made and counted on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kakuran.calibration import Plan
from kakuran.release.folders import check_folder, write_folder
from kakuran.release.manifest import Manifest

if TYPE_CHECKING:
    from kakuran.engine.spark import Originals


def perturb_on_spark(originals: Originals, target: Path, plan: Plan, *, seed: int | None, force: bool) -> Manifest:
    """Perturb a table on Spark into a folder, which appears whole or not at all."""
    check_folder(target, force=force)

    def drawn(private: Path) -> tuple[list[Path], Manifest]:
        parts, records = originals.draw(plan, private, seed)
        return parts, Manifest(plan, records, "shuffled", seeded=seed is not None)

    return write_folder(target, drawn)
