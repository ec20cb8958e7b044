"""How often the guard's limits refuse ordinary columns: `python -m benchmarks.vertical_guard`, some seconds.

Prints, for columns of several shapes and numbers of records, the share of tables of four columns with a record above
each leverage, and of columns with so few carriers.
"""

from __future__ import annotations

import numpy as np

from kakuran.samples import companies
from kakuran.vertical.disclosure import carriers, leverages

_TRIALS = 200
_SIZES = (60, 100, 200, 500, 1500)
_LEVERAGES = (0.2, 0.3, 0.4, 0.5)
_GROUPS = (10, 20, 40)
_TIMES_AVERAGE = 4


def shapes(rng: np.random.Generator) -> dict[str, object]:
    """Ways to draw a column, from symmetric to very skewed."""
    return {
        "normal": lambda n: rng.normal(size=n),
        "counts, mean 0.5": lambda n: rng.poisson(0.5, n).astype(float),
        "t, 5 degrees": lambda n: rng.standard_t(5, size=n),
        "exponential": lambda n: rng.exponential(size=n),
        "lognormal, 0.5": lambda n: np.exp(0.5 * rng.normal(size=n)),
        "lognormal, 1": lambda n: np.exp(rng.normal(size=n)),
        "90 % zeros": lambda n: (rng.random(n) < 0.1) * rng.exponential(size=n),
    }


def refused(tables: list[np.ndarray]) -> str:
    """Shares of tables, and of columns, that each limit refuses."""
    found = [leverages(table) for table in tables]
    over = [np.mean([most.max() > max(limit, _TIMES_AVERAGE * most.mean()) for most in found]) for limit in _LEVERAGES]
    counts = np.array([carriers(column) for table in tables for column in table.T])
    return " | ".join(f"{share:.0%}" for share in (*over, *((counts < group).mean() for group in _GROUPS)))


def main() -> None:
    """Print the table of docs/decisions/guard-limits.md."""
    rng = np.random.default_rng(0)
    print("| columns | records |", " | ".join([*(f"> {one}" for one in _LEVERAGES), *(f"< {one}" for one in _GROUPS)]))
    for name, draw in shapes(rng).items():
        for size in _SIZES:
            tables = [np.column_stack([draw(size) for _ in range(4)]) for _ in range(_TRIALS)]
            print(f"| {name} | {size:,} |", refused([table for table in tables if table.std(axis=0).all()]))
    for size in (150, 400, 1500):
        samples = [companies(size, seed=seed)[0].to_pandas().drop(columns="customer") for seed in range(_TRIALS)]
        print(f"| the sample's bank | {size:,} |", refused([sample.to_numpy() for sample in samples]))


if __name__ == "__main__":
    main()
