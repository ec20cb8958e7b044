"""Answers from a release."""

from kakuran.mine.crosstab import Estimate, crosstab
from kakuran.mine.density import Density
from kakuran.mine.mixture import MixtureEstimate

__all__ = ["Density", "Estimate", "MixtureEstimate", "crosstab"]
