"""How much is lost, how much is at risk."""

from kakuran.measure.accuracy import l1_accuracy, mean_absolute_loss, wrong_cells
from kakuran.measure.anonymity import Anonymity, Diversity, check_anonymity
from kakuran.measure.graph import Graph
from kakuran.measure.linkage import Attacker, LinkageAttack, exact_posteriors
from kakuran.measure.loss import ColumnLoss, ilssdm, information_capacity, information_loss, losses_by_column
from kakuran.measure.risk import Risk, risk_of

__all__ = [
    "Anonymity",
    "Attacker",
    "ColumnLoss",
    "Diversity",
    "Graph",
    "LinkageAttack",
    "Risk",
    "check_anonymity",
    "exact_posteriors",
    "ilssdm",
    "information_capacity",
    "information_loss",
    "l1_accuracy",
    "losses_by_column",
    "mean_absolute_loss",
    "risk_of",
    "wrong_cells",
]
