"""Counting records in cells: all that estimation needs to know of a release."""

from kakuran.counts.cells import Cells, cells_of, every_code
from kakuran.counts.countable import Countable, Progress
from kakuran.counts.counting import Counting
from kakuran.counts.predicate import Predicate, parse
from kakuran.counts.reading import Reading
from kakuran.counts.tally import Tally, count_codes

__all__ = [
    "Cells",
    "Countable",
    "Counting",
    "Predicate",
    "Progress",
    "Reading",
    "Tally",
    "cells_of",
    "count_codes",
    "every_code",
    "parse",
]
