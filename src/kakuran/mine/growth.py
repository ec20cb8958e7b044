"""Growing a tree level by level: what all nodes of a level need is counted in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kakuran.mechanism.base import Array
from kakuran.mine.node_counts import Marginals, NodeCounts
from kakuran.mine.nodes import Node
from kakuran.mine.splits import Criterion, Split, best_split


@dataclass(frozen=True, eq=False)
class Growth:
    """How a tree grows.

    Attributes
    ----------
    is_ordered : whether an axis is cut at a threshold; the first is the class
    criterion : what a split should gain
    max_depth : the most splits on a path
    min_support : estimated records that every node must have
    """

    is_ordered: tuple[bool, ...]
    criterion: Criterion
    max_depth: int
    min_support: float

    def grown(self, source: NodeCounts, marginals: Marginals) -> Node:
        """A tree that is yet to be pruned."""
        everything = tuple(np.ones(len(counts), bool) for counts in marginals.counts)
        tables = source.tables([everything])
        root = Node(everything, tables[0][0].sum(axis=1))
        return self._level([root], tables, source, marginals, self.max_depth)[0]

    def _level(
        self, nodes: list[Node], tables: list[list[Array]], source: NodeCounts, marginals: Marginals, depth: int
    ) -> list[Node]:
        """Some nodes with all that grows below them, at most so many levels."""
        split = [self._split(node, of_node, marginals) for node, of_node in zip(nodes, tables, strict=True)]
        below = [child for node in split for child in node.children or () if self._may_split(child)]
        if depth == 1 or not below:
            return split
        counted = source.tables([child.path for child in below])
        grown = dict(zip(below, self._level(below, counted, source, marginals, depth - 1), strict=True))
        return [_with_grown(node, grown) for node in split]

    def _may_split(self, node: Node) -> bool:
        return bool(node.counts.sum() > 2 * self.min_support)

    def _split(self, node: Node, tables: Sequence[Array], marginals: Marginals) -> Node:
        """The node with its two children, if it is worth splitting and they stand out from the noise."""
        if not self._may_split(node):
            return node
        splits = [self._best(table, node, axis) for axis, table in enumerate(tables, 1)]
        best = max((split for split in splits if split is not None), key=lambda split: split.gain, default=None)
        if best is None:
            return node
        table = tables[best.axis - 1]
        left, right = _child(node, table, best.axis, best.left), _child(node, table, best.axis, ~best.left)
        if any(side.counts.sum() <= marginals.spread(side.path) for side in (left, right)):
            return node
        return replace(node, split=best, children=(left, right))

    def _best(self, table: Array, node: Node, axis: int) -> Split | None:
        ordered, allowed = self.is_ordered[axis], node.path[axis]
        return best_split(table, axis, allowed, self.criterion, is_ordered=ordered, support=self.min_support)


def _child(node: Node, table: Array, axis: int, side: NDArray[np.bool_]) -> Node:
    path = list(node.path)
    path[axis] = path[axis] & side
    return Node(tuple(path), (table * path[axis]).sum(axis=1))


def _with_grown(node: Node, grown: dict[Node, Node]) -> Node:
    if node.children is None:
        return node
    left, right = node.children
    return replace(node, children=(grown.get(left, left), grown.get(right, right)))
