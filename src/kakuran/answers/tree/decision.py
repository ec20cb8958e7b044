"""Decision trees from perturbed records (S4): grown on reconstructed counts, pruned by what held-out records say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kakuran.answers.reader import Reader
from kakuran.answers.tree.columns import LUCK_OF_CHOICE, Classifier, ToldRecords, columns_for
from kakuran.answers.tree.counts import Counted, LatentCounts, Marginals, NodeCounts, PathCounts, Weighing
from kakuran.answers.tree.growth import Growth, Node
from kakuran.answers.tree.pruning import Fold, Judge, LatentModel, Sides, probabilities
from kakuran.answers.tree.splits import SplitCriterion
from kakuran.answers.tree.view import draw_tree, importances, rules, tree_text
from kakuran.model import STARTS, Method, PlacedRecords, average, fit_latent_classes, held_out
from kakuran.typing import Array, Progress
from kakuran.words import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree, what is known of where records lie, and how well it predicts held-out ones.

    Attributes
    ----------
    root : Node
        The tree.
    probabilities : array
        Of each class, leaf by leaf.
    model : LatentModel
        What is known of where a perturbed record truly lies.
    held_out : float
        Mean log-likelihood of the perturbed class of held-out records given their perturbed attributes.
    """

    root: Node
    probabilities: Array
    model: LatentModel
    held_out: float

    def predict(self, records: PlacedRecords) -> Array:
        """Class probabilities of records, clean where their transitions are None, perturbed otherwise."""
        return self.model.along(records, [leaf.path for leaf in self.root.leaves()]) @ self.probabilities

    def down_to(self, levels: int) -> GrownTree:
        """Without what grew below so many levels."""
        root = self.root.down_to(levels)
        return replace(self, root=root, probabilities=np.stack([probabilities(leaf.counts) for leaf in root.leaves()]))


def grow_tree(counted: Counted, growth: Growth, method: Method) -> GrownTree:
    """Grow and prune a tree for the class, which is the first axis.

    By latent classes, if ``auto`` may choose and the distinct records are in memory; else node by node, as in S4: a
    level of the tree is one counting pass, and pruning is one more.
    """
    is_exact = all(transition is None for transition in counted.transitions)
    if method == "auto" and not is_exact and isinstance(counted, PlacedRecords):
        return _by_latent_classes(counted, growth)
    return _node_by_node(PathCounts(counted, method), growth)


def grow_from_tells(told: ToldRecords, growth: Growth, method: Method) -> GrownTree:
    """Grow a tree on records of the joint model, as many levels of it as held-out counts confirm."""
    trees = [grow_tree(records, growth, method) for records in told.without]
    scores = [told.score([tree.down_to(levels) for tree in trees]) for levels in range(growth.max_depth + 1)]
    likely = [score - LUCK_OF_CHOICE * (levels > 0) for levels, score in enumerate(scores)]
    best = int(np.argmax(likely))
    found = grow_tree(told.everything, growth, method).down_to(best)
    return replace(found, held_out=likely[best] / told.tellers)


def _by_latent_classes(records: PlacedRecords, growth: Growth) -> GrownTree:
    total = float(records.weights.sum())
    fits = fit_latent_classes(records)
    marginals = Marginals(records.transitions, tuple(map(records.counts, range(len(records.sizes)))))
    source = LatentCounts(*average(fits), total)
    root = growth.grown(source, marginals)
    folds = [
        Fold(LatentCounts(fit.shares, fit.profiles, total), LatentModel(fit.shares, fit.profiles), fit.held)
        for fit in fits
    ]
    judge = Judge(records, folds, root, [node.path for node in root.nodes()])
    return _pruned(root, judge, source, LatentModel(*average(fits)))


def _node_by_node(source: PathCounts, growth: Growth) -> GrownTree:
    root = growth.grown(source, source.marginals)
    # From here on it is enough to know of each record on which side of the splits it lies.
    sides = Sides.of(root)
    records = source.coarse(sides.parts)
    everybody = PathCounts(records, source.method)
    model = LatentModel.of_marginals(everybody.marginals)
    folds = []
    for start in range(STARTS):
        held = held_out(records, start)
        kept = replace(records, weights=records.weights - held)
        folds.append(Fold(PathCounts(kept, source.method), model, held))
    judge = Judge(records, folds, root, [sides.path(node) for node in root.nodes()])
    return _pruned(root, judge, everybody, LatentModel.of_marginals(source.marginals))


