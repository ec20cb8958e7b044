"""From counts of perturbed records back to counts of true ones."""

from kakuran.reconstruction.ibt import ibt

__all__ = ["ibt"]
