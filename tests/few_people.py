"""A small table with a column of every role, for tests of what reads, counts and perturbs files of any size."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import kakuran as kk

SCHEMA = kk.Schema(
    [
        kk.Dropped("name"),
        kk.Categorical("job", ["clerk", "nurse"]),
        kk.Numeric("age", 0, 9, step=1),
        kk.Categorical("region", ["east", "west"], role="keep"),
    ]
)
PLAN = kk.calibrate(SCHEMA, n=100, k=20, tell="all")
TABLE = pa.table(
    {
        "name": [f"person {row}" for row in range(1000)],
        "job": ["clerk", "clerk", "clerk", "nurse"] * 250,
        "age": list(range(10)) * 100,
        "region": ["east", "west"] * 500,
    }
)


def write(table, path):
    (pq.write_table if path.suffix == ".parquet" else pa.csv.write_csv)(table, path)
    return path


def files_without_names_in(folder):
    """Files of a folder that this process has open and nobody else could."""
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        name = os.path.realpath(handle)
        if name.startswith(f"{folder}/") and name.endswith("(deleted)"):
            found.append(handle)
    return found
