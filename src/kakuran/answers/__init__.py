"""Answers from a release."""

from kakuran.answers.bayes import fit_naive_bayes
from kakuran.answers.density import Density, density, draw_density
from kakuran.answers.estimate import MOST_CELLS, Estimate, answer, draw, estimate
from kakuran.answers.impossible import FALSE_ALARM, Impossible, impossible
from kakuran.answers.mixture import MixtureEstimate, draw_clusters, mixture
from kakuran.answers.question import TableQuestion, ask
from kakuran.answers.tree.columns import LearningColumns, check_classes, columns_for
from kakuran.answers.tree.counts import Counted
from kakuran.answers.tree.growth import Node, grow_tree
from kakuran.answers.tree.splits import CRITERIA, SplitCriterion
from kakuran.answers.tree.view import draw_tree, importances, tree_text

__all__ = [
    "CRITERIA",
    "FALSE_ALARM",
    "MOST_CELLS",
    "Counted",
    "Density",
    "Estimate",
    "Impossible",
    "LearningColumns",
    "MixtureEstimate",
    "Node",
    "SplitCriterion",
    "TableQuestion",
    "answer",
    "ask",
    "check_classes",
    "columns_for",
    "density",
    "draw",
    "draw_clusters",
    "draw_density",
    "draw_tree",
    "estimate",
    "fit_naive_bayes",
    "grow_tree",
    "importances",
    "impossible",
    "mixture",
    "tree_text",
]