def _pruned(root: Node, judge: Judge, source: NodeCounts, model: LatentModel) -> GrownTree:
    root = judge.pruned(root)
    leaves = np.stack([probabilities(counts) for counts in source.classes(judge.leaf_paths(root))])
    return GrownTree(root, leaves, model, judge.mean_score(root))


@dataclass(frozen=True, eq=False)
class DecisionTree(Classifier):
    """A decision tree that predicts a column; `Release.tree` makes one.

    Attributes
    ----------
    columns : LearningColumns
        The target and the columns it is predicted from, with the cells they are cut into.
    learned : GrownTree
        The nodes with their estimated counts, and what is known of where records lie.
    unit : str, optional
        What is counted, where that is not records, in words.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> table = pa.table({"smokes": ["yes", "no"] * 2000, "ill": ["yes", "no", "yes", "no"] * 1000})
    >>> schema = kk.Schema([kk.Categorical(name, ["no", "yes"]) for name in ("smokes", "ill")])
    >>> release = kk.perturb(table, kk.calibrate(schema, n=4000, k=2))
    >>> tree = release.tree("ill")
    >>> tree.importances
    {'smokes': 1.0}
    >>> tree.predict(pa.table({"smokes": ["no", "yes"]})).tolist()
    ['no', 'yes']
    >>> sorted(tree.to_arrow().column("rule").to_pylist())
    ['smokes is no', 'smokes is yes']
    """

    learned: GrownTree

    @property
    def root(self) -> Node:
        """The first node, with all that grew below it."""
        return self.learned.root

    @property
    def importances(self) -> dict[str, float]:
        """The share of every column in all that the splits gain."""
        shares = importances(self.root, len(self.columns.axes)).tolist()
        return dict(zip(self.columns.features, shares, strict=True))

    @property
    def note(self) -> str:
        """That it tells nothing, and what may, where no split is left; else nothing."""
        if self.root.children is not None:
            return ""
        return Phrase(
            "No split predicts held-out records better than the shares of {target} alone: this tree tells nothing. "
            "Naive Bayes (kakuran bayes), which adds up what each column says, may still tell something.",
            target=self.target,
        )

    def text(self, translate: Translate = str) -> str:
        """The tree as indented text, one line a branch.

        Parameters
        ----------
        translate : callable, optional
            Says its words in another language.
        """
        return tree_text(self.root, self.columns, translate)

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.text(), self.caption, self.note)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs."""
        return {
            "tree": self.text().splitlines(),
            "note": self.note,
            "importances": self.importances,
            "held_out_likelihood": self.held_out,
            "unit": self.unit,
        }

    @property
    def _labels(self) -> int:
        return 1

    def _table(self) -> dict[str, Any]:
        """One row a leaf: what leads to it, its most common class, that one's share, and how many records there are."""
        found = list(rules(self.root, self.columns))
        counts = np.stack([leaf.counts for leaf, _ in found])
        labels, totals = self.columns.axes[0].labels, counts.sum(axis=1)
        return {
            "rule": [" and ".join(conditions) for _, conditions in found],
            "class": [labels[place] for place in counts.argmax(axis=1)],
            "share": counts.max(axis=1) / np.maximum(totals, 1e-12),
            "records": totals,
        }

    def plot(self, translate: Translate = str) -> Figure:
        """Boxes from left to right; the bar in each shows the shares of the classes."""
        return draw_tree(self.root, self.columns, translate)


def learn_tree(
    reader: Reader,
    target: str,
    *,
    features: Sequence[str] | None = None,
    criterion: SplitCriterion = "entropy",
    max_depth: int = 5,
    min_support: float = 20,
    method: Method = "auto",
    weights: str | None = None,
    progress: Progress = int,
) -> DecisionTree:
    """Learn a tree from perturbed records."""
    columns = columns_for(reader.plan, target, features, weights)
    growth = Growth(columns.is_ordered, criterion, max_depth, min_support)
    weighing = Weighing.of(reader, weights, progress)
    if reader.plan.layout.told:
        grown = grow_from_tells(ToldRecords.of(columns, reader, progress, weighing), growth, method)
    else:
        grown = grow_tree(columns.counted(reader, progress, weighing), growth, method)
    if weighing is not None:
        grown = replace(grown, root=grown.root.times(weighing.people / max(float(grown.root.counts.sum()), 1e-9)))
    return DecisionTree(columns, grown)
