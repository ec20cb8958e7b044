"""S1 on real data: what releases of baskets, invoices and ratings lose."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from kakuran.factorisation import release_matrix

Matrix: TypeAlias = tuple[str, Any, Literal["binary", "counts"]]


def losses(data: Path) -> list[str]:
    """A table of losses for those of the known files that are in the folder."""
    found = [matrices(data / name) for name, matrices in REAL.items() if (data / name).exists()]
    lines = [
        "## Real data",
        "",
        "| data | k | empty table | plain microaggregation | perturbed factors | `auto` |",
        "|---|---|---|---|---|---|",
    ]
    for name, matrix, kind in chain.from_iterable(found):
        for k in (2, 5, 10):
            released = release_matrix(matrix, k, kind=kind)
            shown = [released.losses[way] for way in ("empty", "microaggregation", "perturb")]
            cells = " | ".join(f"{loss:.4f}" for loss in (*shown, released.loss))
            lines.append(f"| {name}, {matrix.shape[0]:,} × {matrix.shape[1]:,} | {k} | {cells} |")
    return [*lines, ""] if found else []


def _baskets(path: Path) -> list[Matrix]:
    from kakuran.release.transactions import read_transactions

    return [("groceries, bought or not", read_transactions(path, "baskets").matrix, "binary")]


def _invoices(path: Path) -> list[Matrix]:
    """The number of times, and the pieces, a customer bought of an article."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    invoices = pq.read_table(path, columns=["CustomerID", "StockCode", "Quantity"])
    is_sale = pc.and_(pc.greater(invoices["CustomerID"], 0), pc.greater(invoices["Quantity"], 0))
    sales = invoices.filter(is_sale)
    pieces = sales["Quantity"].to_numpy().astype(float)
    times, bought = (_cross(sales, "CustomerID", "StockCode", cells) for cells in (np.ones(len(pieces)), pieces))
    return [("online retail, times bought", times, "counts"), ("online retail, pieces", bought, "counts")]


def _ratings(path: Path) -> list[Matrix]:
    """Stars by person and film, from the file of MovieLens 100K."""
    from pyarrow import csv

    names = csv.ReadOptions(column_names=["person", "film", "stars", "time"])
    ratings = csv.read_csv(path, names, csv.ParseOptions(delimiter="\t"))
    stars = ratings["stars"].to_numpy().astype(float)
    return [("MovieLens 100K, stars", _cross(ratings, "person", "film", stars), "counts")]


def _cross(table: Any, rows: str, columns: str, cells: Any) -> Any:
    from scipy.sparse import csr_array

    from kakuran.schema.columns import distinct_of

    (people, row), (articles, column) = (distinct_of(name, table[name]) for name in (rows, columns))
    return csr_array((cells, (row, column)), shape=(len(people), len(articles)))


REAL: dict[str, Callable[[Path], list[Matrix]]] = {
    "groceries.csv": _baskets,
    "online_retail.parquet": _invoices,
    "u.data": _ratings,
}
