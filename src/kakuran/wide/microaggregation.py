"""Microaggregation of a table: group alike records, publish what stands for each group.

Records become points. Numbers are their own coordinate. Categories are placed by weighted classical scaling: the
coordinates are those of the principal components of the records, so where a column needs more than `MOST_COORDINATES`
the frequent values keep their distances best. Discrete distances, and the square roots of distances in a tree, can be
met exactly. A group is stood for by its mean, median, most frequent value, or lowest common ancestor.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kakuran.audit import Distance, ancestors, check_weights, distances
from kakuran.counts import distinct_rows
from kakuran.errors import DataError, SchemaError
from kakuran.randomness import Randomness
from kakuran.schema import (
    Categorical,
    Schema,
    Tree,
    check_there,
    columns_of,
    decode_columns,
    distinct_of,
    framed,
    is_numeric,
    like,
    numbers_of,
    released_field,
    to_arrow,
    told_by_values,
)
from kakuran.typing import Array, Indices
from kakuran.wide.mdav import GroupingMethod, check_groups, check_k, group_records
from kakuran.words import Phrase, so_many_records

MOST_COORDINATES = 16
MOST_VALUES = 3000


def embed(
    columns: Mapping[str, Any],
    distance: Mapping[str, Distance],
    weights: Mapping[str, float],
    may_lack: Collection[str] = (),
) -> Array:
    """Records × coordinates; every column varies by its weight, 1 unless given, whatever its unit.

    In columns that may lack values, missing is one more value.
    """
    parts = [
        np.sqrt(float(weights.get(name, 1.0)))
        * _standardised(_coordinates(name, column, distance[name], may_lack=name in may_lack))
        for name, column in columns.items()
    ]
    return np.concatenate(parts, axis=1)


def default_distance(column: Any) -> Distance:
    """Euclidean for numbers, discrete for everything else."""
    return "euclidean" if is_numeric(column) else "discrete"


def distances_for(data: Any, schema: Schema | None, asked: Mapping[str, Distance]) -> dict[str, Distance]:
    """A distance for every column: as asked for, by the tree in the schema, or by what the column holds."""
    return _distances(columns_of(data), schema, asked)


def _distances(columns: Mapping[str, Any], schema: Schema | None, asked: Mapping[str, Distance]) -> dict[str, Distance]:
    trees = {one.name: one.tree for one in schema or () if isinstance(one, Categorical) and one.tree is not None}
    chosen = trees | dict(asked)
    return {name: chosen.get(name) or default_distance(column) for name, column in columns.items()}


def _coordinates(name: str, column: Any, distance: Distance, *, may_lack: bool) -> Array:
    if distance == "euclidean":
        return _numbers_or_none(name, column) if may_lack else numbers_of(name, column)[:, None]
    values, codes = distinct_of(name, column, missing_is_value=may_lack)
    if len(values) > MOST_VALUES:
        raise DataError(
            name,
            Phrase("has {count:,} distinct values", count=len(values)),
            Phrase("Leave it out, or group its values first."),
        )
    gaps = distances(name, values, distance)
    # A tree's distances are squares of Euclidean ones, as every edge can be a coordinate of its own.
    squares = gaps if isinstance(distance, Tree) else gaps**2
    return _scaled(squares, np.bincount(codes, minlength=len(values)) / len(codes))[codes]


def _numbers_or_none(name: str, column: Any) -> Array:
    """Missing lies at the mean in one coordinate, and as far from all numbers as these spread in another."""
    numbers, is_missing = _apart(name, column)
    present = numbers[~is_missing]
    if not len(present):
        return np.zeros((len(numbers), 1))
    filled = np.where(is_missing, present.mean(), numbers)
    return np.column_stack([filled, is_missing * (present.std() or 1.0)])


def _apart(name: str, column: Any) -> tuple[Array, NDArray[np.bool_]]:
    """The numbers of a column, 0 where there is none, and where that is."""
    array = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    is_missing: NDArray[np.bool_] = array.is_null(nan_is_null=True).to_numpy()
    return numbers_of(name, pc.if_else(array.is_null(nan_is_null=True), 0, array)), is_missing


def _scaled(squares: Array, shares: Array) -> Array:
    """Coordinates of values with these squared distances; principal components when records occur by shares."""
    rows = squares @ shares
    products = -0.5 * (squares - rows[:, None] - rows[None, :] + shares @ rows)
    roots = np.sqrt(shares)
    strengths, directions = np.linalg.eigh(roots[:, None] * products * roots)
    strengths, directions = strengths[-MOST_COORDINATES:], directions[:, -MOST_COORDINATES:]
    is_real = strengths >= 1e-9 * max(strengths[-1], 0.0)
    return directions[:, is_real] * np.sqrt(np.maximum(strengths[is_real], 0.0)) / roots[:, None]


def _standardised(coordinates: Array) -> Array:
    centred = coordinates - coordinates.mean(axis=0)
    spread = float((centred**2).sum() / max(len(centred), 1))
    return centred / np.sqrt(spread) if spread else centred


def declared_table(data: Any, schema: Schema) -> Any:
    """The columns of a frame that its schema releases, every value checked and on its grid."""
    batch = decode_columns(schema.released, schema.encode(data))
    plain = [one.dictionary_decode() if pa.types.is_dictionary(one.type) else one for one in batch.columns]
    fields = [released_field(one).with_type(column.type) for one, column in zip(schema.released, plain, strict=True)]
    return framed(
        pa.table(plain, schema=pa.schema(fields)),
        data,
        [one.name for one in schema.released if one.missing == "category"],
    )


Centre: TypeAlias = Literal["mean", "median", "mode"]


def represent(name: str, column: Any, groups: Indices, centre: Centre | Tree, *, may_lack: bool = False) -> Any:
    """Every record's value replaced by what stands for its group.

    A tree as centre stands for the lowest ancestor all members share: S3's hierarchical form. The mode of true/false or
    0/1 is the vote of the majority. Where values may be missing, missing stands for a group most of which has none.
    """
    if isinstance(centre, Tree):
        return _common_ancestors(name, column, groups, centre)
    if centre == "mode":
        return _modes(name, column, groups, may_lack=may_lack)
    if centre not in get_args(Centre):
        raise SchemaError(
            Phrase(
                "column {name!r}: unknown centre {centre!r}; there are mean, median, mode and a tree",
                name=name,
                centre=centre,
            )
        )
    if may_lack:
        return _present_centres(name, column, groups, centre)
    return _centres(numbers_of(name, column), groups, centre)


def _centres(numbers: Array, groups: Indices, centre: Centre) -> Array:
    if centre == "mean":
        return (np.bincount(groups, numbers) / np.bincount(groups))[groups]
    return _medians(numbers, groups)[groups]


def _present_centres(name: str, column: Any, groups: Indices, centre: Centre) -> Array:
    """The centre of the numbers a group has; NaN where most have none."""
    numbers, is_missing = _apart(name, column)
    most_lack = 2 * np.bincount(groups, is_missing) > np.bincount(groups)
    present, places = np.unique(groups[~is_missing], return_inverse=True)
    found = np.full(len(most_lack), np.nan)
    found[present[places]] = _centres(numbers[~is_missing], places, centre) if len(present) else np.nan
    found[most_lack] = np.nan
    return found[groups]


def _medians(numbers: Array, groups: Indices) -> Array:
    ordered = numbers[np.lexsort((numbers, groups))]
    sizes = np.bincount(groups)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return (ordered[starts + (sizes - 1) // 2] + ordered[starts + sizes // 2]) / 2


def _modes(name: str, column: Any, groups: Indices, *, may_lack: bool) -> NDArray[Any]:
    """The most frequent value; of several, the one that is most frequent in the whole table."""
    values, codes = distinct_of(name, column, missing_is_value=may_lack)
    overall = np.bincount(codes)
    pairs = distinct_rows([groups, codes])
    owner, value = pairs.columns
    order = np.lexsort((overall[value], pairs.counts, owner))
    is_last = np.append(owner[order][1:] != owner[order][:-1], True)
    winner = np.empty(int(groups.max()) + 1, np.intp)
    winner[owner[order][is_last]] = value[order][is_last]
    return _array(values)[winner[groups]]


def _common_ancestors(name: str, column: Any, groups: Indices, tree: Tree) -> NDArray[Any]:
    values, codes = distinct_of(name, column)
    paths = ancestors(name, values, tree)
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    numbers = paths[codes[order]]
    lowest, highest = (how.reduceat(numbers, starts, axis=0) for how in (np.minimum, np.maximum))
    depth = np.cumprod((lowest == highest) & (lowest >= 0), axis=1).sum(axis=1)
    if (depth == 0).any():
        raise DataError(
            name,
            Phrase("a group spans several tops of the tree"),
            Phrase("Give the tree one root that all hang under."),
        )
    firsts = [values[code] for code in codes[order[starts]]]
    names = [tree.path(first)[::-1][steps - 1] for first, steps in zip(firsts, depth, strict=True)]
    if len({type(name) for name in names}) > 1:
        # A column holds one kind of value, and the names of groups are text.
        names = list(map(str, names))
    place = np.empty(int(groups.max()) + 1, np.intp)
    place[groups[order][starts]] = np.arange(len(starts))
    return _array(names)[place[groups]]


def _array(values: list[Any]) -> NDArray[Any]:
    """Values as an array of objects, lest numpy turn numbers among texts into texts."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


