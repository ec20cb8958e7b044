"""How much is lost, how much is at risk."""

from kakuran.measure.accuracy import l1_accuracy, mean_absolute_loss
from kakuran.measure.linkage import Attacker, LinkageAttack, exact_posteriors
from kakuran.measure.risk import Risk, risk_of

__all__ = ["Attacker", "LinkageAttack", "Risk", "exact_posteriors", "l1_accuracy", "mean_absolute_loss", "risk_of"]
