"""Tables of made-up people with realistic skew, and the plans that perturb them.

`python -m benchmarks.people ROWS PATH` writes one, so that whoever measures memory need not.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kakuran import Categorical, Numeric, Plan, Schema, calibrate

CATEGORIES = {"job": 60, "region": 47, "education": 16}
SIX_COLUMNS = CATEGORIES | {"sex": 2}
_ROWS_AT_A_TIME = 1 << 20


def schema(sizes: Mapping[str, int] = CATEGORIES) -> Schema:
    """Two numbers and three or four categories."""
    categories = [Categorical(name, _labels(name, size)) for name, size in sizes.items()]
    return Schema([Numeric("age", 0, 120, step=1), Numeric("income", 0, 1_000_000, step=1_000), *categories])


def plan(rows: int, sizes: Mapping[str, int] = CATEGORIES) -> Plan:
    """The default mechanisms for a table of so many rows, at k = 100."""
    return calibrate(schema(sizes), n=rows, k=100, tell="all")


def write(path: Path, rows: int, sizes: Mapping[str, int] = CATEGORIES, seed: int = 7) -> None:
    """A Parquet file of so many people."""
    rng = np.random.default_rng(seed)
    with pq.ParquetWriter(path, _people(rng, 0, sizes).schema) as writer:
        for start in range(0, rows, _ROWS_AT_A_TIME):
            writer.write_table(_people(rng, min(_ROWS_AT_A_TIME, rows - start), sizes))


def _people(rng: np.random.Generator, rows: int, sizes: Mapping[str, int]) -> pa.Table:
    columns = {
        "age": np.clip(rng.normal(42, 18, rows).round(), 0, 120).astype(np.int64),
        "income": np.clip(rng.lognormal(10.5, 0.8, rows).round(), 0, 1_000_000),
    }
    return pa.table(columns | {name: _category(rng, name, size, rows) for name, size in sizes.items()})


def _category(rng: np.random.Generator, name: str, size: int, rows: int) -> pa.Array:
    codes = np.minimum(rng.geometric(0.1 if size > 2 else 0.5, rows), size) - 1
    return pa.DictionaryArray.from_arrays(codes.astype(np.int32), _labels(name, size)).cast(pa.string())


def _labels(name: str, size: int) -> list[str]:
    return [f"{name} {number:02}" for number in range(size)]


if __name__ == "__main__":
    write(Path(sys.argv[2]), int(sys.argv[1]))
