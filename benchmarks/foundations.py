"""What the foundations claim: sampling, files, calibration, memory."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import asking, calibration, files, memory, sampling
from benchmarks.claims import Claim

MILLION = 1_000_000
NOTE = (
    "Times are the best of several runs taken in turns, two runs a turn, so with warm memory; per value where they "
    "are in ns. Peers were timed on fewer values, as the rows say."
)
PACKAGES = ("diffprivlib", "multi-freq-ldpy", "opendp", "pure-ldp")


def measure(*, quick: bool) -> Iterator[Claim]:
    """Every claim in turn; quick runs are to see that all works, their numbers mean little."""
    size, rounds = (MILLION // 10, 3) if quick else (MILLION, 15)
    yield from sampling.retention(size, size // 50, rounds)
    yield from sampling.bounded_laplace(size, size // 200, rounds)
    yield from sampling.whole_call(5 * size, rounds)
    yield from asking.in_memory(size // 2, rounds // 3)
    yield from files.parquet(5 * size, rounds // 3)
    yield from files.stata(size, rounds // 3)
    yield from calibration.bits(size, 500 if quick else 2000, rounds // 3)
    yield from calibration.one_number(size, 500 if quick else 2000, rounds // 3)
    yield from memory.peak_memory(size, 10 * size)
