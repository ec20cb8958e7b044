"""Which method to use for a table, and why."""

from kakuran.advice.comparison import Advice, advise
from kakuran.advice.methods import Outlook
from kakuran.advice.yardstick import Errors

__all__ = ["Advice", "Errors", "Outlook", "advise"]
