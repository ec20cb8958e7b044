"""From counts of perturbed records back to counts of true ones."""

from kakuran.reconstruction.estimators import Method, Reconstruction, reconstruct
from kakuran.reconstruction.operator import Operator

__all__ = ["Method", "Operator", "Reconstruction", "reconstruct"]
