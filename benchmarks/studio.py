"""What the studio claims: with a million records of fifteen columns no step keeps anybody waiting."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.claims import Claim, at_most
from benchmarks.timing import seconds
from kakuran.charts import new_figure
from kakuran.randomness import Randomness
from kakuran.release import write_table
from kakuran.studio import Desk
from kakuran.words import words_in

NOTE = "Eight columns of 4 to 11 categories, seven numbers from 0 to 99; each step once, as it is the first time."
PACKAGES = ()
STEP, SLIDER, MEMORY = 2.0, 1.0, 2048.0
"""Seconds a step may take, and one that a slider asks for; MiB of the process."""


def measure(*, quick: bool) -> Iterator[Claim]:
    """Every step in turn; quick runs are to see that all works, their numbers mean little."""
    rows = 20_000 if quick else 1_000_000
    new_figure(1, 1)  # which the studio loads when it starts
    with TemporaryDirectory() as folder:
        for file in ("people.parquet", "people.csv"):
            write_table(Path(folder, file), people(rows))
            desk = Desk(Path(folder))
            path = str(Path(folder, file))
            yield step(f"open {file}, {rows:,} × 15", lambda desk=desk, path=path: (desk.open(path), desk.to_dict()))
        for text, work, bar in steps(desk, Path(folder, "out.parquet")):
            yield step(f"{text}, {rows:,} × 15", work, bar)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield at_most("peak memory of all of this", peak, MEMORY, "MiB", "—")


def steps(desk: Desk, target: Path) -> Iterator[tuple[str, Callable[[], Any], float]]:
    """What is done on the page, in order."""
    say = words_in("en")
    crosstab = {"kind": "crosstab", "columns": ["c0", "c1"]}
    yield "another bound", lambda: (desk.edit("n1", {"low": -5}), desk.to_dict()), STEP
    yield "designs side by side", lambda: desk.choice(say), STEP
    yield "the slider: another k", lambda: (desk.wish(k=11), desk.to_dict(), desk.choice(say)), SLIDER
    yield "the curve of error against k", desk.curve, STEP
    yield "risk before", desk.risk, STEP
    yield "a rehearsal", lambda: desk.rehearse("c0", "c1", say), STEP
    yield "another pair of the rehearsal", lambda: desk.rehearse("c2", "c1", say), STEP
    yield "the release", lambda: desk.release(str(target), "en"), STEP
    yield "what another release would leave of the promise", desk.joined, STEP
    yield "open the release", lambda: desk.read(str(target)), STEP
    yield "its first cross-tab", lambda: desk.ask(crosstab, say), STEP
    yield "a mean by groups", lambda: desk.ask({"kind": "mean", "columns": ["n1"], "by": ["c1"]}, say), STEP


def step(text: str, work: Callable[[], Any], bar: float = STEP) -> Claim:
    """How long something takes."""
    return at_most(text, seconds(work), bar, "s", "—")


def people(rows: int) -> pa.Table:
    """Made-up records."""
    dice = Randomness.seeded(0).generator()
    words = {f"c{one}": np.array([f"value {word}" for word in range(4 + one)]) for one in range(8)}
    columns = {name: listed[dice.integers(0, len(listed), rows)] for name, listed in words.items()}
    return pa.table(columns | {f"n{one}": dice.integers(0, 100, rows) for one in range(7)})
