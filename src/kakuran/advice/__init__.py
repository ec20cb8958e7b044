"""Which method to use for a table, and why."""

from kakuran.advice.comparison import NAMES, Advice, advise
from kakuran.advice.methods import Errors, Outlook

__all__ = [
    "NAMES",
    "Advice",
    "Errors",
    "Outlook",
    "advise",
]
