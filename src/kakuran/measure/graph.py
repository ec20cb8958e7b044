"""A weighted graph whose edges say how far values lie apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import SchemaError


@dataclass(frozen=True)
class Graph:
    """Distances between values as weights of edges, given as ``{(a, b): weight}`` (S3 §3.1).

    Parameters
    ----------
    weights : the distance of each pair; edges have no direction
    shortest_paths : go along the edges from value to value; otherwise every pair that is asked for needs an edge

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
                raise SchemaError(f"graph: an edge is a pair of values, got {edge!r}")
            if not 0 <= weight < math.inf:
                raise SchemaError(f"graph: the weight of {edge!r} must be a number of at least 0, got {weight!r}")
            if edge[0] == edge[1] and weight:
                raise SchemaError(f"graph: {edge[0]!r} lies at distance 0 from itself, got {weight!r}")
            if both_ways.get(edge, weight) != weight:
                raise SchemaError(f"graph: {edge!r} has two weights, {both_ways[edge]!r} and {weight!r}")
            both_ways[edge] = both_ways[edge[::-1]] = weight
        object.__setattr__(self, "_both_ways", both_ways)
        object.__setattr__(self, "weights", dict(self.weights))

    @property
    def nodes(self) -> tuple[Any, ...]:
        """Every value that has an edge."""
        return tuple(dict.fromkeys(node for edge in self.weights for node in edge))

    def distances(self, values: Sequence[Any]) -> NDArray[np.float64]:
        """The distance of every pair of values; a `SchemaError` for a pair the graph does not join."""
        matrix = self._along_paths(values) if self.shortest_paths else self._along_edges(values)
        if not np.isfinite(matrix).all():
            a, b = np.argwhere(~np.isfinite(matrix))[0]
            remedy = "add a path" if self.shortest_paths else "add it, or say shortest_paths=True"
            what = "path" if self.shortest_paths else "edge"
            raise SchemaError(f"graph: no {what} between {values[a]!r} and {values[b]!r}; {remedy}")
        return matrix

    def _along_edges(self, values: Sequence[Any]) -> NDArray[np.float64]:
        both_ways: dict[tuple[Any, Any], float] = self._both_ways  # type: ignore[attr-defined]
        return np.array([[0.0 if a == b else both_ways.get((a, b), math.inf) for b in values] for a in values])

    def _along_paths(self, values: Sequence[Any]) -> NDArray[np.float64]:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        places = {node: place for place, node in enumerate(self.nodes)}
        unknown = [value for value in values if value not in places]
        if unknown:
            raise SchemaError(f"graph: lacks the value {unknown[0]!r}")
        ends = np.array([[places[a], places[b]] for a, b in self.weights]).T
        edges = coo_array((np.array(list(self.weights.values()), float), ends), shape=(len(places), len(places)))
        chosen = np.array([places[value] for value in values])
        return np.asarray(dijkstra(edges.tocsr(), directed=False, indices=chosen))[:, chosen]

    def __hash__(self) -> int:
        return hash((tuple(self.weights.items()), self.shortest_paths))
