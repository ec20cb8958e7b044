"""Decision trees from perturbed records.

`columns` what is learned from → `counts` of a node → the best of its `splits` → `growth` level by level → `pruning` by
held-out records → the `decision` tree, which is the answer; `view` puts it in words and draws it.
"""

from kakuran.answers.tree.columns import Classifier, LearningColumns, check_classes, columns_for
from kakuran.answers.tree.counts import Counted, PathCounts
from kakuran.answers.tree.decision import DecisionTree, GrownTree, grow_tree, learn_tree
from kakuran.answers.tree.growth import Growth, Node
from kakuran.answers.tree.pruning import LatentModel, held_out_score
from kakuran.answers.tree.splits import CRITERIA, SplitCriterion

__all__ = [
    "CRITERIA",
    "Classifier",
    "Counted",
    "DecisionTree",
    "GrownTree",
    "Growth",
    "LatentModel",
    "LearningColumns",
    "Node",
    "PathCounts",
    "SplitCriterion",
    "check_classes",
    "columns_for",
    "grow_tree",
    "held_out_score",
    "learn_tree",
]
