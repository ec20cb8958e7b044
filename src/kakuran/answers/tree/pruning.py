"""Pruning a tree by what held-out records say.

A perturbed record does not say where it truly lies. A joint model tells how probable every leaf is, given what the
record says, and so how probable its perturbed class is under the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kakuran.answers.tree.counts import Marginals, NodeCounts, Path
from kakuran.answers.tree.growth import Node
from kakuran.counts import distinct_rows
from kakuran.model import PlacedRecords
from kakuran.typing import Array

WORTH = 1.0
"""How much a split must add to the log-likelihood of all held-out records: less is luck."""
SMOOTHING = 1.0
"""Records of every class that each leaf is given, so that none is ever sure."""


@dataclass(frozen=True, eq=False)
class LatentModel:
    """A joint distribution in latent classes; its first axis is the class to predict, which is never looked at."""

    shares: Array
    profiles: tuple[Array, ...]

    @classmethod
    def of_marginals(cls, marginals: Marginals) -> LatentModel:
        """As if attributes were independent: one latent class."""
        return cls(np.ones(1), tuple((count / max(count.sum(), 1.0))[:, None] for count in marginals.estimated))

    def along(self, records: PlacedRecords, paths: Sequence[Path]) -> Array:
        """The probability that each record truly lies on each path."""
        if all(transition is None for transition in records.transitions[1:]):
            return np.column_stack([_is_on(records, path) for path in paths]).astype(float)
        members = self._members(records)
        seen = [np.maximum(part, 1e-300) for part in records.perturbed(self.profiles)]
        columns = []
        for path in paths:
            inside = members
            restricted = records.perturbed(
                [profile * allowed[:, None] for profile, allowed in zip(self.profiles, path, strict=True)]
            )
            for axis, allowed in enumerate(path):
                if not allowed.all():
                    inside = inside * (restricted[axis] / seen[axis])[records.places[axis]]
            columns.append(inside.sum(axis=1))
        return np.column_stack(columns)

    def classes(self, records: PlacedRecords) -> Array:
        """The probability of each class, record by record."""
        return self._members(records) @ self.profiles[0].T

    def _members(self, records: PlacedRecords) -> Array:
        """The probability of each latent class given the attributes."""
        logs = [np.log(np.maximum(part, 1e-300)) for part in records.perturbed(self.profiles)]
        joint = np.log(np.maximum(self.shares, 1e-300)) + sum(
            log[places] for log, places in zip(logs[1:], records.places[1:], strict=True)
        )
        members = np.exp(joint - joint.max(axis=1, keepdims=True))
        return members / members.sum(axis=1, keepdims=True)


def held_out_score(records: PlacedRecords, classes: Array, held: Array) -> float:
    """The log-likelihood of the perturbed class of held-out records, given probabilities of the true one."""
    transition = records.transitions[0]
    seen = classes if transition is None else transition.forward(classes, 1)
    chosen = seen[np.arange(len(held)), records.places[0]]
    return float(held @ np.log(np.maximum(chosen, 1e-300)))


def _is_on(records: PlacedRecords, path: Path) -> Array:
    is_on = np.ones(len(records.weights), bool)
    for places, allowed in zip(records.places[1:], path[1:], strict=True):
        is_on &= allowed[places]
    return is_on


@dataclass(frozen=True, eq=False)
class Fold:
    """What some records say of nodes and of where others truly lie, and how many of each were held out."""

    source: NodeCounts
    model: LatentModel
    held: Array


@dataclass(frozen=True, eq=False)
class Sides:
    """Which cells of each axis no split of a tree tells apart; those of the class and the first attribute stay apart.

    So what the tree was grown from is coarsened, but counts of classes (`NodeCounts.classes`) are not.

    Attributes
    ----------
    parts : tuple of array
        The part that each cell of an axis is in.
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
    records : PlacedRecords
        All of them.
    folds : sequence of Fold
        Ways to hold some out.
    root : Node
        The tree and, by pruning, all trees that are judged.
    paths : sequence of Path
        Of all its nodes, along the axes of the records.
    """

    def __init__(self, records: PlacedRecords, folds: Sequence[Fold], root: Node, paths: Sequence[Path]) -> None:
        self._records = records
        self._paths = paths
        self._held = [fold.held for fold in folds]
        self._place = {node.number: place for place, node in enumerate(root.nodes())}
        chances = {model: model.along(records, paths) for model in {fold.model for fold in folds}}
        self._chance = [chances[fold.model] for fold in folds]
        self._classes = [np.stack([probabilities(counts) for counts in fold.source.classes(paths)]) for fold in folds]

    def leaf_paths(self, root: Node) -> list[Path]:
        """The paths of a tree's leaves, along the axes of the records."""
        return [self._paths[place] for place in self._leaves(root)]

    def score(self, root: Node) -> float:
        """The log-likelihood of all held-out records."""
        leaves = self._leaves(root)
        return sum(
            held_out_score(self._records, chance[:, leaves] @ classes[leaves], held)
            for chance, classes, held in zip(self._chance, self._classes, self._held, strict=True)
        )

    def _leaves(self, root: Node) -> list[int]:
        return [self._place[leaf.number] for leaf in root.leaves()]

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
