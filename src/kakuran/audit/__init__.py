"""How much is lost, how much is at risk."""

from kakuran.audit.anonymity import Anonymity, Diversity, Risk, check_anonymity, risk_of
from kakuran.audit.linkage import ENUMERABLE, IMPOSSIBLE, Attacker, LinkageAttack, exact_posteriors
from kakuran.audit.linkage_audit import Audit, audit, quick_audit
from kakuran.audit.loss import (
    ColumnLoss,
    Distance,
    Graph,
    ancestors,
    capacity_of_counts,
    check_weights,
    distances,
    ilssdm,
    information_capacity,
    information_loss,
    l1_accuracy,
    losses_by_column,
    mean_absolute_loss,
    wrong_cells,
)

__all__ = [
    "ENUMERABLE",
    "IMPOSSIBLE",
    "Anonymity",
    "Attacker",
    "Audit",
    "ColumnLoss",
    "Distance",
    "Diversity",
    "Graph",
    "LinkageAttack",
    "Risk",
    "ancestors",
    "audit",
    "capacity_of_counts",
    "check_anonymity",
    "check_weights",
    "distances",
    "exact_posteriors",
    "ilssdm",
    "information_capacity",
    "information_loss",
    "l1_accuracy",
    "losses_by_column",
    "mean_absolute_loss",
    "quick_audit",
    "risk_of",
    "wrong_cells",
]
