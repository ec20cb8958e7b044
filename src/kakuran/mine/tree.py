"""Decision trees from perturbed records (S4): grown on reconstructed counts, pruned by what held-out records say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kakuran.mechanism.base import Array
from kakuran.mine.counted import Counted
from kakuran.mine.growth import Growth
from kakuran.mine.node_counts import Marginals, MixtureCounts, NodeCounts, PathCounts
from kakuran.mine.nodes import Node
from kakuran.mine.posterior import MixtureModel
from kakuran.mine.pruning import Fold, Judge, Sides, probabilities
from kakuran.mine.splits import Criterion
from kakuran.reconstruction import Method
from kakuran.reconstruction.latent import STARTS, Records, average, fit_latent_classes, held_out


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
    criterion: Criterion,
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
