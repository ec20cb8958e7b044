"""Made-up tables to try things on; nobody in them exists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Numeric, Schema

_JOBS = ("office", "sales", "care", "craft", "teaching", "farming", "student", "retired")
_ROWS_AT_A_TIME = 20_000
_TOGETHER = (
    ("bread", "butter", "milk", "eggs", "jam"),
    ("rice", "tofu", "nori", "soy sauce", "green tea"),
    ("beer", "crisps", "nuts", "salsa"),
    ("nappies", "wipes", "baby food", "bananas"),
    ("pasta", "tomatoes", "cheese", "olive oil", "wine"),
    ("cat food", "litter", "newspaper"),
)
_REGIONS = ("north", "east", "centre", "west", "south")


def census_schema() -> Schema:
    """The public domains of `census`."""
    return Schema(
        [
            Categorical("sex", ["female", "male"]),
            Numeric("age", 15, 94, step=1),
            Categorical("job", _JOBS),
            Categorical("region", _REGIONS),
        ]
    )


def census(n: int = 50_000, seed: int = 0) -> pa.Table:
    """A census-like table of n made-up people in which jobs go with age and sex.

    Examples
    --------
    >>> from kakuran.samples import census
    >>> census(3).column_names
    ['sex', 'age', 'job', 'region']
    """
    dice = Randomness.seeded(seed).generator()
    sex = dice.integers(0, 2, n)
    age = np.clip(
        np.rint(np.where(dice.random(n) < 0.55, dice.normal(38, 13, n), dice.normal(66, 13, n))), 15, 94
    ).astype(int)
    job = np.array([0.30, 0.16, 0.06, 0.22, 0.05, 0.05, 0.0, 0.0]) + np.outer(
        sex == 0, [0.02, 0.04, 0.17, -0.18, 0.07, -0.03, 0.0, 0.0]
    )
    job[:, 6] = np.where(age < 23, 3.0, 0.02)
    job[:, 7] = np.where(age > 64, 4.0, 0.01)
    region = dice.choice(len(_REGIONS), n, p=[0.08, 0.36, 0.25, 0.2, 0.11])
    return pa.table(
        {
            "sex": np.array(["female", "male"])[sex],
            "age": age,
            "job": np.array(_JOBS)[_draw_rows(job, dice)],
            "region": np.array(_REGIONS)[region],
        }
    )


def _draw_rows(
    weights: np.ndarray[tuple[int, int], np.dtype[np.float64]], dice: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    cumulative = weights.cumsum(axis=1)
    return (cumulative < dice.random(len(weights))[:, None] * cumulative[:, -1:]).sum(axis=1)


def workers(n: int = 2_000, seed: int = 0) -> pa.Table:
    """True answers of n made-up people to the survey `kakuran collect init` writes; long hours make discontent.

    Examples
    --------
    >>> from kakuran.samples import workers
    >>> workers(3).column_names
    ['job', 'hours', 'content']
    """
    dice = Randomness.seeded(seed).generator()
    job = dice.choice(4, n, p=[0.45, 0.2, 0.25, 0.1])
    hours = np.where(job == 3, 0, np.clip(np.rint(dice.normal(38, 9, n)), 1, 80)).astype(int)
    content = np.clip(np.rint(dice.normal(np.where(hours > 45, 0.6, 2.2) + 0.4 * (job == 1), 0.8)), 0, 3).astype(int)
    return pa.table(
        {
            "job": np.array(["office", "care", "craft", "none"])[job],
            "hours": hours,
            "content": np.array(["no", "rather-no", "rather-yes", "yes"])[content],
        }
    )


def baskets(n: int = 2_000, seed: int = 0) -> list[list[str]]:
    """What n made-up people bought: mostly things that go together, and now and then something else.

    Examples
    --------
    >>> from kakuran.samples import baskets
    >>> len(baskets(3))
    3
    """
    dice = Randomness.seeded(seed).generator()
    items = np.array([item for kind in _TOGETHER for item in kind])
    kind_of = np.repeat(np.arange(len(_TOGETHER)), [len(kind) for kind in _TOGETHER])
    likes = dice.random((n, len(_TOGETHER))) < 0.25
    bought = dice.random((n, len(items))) < np.where(likes[:, kind_of], 0.8, 0.02)
    return [items[row].tolist() for row in bought]


def companies(n: int = 1_000, seed: int = 0) -> tuple[pa.Table, pa.Table]:
    """A bank's and a shop's table of made-up customers: most are shared, in different orders; the shop knows spending.

    Examples
    --------
    >>> from kakuran.samples import companies
    >>> bank, shop = companies(100)
    >>> shop.column_names
    ['customer', 'visits', 'basket', 'coupons', 'spending']
    """
    dice = Randomness.seeded(seed).generator()
    wealth, habit = dice.normal(size=n), dice.normal(size=n)
    income = np.exp(10.5 + 0.5 * wealth + 0.2 * dice.normal(size=n))
    age = 45 + 12 * dice.normal(size=n)
    savings = 8_000 * (wealth + dice.normal(size=n)) + 20_000
    visits = 12 + 3 * habit + dice.normal(size=n)
    basket = 30 + 8 * (0.6 * wealth + 0.4 * habit + dice.normal(size=n))
    coupons = 5 + habit + dice.normal(size=n)
    spending = 40 + 0.004 * income + 18 * visits + 6 * basket + 60 * dice.normal(size=n)
    customer = dice.permutation(10 * n)[:n]
    bank, shop = dice.permutation(n)[: n - n // 20], dice.permutation(n)[: n - n // 10]
    return (
        pa.table({"customer": customer, "income": income, "age": age, "savings": savings}).take(bank),
        pa.table(
            {"customer": customer, "visits": visits, "basket": basket, "coupons": coupons, "spending": spending}
        ).take(shop),
    )


def planted_matrix(
    rank: int,
    *,
    rows: int = 1000,
    columns: int = 1000,
    ones: float = 0.01,
    flips: float = 0.01,
    people: float | None = None,
    seed: int = 0,
) -> Any:
    """A sparse binary matrix of a Boolean rank, with a share of ones, then a share of all entries flipped (S1 §4.1).

    S1 does not say how its matrix of rank r is drawn. Here every person has each of r patterns with the probability
    `people`, and every item is in each with whatever probability makes the share of ones; without `people` the two
    probabilities are the same.

    Examples
    --------
    >>> from kakuran.samples import planted_matrix
    >>> planted_matrix(3, rows=200, columns=50).shape
    (200, 50)
    """
    from scipy.sparse import csr_array, vstack

    dice = Randomness.seeded(seed).generator()
    both = 1 - (1 - ones) ** (1 / rank)
    people = np.sqrt(both) if people is None else people
    V = (dice.random((columns, rank)) < both / people).astype(np.float32)
    parts = []
    for start in range(0, rows, _ROWS_AT_A_TIME):
        U = (dice.random((min(_ROWS_AT_A_TIME, rows - start), rank)) < people).astype(np.float32)
        has = U @ V.T > 0
        flipped = dice.integers(0, has.size, dice.binomial(has.size, flips))
        has.reshape(-1)[flipped] ^= True
        parts.append(csr_array(has.astype(np.int8)))
    return vstack(parts, format="csr")
