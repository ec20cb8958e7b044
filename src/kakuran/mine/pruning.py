"""Pruning a tree by what held-out records say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kakuran.mechanism.base import Array
from kakuran.mine.node_counts import NodeCounts, Path
from kakuran.mine.nodes import Node
from kakuran.mine.posterior import MixtureModel, held_out_score
from kakuran.reconstruction.latent import Records

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
        parts = [np.unique(np.stack(allowed), axis=1, return_inverse=True)[1].ravel() for allowed in others]
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
