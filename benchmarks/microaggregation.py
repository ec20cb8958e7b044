"""Microaggregation: how much is lost, and how fast; beside anonypyx."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.claims import Claim, at_most, faster_run, no_peer
from benchmarks.timing import PATIENCE, UNFINISHED, attempt, timed
from kakuran.wide import GroupingMethod, group_records

CASC = Path(__file__).parents[2] / "shared/data/casc"
REFERENCE = {"Tarragona": (16.9326, 22.4619, 33.1929), "CASCrefmicrodata": (5.6922, 9.0884, 14.1559)}


def lost(points: NDArray[np.float64], groups: NDArray[np.intp]) -> float:
    """SSE/SST in percent."""
    means = np.column_stack([np.bincount(groups, column) for column in points.T]) / np.bincount(groups)[:, None]
    return float(100 * ((points - means[groups]) ** 2).sum() / ((points - points.mean(axis=0)) ** 2).sum())


def normals(n: int) -> NDArray[np.float64]:
    """The data of the comparison with sdcMicro."""
    return np.random.default_rng(0).normal(size=(n, 5))


def reference_values() -> Iterator[Claim]:
    """MDAV on the CASC sets, where they lie beside the checkout."""
    for name, values in REFERENCE.items():
        if not (CASC / f"{name}.csv").exists():
            continue
        points = pd.read_csv(CASC / f"{name}.csv").to_numpy(float)
        points = (points - points.mean(axis=0)) / points.std(axis=0)
        for k, value in zip((3, 5, 10), values, strict=True):
            gap = abs(lost(points, group_records(points, k)) - value)
            yield at_most(f"MDAV on {name}, k={k}: distance from the published {value} %", gap, 0.01, "points")


def quality(small: int, middle: int, large: int) -> Iterator[Claim]:
    """Loss and time on normals, k=5. The bars for time are a third of what sdcMicro took, 0.3 s and 9 s."""
    group_records(normals(500), 5, "local-search")
    bars: list[tuple[int, GroupingMethod, float, float]] = [
        (small, "mdav", 5.525, 0.1),
        (middle, "mdav", 3.0, 3.0),
        (small, "local-search", 5.15, 20),
        (middle, "local-search", 2.80, 20),
        (large, "local-search", 2.2, 20),
        (large, "blocked", 2.5, 2),
    ]
    for n, method, most, within in bars:
        points = normals(n)
        seconds, groups = timed(lambda points=points, method=method: group_records(points, 5, method), rounds=2)
        yield at_most(f"{method}, {n:,} × 5 normals, k=5: lost", lost(points, groups), most, "%")
        yield at_most(f"{method}, {n:,} × 5 normals, k=5: time", seconds, within, "s")


def beside_anonypyx(n: int) -> Iterator[Claim]:
    """The same algorithm in anonypyx, which keeps a frame of all distances: 10,000 records exhaust our patience."""
    points = normals(n)
    text = f"MDAV, {n:,} × 5 normals, k=5, vs anonypyx"
    ours, _ = timed(lambda: group_records(points, 5), rounds=5)

    def peer() -> object:
        from anonypyx.microaggregation import MDAVGeneric

        frame = pd.DataFrame(points, columns=list("abcde"))
        return MDAVGeneric(frame, list("abcde")).partition(5)

    seconds, given = attempt(peer, patience=PATIENCE)
    if seconds is None:
        yield no_peer(text, f"{ours:.3f} s", given, "≥ 50×")
    else:
        yield faster_run(text, ours, seconds, "anonypyx", 50, is_finished=given is not UNFINISHED)
