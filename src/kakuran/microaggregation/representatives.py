"""What stands for a group: its mean, median, most frequent value, or lowest common ancestor."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import DataError, SchemaError
from kakuran.measure.distance import ancestors
from kakuran.schema import Tree
from kakuran.schema.columns import distinct_of, numbers_of

Centre: TypeAlias = Literal["mean", "median", "mode"]


def represent(name: str, column: Any, groups: NDArray[np.intp], centre: Centre | Tree) -> Any:
    """Every record's value replaced by what stands for its group.

    A tree as centre stands for the lowest ancestor all members share: S3's hierarchical form. The mode of true/false or
    0/1 is the vote of the majority.
    """
    if isinstance(centre, Tree):
        return _common_ancestors(name, column, groups, centre)
    if centre == "mode":
        return _modes(name, column, groups)
    if centre not in get_args(Centre):
        raise SchemaError(f"column {name!r}: unknown centre {centre!r}; there are mean, median, mode and a tree")
    numbers = numbers_of(name, column)
    if centre == "mean":
        return (np.bincount(groups, numbers) / np.bincount(groups))[groups]
    return _medians(numbers, groups)[groups]


def _medians(numbers: NDArray[np.float64], groups: NDArray[np.intp]) -> NDArray[np.float64]:
    ordered = numbers[np.lexsort((numbers, groups))]
    sizes = np.bincount(groups)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return (ordered[starts + (sizes - 1) // 2] + ordered[starts + sizes // 2]) / 2


def _modes(name: str, column: Any, groups: NDArray[np.intp]) -> NDArray[Any]:
    """The most frequent value; of several, the one that is most frequent in the whole table."""
    values, codes = distinct_of(name, column)
    overall = np.bincount(codes)
    pairs, counts = np.unique(groups * len(values) + codes, return_counts=True)
    owner, value = pairs // len(values), pairs % len(values)
    order = np.lexsort((overall[value], counts, owner))
    is_last = np.append(owner[order][1:] != owner[order][:-1], True)
    winner = np.empty(int(groups.max()) + 1, np.intp)
    winner[owner[order][is_last]] = value[order][is_last]
    return _array(values)[winner[groups]]


def _common_ancestors(name: str, column: Any, groups: NDArray[np.intp], tree: Tree) -> NDArray[Any]:
    values, codes = distinct_of(name, column)
    paths = ancestors(name, values, tree)
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    numbers = paths[codes[order]]
    lowest, highest = (how.reduceat(numbers, starts, axis=0) for how in (np.minimum, np.maximum))
    depth = np.cumprod((lowest == highest) & (lowest >= 0), axis=1).sum(axis=1)
    if (depth == 0).any():
        raise DataError(name, "a group spans several tops of the tree", "Give the tree one root that all hang under.")
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