@dataclass(frozen=True)
class Microaggregated:
    """A table in which at least k records share every set of aggregated values.

    Attributes
    ----------
    table : Any
        The same kind of table as was given; columns that were not aggregated are as they were.
    groups : Indices
        The group of every record.
    k : int
        The fewest records that were found to share their aggregated values, and those that everybody knows.
    """

    table: Any
    groups: Indices
    k: int

    def shuffled(self) -> Any:
        """The table in random order, by which nobody can be linked."""
        order = Randomness.secure().permutation(len(self.groups))
        if isinstance(self.table, list):
            return [self.table[place] for place in order]
        if isinstance(self.table, np.ndarray):
            return self.table[order]
        return like(to_arrow(self.table).take(order), self.table)


def microaggregate(
    data: Any,
    k: int,
    *,
    schema: Schema | None = None,
    columns: Sequence[str] | None = None,
    within: Sequence[str] = (),
    method: GroupingMethod = "local-search",
    distance: Mapping[str, Distance] | None = None,
    centre: Mapping[str, Centre] | None = None,
    weights: Mapping[str, float] | None = None,
) -> Microaggregated:
    """Replace groups of at least k alike records by what stands for them.

    Parameters
    ----------
    data : Any
        A frame or an array of numbers.
    k : int
        The fewest records that will share their values.
    schema : Schema | None
        What the columns of a frame may hold, which is checked, and their roles: what is perturbed is aggregated, what
        is kept stays as it is and only records that share it are grouped, what is dropped is left out. A column that it
        does not list is refused.
    columns : Sequence[str] | None
        Those to aggregate; all by default, or with a schema those that are perturbed.
    within : Sequence[str]
        Columns that everybody knows anyway: only records that share their values are grouped.
    method : GroupingMethod
        See `group_records`.
    distance : Mapping[str, Distance] | None
        Per column, as for `kakuran.information_loss`; numbers are Euclidean and other values discrete by default.
    centre : Mapping[str, Centre] | None
        Per column ``"mean"``, ``"median"`` or ``"mode"``. By default numbers have their mean, categories their mode,
        and categories in a tree their lowest common ancestor.
    weights : Mapping[str, float] | None
        How much each column counts when records are compared, 1 by default; columns are standardised first.
    """
    may_lack: list[str] = []
    if schema is not None:
        data = declared_table(data, schema)
        may_lack = [one.name for one in schema.released if one.missing == "category"]
        columns = [one.name for one in schema.perturbed] if columns is None else columns
        within = [one.name for one in schema.kept if one.name not in columns]
    given = columns_of(data)
    if isinstance(columns, str):
        raise SchemaError(
            Phrase("columns must be a list, as in columns=[{columns!r}]; got the text {columns!r}", columns=columns)
        )
    names = list(given if columns is None else columns)
    _check_names(names, given, distance, centre, weights)
    check_there(within, given)
    chosen = {name: given[name] for name in names}
    check_weights(weights or {}, chosen)
    k = check_k(k, len(chosen[names[0]]))
    metric = _distances(chosen, schema, distance or {})
    known = [distinct_of(name, given[name], missing_is_value=True)[1] for name in within]
    groups = _group(embed(chosen, metric, weights or {}, may_lack), k, method, dict(zip(within, known, strict=True)))
    masked = {
        name: represent(
            name,
            column,
            groups,
            (centre or {}).get(name) or _default_centre(metric[name]),
            may_lack=name in may_lack,
        )
        for name, column in chosen.items()
    }
    shared = [distinct_of(name, column, missing_is_value=name in may_lack)[1] for name, column in masked.items()]
    found = distinct_rows([*shared, *known])
    check_groups(found.place, k)
    return Microaggregated(_replaced(data, masked), groups, int(found.counts.min()))


