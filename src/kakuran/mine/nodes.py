"""The nodes of a decision tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kakuran.mechanism.base import Array
from kakuran.mine.node_counts import Path
from kakuran.mine.splits import Split


@dataclass(frozen=True, eq=False)
class Node:
    """A node: estimated records of each class on its path, and how it is split, if it is."""

    path: Path
    counts: Array
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
