"""Microaggregation of a table: group alike records, publish what stands for each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kakuran.errors import SchemaError
from kakuran.measure.distance import Distance
from kakuran.measure.diversity import EquivalenceClasses
from kakuran.measure.loss import check_weights
from kakuran.microaggregation.embedding import default_distance, embed
from kakuran.microaggregation.groups import Method, check_groups, check_k, group_records
from kakuran.microaggregation.representatives import Centre, represent
from kakuran.schema import Tree
from kakuran.schema.columns import check_there, columns_of, distinct_of
from kakuran.schema.frames import like, to_arrow


@dataclass(frozen=True)
class Microaggregated:
    """A table in which at least k records share every set of aggregated values.

    Attributes
    ----------
    table : the same kind of table as was given; columns that were not aggregated are as they were
    groups : the group of every record
    k : the fewest records that were found to share their aggregated values
    """

    table: Any
    groups: NDArray[np.intp]
    k: int


def microaggregate(
    data: Any,
    k: int,
    *,
    columns: Sequence[str] | None = None,
    method: Method = "mdav",
    distance: Mapping[str, Distance] | None = None,
    centre: Mapping[str, Centre] | None = None,
    weights: Mapping[str, float] | None = None,
) -> Microaggregated:
    """Replace groups of at least k alike records by what stands for them.

    Parameters
    ----------
    data : a frame or an array of numbers
    k : the fewest records that will share their values
    columns : those to aggregate, all by default
    method : see `group_records`
    distance : per column, as for `kakuran.information_loss`; numbers are Euclidean and other values discrete by default
    centre : per column ``"mean"``, ``"median"`` or ``"mode"``. By default numbers have their mean, categories their
        mode, and categories in a tree their lowest common ancestor.
    weights : how much each column counts when records are compared, 1 by default; columns are standardised first
    """
    given = columns_of(data)
    if isinstance(columns, str):
        raise SchemaError(f"columns must be a list, as in columns=[{columns!r}]; got the text {columns!r}")
    names = list(given if columns is None else columns)
    _check_names(names, given, distance, centre, weights)
    chosen = {name: given[name] for name in names}
    check_weights(weights or {}, chosen)
    k = check_k(k, len(chosen[names[0]]))
    metric = {name: (distance or {}).get(name) or default_distance(column) for name, column in chosen.items()}
    groups = group_records(embed(chosen, metric, weights or {}), k, method)
    masked = {
        name: represent(name, column, groups, (centre or {}).get(name) or _default_centre(metric[name]))
        for name, column in chosen.items()
    }
    found = EquivalenceClasses.sharing([distinct_of(name, column)[1] for name, column in masked.items()])
    check_groups(found.of, k)
    return Microaggregated(_replaced(data, masked), groups, found.k)


def _check_names(names: Sequence[str], given: Mapping[str, Any], *others: Mapping[str, Any] | None) -> None:
    check_there(names, given)
    if not names:
        raise SchemaError(f"name at least one column to aggregate; there are {', '.join(given)}")
    for other in others:
        odd = sorted(set(other or ()) - set(names))
        if odd:
            raise SchemaError(f"column {odd[0]!r} is not aggregated; those are {', '.join(names)}")


def _default_centre(distance: Distance) -> Centre | Tree:
    if isinstance(distance, Tree):
        return distance
    return "mean" if distance == "euclidean" else "mode"


def _replaced(data: Any, masked: dict[str, Any]) -> Any:
    if isinstance(data, np.ndarray):
        table = np.column_stack(list((columns_of(data) | masked).values()))
        return table if data.ndim == 2 else table[:, 0]
    if isinstance(data, list | tuple):
        return list(masked["0"])
    table = to_arrow(data)
    for name, column in masked.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(column))
    return like(table, data)
