"""Data-dependent calibration, beside summing every person's crowd over everybody."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.claims import Claim, within
from benchmarks.timing import Contestant, race, seconds
from kakuran import Categorical, Numeric, Schema, calibrate

Array: TypeAlias = NDArray[np.float64]
Distances: TypeAlias = Callable[[int], Array]

K = 10
BITS = 20
HIGH = 1_000_000
_HALVINGS = 20


def bits(rows: int, few: int, rounds: int) -> Iterator[Claim]:
    """Twenty independent bits, from rare to even."""
    rng = np.random.default_rng(7)
    records = rng.random((rows, BITS)) < np.linspace(0.02, 0.5, BITS)
    schema = Schema([Categorical(f"bit {place}", [False, True]) for place in range(BITS)])
    table = pa.table({f"bit {place}": records[:, place] for place in range(BITS)})

    def share_of_bits_that_differ(person: int) -> Array:
        return (records[:few] != records[person]).mean(axis=1)

    text = f"data-dependent calibration, {rows:,} rows × {BITS} bits"
    yield _compare(text, schema, table, share_of_bits_that_differ, few, rounds, 5.0)


def one_number(rows: int, few: int, rounds: int) -> Iterator[Claim]:
    """One skewed number on a million grid points."""
    numbers = np.clip(np.random.default_rng(7).lognormal(10.5, 0.8, rows).round(), 0, HIGH)
    schema, table = Schema([Numeric("income", 0, HIGH, step=1)]), pa.table({"income": numbers})

    def distance(person: int) -> Array:
        return np.abs(numbers[:few] - numbers[person]) / HIGH

    text = f"data-dependent calibration, {rows:,} rows × one number on {HIGH:,} points"
    yield _compare(text, schema, table, distance, few, rounds, 1.0)


def _compare(
    text: str, schema: Schema, table: pa.Table, distances: Distances, few: int, rounds: int, bar: float
) -> Claim:
    rows = table.num_rows
    _check_they_agree(schema, table.slice(0, few), distances)
    ours = race(
        [Contestant("ours", lambda: calibrate(schema, k=K, data=table, calibration="data-dependent", tell="all"))],
        rounds,
    )["ours"]
    naive = seconds(lambda: naive_budget(distances, few)) * (rows / few) ** 2
    return within(text, ours, naive, f"everybody against everybody in numpy, {few:,} rows scaled up", bar)


def naive_budget(distances: Distances, rows: int) -> float:
    """Halve the interval of budgets until the smallest crowd is K; every step looks at every pair."""
    low, high = 0.0, math.log((rows - 1) / (K - 1)) * 1000
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        smallest = min(np.exp(-middle * distances(person)).sum() for person in range(rows))
        low, high = (middle, high) if smallest >= K else (low, middle)
    return low


def _check_they_agree(schema: Schema, table: pa.Table, distances: Distances) -> None:
    """A race between two different answers would mean nothing."""
    ours, naive = (
        2 * calibrate(schema, k=K, data=table, calibration="data-dependent", tell="all").epsilon,
        naive_budget(distances, table.num_rows),
    )
    if not math.isclose(ours, naive, rel_tol=0.01):
        raise RuntimeError(f"the naive calibration finds a budget of {naive:g}, ours {ours:g}; they should agree")
