"""From counts of perturbed records back to counts of true ones."""

from kakuran.reconstruction.estimators import Method, Reconstruction, reconstruct
from kakuran.reconstruction.intervals import About, influence, interval
from kakuran.reconstruction.operator import Operator

__all__ = ["About", "Method", "Operator", "Reconstruction", "influence", "interval", "reconstruct"]
