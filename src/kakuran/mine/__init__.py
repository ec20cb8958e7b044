"""Answers from a release."""

from kakuran.mine.crosstab import answer
from kakuran.mine.estimate import Estimate
from kakuran.mine.question import Question, ask

__all__ = ["Estimate", "Question", "answer", "ask"]