def _group(points: Array, k: int, method: GroupingMethod, known: Mapping[str, Indices]) -> Indices:
    """Groups of alike records; only among those who share what is known of them."""
    if not known:
        return group_records(points, k, method)
    crowds = distinct_rows([*known.values()])
    if crowds.counts.min() < k:
        told = ", ".join(known)
        problem = Phrase(
            "only {records} share their {told}, where {k} are to be alike",
            records=so_many_records(int(crowds.counts.min())),
            told=told,
            k=k,
        )
        raise DataError(next(iter(known)), problem, Phrase("Lower k, make its values coarser, or do not keep it."))
    groups, done = np.empty(len(points), np.intp), 0
    order = np.argsort(crowds.place, kind="stable")
    for rows in np.split(order, np.cumsum(crowds.counts)[:-1]):
        groups[rows] = done + group_records(points[rows], k, method)
        done = int(groups[rows].max()) + 1
    return groups


def _check_names(names: Sequence[str], given: Mapping[str, Any], *others: Mapping[str, Any] | None) -> None:
    check_there(names, given)
    if not names:
        raise SchemaError(
            Phrase("name at least one column to aggregate; there are {columns}", columns=", ".join(given))
        )
    for other in others:
        odd = sorted(set(other or ()) - set(names))
        if odd:
            raise SchemaError(
                Phrase("column {name!r} is not aggregated; those are {columns}", name=odd[0], columns=", ".join(names))
            )


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
        values, place = pa.array(column, from_pandas=True), table.column_names.index(name)
        table = table.set_column(place, table.field(place).with_type(values.type), values)
    averaged = {name for name, column in masked.items() if column.dtype != object}
    return like(told_by_values(table, averaged), data)
