"""A tree in words and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from kakuran.answers.tree.columns import LearningColumns
from kakuran.answers.tree.growth import Node
from kakuran.answers.tree.splits import Split
from kakuran.charts import TreeBox, tree_chart
from kakuran.counts import Cells
from kakuran.typing import Array
from kakuran.words import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN_VALUES = 4


def tree_text(root: Node, columns: LearningColumns, translate: Translate = str) -> str:
    """The tree as indented text, one line a branch."""
    return "\n".join("    " * depth + translate(said) for depth, said in _lines(root, columns, 0))


def importances(root: Node, axes: int) -> Array:
    """The share of every axis but the first in all that the splits gain."""
    gains = np.zeros(axes)
    for node in root.nodes():
        if node.split is not None:
            gains[node.split.axis] += node.split.gain * node.counts.sum()
    return gains[1:] / gains.sum() if gains.sum() > 0 else gains[1:]


def rules(node: Node, columns: LearningColumns, reached: Sequence[str] = ()) -> Iterator[tuple[Node, Sequence[str]]]:
    """Every leaf, and the conditions that lead to it."""
    if node.children is None:
        yield node, reached
    for child, said in _branches(node, columns):
        yield from rules(child, columns, (*reached, said))


def condition(split: Split, columns: LearningColumns, *, is_left: bool, within: Any) -> str:
    """What holds on one side of a split, in words; `within` are the cells that get there."""
    axis = columns.axes[split.axis]
    inside, other = (
        (within & split.left, within & ~split.left) if is_left else (within & ~split.left, within & split.left)
    )
    if columns.is_ordered[split.axis]:
        last = int(np.flatnonzero(within & split.left)[-1])
        edge = axis.labels[last].split("–")[-1]
        return f"{axis.name} {'≤' if is_left else '>'} {edge}"
    if inside.sum() <= other.sum():
        return Phrase("{column} is {values}", column=axis.name, values=_either(axis, inside))
    return Phrase("{column} is not {values}", column=axis.name, values=_either(axis, other))


def _either(axis: Cells, cells: Any) -> str:
    """Some of the values, one or the other."""
    names = [axis.labels[cell] for cell in np.flatnonzero(cells)]
    shown = reduce(lambda one, other: Phrase("{one} or {other}", one=one, other=other), names[:_SHOWN_VALUES])
    more = len(names) - _SHOWN_VALUES
    return Phrase("{values} or {more} more", values=shown, more=more) if more > 0 else shown


def _lines(node: Node, columns: LearningColumns, depth: int) -> Iterator[tuple[int, str]]:
    """How deep every line stands, and what it says."""
    if node.children is None:
        yield depth, _summary(node, columns.axes[0])
    for child, said in _branches(node, columns):
        if child.children is None:
            yield depth, Phrase("{condition}: {outcome}", condition=said, outcome=_summary(child, columns.axes[0]))
        else:
            yield depth, said
            yield from _lines(child, columns, depth + 1)


def _branches(node: Node, columns: LearningColumns) -> Iterator[tuple[Node, str]]:
    """What follows a node, and what holds there."""
    if node.split is not None and node.children is not None:
        within = node.path[node.split.axis]
        for child, is_left in zip(node.children, (True, False), strict=True):
            yield child, condition(node.split, columns, is_left=is_left, within=within)


def _summary(node: Node, target: Cells) -> str:
    total = max(float(node.counts.sum()), 1e-12)
    best = int(np.argmax(node.counts))
    return Phrase(
        "{value} ({share:.0%} of about {count:,.0f})",
        value=target.labels[best],
        share=node.counts[best] / total,
        count=node.counts.sum(),
    )


def draw_tree(root: Node, columns: LearningColumns, translate: Translate = str) -> Figure:
    """Boxes from left to right; the bar in each shows the shares of the classes."""
    classes = [translate(label) for label in columns.axes[0].labels]
    return tree_chart(_box(root, "", columns, translate), columns.axes[0].name, classes)


def _box(node: Node, reached: str, columns: LearningColumns, translate: Translate) -> TreeBox:
    """What is drawn of a node that was reached under a condition."""
    shares = node.counts / max(float(node.counts.sum()), 1e-12)
    children = tuple(_box(child, said, columns, translate) for child, said in _branches(node, columns))
    return TreeBox(translate(reached), translate(_summary(node, columns.axes[0])), shares, children)
