from .anonymity import (
    Anonymity as Anonymity,
    Diversity as Diversity,
    Risk as Risk,
    check_anonymity as check_anonymity,
    risk_of as risk_of,
)
from .attacker import (
    ENUMERABLE as ENUMERABLE,
    Attacker as Attacker,
    LinkageAttack as LinkageAttack,
    Links as Links,
    Matchings as Matchings,
    exact_posteriors as exact_posteriors,
)
from .auditing import (
    Audit as Audit,
    audit as audit,
    quick_audit as quick_audit,
)
from .loss import (
    ColumnLoss as ColumnLoss,
    Distance as Distance,
    Graph as Graph,
    ancestors as ancestors,
    capacity_of_counts as capacity_of_counts,
    check_weights as check_weights,
    distances as distances,
    ilssdm as ilssdm,
    information_capacity as information_capacity,
    information_loss as information_loss,
    l1_accuracy as l1_accuracy,
    losses_by_column as losses_by_column,
    mean_absolute_loss as mean_absolute_loss,
    wrong_cells as wrong_cells,
)
from .people import (
    TruePeople as TruePeople,
    taken as taken,
)
