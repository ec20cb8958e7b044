"""Perturbation as a map over record batches."""

from kakuran.perturbation.kernel import Kernel

__all__ = ["Kernel"]
