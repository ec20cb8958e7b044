"""A tree over the values of a category: prefectures in regions, diagnoses in chapters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kakuran.errors import SchemaError
from kakuran.parsing import is_writable
from kakuran.words import Phrase

MOST_LEVELS = 100
"""Levels a tree may have; those of diagnoses or places have less than ten."""


@dataclass(frozen=True)
class Tree:
    """Groups of values, given as ``{parent: [children]}``; a parent may itself be a child.

    Every node that is nobody's child hangs under one common root.

    Examples
    --------
    >>> import kakuran as kk
    >>> regions = kk.Tree({"Kanto": ["Tokyo", "Chiba"], "Kansai": ["Osaka", "Nara"]})
    >>> regions.path("Nara")
    ('Nara', 'Kansai')
    >>> regions.leaves
    ('Tokyo', 'Chiba', 'Osaka', 'Nara')
    """

    children: Mapping[Any, Sequence[Any]]

    def __post_init__(self) -> None:
        if not isinstance(self.children, Mapping):
            raise SchemaError(
                Phrase(
                    "tree: expected groups of values, {{parent: [children]}}, got {children!r}", children=self.children
                )
            )
        for parent, kids in self.children.items():
            if not isinstance(parent, str) or not is_writable(parent):
                raise SchemaError(Phrase("tree: a group is named by text, got {parent!r}", parent=parent))
            if isinstance(kids, str) or not isinstance(kids, Sequence):
                raise SchemaError(
                    Phrase("tree: the children of {parent!r} must be a list, got {kids!r}", parent=parent, kids=kids)
                )
            if not all(isinstance(child, str | int | float) and child == child for child in kids):
                raise SchemaError(
                    Phrase(
                        "tree: the children of {parent!r} must be values or names of groups, got {kids!r}",
                        parent=parent,
                        kids=kids,
                    )
                )
        object.__setattr__(self, "children", {parent: tuple(kids) for parent, kids in self.children.items()})
        seen: dict[Any, Any] = {}
        for parent, kids in self.children.items():
            if not kids:
                raise SchemaError(
                    Phrase("tree: {parent!r} has no children; leave it out or give it some", parent=parent)
                )
            for child in kids:
                if child in seen:
                    raise SchemaError(
                        Phrase(
                            "tree: {child!r} stands under both {other!r} and {parent!r}",
                            child=child,
                            other=seen[child],
                            parent=parent,
                        )
                    )
                seen[child] = parent
        object.__setattr__(self, "_parents", seen)
        for node in seen:
            self.path(node)

    @property
    def parents(self) -> Mapping[Any, Any]:
        """The parent of every node that has one."""
        parents: Mapping[Any, Any] = self._parents  # type: ignore[attr-defined]
        return parents

    @property
    def leaves(self) -> tuple[Any, ...]:
        """The nodes without children, in the order they were written."""
        return tuple(child for kids in self.children.values() for child in kids if child not in self.children)

    def path(self, node: Any) -> tuple[Any, ...]:
        """The node and its ancestors, from the bottom up."""
        return tuple(self._climb(node))

    def _climb(self, node: Any) -> Iterator[Any]:
        start = node
        for _ in range(MOST_LEVELS):
            yield node
            if node not in self.parents:
                return
            node = self.parents[node]
        if self._is_endless(node):
            raise SchemaError(Phrase("tree: {node!r} is its own ancestor", node=node))
        raise SchemaError(
            Phrase(
                "tree: {start!r} is more than {most} levels deep; leave out groups that hold one group only",
                start=start,
                most=MOST_LEVELS,
            )
        )

    def _is_endless(self, node: Any) -> bool:
        """Whether the way up from a node never ends."""
        steps = 0
        while node in self.parents and steps <= len(self.parents):
            node, steps = self.parents[node], steps + 1
        return node in self.parents

    def __hash__(self) -> int:
        return hash(tuple(self.children.items()))
