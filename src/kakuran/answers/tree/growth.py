"""The nodes of a decision tree.

Growing a tree level by level: what all nodes of a level need is counted in one pass.

Pruning a tree by what held-out records say.

Decision trees from perturbed records (S4): grown on reconstructed counts, pruned by what held-out records say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kakuran.answers.bayes import MixtureModel, held_out_score
from kakuran.answers.tree.counts import Counted, Marginals, MixtureCounts, NodeCounts, Path, PathCounts
from kakuran.answers.tree.splits import Split, SplitCriterion, best_split
from kakuran.counts import distinct_rows
from kakuran.model import STARTS, Method, Records, average, fit_latent_classes, held_out
from kakuran.typing import Array


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
    criterion: SplitCriterion
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


WORTH = 1.0
"""How much a split must add to the log-likelihood of all held-out records: less is luck."""
SMOOTHING = 1.0
"""Records of every class that each leaf is given, so that none is ever sure."""


@dataclass(frozen=True, eq=False)
class Fold:
    """What some records say of nodes and of where others truly lie, and how many of each were held out."""

    source: NodeCounts
    model: MixtureModel
    held: Array


@dataclass(frozen=True, eq=False)
class Sides:
    """Which cells of each axis no split of a tree tells apart; those of the class and the first attribute stay apart.

    So what the tree was grown from is coarsened, but counts of classes (`NodeCounts.classes`) are not.

    Attributes
    ----------
    parts : the part that each cell of an axis is in
    """

    parts: tuple[NDArray[np.intp], ...]

    @classmethod
    def of(cls, root: Node) -> Sides:
        """The sides of all splits of a tree."""
        classes, first, *others = zip(*(node.path for node in root.nodes()), strict=True)
        parts = [distinct_rows(allowed).place for allowed in others]
        return cls((np.arange(len(classes[0])), np.arange(len(first[0])), *parts))

    def path(self, node: Node) -> Path:
        """The parts of each axis that a node is about."""
        firsts = (np.unique(part, return_index=True)[1] for part in self.parts)
        return [allowed[first] for allowed, first in zip(node.path, firsts, strict=True)]


class Judge:
    """Held-out records: how likely is their perturbed class, given their perturbed attributes and a tree?

    Parameters
    ----------
    records : all of them
    folds : ways to hold some out
    root : the tree and, by pruning, all trees that are judged
    paths : of all its nodes, along the axes of the records
    """

    def __init__(self, records: Records, folds: Sequence[Fold], root: Node, paths: Sequence[Path]) -> None:
        self._records = records
        self._paths = paths
        self._held = [fold.held for fold in folds]
        self._nodes = {id(node.path): place for place, node in enumerate(root.nodes())}
        chances = {model: model.along(records, paths) for model in {fold.model for fold in folds}}
        self._chance = [chances[fold.model] for fold in folds]
        self._classes = [np.stack([probabilities(counts) for counts in fold.source.classes(paths)]) for fold in folds]

    def leaf_paths(self, root: Node) -> list[Path]:
        """The paths of a tree's leaves, along the axes of the records."""
        return [self._paths[self._nodes[id(leaf.path)]] for leaf in root.leaves()]

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
            closed = next((one for one in root.with_one_split_less() if self.score(one) >= before - WORTH), None)
            if closed is None:
                return root
            root = closed


def probabilities(counts: Array) -> Array:
    """Of each class, where so many records of each are."""
    smoothed = counts + SMOOTHING
    return smoothed / smoothed.sum()


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree, what is known of where records lie, and how well it predicts held-out ones.

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
    counted: Counted,
    is_ordered: Sequence[bool],
    *,
    criterion: SplitCriterion,
    max_depth: int,
    min_support: float,
    method: Method,
) -> GrownTree:
    """Grow and prune a tree for the class, which is the first axis.

    By latent classes, if ``auto`` may choose and the distinct records are in memory; else node by node, as in S4: a
    level of the tree is one counting pass, and pruning is one more.
    """
    growth = Growth(tuple(is_ordered), criterion, max_depth, min_support)
    is_exact = all(transition is None for transition in counted.transitions)
    if method == "auto" and not is_exact and isinstance(counted, Records):
        return _by_latent_classes(counted, growth)
    return _node_by_node(PathCounts(counted, method), growth)


def _by_latent_classes(records: Records, growth: Growth) -> GrownTree:
    total = float(records.weights.sum())
    fits = fit_latent_classes(records)
    marginals = Marginals(records.transitions, tuple(map(records.counts, range(len(records.sizes)))))
    source = MixtureCounts(*average(fits), total)
    root = growth.grown(source, marginals)
    folds = [
        Fold(MixtureCounts(fit.shares, fit.profiles, total), MixtureModel(fit.shares, fit.profiles), fit.held)
        for fit in fits
    ]
    judge = Judge(records, folds, root, [node.path for node in root.nodes()])
    return _pruned(root, judge, source, MixtureModel(*average(fits)))


def _node_by_node(source: PathCounts, growth: Growth) -> GrownTree:
    root = growth.grown(source, source.marginals)
    # From here on it is enough to know of each record on which side of the splits it lies.
    sides = Sides.of(root)
    records = source.coarse(sides.parts)
    everybody = PathCounts(records, source.method)
    model = MixtureModel.of_marginals(everybody.marginals)
    folds = []
    for start in range(STARTS):
        held = held_out(records, start)
        kept = replace(records, weights=records.weights - held)
        folds.append(Fold(PathCounts(kept, source.method), model, held))
    judge = Judge(records, folds, root, [sides.path(node) for node in root.nodes()])
    return _pruned(root, judge, everybody, MixtureModel.of_marginals(source.marginals))


def _pruned(root: Node, judge: Judge, source: NodeCounts, model: MixtureModel) -> GrownTree:
    root = judge.pruned(root)
    leaves = np.stack([probabilities(counts) for counts in source.classes(judge.leaf_paths(root))])
    return GrownTree(root, leaves, model, judge.mean_score(root))
