"""Answers from a release."""

from kakuran.mine.crosstab import Estimate, crosstab
from kakuran.mine.density import Density

__all__ = ["Density", "Estimate", "crosstab"]
