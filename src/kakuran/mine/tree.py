"""Decision trees from perturbed records (S4): grown on reconstructed counts, pruned by what held-out records say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kakuran.mechanism.base import Array
from kakuran.mine.posterior import MixtureModel, held_out_score
from kakuran.mine.sources import MixtureSource, Path, PathSource, Source, spread
from kakuran.mine.splits import Criterion, Split, best_split
from kakuran.reconstruction import Method
from kakuran.reconstruction.latent import STARTS, Records, average, fit_latent_classes, held_out

WORTH = 1.0
"""How much a split must add to the log-likelihood of all held-out records: less is luck."""
SMOOTHING = 1.0
"""Records of every class that each leaf is given, so that none is ever sure."""


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


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree, the joint model it was judged by, and how well it predicts held-out records.

    Attributes
    ----------
    root : the tree
    probabilities : of each class, leaf by leaf
    model : what is known of where a perturbed record truly lies
    held_out : mean log-likelihood of the perturbed class of held-out records given their perturbed attributes
    """

    root: Node
    probabilities: Array
    model: MixtureModel
    held_out: float

    def predict(self, records: Records) -> Array:
        """Class probabilities of records, clean where their transitions are None, perturbed otherwise."""
        return self.model.along(records, [leaf.path for leaf in self.root.leaves()]) @ self.probabilities


def grow_tree(
    records: Records,
    is_ordered: Sequence[bool],
    *,
    criterion: Criterion,
    max_depth: int,
    min_support: float,
    method: Method,
) -> GrownTree:
    """Grow and prune a tree for the class, which is the first axis of the records."""
    total = float(records.weights.sum())
    is_exact = all(transition is None for transition in records.transitions)
    folds: list[tuple[Source, MixtureModel, Array]]
    if method == "auto" and not is_exact:
        fits = fit_latent_classes(records)
        source: Source = MixtureSource(*average(fits), total)
        model = MixtureModel(*average(fits))
        folds = [
            (MixtureSource(fit.shares, fit.profiles, total), MixtureModel(fit.shares, fit.profiles), fit.held)
            for fit in fits
        ]
    else:
        source, model = PathSource(records, method), MixtureModel.of_marginals(records)
        folds = [
            (PathSource(replace(records, weights=records.weights - held), method), model, held)
            for held in (held_out(records, start) for start in range(STARTS))
        ]
    everything = tuple(np.ones(size, bool) for size in records.sizes)
    grower = _Grower(records, tuple(is_ordered), criterion, min_support)
    root = grower.grow(Node(everything, source.table(everything, 1).sum(axis=1)), source, max_depth)
    judge = _Judge(records, folds, root)
    root = judge.pruned(root)
    leaves = np.stack([_probabilities(leaf.path, source) for leaf in root.leaves()])
    return GrownTree(root, leaves, model, judge.mean_score(root))


@dataclass(frozen=True, eq=False)
class _Grower:
    records: Records
    is_ordered: tuple[bool, ...]
    criterion: Criterion
    min_support: float

    def grow(self, node: Node, source: Source, depth: int) -> Node:
        if depth == 0 or node.counts.sum() <= 2 * self.min_support:
            return node
        splits = [self._best(source.table(node.path, axis), node.path, axis) for axis in range(1, len(node.path))]
        best = max((split for split in splits if split is not None), key=lambda split: split.gain, default=None)
        if best is None:
            return node
        sides = [self._child(node, best, source, is_left=is_left) for is_left in (True, False)]
        if any(side.counts.sum() <= spread(self.records, side.path) for side in sides):
            return node
        left, right = (self.grow(side, source, depth - 1) for side in sides)
        return replace(node, split=best, children=(left, right))

    def _best(self, table: Array, path: Path, axis: int) -> Split | None:
        ordered = self.is_ordered[axis]
        return best_split(table, axis, path[axis], self.criterion, is_ordered=ordered, support=self.min_support)

    @staticmethod
    def _child(node: Node, split: Split, source: Source, *, is_left: bool) -> Node:
        path = list(node.path)
        path[split.axis] = path[split.axis] & (split.left if is_left else ~split.left)
        return Node(tuple(path), source.table(path, split.axis).sum(axis=1))


class _Judge:
    """Held-out records: how likely is their perturbed class, given their perturbed attributes and a tree?"""

    def __init__(self, records: Records, folds: Sequence[tuple[Source, MixtureModel, Array]], root: Node) -> None:
        self._records = records
        self._held = [held for _, _, held in folds]
        self._nodes = {id(node.path): place for place, node in enumerate(root.nodes())}
        paths = [node.path for node in root.nodes()]
        self._chance = [model.along(records, paths) for _, model, _ in folds]
        self._classes = [np.stack([_probabilities(path, source) for path in paths]) for source, _, _ in folds]

    def score(self, root: Node) -> float:
        """The log-likelihood of all held-out records."""
        leaves = [self._nodes[id(leaf.path)] for leaf in root.leaves()]
        return sum(
            held_out_score(self._records, chance[:, leaves] @ classes[leaves], held)
            for chance, classes, held in zip(self._chance, self._classes, self._held, strict=True)
        )

    def mean_score(self, root: Node) -> float:
        """The log-likelihood of a held-out record."""
        return self.score(root) / max(sum(float(held.sum()) for held in self._held), 1.0)

    def pruned(self, root: Node) -> Node:
        """Without the splits that do not help: from the bottom up, as long as one can go at hardly any loss."""
        while True:
            before = self.score(root)
            closed = next((one for one in _with_one_closed(root) if self.score(one) >= before - WORTH), None)
            if closed is None:
                return root
            root = closed


def _probabilities(path: Path, source: Source) -> Array:
    """Of each class on a path."""
    counts = source.table(path, 1).sum(axis=1) + SMOOTHING
    return counts / counts.sum()


def _with_one_closed(node: Node) -> Iterator[Node]:
    """The trees that have one split less, at the bottom."""
    if node.children is None:
        return
    left, right = node.children
    if left.children is None and right.children is None:
        yield replace(node, split=None, children=None)
    for closed in _with_one_closed(left):
        yield replace(node, children=(closed, right))
    for closed in _with_one_closed(right):
        yield replace(node, children=(left, closed))
