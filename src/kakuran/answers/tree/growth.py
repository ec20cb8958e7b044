"""Growing a tree level by level: what all nodes of a level need is counted in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kakuran.answers.tree.counts import Marginals, NodeCounts, Path
from kakuran.answers.tree.splits import CRITERIA, Split, SplitCriterion, best_split
from kakuran.errors import SchemaError, is_real
from kakuran.typing import Array
from kakuran.words import Phrase


@dataclass(frozen=True, eq=False)
class Node:
    """A node: estimated records of each class on its path, and how it is split, if it is.

    Attributes
    ----------
    path : sequence of array
        The cells of each axis that it is about.
    counts : array
        Estimated records of each class on the path.
    number : int
        Where it stands, whatever is pruned elsewhere: the root is 1, and below node i are 2i and 2i + 1.
    split : Split, optional
        How it is split.
    children : pair of Node, optional
        What lies left and right of the split.
    """

    path: Path
    counts: Array
    number: int = 1
    split: Split | None = None
    children: tuple[Node, Node] | None = None

    def leaves(self) -> Iterator[Node]:
        """From left to right."""
        if self.children is None:
            yield self
        else:
            for child in self.children:
                yield from child.leaves()

    def nodes(self) -> Iterator[Node]:
        """This one and all below."""
        yield self
        for child in self.children or ():
            yield from child.nodes()

    def down_to(self, levels: int) -> Node:
        """Without what grew below so many levels."""
        if self.children is None or not levels:
            return replace(self, split=None, children=None)
        left, right = (child.down_to(levels - 1) for child in self.children)
        return replace(self, children=(left, right))

    def times(self, factor: float) -> Node:
        """With so many times the records in every node."""
        if self.children is None:
            return replace(self, counts=factor * self.counts)
        left, right = (child.times(factor) for child in self.children)
        return replace(self, counts=factor * self.counts, children=(left, right))

    def with_one_split_less(self) -> Iterator[Node]:
        """The trees that lack one of the splits at the bottom."""
        if self.children is None:
            return
        left, right = self.children
        if left.children is None and right.children is None:
            yield replace(self, split=None, children=None)
        for closed in left.with_one_split_less():
            yield replace(self, children=(closed, right))
        for closed in right.with_one_split_less():
            yield replace(self, children=(left, closed))


@dataclass(frozen=True, eq=False)
class Growth:
    """How a tree grows.

    Attributes
    ----------
    is_ordered : tuple of bool
        Whether an axis is cut at a threshold; the first is the class.
    criterion : "entropy", "gini" or "chi2"
        What a split should gain.
    max_depth : int
        The most splits on a path.
    min_support : float
        Estimated records that every node must have.
    """

    is_ordered: tuple[bool, ...]
    criterion: SplitCriterion
    max_depth: int
    min_support: float

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise SchemaError(
                Phrase(
                    "criterion must be one of {listed}, got {criterion!r}",
                    listed=", ".join(CRITERIA),
                    criterion=self.criterion,
                )
            )
        if not is_real(self.max_depth) or not self.max_depth >= 1:
            raise SchemaError(Phrase("max_depth must be at least 1, got {max_depth!r}", max_depth=self.max_depth))
        if not is_real(self.min_support):
            raise SchemaError(
                Phrase("min_support must be a number of records, got {min_support!r}", min_support=self.min_support)
            )

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
        grown = {node.number: node for node in self._level(below, counted, source, marginals, depth - 1)}
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
        left = _child(node, 2 * node.number, table, best.axis, best.left)
        right = _child(node, 2 * node.number + 1, table, best.axis, ~best.left)
        if any(side.counts.sum() <= marginals.spread(side.path) for side in (left, right)):
            return node
        return replace(node, split=best, children=(left, right))

    def _best(self, table: Array, node: Node, axis: int) -> Split | None:
        ordered, allowed = self.is_ordered[axis], node.path[axis]
        return best_split(table, axis, allowed, self.criterion, is_ordered=ordered, support=self.min_support)


def _child(node: Node, number: int, table: Array, axis: int, side: NDArray[np.bool_]) -> Node:
    path = list(node.path)
    path[axis] = path[axis] & side
    return Node(tuple(path), (table * path[axis]).sum(axis=1), number)


def _with_grown(node: Node, grown: Mapping[int, Node]) -> Node:
    """The node with what grew below its children."""
    if node.children is None:
        return node
    left, right = (grown.get(child.number, child) for child in node.children)
    return replace(node, children=(left, right))
