"""What wide tables, microaggregation, information loss and anonymity checks claim."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import factorisation, measures, microaggregation
from benchmarks.claims import Claim

NOTE = "Times are processor seconds, all threads together, the least of several runs."
PACKAGES = ("PyBMF", "nimfa", "anonypyx", "pycanon")


def measure(*, quick: bool) -> Iterator[Claim]:
    """Every claim in turn; quick runs are to see that all works, their numbers mean little."""
    part = 10 if quick else 1
    yield from measures.losses(1_000_000 // part)
    yield from measures.anonymity(500 if quick else 1000)
    if not quick:
        yield from measures.anonymity(None)
    yield from microaggregation.reference_values()
    yield from microaggregation.quality(10_000 // part, 50_000 // part, 100_000 // part)
    yield from microaggregation.beside_anonypyx(3000 // part)
    yield from factorisation.boolean(5, 200 if quick else 1000)
    if not quick:
        yield from microaggregation.beside_anonypyx(10_000)
        yield from factorisation.boolean(20, 1000)
    yield from factorisation.masked(1_000_000 // part, 10)
    yield from factorisation.table_1(1 if quick else 10)
    yield from factorisation.large(100_000 // part, 0.0103, 10)
    if not quick:
        yield from factorisation.large(1_000_000, 0.0103, 30)
