"""Asking a release in memory, beside encoding its records for every question."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import kakuran as kk
from benchmarks.claims import Claim, at_most_times
from benchmarks.timing import Contestant, race
from kakuran.samples import census, census_schema


def in_memory(rows: int, rounds: int) -> Iterator[Claim]:
    """A cross-tab of whole records as `perturb` returns them; and of the same records, known only as a frame."""
    release = kk.perturb(census(rows), kk.calibrate(census_schema(), n=rows, k=10, tell="all"))
    frame = release.table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = race(
            [
                Contestant("as it was perturbed", lambda: release.crosstab("job", "sex")),
                Contestant("encoded again", lambda: kk.Release(frame, release.manifest).crosstab("job", "sex")),
            ],
            rounds,
        )
    text = f"cross-tab of two columns of {rows:,} records in memory"
    yield at_most_times(text, *best.values(), "s", "encoded again", 0.8)
