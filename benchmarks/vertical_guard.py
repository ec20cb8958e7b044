"""How often the guard's limits refuse ordinary columns: `python -m benchmarks.vertical_guard`, a minute or two.

Prints, for columns of several shapes and numbers of records, the share of tables of four columns with a record above
each leverage, of columns with so few carriers, and of tables with a combination of so few. Then how often combinations
that are about few people are found where each column holds a part of them, and how long that takes. At last what
predictions by models in random directions tell of four
whole-number columns until they are refused, and what rounding costs the sample.
"""

from __future__ import annotations

import itertools
import time

import numpy as np

from kakuran.samples import companies
from kakuran.vertical import VerticalPlan, fit_vertically
from kakuran.vertical.combinations import sparse_combinations
from kakuran.vertical.disclosure import carriers, leverages
from kakuran.vertical.leakage import bits_of, most_told

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
    together = np.mean([fewest_together(table) < _GROUPS[1] for table in tables])
    return " | ".join(f"{share:.0%}" for share in (*over, *((counts < group).mean() for group in _GROUPS), together))


def fewest_together(table: np.ndarray) -> int:
    """Of how few people a combination of the columns is, as far as the guard finds it."""
    return min(carriers(one.values) for one in sparse_combinations(tuple(map(str, range(table.shape[1]))), table))


def hidden(rng: np.random.Generator, records: int, columns: int, people: int) -> np.ndarray:
    """Columns at random, each with a part of one that is about few people: the hardest there are to find."""
    few = np.zeros(records)
    few[rng.choice(records, people, replace=False)] = rng.normal(size=people)
    few *= np.sqrt(records) / np.linalg.norm(few)
    others = rng.normal(size=(records, columns - 1))
    return np.column_stack([few, others]) @ np.linalg.qr(rng.normal(size=(columns, columns))).Q


def print_hidden(rng: np.random.Generator) -> None:
    """How many of 50 such tables are seen to be about few."""
    print("\n| records | columns | 3 people | 10 people | 19 people |")
    for records, columns in ((100, 4), (100, 10), (100, 20), (400, 20), (400, 40), (2_000, 40)):
        found = [
            np.mean([fewest_together(hidden(rng, records, columns, people)) < _GROUPS[1] for _ in range(50)])
            for people in (3, 10, 19)
        ]
        print(f"| {records:,} | {columns} |", " | ".join(f"{share:.0%}" for share in found), "|")


def print_times(rng: np.random.Generator) -> None:
    """Seconds, in tables with three people in a level that yes/no columns leave out."""
    for records in (10_000, 100_000, 1_000_000):
        level = rng.choice(9, records)
        level[:3], level[3:33] = 9, 0
        level[33:] = np.where(level[33:] == 0, 1, level[33:])
        columns = np.column_stack([level[:, None] == np.arange(9), rng.lognormal(size=(records, 11))])
        start = time.perf_counter()
        found = fewest_together(columns)
        print(f"\n{records:,} records of 20 columns: {found} people found in {time.perf_counter() - start:.1f} s")


_EVERY = np.array(list(itertools.product(range(18, 90), range(14), range(4), range(2))))
"""Age, visits, children, yes or no: all there are."""


def predicted(seed: int, people: int = 1000, explained: float = 0.64) -> tuple[int, np.ndarray]:
    """Models in random directions that are let pass, and the share of values of each column that is then read."""
    rng = np.random.default_rng(seed)
    values = _EVERY[rng.integers(0, len(_EVERY), people)]
    standardised, every = ((each - values.mean(axis=0)) / values.std(axis=0) for each in (values, _EVERY))
    correlations = standardised.T @ standardised / people
    bits, step = np.array([bits_of(column) for column in values.T]) / people, explained**0.5 / 4
    told = np.empty((0, 4))
    while True:
        weights = rng.normal(size=4)
        model = weights / np.sqrt(weights @ correlations @ weights) * explained**0.5 / step
        _, tells, held = most_told(np.vstack([told, model]), correlations, bits)
        if (2 if len(told) else 1.5) * tells > held:
            break
        told = np.vstack([told, model])
    parts, candidates = np.rint(standardised @ told.T), every @ told.T
    read = np.array([((candidates - part) ** 2).sum(axis=1).argmin() for part in parts])
    return len(told), (_EVERY[read] == values).mean(axis=0)


def predictions() -> None:
    """Print what docs/decisions/guard-limits.md and the guide say of predictions."""
    found = [predicted(seed) for seed in range(60)]
    counts = np.bincount([models for models, _ in found])
    print("models let pass, of 60 draws:", ", ".join(f"{count} of {models}" for models, count in enumerate(counts)))
    for models in range(1, len(counts)):
        shares = np.mean([read for count, read in found if count == models], axis=0)
        print(f"read after {models}: " + ", ".join(f"{share:.0%}" for share in shares))
    columns = {"bank": ["income", "age", "savings"], "shop": ["visits", "basket", "coupons"]}
    plan = VerticalPlan.of(columns, target="spending", holder="shop", ids="customer")
    fit = fit_vertically(dict(zip(columns, companies(2_000), strict=True)), plan)["bank"]
    added, told = fit.step("shop") ** 2 / 12 / fit.quality.variance, fit.bits_told("shop")
    print(f"the sample: rounding adds {added:.1%} of the residual variance, a prediction tells {told:.1f} bits")


def main() -> None:
    """Print the numbers of docs/decisions/guard-limits.md."""
    rng = np.random.default_rng(0)
    print(
        "| columns | records |",
        " | ".join([*(f"> {one}" for one in _LEVERAGES), *(f"< {one}" for one in _GROUPS), "together"]),
    )
    for name, draw in shapes(rng).items():
        for size in _SIZES:
            tables = [np.column_stack([draw(size) for _ in range(4)]) for _ in range(_TRIALS)]
            print(f"| {name} | {size:,} |", refused([table for table in tables if table.std(axis=0).all()]))
    for size in (150, 400, 1500):
        samples = [companies(size, seed=seed)[0].to_pandas().drop(columns="customer") for seed in range(_TRIALS)]
        print(f"| the sample's bank | {size:,} |", refused([sample.to_numpy() for sample in samples]))
    print_hidden(rng)
    print_times(rng)
    predictions()


if __name__ == "__main__":
    main()
