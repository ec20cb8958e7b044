"""What the collector's dashboard claims: an answer costs what its cells cost, however many people took part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.claims import Claim, at_most
from benchmarks.timing import seconds
from kakuran.collect import dashboard
from kakuran.counts import MemoryRecords
from kakuran.design import calibrate
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness
from kakuran.release import Manifest, Release
from kakuran.samples import census, census_schema

NOTE = "Four questions of a made-up census; wall-clock times, the best of three runs."
PACKAGES = ()
FEW = 10_000
BAR = 1.0
"""Seconds a refresh may take."""


def measure(*, quick: bool) -> Iterator[Claim]:
    """Every claim in turn; quick runs are to see that all works, their numbers mean little."""
    records = 100_000 if quick else 1_000_000
    many, few = collected(records), collected(FEW)
    for text, ask, bar in (
        ("all four questions and their history", lambda one: dashboard.summary(one, minimum_n=50), BAR),
        ("8 × 2 answers", lambda one: dashboard.crosstab(one, "job", "sex", minimum_n=50), BAR),
        ("8 answers × a number", lambda one: dashboard.crosstab(one, "job", "age", minimum_n=50), BAR),
        ("a tree", lambda one: dashboard.tree(one, "sex", minimum_n=50), None),
    ):
        yield refresh(f"dashboard, {records:,} records: {text}", ask, many, few, bar)


def refresh(text: str, ask: Callable[[Release], Any], many: Release, few: Release, bar: float | None) -> Claim:
    """How long an answer takes, beside the same for few records."""
    ours, least = (min(seconds(lambda one=one: ask(one)) for _ in range(3)) for one in (many, few))
    beside = f"{few.n:,} records: {least:.2f} s"
    if bar is None:
        return Claim(text, f"{ours:.2f} s", beside)
    return at_most(text, ours, bar, "s", beside)


def collected(count: int) -> Release:
    """Made-up people's answers, perturbed for k = 10 among 1,000."""
    schema = census_schema()
    plan = calibrate(schema, n=1000, k=10, tell="all")
    codes = Kernel(plan).sample(schema.encode(census(count)), Randomness.seeded(1))
    records = MemoryRecords(plan.layout, known=codes)
    return Release(records, Manifest(plan, count, "kept", seeded=False))
