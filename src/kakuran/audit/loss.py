"""How much a masked table has lost, and how near a result comes to the truth.

S3's index ILD says how much of the distances between records is gone. Its information capacity is their sum,
I(A) = Σ_i Σ_j d(x_i, x_j)^p over all pairs of records (S3 §2.1). Numbers need no pairs at p = 2 or 1; whatever else is
summed over pairs of *distinct* values, hᵀDᵖh, so the cost does not depend on the number of records. Beside it stand
S0's L1 accuracy of distributions and S1's mean absolute loss of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.counts import distinct_rows
from kakuran.errors import ArgumentError, DataError, SchemaError, is_real
from kakuran.schema import Tree, columns_of, distinct_of, numbers_of
from kakuran.typing import Array, Indices
from kakuran.words import Phrase, so_many_records


@dataclass(frozen=True)
class Graph:
    """Distances between values as weights of edges, given as ``{(a, b): weight}`` (S3 §3.1).

    Parameters
    ----------
    weights : Mapping[tuple[Any, Any], float]
        The distance of each pair; edges have no direction.
    shortest_paths : bool
        Go along the edges from value to value; otherwise every pair that is asked for needs an edge.

    Examples
    --------
    >>> import kakuran as kk
    >>> line = kk.Graph({("Tokyo", "Nagoya"): 2, ("Nagoya", "Osaka"): 1}, shortest_paths=True)
    >>> line.distances(["Tokyo", "Osaka"]).tolist()
    [[0.0, 3.0], [3.0, 0.0]]
    """

    weights: Mapping[tuple[Any, Any], float]
    shortest_paths: bool = False

    def __post_init__(self) -> None:
        both_ways: dict[tuple[Any, Any], float] = {}
        for edge, weight in self.weights.items():
            if not isinstance(edge, tuple) or len(edge) != 2:
                raise SchemaError(Phrase("graph: an edge is a pair of values, got {edge!r}", edge=edge))
            if not 0 <= weight < math.inf:
                raise SchemaError(
                    Phrase(
                        "graph: the weight of {edge!r} must be a number of at least 0, got {weight!r}",
                        edge=edge,
                        weight=weight,
                    )
                )
            if edge[0] == edge[1] and weight:
                raise SchemaError(
                    Phrase(
                        "graph: {value!r} lies at distance 0 from itself, got {weight!r}", value=edge[0], weight=weight
                    )
                )
            if both_ways.get(edge, weight) != weight:
                raise SchemaError(
                    Phrase(
                        "graph: {edge!r} has two weights, {other!r} and {weight!r}",
                        edge=edge,
                        other=both_ways[edge],
                        weight=weight,
                    )
                )
            both_ways[edge] = both_ways[edge[::-1]] = weight
        object.__setattr__(self, "_both_ways", both_ways)
        object.__setattr__(self, "weights", dict(self.weights))

    @property
    def nodes(self) -> tuple[Any, ...]:
        """Every value that has an edge."""
        return tuple(dict.fromkeys(node for edge in self.weights for node in edge))

    def distances(self, values: Sequence[Any]) -> Array:
        """The distance of every pair of values; a `SchemaError` for a pair the graph does not join."""
        matrix = self._along_paths(values) if self.shortest_paths else self._along_edges(values)
        if not np.isfinite(matrix).all():
            a, b = np.argwhere(~np.isfinite(matrix))[0]
            ends = {"one": values[a], "other": values[b]}
            raise SchemaError(
                Phrase("graph: no path between {one!r} and {other!r}; add a path", **ends)
                if self.shortest_paths
                else Phrase("graph: no edge between {one!r} and {other!r}; add it, or say shortest_paths=True", **ends)
            )
        return matrix

    def _along_edges(self, values: Sequence[Any]) -> Array:
        both_ways: dict[tuple[Any, Any], float] = self._both_ways  # type: ignore[attr-defined]
        return np.array([[0.0 if a == b else both_ways.get((a, b), math.inf) for b in values] for a in values])

    def _along_paths(self, values: Sequence[Any]) -> Array:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        places = {node: place for place, node in enumerate(self.nodes)}
        unknown = [value for value in values if value not in places]
        if unknown:
            raise SchemaError(Phrase("graph: lacks the value {value!r}", value=unknown[0]))
        ends = np.array([[places[a], places[b]] for a, b in self.weights]).T
        edges = coo_array((np.array(list(self.weights.values()), float), ends), shape=(len(places), len(places)))
        chosen = np.array([places[value] for value in values])
        return np.asarray(dijkstra(edges.tocsr(), directed=False, indices=chosen))[:, chosen]

    def __hash__(self) -> int:
        return hash((tuple(self.weights.items()), self.shortest_paths))


Distance: TypeAlias = str | Tree | Graph | Callable[[Any, Any], float]
_Blocks: TypeAlias = Iterator[tuple[slice, Array]]

_BLOCK_CELLS = 1 << 22


def capacity(name: str, column: Any, distance: Distance, p: float) -> float:
    """I(A) of one column."""
    _check_power(p)
    if distance == "euclidean":
        return _capacity_of_numbers(numbers_of(name, column), p)
    values, codes = distinct_of(name, column)
    return capacity_of_counts(name, values, np.bincount(codes, minlength=len(values)), distance, p)


def capacity_of_counts(name: str, values: Sequence[Any], counts: NDArray[Any], distance: Distance, p: float) -> float:
    """I(A) of one column, given its distinct values and how often each occurs."""
    _check_power(p)
    counts = np.asarray(counts, float)
    if distance == "discrete":
        return float(counts.sum() ** 2 - (counts**2).sum())
    if distance == "euclidean":
        return _capacity_of_weighted(np.asarray(values, float), counts, p)
    if isinstance(distance, str):
        raise SchemaError(
            Phrase(
                "unknown distance {distance!r}; there are euclidean, discrete, a tree, a graph, a function",
                distance=distance,
            )
        )
    return _sum_over_pairs(counts, _blocks(name, values, distance), p)


def _check_power(p: float) -> None:
    if not 1 <= p < math.inf:
        raise SchemaError(Phrase("p must be at least 1 and finite, got {p}", p=p))


def capacity_of_records(columns: Mapping[str, Any], distance: Callable[[Any, Any], float], p: float) -> float:
    """I(A) for a distance between whole records, given as tuples."""
    parts = [distinct_of(name, column) for name, column in columns.items()]
    found = distinct_rows([places for _, places in parts])
    told = ([values[place] for place in places] for (values, _), places in zip(parts, found.columns, strict=True))
    return _sum_over_pairs(found.counts, _blocks("records", list(zip(*told, strict=True)), distance), p)


def distances(name: str, values: Sequence[Any], distance: Distance) -> Array:
    """The distance of every pair of values."""
    if distance == "discrete":
        return 1.0 - np.eye(len(values))
    return np.concatenate([block for _, block in _blocks(name, values, distance)])


def ancestors(name: str, values: Sequence[Any], tree: Tree) -> Indices:
    """The path to every value from the root down, as numbers of nodes; −1 below it."""
    known = {*tree.children, *tree.parents}
    lacking = [value for value in values if value not in known]
    if lacking:
        raise DataError(name, Phrase("the tree lacks a value"), Phrase("Place it under a parent."), example=lacking[0])
    numbers = {node: number for number, node in enumerate(known)}
    paths = [[numbers[node] for node in reversed(tree.path(value))] for value in values]
    table = np.full((len(values), max(map(len, paths), default=0)), -1, np.intp)
    for row, path in zip(table, paths, strict=True):
        row[: len(path)] = path
    return table


def _capacity_of_numbers(numbers: Array, p: float) -> float:
    n = len(numbers)
    if not n:
        return 0.0
    centred = numbers - numbers.mean()
    if p == 2:
        return float(2 * n * (centred @ centred))
    if p == 1:
        return float(2 * np.sort(centred) @ (2 * np.arange(n) - n + 1.0))
    values, counts = np.unique(centred, return_counts=True)
    return _capacity_of_weighted(values, counts.astype(float), p)


def _capacity_of_weighted(values: Array, counts: Array, p: float) -> float:
    if p == 2:
        centred = values - (counts @ values) / counts.sum()
        return float(2 * counts.sum() * (counts @ centred**2))
    parts = ((rows, np.abs(values[rows, None] - values)) for rows in _row_blocks(len(values)))
    return _sum_over_pairs(counts, parts, p)


def _blocks(name: str, values: Sequence[Any], distance: Distance) -> _Blocks:
    """Rows of the matrix of distances between distinct values."""
    if isinstance(distance, Tree):
        yield from _tree_blocks(ancestors(name, values, distance))
    elif isinstance(distance, Graph):
        yield slice(0, len(values)), distance.distances(values)
    elif callable(distance):
        yield slice(0, len(values)), np.array([[float(distance(a, b)) for b in values] for a in values])
    else:
        raise SchemaError(Phrase("{distance!r} is no distance between categories", distance=distance))


def _tree_blocks(paths: Indices) -> _Blocks:
    """Edges between two nodes: up from both to where their paths meet."""
    depths = (paths >= 0).sum(axis=1)
    for rows in _row_blocks(len(paths)):
        shared = np.zeros((rows.stop - rows.start, len(paths)))
        for level in paths.T:
            shared += (level[rows, None] == level) & (level >= 0)
        yield rows, depths[rows, None] + depths - 2 * shared


def _row_blocks(count: int) -> Iterator[slice]:
    height = max(1, _BLOCK_CELLS // max(count, 1))
    for start in range(0, count, height):
        yield slice(start, min(start + height, count))


def _sum_over_pairs(counts: NDArray[Any], blocks: _Blocks, p: float) -> float:
    return float(sum(counts[rows] @ (block**p @ counts) for rows, block in blocks))


def l1_accuracy(p: Any, q: Any) -> float:
    """100·(1 − ½ Σ|p − q|): the percentage of people two distributions put into the same cell (S0 §4).

    Counts are scaled to distributions first.

    Examples
    --------
    >>> import kakuran as kk
    >>> kk.l1_accuracy([2, 1, 1], [1, 2, 1])
    75.0
    """
    shares = [_distribution(name, np.asarray(cells, float)) for name, cells in (("p", p), ("q", q))]
    if shares[0].shape != shares[1].shape:
        raise ArgumentError(
            "q",
            Phrase("has cells {q}, p {p}", q=shares[1].shape, p=shares[0].shape),
            Phrase("Count both over the same cells."),
        )
    return float(100 * (1 - np.abs(shares[0] - shares[1]).sum() / 2))


def wrong_cells(truth: Any, counts: Any) -> float:
    """The share of people whom estimated counts put in the wrong cell, ½ Σ|p − q|; cells below zero count as empty.

    Examples
    --------
    >>> from kakuran.audit import wrong_cells
    >>> round(wrong_cells([2, 1, 1], [4, 1, -1]), 6)
    0.3
    """
    return 1 - l1_accuracy(truth, np.maximum(counts, 0)) / 100


def _distribution(name: str, cells: Any) -> Any:
    if not (cells >= 0).all() or not 0 < cells.sum() < np.inf:
        raise ArgumentError(
            name, Phrase("is not a distribution"), Phrase("Give counts or shares of at least 0, not all 0.")
        )
    return cells / cells.sum()


def mean_absolute_loss(original: Any, released: Any) -> float:
    """Mean |x − x'| over all cells of two matrices, dense or sparse (S1 eq. 12).

    Examples
    --------
    >>> from kakuran.audit import mean_absolute_loss
    >>> mean_absolute_loss([[0, 2], [1, 1]], [[0, 1], [1, 1]])
    0.25
    """
    from scipy.sparse import issparse

    matrices: list[Any] = [m if issparse(m) else np.asarray(m, float) for m in (original, released)]
    x, y = matrices
    if x.shape != y.shape:
        raise ArgumentError(
            "matrix",
            Phrase("{before} before and {after} after", before=x.shape, after=y.shape),
            Phrase("Compare matrices of one shape."),
        )
    return float(abs(x - y).sum() / max(x.shape[0] * x.shape[1], 1))


@dataclass(frozen=True)
class ColumnLoss:
    """The information capacity of one column before and after, weighted as in the whole."""

    name: str
    before: float
    after: float

    @classmethod
    def of_all(cls, columns: Sequence[ColumnLoss]) -> ColumnLoss:
        """Several columns together: capacities add up."""
        return cls("all", sum(one.before for one in columns), sum(one.after for one in columns))

    @property
    def lost(self) -> float:
        """ILD of these capacities: 0 where there was nothing to lose."""
        if not self.before:
            return 0.0 if not self.after else -np.inf
        return (self.before - self.after) / self.before

    def to_dict(self) -> dict[str, float]:
        """Plain values for JSON."""
        return {"before": self.before, "after": self.after, "lost": self.lost}


def information_loss(
    original: Any,
    masked: Any,
    distance: Distance | Mapping[str, Distance] = "euclidean",
    p: float = 2,
    *,
    weights: Mapping[str, float] | None = None,
) -> float:
    """ILD = (I(A) − I(Â)) / I(A), where I is the sum of d(x, y)^p over all pairs of records (S3 §2.2).

    With group means and Euclidean distance at p = 2 it equals SSE/SST. It is 0 when all distances are kept, 1 when all
    records have become the same, and below 0 when records lie further apart than before.

    Parameters
    ----------
    original, masked : Any
        Tables of equally many records: frames, arrays, or a list for a single column.
    distance : Distance | Mapping[str, Distance]
        ``"euclidean"`` (of numbers; at other p the p-distance), ``"discrete"``, a `Tree`, a `Graph` or a function of
        two values; one for every column, or a mapping from column to distance. A function given alone for a table of
        several columns takes two whole records, as tuples.
    p : float
        The power of the distance.
    weights : Mapping[str, float] | None
        How much each column counts in a record's distance, 1 by default; d^p adds up over columns.

    Examples
    --------
    >>> import kakuran as kk
    >>> kk.information_loss([1, 2, 3, 4], [1.5, 1.5, 3.5, 3.5])
    0.2
    >>> tree = kk.Tree({"east": ["Tokyo", "Chiba"], "west": ["Osaka", "Nara"]})
    >>> round(kk.information_loss(["Tokyo", "Chiba", "Osaka", "Nara"], ["east", "east", "west", "west"], tree), 4)
    0.7778
    """
    return ColumnLoss.of_all(losses_by_column(original, masked, distance, p, weights=weights)).lost


def information_capacity(
    data: Any,
    distance: Distance | Mapping[str, Distance] = "euclidean",
    p: float = 2,
    *,
    weights: Mapping[str, float] | None = None,
) -> float:
    """I(A) = Σ_i Σ_j d(x_i, x_j)^p (S3 §2.1); parameters as for `information_loss`.

    Examples
    --------
    >>> from kakuran.audit import information_capacity
    >>> information_capacity([1, 2, 3, 4])
    40.0
    """
    return sum(capacities(data, distance, p, weights=weights).values())


def losses_by_column(
    original: Any,
    masked: Any,
    distance: Distance | Mapping[str, Distance] = "euclidean",
    p: float = 2,
    *,
    weights: Mapping[str, float] | None = None,
) -> list[ColumnLoss]:
    """Where the information went, column by column; the parts of I add up to the whole."""
    _check_same_people(columns_of(original), columns_of(masked))
    before, after = (capacities(table, distance, p, weights=weights) for table in (original, masked))
    return [ColumnLoss(name, before[name], after[name]) for name in before]


def capacities(
    data: Any, distance: Distance | Mapping[str, Distance], p: float, *, weights: Mapping[str, float] | None = None
) -> dict[str, float]:
    """What each column adds to I(A)."""
    columns = columns_of(data)
    if callable(distance) and len(columns) > 1:
        return {"records": capacity_of_records(columns, distance, p)}
    check_weights(weights or {}, columns)
    return {
        name: (weights or {}).get(name, 1.0) * capacity(name, column, _distance_of(name, distance), p)
        for name, column in columns.items()
    }


def _check_same_people(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    if set(before) != set(after):
        odd = sorted(set(before) ^ set(after))[0]
        raise DataError(
            odd, Phrase("is in one of the two tables only"), Phrase("Compare tables with the same columns.")
        )
    for name in before:
        if len(before[name]) != len(after[name]):
            problem = Phrase(
                "{records} before and {after:,} after",
                records=so_many_records(len(before[name])),
                after=len(after[name]),
            )
            raise DataError(name, problem, Phrase("Compare the same people."))


def check_weights(weights: Mapping[str, float], columns: Mapping[str, Any]) -> None:
    """Refuse weights of columns that are not there, and those below 0."""
    for name, weight in weights.items():
        if name not in columns:
            raise SchemaError(
                Phrase(
                    "a weight is given for {name!r}, which is not a column; those are {columns}",
                    name=name,
                    columns=", ".join(columns),
                )
            )
        if not is_real(weight) or not 0 <= weight < np.inf:
            raise SchemaError(
                Phrase(
                    "the weight of {name!r} must be a number of at least 0, got {weight!r}", name=name, weight=weight
                )
            )


def _distance_of(name: str, distance: Distance | Mapping[str, Distance]) -> Distance:
    if not isinstance(distance, Mapping):
        return distance
    if name not in distance:
        raise SchemaError(Phrase("no distance is given for column {name!r}", name=name))
    return distance[name]


def ilssdm(original: Any, masked: Any) -> float:
    """SSE/SST: squared distances to the masked records over squared distances to the mean (S3 §4.1).

    Examples
    --------
    >>> from kakuran.audit import ilssdm
    >>> ilssdm([1, 2, 3, 4], [1.5, 1.5, 3.5, 3.5])
    0.2
    """
    before, after = columns_of(original), columns_of(masked)
    _check_same_people(before, after)
    x, y = (np.column_stack([numbers_of(name, table[name]) for name in before]) for table in (before, after))
    total = ((x - x.mean(axis=0)) ** 2).sum()
    return float(((x - y) ** 2).sum() / total) if total else 0.0
