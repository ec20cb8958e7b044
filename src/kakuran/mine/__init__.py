"""Answers from a release."""

from kakuran.mine.crosstab import Estimate, crosstab

__all__ = ["Estimate", "crosstab"]
