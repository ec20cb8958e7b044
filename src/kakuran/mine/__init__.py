"""Answers from a release."""

from kakuran.mine.crosstab import answer
from kakuran.mine.density import Density
from kakuran.mine.estimate import Estimate
from kakuran.mine.impossible import Impossible, impossible
from kakuran.mine.mixture import MixtureEstimate
from kakuran.mine.question import Question, ask

__all__ = ["Density", "Estimate", "Impossible", "MixtureEstimate", "Question", "answer", "ask", "impossible"]
