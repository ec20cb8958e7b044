"""How much is lost, how much is at risk."""

from kakuran.measure.linkage import Attacker, LinkageAttack, exact_posteriors
from kakuran.measure.risk import Risk, risk_of

__all__ = ["Attacker", "LinkageAttack", "Risk", "exact_posteriors", "risk_of"]
