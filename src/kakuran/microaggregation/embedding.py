"""Records as points: distances between the values of a column become distances between coordinates.

Numbers are their own coordinate. Categories are placed by weighted classical scaling: the coordinates are those of the
principal components of the records, so where a column needs more than `MOST_COORDINATES` the frequent values keep their
distances best. Discrete distances, and the square roots of distances in a tree, can be met exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import DataError
from kakuran.measure.distance import Distance, distances
from kakuran.schema import Tree
from kakuran.schema.columns import distinct_of, is_numeric, numbers_of

MOST_COORDINATES = 16
MOST_VALUES = 3000


def embed(
    columns: Mapping[str, Any], distance: Mapping[str, Distance], weights: Mapping[str, float]
) -> NDArray[np.float64]:
    """Records × coordinates; every column varies by its weight, 1 unless given, whatever its unit."""
    parts = [
        np.sqrt(float(weights.get(name, 1.0))) * _standardised(_coordinates(name, column, distance[name]))
        for name, column in columns.items()
    ]
    return np.concatenate(parts, axis=1)


def default_distance(column: Any) -> Distance:
    """Euclidean for numbers, discrete for everything else."""
    return "euclidean" if is_numeric(column) else "discrete"


def _coordinates(name: str, column: Any, distance: Distance) -> NDArray[np.float64]:
    if distance == "euclidean":
        return numbers_of(name, column)[:, None]
    values, codes = distinct_of(name, column)
    if len(values) > MOST_VALUES:
        raise DataError(name, f"has {len(values):,} distinct values", "Leave it out, or group its values first.")
    gaps = distances(name, values, distance)
    # A tree's distances are squares of Euclidean ones, as every edge can be a coordinate of its own.
    squares = gaps if isinstance(distance, Tree) else gaps**2
    return _scaled(squares, np.bincount(codes, minlength=len(values)) / len(codes))[codes]


def _scaled(squares: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coordinates of values with these squared distances; principal components when records occur by shares."""
    rows = squares @ shares
    products = -0.5 * (squares - rows[:, None] - rows[None, :] + shares @ rows)
    roots = np.sqrt(shares)
    strengths, directions = np.linalg.eigh(roots[:, None] * products * roots)
    strengths, directions = strengths[-MOST_COORDINATES:], directions[:, -MOST_COORDINATES:]
    is_real = strengths >= 1e-9 * max(strengths[-1], 0.0)
    return directions[:, is_real] * np.sqrt(np.maximum(strengths[is_real], 0.0)) / roots[:, None]


def _standardised(coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = coordinates - coordinates.mean(axis=0)
    spread = float((centred**2).sum() / max(len(centred), 1))
    return centred / np.sqrt(spread) if spread else centred
