"""k in every draw beside k with certainty 0.999999: the noise each takes, and what it costs tables of Adult.

ε₀ of records and, in brackets, the central ε at δ = 10⁻⁶, without a ceiling on it: of one column of a hundred values,
and of all pairs of nine columns of Adult. Errors are people in the wrong cell, with the ceiling of 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

import kakuran as kk
from benchmarks.claims import Claim, at_most, no_peer
from benchmarks.designs import WORDS, adult, released, schema_of, wrong_cells
from benchmarks.measures import ADULT
from kakuran.design import CERTAINTY

NOTE = "Errors are means over several draws, in percent of all people."
PACKAGES = ()

KNOWN = {
    1_000: (5.414, 4.623, 4.097, 2.185),
    9_000: (6.712, 6.010, 5.590, 4.160),
    32_561: (7.178, 6.891, 6.618, 5.261),
    50_000: (7.663, 7.309, 7.050, 5.701),
    1_000_000: (10.385, 10.143, 9.893, 8.581),
}
"""ε₀ with certainty at each k, as another program computed it."""
KS = (2, 5, 10, 100)
SIZES = (9, 16, 7, 15, 6, 5, 2, 2, 9)
"""Values of nine columns of Adult, of 32,561 people."""
BARS = {10: (1.2, 3.9, 9.0), 100: (1.5, 5.0, 10.5)}


def measure(*, quick: bool) -> Iterator[Claim]:
    """The noise, then errors; quick runs are to see that all works, their errors mean little."""
    for n, known in KNOWN.items():
        yield from _noise(n, known)
    if not ADULT.exists():
        yield no_peer("k with certainty on Adult", "—", "the Adult data set is not beside the checkout", "as above")
        return
    people, draws = adult(2_000 if quick else None), 1 if quick else 5
    for k in BARS:
        yield from _errors(people, k, draws)


def _noise(n: int, known: tuple[float, ...]) -> Iterator[Claim]:
    sizes = SIZES if n == 32_561 else (100,)
    schema = kk.Schema([kk.Categorical(f"{place}", range(size)) for place, size in enumerate(sizes)])
    told = {"tell": 2} if len(sizes) > 1 else {"mechanisms": {"0": "retention"}}
    for k, expected in zip(KS, known, strict=True):
        every = kk.calibrate(schema, n=n, k=k, **told)  # type: ignore[arg-type]
        certain = kk.calibrate(schema, n=n, k=k, certainty=CERTAINTY, central_ceiling=None, **told)  # type: ignore[arg-type]
        yield Claim(
            f"ε₀ with certainty, {n:,} people{' of Adult' if len(sizes) > 1 else ''}, k = {k}",
            f"{certain.epsilon:.3f} ({certain.central():.2f})",
            f"in every draw: {every.epsilon:.3f} ({every.central():.2f})",
            bar=f"{expected} ± .005",
            is_met=abs(certain.epsilon - expected) <= 0.005,
        )


def _errors(people: pa.Table, k: int, draws: int) -> Iterator[Claim]:
    schema, n = schema_of(people), people.num_rows
    shown = {}
    for certainty in (None, CERTAINTY):
        plan = kk.calibrate(schema, n=n, k=k, certainty=certainty)
        drawn = replace(plan, k=plan.k_for(n), certainty=None)  # the same noise, from seeds
        wrong = [wrong_cells(people, released(people, drawn, seed).reader) for seed in range(draws)]
        shown[certainty] = 100 * np.mean(wrong, axis=0)
    every = " / ".join(f"{error:.1f}" for error in shown[None])
    yield Claim(f"wrong cells of one-/two-/three-way tables of Adult in every draw, k = {k}", every, "—")
    for ways, error, bar in zip(WORDS, shown[CERTAINTY], BARS[k], strict=True):
        yield at_most(f"{WORDS[ways]} tables of Adult with certainty, k = {k}", error, bar, "%")
